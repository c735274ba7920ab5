/* Threads at random. Several threads a rank exchange on communicators of their own and on a shared one, with other
 * ranks and with each other; they wait for what other threads cancel, make ready or complete. All threads of all ranks
 * go through the same steps, each at its own pace.
 *
 * With level=single, funneled or serialized the main thread exchanges alone, while the others call what the standard
 * (MPI-5.0, 11.4.1) allows from any thread at any time.
 *
 * usage: threads [seed=N] [steps=N] [first=N] [threads=N] [level=NAME] [without=KIND,…] [alarm=SECONDS]
 *
 * KINDs are those of `names`, and what the others call at lower levels: anytime, sessions, tools.
 *
 * Ends with "ok" from rank 0, or with a message that names seed and step, and a status that is not 0. */
#include "random.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum { MOST_THREADS = 8, LONG = 60000 };

enum {
    RING, TAGS, INSIDE, TOKEN, CANCELLED, READIED, GENERALIZED, TOGETHER, COMMUNICATORS, WAKE, STEP_KINDS
};
static const char *const names[STEP_KINDS] = {"ring",    "tags",        "inside",   "token",         "cancelled",
                                              "readied", "generalized", "together", "communicators", "wake"};

struct options options = {.seed = 1, .steps = 200};
int world_rank, world_size, current_step;
const char *current_what = "start";

static int threads = 3, level = MPI_THREAD_MULTIPLE, forbidden[STEP_KINDS], at[MOST_THREADS], no_anytime, no_sessions, no_tools;
static MPI_Comm own[MOST_THREADS], shared, each[MOST_THREADS];

void wrong(int step, const char *format, ...)
{
    va_list arguments;
    char text[500];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "FAIL seed %llu, step %d, rank %d of %d: %s\n", (unsigned long long)options.seed, step, world_rank,
            world_size, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

/* A message's numbers, by step, sender and receiver. */
static int number(int step, int from, int to, int i)
{
    return (int)(hash(step, (uint64_t)from * 1000 + to, i, 9) >> 40);
}

static int length(int step, int thread)
{
    uint64_t h = hash(step, thread, 5, 5);
    return h % 4 ? 1 + (int)(h / 4 % 20) : h % 8 ? 1 + (int)(h / 8 % 4000) : LONG / 4 + (int)(h / 8 % (3 * LONG / 4));
}

static void fill(int *data, int n, int step, int from, int to)
{
    int i;
    for (i = 0; i < n; i++)
        data[i] = number(step, from, to, i);
}

static void check(const int *data, int n, int step, int from, int to, const char *what, int thread)
{
    int i;
    for (i = 0; i < n; i++)
        if (data[i] != number(step, from, to, i))
            wrong(step, "thread %d, %s: number %d of %d is wrong", thread, what, i, n);
}

/* With the neighbours of this thread's number, on the thread's own communicator. */
static void ring(int step, int t, struct stream *s)
{
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size, n = length(step, t), flag;
    int *out = get(sizeof(int) * n), *in = get(sizeof(int) * n);
    MPI_Request r[2];
    fill(out, n, step, world_rank * 10 + t, next * 10 + t);
    if (chance(s, 50)) {
        MPI_Irecv(in, n, MPI_INT, chance(s, 50) ? previous : MPI_ANY_SOURCE, 1, own[t], &r[0]);
        MPI_Isend(out, n, MPI_INT, next, 1, own[t], &r[1]);
        if (chance(s, 30))
            for (MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE); !flag; MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE))
                sched_yield();
        else
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    } else {
        MPI_Sendrecv(out, n, MPI_INT, next, 1, in, n, MPI_INT, previous, 1, own[t], MPI_STATUS_IGNORE);
    }
    check(in, n, step, previous * 10 + t, world_rank * 10 + t, "ring", t);
    free(out);
    free(in);
}

/* On the shared communicator, each with a tag of its own; received by number, by probe or by matched probe. */
static void tags(int step, int t, struct stream *s)
{
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size, n = length(step, t), got;
    int *out = get(sizeof(int) * n), *in = get(sizeof(int) * n), tag = 10 + t;
    MPI_Request r;
    MPI_Status status;
    MPI_Message message;
    fill(out, n, step, world_rank * 10 + t, next * 10 + t);
    if (chance(s, 50))
        MPI_Isend(out, n, MPI_INT, next, tag, shared, &r);
    else
        MPI_Issend(out, n, MPI_INT, next, tag, shared, &r);
    switch (below(s, 4)) {
    case 0: MPI_Recv(in, n, MPI_INT, MPI_ANY_SOURCE, tag, shared, &status); break;
    case 1:
        MPI_Probe(MPI_ANY_SOURCE, tag, shared, &status);
        MPI_Recv(in, n, MPI_INT, status.MPI_SOURCE, tag, shared, &status);
        break;
    case 2:
        MPI_Mprobe(MPI_ANY_SOURCE, tag, shared, &message, &status);
        MPI_Mrecv(in, n, MPI_INT, &message, &status);
        break;
    default:
        for (got = 0; !got;) {
            MPI_Improbe(previous, tag, shared, &got, &message, &status);
            sched_yield();
        }
        MPI_Mrecv(in, n, MPI_INT, &message, &status);
    }
    MPI_Get_count(&status, MPI_INT, &got);
    if (got != n || status.MPI_SOURCE != previous)
        wrong(step, "thread %d, tags: %d numbers from %d, not %d from %d", t, got, status.MPI_SOURCE, n, previous);
    check(in, n, step, previous * 10 + t, world_rank * 10 + t, "tags", t);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    free(out);
    free(in);
}

/* Threads of one rank send to each other; each receives from the one before it. */
static void inside(int step, int t, struct stream *s)
{
    int next = (t + 1) % threads, previous = (t + threads - 1) % threads, n = length(step, 50 + world_rank);
    int *out = get(sizeof(int) * n), *in = get(sizeof(int) * n);
    MPI_Request r;
    fill(out, n, step, world_rank * 10 + t, world_rank * 10 + next);
    if (t % 2 && chance(s, 50)) {
        MPI_Recv(in, n, MPI_INT, world_rank, 100 + previous, shared, MPI_STATUS_IGNORE);
        MPI_Ssend(out, n, MPI_INT, world_rank, 100 + t, shared);
    } else {
        MPI_Irecv(in, n, MPI_INT, world_rank, 100 + previous, shared, &r);
        MPI_Send(out, n, MPI_INT, world_rank, 100 + t, shared);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    check(in, n, step, world_rank * 10 + previous, world_rank * 10 + t, "inside", t);
    free(out);
    free(in);
}

/* A token goes round all threads of all ranks in an order that changes with the step: most sleep most of the time. */
static void token(int step, int t, struct stream *s)
{
    int all = threads * world_size, order[MOST_THREADS * MAX_RANKS], me = 0, i, value = 0, round, rounds;
    struct stream c = common(step, 7);
    (void)s;
    for (i = 0; i < all; i++)
        order[i] = i;
    shuffle(&c, order, all);
    rounds = 1 + (int)below(&c, 20);
    while (order[me] != world_rank * threads + t)
        me++;
    for (round = 0; round < rounds; round++) {
        int from = order[(me + all - 1) % all], to = order[(me + 1) % all], tag = 1000 + step % 1000 * 8;
        if (me == 0) {
            value = step * 1000 + round;
            MPI_Send(&value, 1, MPI_INT, to / threads, tag + to % threads, shared);
        }
        MPI_Recv(&value, 1, MPI_INT, from / threads, tag + t, shared, MPI_STATUS_IGNORE);
        if (value != step * 1000 + round)
            wrong(step, "thread %d, token: %d in round %d", t, value, round);
        if (me)
            MPI_Send(&value, 1, MPI_INT, to / threads, tag + to % threads, shared);
    }
}

/* Two threads of a rank that hand a request to each other. */
static struct pair {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int step;
    MPI_Request request;
} pairs[MOST_THREADS];

static void give(struct pair *p, int step, MPI_Request request)
{
    pthread_mutex_lock(&p->lock);
    p->request = request;
    p->step = step;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static MPI_Request take(struct pair *p, int step)
{
    MPI_Request request;
    pthread_mutex_lock(&p->lock);
    while (p->step != step)
        pthread_cond_wait(&p->changed, &p->lock);
    request = p->request;
    pthread_mutex_unlock(&p->lock);
    return request;
}

/* So that the other thread is asleep, or about to be. */
static void pause_a_little(struct stream *s)
{
    static const int times[] = {0, 0, 20, 200, 1500, 4000};
    int us = times[below(s, 6)];
    if (us)
        usleep(us);
}

/* The second thread of a pair cancels a receive that the first waits for. */
static void cancelled(int step, int t, struct stream *s)
{
    struct pair *p = &pairs[t / 2];
    MPI_Request r;
    MPI_Status status;
    int never = -1, flag;
    if (t % 2 == 0) {
        MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 300 + t, shared, &r);
        give(p, step, r);
        MPI_Wait(&r, &status);
        MPI_Test_cancelled(&status, &flag);
        if (!flag || never != -1)
            wrong(step, "thread %d: a receive was not cancelled", t);
    } else {
        r = take(p, step);
        pause_a_little(s);
        MPI_Cancel(&r);
    }
}

/* The second thread of a pair makes ready what the first waits for. */
static void readied(int step, int t, struct stream *s)
{
    struct pair *p = &pairs[t / 2];
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size, parts = 1 + step % 5, i;
    int n = 100 + step % 7 * 500;
    MPI_Request r[2];
    if (t % 2 == 0) {
        int *out = get(sizeof(int) * n * parts), *in = get(sizeof(int) * n * parts);
        fill(out, n * parts, step, world_rank * 10 + t, next * 10 + t);
        MPI_Psend_init(out, parts, n, MPI_INT, next, 400 + t, own[t], MPI_INFO_NULL, &r[0]);
        MPI_Precv_init(in, parts, n, MPI_INT, previous, 400 + t, own[t], MPI_INFO_NULL, &r[1]);
        MPI_Startall(2, r);
        give(p, step, r[0]);
        if (step % 2)
            MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        else
            for (i = 0; i < 2; i++)
                MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        check(in, n * parts, step, previous * 10 + t, world_rank * 10 + t, "readied", t);
        /* The other thread may still be inside its last call. */
        take(p, -step - 1);
        MPI_Request_free(&r[0]);
        MPI_Request_free(&r[1]);
        free(out);
        free(in);
    } else {
        r[0] = take(p, step);
        for (i = 0; i < parts; i++) {
            pause_a_little(s);
            MPI_Pready(i, r[0]);
        }
        give(p, -step - 1, MPI_REQUEST_NULL);
    }
}

static int query(void *state, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, *(int *)state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int no_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

/* The second thread of a pair completes a generalized request that the first waits for. */
static void generalized(int step, int t, struct stream *s)
{
    struct pair *p = &pairs[t / 2];
    MPI_Request r;
    MPI_Status status;
    int state = step % 50, count;
    if (t % 2 == 0) {
        MPI_Grequest_start(query, nothing, no_cancel, &state, &r);
        give(p, step, r);
        MPI_Wait(&r, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        if (count != state)
            wrong(step, "thread %d: a generalized request has %d numbers, not %d", t, count, state);
    } else {
        r = take(p, step);
        pause_a_little(s);
        MPI_Grequest_complete(r);
    }
}

/* Collectives on the thread's own communicator. */
static void together(int step, int t, struct stream *s)
{
    int mine = world_rank + step, sum = -1, i, all[MAX_RANKS], round;
    MPI_Request r;
    struct stream c = common(step, 20 + t);
    (void)s;
    for (round = 0; round < 8; round++)
        switch (below(&c, 4)) {
        case 0:
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, own[t]);
            if (sum != world_size * step + world_size * (world_size - 1) / 2)
                wrong(step, "thread %d: a sum is %d", t, sum);
            break;
        case 1:
            MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, own[t], &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            for (i = 0; i < world_size; i++)
                if (all[i] != i + step)
                    wrong(step, "thread %d: gathered %d from %d", t, all[i], i);
            break;
        case 2:
            sum = world_rank == step % world_size ? step * 3 : 0;
            MPI_Bcast(&sum, 1, MPI_INT, step % world_size, own[t]);
            if (sum != step * 3)
                wrong(step, "thread %d: broadcast %d", t, sum);
            break;
        default: MPI_Ibarrier(own[t], &r); MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
}

/* A tag of this thread's own for one communicator: of any size. */
static int tag_of(struct stream *c, int t)
{
    return (int)(below(c, 1 << 20) << (below(c, 2) ? 7 : 0)) << 4 | t;
}

/* The two halves of a communicator of the thread's own, joined over the shared one. */
static MPI_Comm joined(struct stream *c, int t)
{
    MPI_Comm half, between, made;
    int tag = tag_of(c, t), merge = (int)below(c, 2);
    MPI_Comm_split(own[t], world_rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, shared, 1 - world_rank % 2, tag, &between);
    MPI_Comm_free(&half);
    if (!merge)
        return between;
    MPI_Intercomm_merge(between, world_rank % 2, &made);
    MPI_Comm_free(&between);
    return made;
}

/* Of those ranks of `comm` that the common stream names, which need not have this one. */
static MPI_Comm of_some(struct stream *c, int t, MPI_Comm comm)
{
    int members[MAX_RANKS], n = 0, i, all = chance(c, 40), tag;
    MPI_Group world, group;
    MPI_Comm made = MPI_COMM_NULL;
    char name[60];
    for (i = 0; i < world_size; i++)
        if (all || chance(c, 60))
            members[n++] = i;
    shuffle(c, members, n);
    tag = tag_of(c, t);
    MPI_Comm_group(comm, &world);
    MPI_Group_incl(world, n, members, &group);
    MPI_Group_rank(group, &i);
    if (chance(c, 70)) {
        MPI_Comm_create_group(comm, group, tag, &made);
    } else if (i != MPI_UNDEFINED) {
        snprintf(name, sizeof name, "org.alhena.%d.%d", tag, t);
        MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    }
    if (group != MPI_GROUP_EMPTY)
        MPI_Group_free(&group);
    MPI_Group_free(&world);
    return made;
}

static void works(int step, int t, MPI_Comm made)
{
    int sum = 0, one = 1, size, inter;
    MPI_Comm_test_inter(made, &inter);
    if (inter)
        MPI_Comm_remote_size(made, &size);
    else
        MPI_Comm_size(made, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
    if (sum != size)
        wrong(step, "thread %d: a communicator of %d sums to %d", t, size, sum);
}

/* Communicators made and freed by several threads at once, in all ways, some while others of the thread are on their way,
 * or before they are used, or while a receive waits in one that is gone. */
static void communicators(int step, int t, struct stream *s)
{
    enum { MOST = 4 };
    MPI_Comm made[MOST], gone;
    MPI_Request r[MOST], old;
    int n, i, word = -1, pending = 0;
    struct stream c = common(step, 30 + t);
    if (chance(&c, 30)) {
        MPI_Comm_dup(own[t], &gone);
        MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, gone, &old);
        MPI_Comm_free(&gone);
        pending = 1;
    }
    n = 1 + (int)below(&c, MOST);
    for (i = 0; i < n; i++) {
        r[i] = MPI_REQUEST_NULL;
        switch (below(&c, 6)) {
        case 0: MPI_Comm_dup(own[t], &made[i]); break;
        case 1: MPI_Comm_split(own[t], world_rank % 2, 0, &made[i]); break;
        case 2:
            if (world_size > 1) {
                made[i] = joined(&c, t);
                break;
            } /* fall through */
        case 3: MPI_Comm_idup(own[t], &made[i], &r[i]); break;
        default: made[i] = of_some(&c, t, chance(&c, 50) ? shared : own[t]);
        }
    }
    pause_a_little(s);
    for (i = n; i-- > 0;) {
        int used = chance(&c, 80);
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
        if (made[i] == MPI_COMM_NULL)
            continue;
        if (used)
            works(step, t, made[i]);
        MPI_Comm_free(&made[i]);
    }
    if (pending) {
        MPI_Cancel(&old);
        MPI_Wait(&old, MPI_STATUS_IGNORE);
        if (word != -1)
            wrong(step, "thread %d: a receive of a communicator that is gone got %d", t, word);
    }
}

/* One thread waits while the others go in and out: what completes must wake the one that sleeps on it. */
static void wake(int step, int t, struct stream *s)
{
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size, i, in = -1, out = step, flag;
    if (t == 0) {
        MPI_Request r;
        MPI_Irecv(&in, 1, MPI_INT, previous, 500, shared, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (in != step)
            wrong(step, "a message of step %d came", in);
    } else if (t == 1) {
        pause_a_little(s);
        MPI_Send(&out, 1, MPI_INT, next, 500, shared);
    } else {
        for (i = 0; i < 30; i++) {
            MPI_Iprobe(MPI_ANY_SOURCE, 501, each[t], &flag, MPI_STATUS_IGNORE);
            if (i % 10 == 0)
                pause_a_little(s);
        }
    }
}

static void *work(void *argument)
{
    static void (*const steps[STEP_KINDS])(int, int, struct stream *) = {
        ring, tags, inside, token, cancelled, readied, generalized, together, communicators, wake,
    };
    int t = (int)(long)argument, step;
    for (step = options.first; step < options.first + options.steps; step++) {
        struct stream c = common(step, 1), s = local(step, 10 + t);
        int kind = (int)below(&c, STEP_KINDS), paired = kind == CANCELLED || kind == READIED || kind == GENERALIZED;
        at[t] = step;
        if (forbidden[kind] || (kind == INSIDE && threads < 2) || (kind == WAKE && threads < 2))
            continue;
        if (paired && t == threads - 1 && threads % 2)
            kind = RING;
        if (kind == RING && paired && forbidden[RING])
            continue;
        steps[kind](step, t, &s);
    }
    return NULL;
}

/* What any thread may call at any time. */
static int going = 1;

static void *anytime(void *argument)
{
    int flag, major, minor, size;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], value[20];
    unsigned done = 0;
    (void)argument;
    while (__atomic_load_n(&going, __ATOMIC_RELAXED)) {
        MPI_Info info;
        MPI_Session session;
        MPI_Initialized(&flag);
        MPI_Finalized(&flag);
        MPI_Query_thread(&size);
        MPI_Is_thread_main(&flag);
        if (flag)
            wrong(0, "a second thread is the main thread");
        MPI_Get_version(&major, &minor);
        MPI_Get_library_version(text, &size);
        MPI_Info_create(&info);
        MPI_Info_set(info, "key", "value");
        size = sizeof value;
        MPI_Info_get_string(info, "key", &size, value, &flag);
        if (!flag || strcmp(value, "value"))
            wrong(0, "an info lost its value");
        MPI_Info_free(&info);
        MPI_Error_class(MPI_ERR_TAG, &flag);
        MPI_Error_string(MPI_ERR_TAG, text, &size);
        if (!no_sessions) {
            MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
            MPI_Session_get_num_psets(session, MPI_INFO_NULL, &size);
            MPI_Session_finalize(&session);
        }
        if (!no_tools) {
            MPI_T_init_thread(MPI_THREAD_MULTIPLE, &size);
            MPI_T_cvar_get_num(&size);
            MPI_T_finalize();
        }
        if (++done % 16 == 0)
            usleep(50);
    }
    return NULL;
}

/* What the only thread does in a step. */
static int kind_alone(int step)
{
    static const int kinds[5] = {TAGS, TOGETHER, COMMUNICATORS, RING, RING};
    struct stream c = common(step, 2);
    return kinds[below(&c, 5)];
}

static void alone(void)
{
    int t, step;
    pthread_t helpers[MOST_THREADS];
    /* A session may change how a library locks from then on. */
    no_sessions |= hash(0, 0, 0, 4) % 2;
    no_tools |= hash(0, 0, 0, 5) % 3 == 0;
    for (t = 1; t < threads && !no_anytime; t++)
        pthread_create(&helpers[t], NULL, anytime, NULL);
    for (step = options.first; step < options.first + options.steps; step++) {
        struct stream s = local(step, 10);
        at[0] = step;
        switch (kind_alone(step)) {
        case TAGS: tags(step, 0, &s); break;
        case TOGETHER: together(step, 0, &s); break;
        case COMMUNICATORS: communicators(step, 0, &s); break;
        default: ring(step, 0, &s);
        }
    }
    __atomic_store_n(&going, 0, __ATOMIC_RELAXED);
    for (t = 1; t < threads && !no_anytime; t++)
        pthread_join(helpers[t], NULL);
}

void *get(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    if (memory == NULL)
        wrong(0, "no memory for %zu bytes", bytes);
    return memory;
}

void shuffle(struct stream *s, int *items, int n)
{
    int i;
    for (i = n - 1; i > 0; i--) {
        int k = (int)below(s, i + 1), item = items[i];
        items[i] = items[k];
        items[k] = item;
    }
}

static void on_alarm(int signal)
{
    char line[300];
    int n = snprintf(line, sizeof line, "rank %d:", world_rank), t;
    (void)signal;
    for (t = 0; t < (level == MPI_THREAD_MULTIPLE ? threads : 1) && n < 250; t++) {
        struct stream c = common(at[t], 1);
        int kind = level == MPI_THREAD_MULTIPLE ? (int)below(&c, STEP_KINDS) : kind_alone(at[t]);
        n += snprintf(line + n, sizeof line - n, " thread %d in step %d, %s;", t, at[t], names[kind]);
    }
    line[n++] = '\n';
    if (write(2, line, n) < 0)
        return;
}

static void read_options(int argc, char **argv)
{
    static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
    static const int values[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    int i, k;
    for (i = 1; i < argc; i++) {
        unsigned long long n;
        if (sscanf(argv[i], "seed=%llu", &n) == 1)
            options.seed = n;
        else if (sscanf(argv[i], "steps=%llu", &n) == 1)
            options.steps = (int)n;
        else if (sscanf(argv[i], "first=%llu", &n) == 1)
            options.first = (int)n;
        else if (sscanf(argv[i], "threads=%llu", &n) == 1 && n > 0 && n <= MOST_THREADS)
            threads = (int)n;
        else if (sscanf(argv[i], "alarm=%llu", &n) == 1)
            options.alarm = (int)n;
        else if (strncmp(argv[i], "level=", 6) == 0)
            for (k = 0; k < 4; k++)
                level = strcmp(argv[i] + 6, levels[k]) ? level : values[k];
        else if (strncmp(argv[i], "without=", 8) == 0) {
            for (k = 0; k < STEP_KINDS; k++)
                forbidden[k] = strstr(argv[i] + 8, names[k]) != NULL;
            no_anytime = strstr(argv[i] + 8, "anytime") != NULL;
            no_sessions = strstr(argv[i] + 8, "sessions") != NULL;
            no_tools = strstr(argv[i] + 8, "tools") != NULL;
        } else {
            fprintf(stderr, "FAIL unknown option %s\n", argv[i]);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    pthread_t thread[MOST_THREADS];
    int provided;
    long t;
    read_options(argc, argv);
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (provided < level || world_size > MAX_RANKS)
        wrong(0, "level %d is provided, %d processes", provided, world_size);
    signal(SIGALRM, on_alarm);
    alarm(options.alarm);
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (t = 0; t < threads; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
        MPI_Comm_dup(MPI_COMM_SELF, &each[t]);
        pthread_mutex_init(&pairs[t].lock, NULL);
        pthread_cond_init(&pairs[t].changed, NULL);
        pairs[t].step = -1000000;
    }
    if (level == MPI_THREAD_MULTIPLE) {
        for (t = 1; t < threads; t++)
            pthread_create(&thread[t], NULL, work, (void *)t);
        work(NULL);
        for (t = 1; t < threads; t++)
            pthread_join(thread[t], NULL);
    } else {
        alone();
    }
    for (t = 0; t < threads; t++) {
        MPI_Comm_free(&own[t]);
        MPI_Comm_free(&each[t]);
    }
    MPI_Comm_free(&shared);
    MPI_Finalize();
    if (world_rank == 0)
        puts("ok");
    return 0;
}
