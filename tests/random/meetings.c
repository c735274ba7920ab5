/* A seeded program of jobs that come and go. Rank 0 conducts, and knows what the others must see: processes start others, talk, merge,
 * part in every order, publish names, look them up, take them back and meet by them. Some of those that were started die, and their names
 * with them.
 *
 * usage: mpiexec -with-ft ulfm -n N meetings [seed=N] [steps=N] [alarm=SECONDS]
 *
 * Ends with "ok" from rank 0, or with a message that names seed and step, and a status that is not 0. */
#include "random.h"
#include <mpi-ext.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum { JOBS = 3, CHILDREN = 3, NAMES = 5, ORDER = 1, ANSWER = 2 };
enum action { END, PUBLISH, UNPUBLISH, LOOKUP, GONE, ACCEPT, CONNECT, SPAWN, MERGE, TALK, PART };
/* How a process ends that has parted. */
enum way { FINALIZE, LATE, DIE, WAYS };

struct order {
    int action, step, name, job, root, count, way, number;
    char service[64];
};

struct answer {
    int class_;
    char port[MPI_MAX_PORT_NAME];
};

/* A process: its job is one of those that were started, or WORLD. */
enum { WORLD = -1 };
struct process {
    int job, rank;
};

struct options options = {.seed = 1, .steps = 60};
int world_rank, world_size, current_step;
const char *current_what = "start";

static char **arguments;
static MPI_Comm parent;
/* Of each job that was started; of one of these, the first is that with its parents. */
static MPI_Comm between[JOBS], merged[JOBS];
static char own_ports[NAMES][MPI_MAX_PORT_NAME];

void wrong(int step, const char *format, ...)
{
    va_list list;
    char text[500];
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "FAIL seed %llu, step %d, rank %d of %d%s: %s (%s)\n", (unsigned long long)options.seed, step, world_rank, world_size,
            parent == MPI_COMM_NULL ? "" : ", which was started", text, current_what);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

static void on_alarm(int signal)
{
    (void)signal;
    wrong(current_step, "hangs");
}

static int class_of(int code)
{
    int class_ = code;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class_);
    return class_;
}

/* What a process does when it is ordered to */

static void publish(const struct order *order, struct answer *answer)
{
    MPI_Open_port(MPI_INFO_NULL, answer->port);
    answer->class_ = class_of(MPI_Publish_name(order->service, MPI_INFO_NULL, answer->port));
    if (answer->class_ == MPI_SUCCESS)
        strcpy(own_ports[order->name], answer->port);
    else
        MPI_Close_port(answer->port);
}

static void unpublish(const struct order *order, struct answer *answer)
{
    answer->class_ = class_of(MPI_Unpublish_name(order->service, MPI_INFO_NULL, own_ports[order->name]));
    if (answer->class_ == MPI_SUCCESS)
        MPI_Close_port(own_ports[order->name]);
}

/* Two processes tell each other a number, and part. */
static void exchange(MPI_Comm comm, int number)
{
    int told = -1;
    MPI_Sendrecv(&number, 1, MPI_INT, 0, 3, &told, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
    if (told != number)
        wrong(current_step, "%d came for %d", told, number);
    MPI_Comm_disconnect(&comm);
}

static void meet(const struct order *order, struct answer *answer)
{
    MPI_Comm comm;
    int code;
    if (order->action == CONNECT) {
        code = MPI_Lookup_name(order->service, MPI_INFO_NULL, answer->port);
        if (code == MPI_SUCCESS)
            code = MPI_Comm_connect(answer->port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    } else {
        code = MPI_Comm_accept(own_ports[order->name], MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm);
    }
    answer->class_ = class_of(code);
    if (code == MPI_SUCCESS)
        exchange(comm, order->number);
}

static void start(const struct order *order)
{
    int codes[CHILDREN] = {-1, -1, -1}, is_root = world_rank == order->root, got;
    MPI_Info info;
    MPI_Info_create(&info);
    if (order->number % 2)
        MPI_Info_set(info, "map_by", "node");
    MPI_Comm_spawn(is_root ? arguments[0] : NULL, is_root ? arguments + 1 : NULL, is_root ? order->count : -1, is_root ? info : MPI_INFO_NULL,
                   order->root, MPI_COMM_WORLD, &between[order->job], codes);
    MPI_Info_free(&info);
    MPI_Comm_remote_size(between[order->job], &got);
    if (got != order->count)
        wrong(order->step, "%d processes were started of %d", got, order->count);
    for (int i = 0; i < order->count; i++)
        if (codes[i] != MPI_SUCCESS)
            wrong(order->step, "the code of process %d is %d", i, codes[i]);
}

static int sum_to(int size, int number)
{
    return size * number + size * (size - 1) / 2;
}

static void talk(const struct order *order, MPI_Comm inter, MPI_Comm all)
{
    int rank, size, sum = -1, value;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &size);
    value = order->number + rank;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
    if (sum != sum_to(size, order->number))
        wrong(order->step, "the sum of the others is %d", sum);
    if (all == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    value = order->number + rank;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 5, (rank + size - 1) % size, 5, all, MPI_STATUS_IGNORE);
    if (value != order->number + (rank + size - 1) % size)
        wrong(order->step, "%d came around", value);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, all);
    if (sum != sum_to(size, order->number))
        wrong(order->step, "the sum of all is %d", sum);
}

/* A process that is through may die while others are still in the call. */
static void leave(const struct order *order, MPI_Comm *comm)
{
    int code;
    if (*comm == MPI_COMM_NULL)
        return;
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    code = MPI_Comm_disconnect(comm);
    if (code != MPI_SUCCESS && !(order->way == DIE && class_of(code) == MPIX_ERR_PROC_FAILED))
        wrong(order->step, "parting has class %d", class_of(code));
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
}

static void part(const struct order *order, MPI_Comm *inter, MPI_Comm *all)
{
    leave(order, order->number % 2 ? inter : all);
    leave(order, order->number % 2 ? all : inter);
    if (parent == MPI_COMM_NULL)
        return;
    if (order->way == DIE)
        raise(SIGKILL);
    if (order->way == LATE)
        usleep(30000);
}

/* Whether an order is one of those that are answered. */
static int act(const struct order *order, struct answer *answer)
{
    static const char *const words[] = {"ending", "publishing", "taking a name back", "looking a name up", "waiting for a name to go", "accepting",
                                        "connecting", "spawning", "merging", "talking", "parting"};
    int at = parent == MPI_COMM_NULL ? order->job : 0;
    current_step = order->step;
    current_what = words[order->action];
    memset(answer, 0, sizeof *answer);
    switch (order->action) {
    case PUBLISH: publish(order, answer); return 1;
    case UNPUBLISH: unpublish(order, answer); return 1;
    case LOOKUP: answer->class_ = class_of(MPI_Lookup_name(order->service, MPI_INFO_NULL, answer->port)); return 1;
    case GONE:
        while (class_of(MPI_Lookup_name(order->service, MPI_INFO_NULL, answer->port)) != MPI_ERR_NAME)
            usleep(1000);
        return 1;
    case ACCEPT:
    case CONNECT: meet(order, answer); return 1;
    case SPAWN: start(order); return 0;
    case MERGE: MPI_Intercomm_merge(between[at], (parent == MPI_COMM_NULL) == order->number % 2, &merged[at]); return 0;
    case TALK: talk(order, between[at], merged[at]); return 0;
    case PART: part(order, &between[at], &merged[at]); return 0;
    default: return 0;
    }
}

static void serve(void)
{
    MPI_Comm conductor = parent == MPI_COMM_NULL ? MPI_COMM_WORLD : parent;
    struct order order;
    struct answer answer;
    do {
        MPI_Recv(&order, sizeof order, MPI_BYTE, 0, ORDER, conductor, MPI_STATUS_IGNORE);
        if (act(&order, &answer))
            MPI_Send(&answer, sizeof answer, MPI_BYTE, 0, ANSWER, conductor);
    } while (order.action != END && !(order.action == PART && parent != MPI_COMM_NULL));
}

/* What rank 0 knows, and orders */

static struct stream dice;
static struct {
    int count, is_merged;
} jobs[JOBS];
static struct {
    int is_published;
    struct process owner;
    char port[MPI_MAX_PORT_NAME];
} names[NAMES];

static MPI_Comm comm_with(struct process who)
{
    return who.job == WORLD ? MPI_COMM_WORLD : between[who.job];
}

static int is_conductor(struct process who)
{
    return who.job == WORLD && who.rank == 0;
}

static int is_same(struct process one, struct process other)
{
    return one.job == other.job && one.rank == other.rank;
}

static struct order new_order(enum action action, int name)
{
    struct order order = {.action = action, .step = current_step, .name = name, .number = (int)below(&dice, 1000)};
    snprintf(order.service, sizeof order.service, "meetings %d, %d", (int)getpid(), name);
    return order;
}

static void send_order(struct process who, const struct order *order)
{
    MPI_Send(order, sizeof *order, MPI_BYTE, who.rank, ORDER, comm_with(who));
}

/* Orders several processes to do something each, and has their answers. */
static void ask(int n, const struct process *who, const struct order *orders, struct answer *answers)
{
    for (int i = 0; i < n; i++)
        if (!is_conductor(who[i]))
            send_order(who[i], &orders[i]);
    for (int i = 0; i < n; i++)
        if (is_conductor(who[i]))
            act(&orders[i], &answers[i]);
    for (int i = 0; i < n; i++)
        if (!is_conductor(who[i]))
            MPI_Recv(&answers[i], sizeof *answers, MPI_BYTE, who[i].rank, ANSWER, comm_with(who[i]), MPI_STATUS_IGNORE);
}

/* Orders the world, and a job unless it is WORLD, to do something together. */
static void together(const struct order *order, int job)
{
    struct answer unused;
    for (int rank = 1; rank < world_size; rank++)
        send_order((struct process){WORLD, rank}, order);
    for (int rank = 0; job != WORLD && rank < jobs[job].count; rank++)
        send_order((struct process){job, rank}, order);
    act(order, &unused);
}

static struct process any_process(void)
{
    int job = (int)below(&dice, 2 * JOBS);
    if (job < JOBS && jobs[job].count > 0)
        return (struct process){job, (int)below(&dice, jobs[job].count)};
    return (struct process){WORLD, (int)below(&dice, world_size)};
}

static void expect(const struct answer *answer, int class_, const char *what, int name)
{
    if (answer->class_ != class_)
        wrong(current_step, "%s name %d has class %d, and not %d", what, name, answer->class_, class_);
}

static void name_step(void)
{
    int name = (int)below(&dice, NAMES), action = PUBLISH + (int)below(&dice, 3), is_there = names[name].is_published;
    struct process who = is_there && below(&dice, 2) ? names[name].owner : any_process();
    struct order order = new_order(action, name);
    struct answer answer;
    ask(1, &who, &order, &answer);
    if (action == PUBLISH) {
        expect(&answer, is_there ? MPI_ERR_SERVICE : MPI_SUCCESS, "publishing", name);
        if (!is_there) {
            names[name].is_published = 1;
            names[name].owner = who;
            strcpy(names[name].port, answer.port);
        }
    } else if (action == UNPUBLISH) {
        int is_own = is_there && is_same(who, names[name].owner);
        expect(&answer, is_own ? MPI_SUCCESS : MPI_ERR_SERVICE, "taking back", name);
        names[name].is_published = is_there && !is_own;
    } else {
        expect(&answer, is_there ? MPI_SUCCESS : MPI_ERR_NAME, "looking up", name);
        if (is_there && strcmp(answer.port, names[name].port) != 0)
            wrong(current_step, "name %d has another port", name);
    }
}

static void meet_step(void)
{
    int name = (int)below(&dice, NAMES);
    struct process who[2] = {names[name].owner, any_process()};
    if (!names[name].is_published || is_same(who[0], who[1]))
        return;
    struct order orders[2] = {new_order(ACCEPT, name), new_order(CONNECT, name)};
    struct answer answers[2];
    orders[1].number = orders[0].number;
    ask(2, who, orders, answers);
    expect(&answers[0], MPI_SUCCESS, "accepting by", name);
    expect(&answers[1], MPI_SUCCESS, "connecting by", name);
}

/* The names of processes that have ended are gone for all. */
static void see_names_go(int job)
{
    for (int name = 0; name < NAMES; name++) {
        if (!names[name].is_published || names[name].owner.job != job)
            continue;
        struct process who[MAX_RANKS];
        struct order orders[MAX_RANKS];
        struct answer answers[MAX_RANKS];
        for (int rank = 0; rank < world_size; rank++) {
            who[rank] = (struct process){WORLD, rank};
            orders[rank] = new_order(GONE, name);
        }
        ask(world_size, who, orders, answers);
        names[name].is_published = 0;
    }
}

static void part_from(int job)
{
    struct order order = new_order(PART, 0);
    order.job = job;
    order.way = (int)below(&dice, WAYS);
    together(&order, job);
    jobs[job].count = jobs[job].is_merged = 0;
    see_names_go(job);
}

static void job_step(void)
{
    int job = (int)below(&dice, JOBS), what = (int)below(&dice, 5);
    struct order order = new_order(TALK, 0);
    order.job = job;
    if (jobs[job].count == 0) {
        order.action = SPAWN;
        order.root = (int)below(&dice, world_size);
        order.count = 1 + (int)below(&dice, CHILDREN);
        together(&order, WORLD);
        jobs[job].count = order.count;
    } else if (what == 0) {
        part_from(job);
    } else {
        if (what == 1 && !jobs[job].is_merged) {
            order.action = MERGE;
            jobs[job].is_merged = 1;
        }
        together(&order, job);
    }
}

static void conduct(void)
{
    dice = common(0, 1);
    for (int step = 0; step < options.steps; step++) {
        int kind = (int)below(&dice, 5);
        current_step = step;
        kind < 2 ? name_step() : kind == 2 ? meet_step() : job_step();
    }
    for (int job = 0; job < JOBS; job++)
        if (jobs[job].count > 0)
            part_from(job);
    struct order order = new_order(END, 0);
    together(&order, WORLD);
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        unsigned long long n;
        if (sscanf(argv[i], "seed=%llu", &n) == 1)
            options.seed = n;
        else if (sscanf(argv[i], "steps=%llu", &n) == 1)
            options.steps = (int)n;
        else if (sscanf(argv[i], "alarm=%llu", &n) == 1)
            options.alarm = (int)n;
    }
}

int main(int argc, char **argv)
{
    arguments = argv;
    read_options(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_get_parent(&parent);
    signal(SIGALRM, on_alarm);
    alarm(options.alarm);
    if (world_size > MAX_RANKS)
        wrong(0, "more than %d processes", MAX_RANKS);
    for (int job = 0; job < JOBS; job++)
        between[job] = merged[job] = MPI_COMM_NULL;
    between[0] = parent;
    if (parent == MPI_COMM_NULL && world_rank == 0)
        conduct();
    else
        serve();
    current_what = "finalizing";
    MPI_Finalize();
    if (parent == MPI_COMM_NULL && world_rank == 0)
        puts("ok");
    return 0;
}
