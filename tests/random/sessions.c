/* A seeded legal program of processes that come and go: in each step some of them meet in a communicator that comes from
 * sessions of theirs, talk, and part; sessions are opened and finalized at any time, processes leave MPI and come back,
 * and some end long before others. What a step does depends on the seed and its number alone; when a process opens and
 * finalizes sessions is its own choice.
 *
 * usage: sessions [seed=N] [steps=N] [first=N] [largest=BYTES] [alarm=SECONDS]
 *
 * Ends with "ok" from rank 0, which stays to the end, or with a message that names seed and step, and a status that is not 0. */
#include "random.h"
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

enum { MOST_SESSIONS = 4 };

struct options options = {.seed = 1, .steps = 100, .largest = 200000};
int world_rank, world_size, current_step;
const char *current_what = "start";

static MPI_Session open_ones[MOST_SESSIONS];
static int count;

void wrong(int step, const char *format, ...)
{
    va_list arguments;
    char text[500];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "FAIL seed %llu, step %d, rank %d of %d: %s (%s)\n", (unsigned long long)options.seed, step, world_rank,
            world_size, text, current_what);
    fflush(stderr);
    _exit(1);
}

void *get(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    if (memory == NULL)
        wrong(current_step, "no memory for %zu bytes", bytes);
    return memory;
}

void shuffle(struct stream *s, int *items, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)below(s, i + 1), item = items[i];
        items[i] = items[k];
        items[k] = item;
    }
}

static void on_alarm(int signal)
{
    (void)signal;
    wrong(current_step, "hangs");
}

static void open_one(void)
{
    if (count < MOST_SESSIONS)
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &open_ones[count++]);
}

static void close_one(int which)
{
    MPI_Session_finalize(&open_ones[which]);
    open_ones[which] = open_ones[--count];
}

/* The last step of a rank. */
static int last_of(int rank)
{
    struct stream s = common(0, 1000 + rank);
    int steps = rank == 0 || below(&s, 2) ? options.steps : (int)below(&s, options.steps);
    return options.first + steps;
}

static void fill(unsigned char *bytes, long length, int step, int from, int to)
{
    uint64_t word = hash(step, from, to, 0);
    for (long i = 0; i < length; i++)
        bytes[i] = (unsigned char)(word >> (i % 8 * 8)) + (unsigned char)(i / 8);
}

static void check(const unsigned char *bytes, long length, int step, int from, int to)
{
    unsigned char *expected = get(length);
    fill(expected, length, step, from, to);
    if (memcmp(bytes, expected, length) != 0)
        wrong(step, "other bytes came from %d", from);
    free(expected);
}

/* The first member's last act is a message to each of the others. */
static void give(MPI_Comm comm, struct stream *s, int step, int rank, int size)
{
    long length = below(s, 4) ? below(s, 2000) : below(s, options.largest);
    int buffered = below(s, 3) == 0;
    unsigned char *bytes = get(length);
    if (rank == 0) {
        if (buffered)
            MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
        for (int to = 1; to < size; to++) {
            fill(bytes, length, step, 0, to);
            if (buffered)
                MPI_Bsend(bytes, (int)length, MPI_BYTE, to, step % 1000, comm);
            else
                MPI_Send(bytes, (int)length, MPI_BYTE, to, step % 1000, comm);
        }
    } else {
        MPI_Recv(bytes, (int)length, MPI_BYTE, 0, step % 1000, comm, MPI_STATUS_IGNORE);
        check(bytes, length, step, 0, rank);
    }
    free(bytes);
}

static void ring(MPI_Comm comm, struct stream *s, int step, int rank, int size)
{
    long length = below(s, 4) ? below(s, 2000) : below(s, options.largest);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    unsigned char *out = get(length), *in = get(length);
    fill(out, length, step, rank, to);
    MPI_Sendrecv(out, (int)length, MPI_BYTE, to, 1, in, (int)length, MPI_BYTE, from, 1, comm, MPI_STATUS_IGNORE);
    check(in, length, step, from, rank);
    free(out);
    free(in);
}

static void add_up(MPI_Comm comm, int step, int rank, int size)
{
    long long sum = 0, value = rank + step;
    MPI_Comm copy;
    MPI_Comm_dup(comm, &copy);
    MPI_Allreduce(&value, &sum, 1, MPI_LONG_LONG, MPI_SUM, copy);
    if (sum != (long long)size * step + (long long)size * (size - 1) / 2)
        wrong(step, "the sum is %lld", sum);
    MPI_Comm_free(&copy);
}

/* One step of those that take part in it. */
static void meet(int step, const int *members, int size, struct stream *s)
{
    struct stream mine = local(step, 2);
    char name[32];
    int rank, got, what = (int)below(s, 4), parts = (int)below(s, 3);
    MPI_Group all, group;
    MPI_Comm comm;
    if (count == 0 || below(&mine, 5) == 0)
        open_one();
    MPI_Group_from_session_pset(open_ones[below(&mine, count)], "mpi://WORLD", &all);
    MPI_Group_incl(all, size, members, &group);
    snprintf(name, sizeof name, "step %d", step);
    current_what = "making a communicator";
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&all);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &got);
    if (got != size || members[rank] != world_rank)
        wrong(step, "rank %d of %d in a communicator of %d", rank, got, size);
    current_what = "talking";
    if (what & 1)
        ring(comm, s, step, rank, size);
    if (what & 2)
        add_up(comm, step, rank, size);
    if (parts == 0) {
        give(comm, s, step, rank, size);
        current_what = "leaving after a message";
        MPI_Comm_free(&comm);
        while (rank == 0 && count > 0)
            close_one(0);
        return;
    }
    current_what = "parting";
    if (parts == 1)
        MPI_Comm_disconnect(&comm);
    else
        MPI_Comm_free(&comm);
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        unsigned long long n;
        if (sscanf(argv[i], "seed=%llu", &n) == 1)
            options.seed = n;
        else if (sscanf(argv[i], "steps=%llu", &n) == 1)
            options.steps = (int)n;
        else if (sscanf(argv[i], "first=%llu", &n) == 1)
            options.first = (int)n;
        else if (sscanf(argv[i], "largest=%llu", &n) == 1)
            options.largest = n;
        else if (sscanf(argv[i], "alarm=%llu", &n) == 1)
            options.alarm = (int)n;
        else {
            fprintf(stderr, "FAIL unknown option %s\n", argv[i]);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Group all;
    read_options(argc, argv);
    signal(SIGALRM, on_alarm);
    alarm(options.alarm);
    open_one();
    MPI_Group_from_session_pset(open_ones[0], "mpi://WORLD", &all);
    MPI_Group_rank(all, &world_rank);
    MPI_Group_size(all, &world_size);
    MPI_Group_free(&all);
    if (world_size > MAX_RANKS)
        wrong(0, "%d processes", world_size);
    for (int step = options.first; step < options.first + options.steps && step <= last_of(world_rank); step++) {
        struct stream s = common(step, 1), mine = local(step, 1);
        int members[MAX_RANKS], size = 0, is_mine = 0;
        current_step = step;
        for (int rank = 0; rank < world_size; rank++)
            if (below(&s, 5) < 3 && step <= last_of(rank)) {
                is_mine |= rank == world_rank;
                members[size++] = rank;
            }
        shuffle(&s, members, size);
        if (is_mine)
            meet(step, members, size, &s);
        current_what = "opening and closing";
        if (below(&mine, 10) == 0)
            open_one();
        while (count > 0 && below(&mine, 3) == 0)
            close_one((int)below(&mine, count));
    }
    current_what = "ending";
    while (count > 0)
        close_one(0);
    if (world_rank == 0)
        puts("ok");
    return 0;
}
