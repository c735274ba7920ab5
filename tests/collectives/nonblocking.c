/* Many nonblocking collectives under way together, completed in every order, between blocking ones and messages. All
 * processes draw the same programs from one seed; each checks its results against what it computes alone. */
#include "collectives.h"

#include <pthread.h>
#include <unistd.h>

enum { BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN, GATHERV,
       ALLTOALLV, MAPS, KINDS };

/* Elements of a block, and how the calls of a round are completed. */
static const int counts[] = {0, 1, 2, 7, 30, 144, 1024, 1040, 2048, 4100, 9000, 20000};
enum { COUNTS = sizeof counts / sizeof *counts };
enum { BACKWARDS, ANY, TESTS, ALL, SOME, LAST_FIRST, METHODS };

enum { MOST = 24, COMMS = 4 };

struct call {
    int kind, n, root, blocking;
    MPI_Comm comm;
    int rank, size;
    int *in, *out, *lengths, *places;
    MPI_Request request;
};

static MPI_Op compose;
static MPI_Datatype map;

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* (a, b) stands for x -> a x + b; maps are composed, which does not commute. */
static void compose_maps(void *invec, void *inoutvec, int *n, MPI_Datatype *type)
{
    unsigned *in = invec, *io = inoutvec;
    int i, bytes, initialized;
    MPI_Type_size(*type, &bytes);
    MPI_Initialized(&initialized);
    if (bytes != 2 * sizeof(int) || !initialized)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (i = 0; i < *n; i++) {
        unsigned a = in[2 * i], b = in[2 * i + 1], c = io[2 * i], d = io[2 * i + 1];
        io[2 * i] = a * c;
        io[2 * i + 1] = c * b + d;
    }
}

static int has_blocks_in(int kind)
{
    return kind == SCATTER || kind == ALLTOALL || kind == REDUCE_SCATTER || kind == ALLTOALLV;
}

static int has_blocks_out(int kind)
{
    return kind == GATHER || kind == ALLGATHER || kind == ALLTOALL || kind == GATHERV || kind == ALLTOALLV;
}

static int *ints(size_t n)
{
    return calloc(n + 1, sizeof(int));
}

static void begin(struct call *c)
{
    MPI_Comm m = c->comm;
    MPI_Request *r = &c->request;
    int n = c->n, root = c->root, i, j;
    size_t width = c->kind == MAPS ? 2 : 1;
    MPI_Comm_rank(m, &c->rank);
    MPI_Comm_size(m, &c->size);
    c->in = ints(width * n * (has_blocks_in(c->kind) ? c->size : 1));
    c->out = ints(width * n * (has_blocks_out(c->kind) ? c->size : 1));
    c->lengths = ints(c->size);
    c->places = ints(c->size);
    for (i = 0; i < c->size; i++) {
        c->lengths[i] = n;
        c->places[i] = (c->size - 1 - i) * n;
    }
    if (c->kind == MAPS)
        for (i = 0; i < 2 * n; i++)
            c->in[i] = 2 * c->rank + i + 3;
    else if (c->kind == ALLTOALLV)
        for (i = 0; i < c->size; i++)
            put(c->in + c->places[i], n, 1, c->rank, i);
    else
        for (i = 0; i < (has_blocks_in(c->kind) ? c->size : 1); i++)
            put(c->in + i * n, n, 1, c->rank, i);
    if (c->kind == BCAST)
        for (j = 0; j < n; j++)
            c->out[j] = c->rank == root ? c->in[j] : HOLE;
    c->request = MPI_REQUEST_NULL;
#define CALL(Name, name, ...) (c->blocking ? MPI_##Name(__VA_ARGS__) : MPI_I##name(__VA_ARGS__, r)); break
    switch (c->kind) {
    case BARRIER: CALL(Barrier, barrier, m);
    case BCAST: CALL(Bcast, bcast, c->out, n, MPI_INT, root, m);
    case GATHER: CALL(Gather, gather, c->in, n, MPI_INT, c->out, n, MPI_INT, root, m);
    case SCATTER: CALL(Scatter, scatter, c->in, n, MPI_INT, c->out, n, MPI_INT, root, m);
    case ALLGATHER: CALL(Allgather, allgather, c->in, n, MPI_INT, c->out, n, MPI_INT, m);
    case ALLTOALL: CALL(Alltoall, alltoall, c->in, n, MPI_INT, c->out, n, MPI_INT, m);
    case REDUCE: CALL(Reduce, reduce, c->in, c->out, n, MPI_INT, MPI_SUM, root, m);
    case ALLREDUCE: CALL(Allreduce, allreduce, c->in, c->out, n, MPI_INT, MPI_SUM, m);
    case REDUCE_SCATTER: CALL(Reduce_scatter_block, reduce_scatter_block, c->in, c->out, n, MPI_INT, MPI_SUM, m);
    case SCAN: CALL(Scan, scan, c->in, c->out, n, MPI_INT, MPI_SUM, m);
    case EXSCAN: CALL(Exscan, exscan, c->in, c->out, n, MPI_INT, MPI_SUM, m);
    case GATHERV: CALL(Gatherv, gatherv, c->in, n, MPI_INT, c->out, c->lengths, c->places, MPI_INT, root, m);
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, c->in, c->lengths, c->places, MPI_INT, c->out, c->lengths, c->places, MPI_INT, m);
    case MAPS: CALL(Allreduce, allreduce, c->in, c->out, n, map, compose, m);
    }
}

/* Whether `out` holds the sum of what ranks `first` to below `last` have for `to`. */
static int is_sum(const struct call *c, int first, int last, int to)
{
    int i, r;
    for (i = 0; i < c->n; i++) {
        unsigned sum = 0;
        for (r = first; r < last; r++)
            sum += (unsigned)value(r, to, i);
        if ((unsigned)c->out[i] != sum)
            return 0;
    }
    return 1;
}

static int are_composed(const struct call *c)
{
    int i, r;
    for (i = 0; i < c->n; i++) {
        unsigned a = 2 * i + 3, b = 2 * i + 4;
        for (r = 1; r < c->size; r++) {
            unsigned d = 2 * r + 2 * i + 3, e = d + 1;
            b = d * b + e;
            a = a * d;
        }
        if ((unsigned)c->out[2 * i] != a || (unsigned)c->out[2 * i + 1] != b)
            return 0;
    }
    return 1;
}

static int is_right(const struct call *c)
{
    int r, good = 1, here = c->rank == c->root;
    switch (c->kind) {
    case BCAST: return holds(c->out, c->n, 1, c->root, 0);
    case GATHER: case ALLGATHER:
        for (r = 0; r < c->size && (here || c->kind == ALLGATHER); r++)
            good &= holds(c->out + r * c->n, c->n, 1, r, 0);
        return good;
    case SCATTER: return holds(c->out, c->n, 1, c->root, c->rank);
    case ALLTOALL:
        for (r = 0; r < c->size; r++)
            good &= holds(c->out + r * c->n, c->n, 1, r, c->rank);
        return good;
    case GATHERV: case ALLTOALLV:
        for (r = 0; r < c->size && (here || c->kind == ALLTOALLV); r++)
            good &= holds(c->out + c->places[r], c->n, 1, r, c->kind == GATHERV ? 0 : c->rank);
        return good;
    case REDUCE: return !here || is_sum(c, 0, c->size, 0);
    case ALLREDUCE: return is_sum(c, 0, c->size, 0);
    case REDUCE_SCATTER: return is_sum(c, 0, c->size, c->rank);
    case SCAN: return is_sum(c, 0, c->rank + 1, 0);
    case EXSCAN: return c->rank == 0 || is_sum(c, 0, c->rank, 0);
    case MAPS: return are_composed(c);
    default: return 1;
    }
}

static int end(struct call *c)
{
    int good = is_right(c);
    if (!good)
        printf("rank %d: kind %d with %d elements, root %d is wrong\n", rank, c->kind, c->n, c->root);
    free(c->in);
    free(c->out);
    free(c->lengths);
    free(c->places);
    return good;
}

/* Completes all calls of a round. */
static void complete(struct call *calls, int n, int method)
{
    MPI_Request requests[MOST];
    int i, left = n, index, flag, done[MOST];
    for (i = 0; i < n; i++)
        requests[i] = calls[i].request;
    switch (method) {
    case BACKWARDS:
        for (i = n; i-- > 0;)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case ANY:
        do
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        while (index != MPI_UNDEFINED);
        break;
    case TESTS:
        while (left) {
            for (left = i = 0; i < n; i++) {
                MPI_Test(&requests[n - 1 - i], &flag, MPI_STATUS_IGNORE);
                left += !flag;
            }
        }
        break;
    case SOME:
        do
            MPI_Waitsome(n, requests, &index, done, MPI_STATUSES_IGNORE);
        while (index != MPI_UNDEFINED);
        break;
    case LAST_FIRST:
        MPI_Wait(&requests[n - 1], MPI_STATUS_IGNORE);
        /* fall through */
    default:
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
}

/* A message to the next process and one from the one before. */
static int pass_on(int round)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, mine = value(rank, to, round), theirs;
    MPI_Sendrecv(&mine, 1, MPI_INT, to, 5, &theirs, 1, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs == value(from, rank, round);
}

static struct call drawn(unsigned *seed, MPI_Comm comm)
{
    struct call c = {0};
    int of;
    MPI_Comm_size(comm, &of);
    c.kind = (int)draw(seed, KINDS);
    c.n = counts[draw(seed, COUNTS)];
    c.root = (int)draw(seed, (unsigned)of);
    c.blocking = draw(seed, 5) == 0;
    c.comm = comm;
    return c;
}

/* Rounds of calls on several communicators. */
static int mixed(int rounds, unsigned seed, MPI_Comm *comms)
{
    int good = 1, round, i;
    unsigned own = seed + 77u * (unsigned)rank;
    for (round = 0; round < rounds; round++) {
        struct call calls[MOST];
        int n = 1 + (int)draw(&seed, MOST), method = round % METHODS;
        for (i = 0; i < n; i++) {
            calls[i] = drawn(&seed, comms[draw(&seed, COMMS)]);
            begin(&calls[i]);
            if (draw(&seed, 6) == 0)
                good &= pass_on(round);
            if (draw(&own, 40) == 0)
                usleep(300);
        }
        complete(calls, n, method);
        for (i = 0; i < n; i++)
            good &= end(&calls[i]);
    }
    return good;
}

/* Requests that are given up at once, and the calls after them. */
static int given_up(int rounds)
{
    static int in[64], out[64];
    int good = 1, round;
    for (round = 0; round < rounds; round++) {
        unsigned seed = (unsigned)round;
        struct call c = drawn(&seed, MPI_COMM_WORLD);
        MPI_Request request;
        MPI_Iallreduce(in, out, 1 + round % 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        begin(&c);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        complete(&c, 1, ALL);
        good &= end(&c);
    }
    return good;
}

/* Communicators made, duplicated and freed while calls are under way on them. */
static int freed(int rounds, unsigned seed)
{
    int good = 1, round, i;
    for (round = 0; round < rounds; round++) {
        struct call calls[MOST];
        MPI_Comm copy, second;
        MPI_Request request;
        int n = 1 + (int)draw(&seed, 6);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        for (i = 0; i < n; i++) {
            calls[i] = drawn(&seed, copy);
            begin(&calls[i]);
        }
        if (round % 3 == 0)
            MPI_Comm_idup(copy, &second, &request);
        else if (round % 3 == 1)
            MPI_Comm_dup(copy, &second);
        else
            MPI_Comm_split(copy, 0, -rank, &second);
        if (round % size == rank)
            usleep(500);
        calls[n] = drawn(&seed, copy);
        begin(&calls[n++]);
        if (round % 3 == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&copy);
        calls[n] = drawn(&seed, second);
        begin(&calls[n++]);
        MPI_Comm_free(&second);
        complete(calls, n, round % METHODS);
        for (i = 0; i < n; i++)
            good &= end(&calls[i]);
    }
    return good;
}

/* More calls than anything is made for. */
static int many(int n)
{
    MPI_Request *requests = malloc((size_t)n * sizeof *requests);
    int *in = ints((size_t)n), *out = ints((size_t)n), i, good = 1;
    for (i = 0; i < n; i++) {
        in[i] = value(rank, 0, i);
        if (i % 3)
            MPI_Iscan(&in[i], &out[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < n; i++)
        good &= out[i] == value(i % 3 ? rank : size - 1, 0, i);
    free(requests);
    free(in);
    free(out);
    return good;
}

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    unsigned seed;
    int good;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    int round, i;
    w->good = 1;
    for (round = 0; round < 12; round++) {
        struct call calls[6];
        for (i = 0; i < 6; i++) {
            calls[i] = drawn(&w->seed, w->comm);
            begin(&calls[i]);
        }
        complete(calls, 6, round % METHODS);
        for (i = 0; i < 6; i++)
            w->good &= end(&calls[i]);
    }
    return NULL;
}

/* Each thread on a communicator of its own. */
static int threads(void)
{
    enum { THREADS = 3 };
    struct worker workers[THREADS];
    int i, good = 1;
    for (i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
        workers[i].seed = 900u + (unsigned)i;
    }
    for (i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        good &= workers[i].good;
        MPI_Comm_free(&workers[i].comm);
    }
    return good;
}

/* Sums of as many integers as the type that the function is given has. */
static void sum_of_type(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int size, i;
    const int *left = in;
    int *right = inout;
    if (MPI_Type_size(*type, &size) != MPI_SUCCESS)
        return;
    for (i = 0; i < *count * size / (int)sizeof(int); i++)
        right[i] += left[i];
}

/* The program's function gets a type that lives, though the program has freed its handle since. */
static int types_freed(int rounds)
{
    int good = 1, round, i;
    MPI_Op op;
    MPI_Op_create(sum_of_type, 1, &op);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (round = 0; round < rounds; round++) {
        int mine[6], sums[6] = {0};
        MPI_Datatype three;
        MPI_Request request;
        MPI_Type_contiguous(3, MPI_INT, &three);
        MPI_Type_commit(&three);
        for (i = 0; i < 6; i++)
            mine[i] = rank + i;
        /* Who is late finds that the others wait for it. */
        if (rank == round % size)
            usleep(500);
        MPI_Iallreduce(mine, sums, 2, three, op, MPI_COMM_WORLD, &request);
        MPI_Type_free(&three);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (i = 0; i < 6; i++)
            good &= sums[i] == size * (size - 1) / 2 + size * i;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Op_free(&op);
    return good;
}

int main(int argc, char **argv)
{
    int provided, rounds = argc > 1 ? atoi(argv[1]) : 60;
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD, MPI_COMM_WORLD};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(compose_maps, 0, &compose);
    MPI_Type_contiguous(2, MPI_INT, &map);
    MPI_Type_commit(&map);
    verdict(many(3000), "more calls than anything is made for");
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[3]);
    verdict(mixed(rounds, 1, comms), "calls of all kinds, completed in any order");
    verdict(given_up(rounds), "requests given up at once");
    verdict(freed(rounds, 7), "communicators freed with calls under way");
    verdict(types_freed(50), "types freed while the program's function is due");
    verdict(threads(), "threads with a communicator each");
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&comms[3]);
    MPI_Type_free(&map);
    MPI_Op_free(&compose);
    MPI_Finalize();
    return failed;
}
