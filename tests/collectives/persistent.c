/* Persistent collectives: rounds of many requests, started in an order of its own on each rank, between blocking calls and
 * messages; a root that is ahead; ranks of which some describe the same data by a derived type; requests that are freed while
 * they are active, and that outlive their communicator. */
#include "collectives.h"

#include <unistd.h>

enum { BARRIER, BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN, ALLGATHERV,
       ALLTOALLV, KINDS };

static const int lengths[] = {0, 1, 5, 100, 1030, 4096, 9000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

struct call {
    int kind, n, root, counts[8], places[8];
    int *in, *out;
    MPI_Request request;
};

static MPI_Datatype pair;

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static int element(const struct call *call, int round, int from, int to, int i)
{
    return call->kind * 1000003 + round * 7919 + from * 101 + to * 13 + i;
}

static int sends_blocks(int kind)
{
    return kind == SCATTER || kind == ALLTOALL || kind == REDUCE_SCATTER || kind == ALLTOALLV;
}

/* Every second one gives its data by a derived type, on odd ranks. */
static void create(struct call *call, int kind, int n, int root, int derived)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Datatype type = MPI_INT;
    int r, m = n;
    *call = (struct call){.kind = kind, .n = n, .root = root};
    call->in = calloc((size_t)size * n + 1, sizeof(int));
    call->out = calloc((size_t)size * n + 1, sizeof(int));
    for (r = 0; r < size; r++) {
        call->counts[r] = n;
        call->places[r] = r * n;
    }
    if (derived && n % 2 == 0 && rank % 2) {
        type = pair;
        m = n / 2;
        for (r = 0; r < size; r++) {
            call->counts[r] = m;
            call->places[r] = r * m;
        }
    }
    int *in = call->in, *out = call->out, *c = call->counts, *p = call->places;
    MPI_Request *q = &call->request;
    switch (kind) {
    case BARRIER: MPI_Barrier_init(comm, info, q); break;
    case BCAST: MPI_Bcast_init(rank == root ? in : out, m, type, root, comm, info, q); break;
    case GATHER: MPI_Gather_init(in, m, type, out, m, type, root, comm, info, q); break;
    case SCATTER: MPI_Scatter_init(in, m, type, out, m, type, root, comm, info, q); break;
    case ALLGATHER: MPI_Allgather_init(in, m, type, out, m, type, comm, info, q); break;
    case ALLTOALL: MPI_Alltoall_init(in, m, type, out, m, type, comm, info, q); break;
    case REDUCE: MPI_Reduce_init(in, out, n, MPI_INT, MPI_SUM, root, comm, info, q); break;
    case ALLREDUCE: MPI_Allreduce_init(in, out, n, MPI_INT, MPI_SUM, comm, info, q); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block_init(in, out, n, MPI_INT, MPI_SUM, comm, info, q); break;
    case SCAN: MPI_Scan_init(in, out, n, MPI_INT, MPI_SUM, comm, info, q); break;
    case EXSCAN: MPI_Exscan_init(in, out, n, MPI_INT, MPI_SUM, comm, info, q); break;
    case ALLGATHERV: MPI_Allgatherv_init(in, m, type, out, c, p, type, comm, info, q); break;
    default: MPI_Alltoallv_init(in, c, p, type, out, c, p, type, comm, info, q); break;
    }
}

static void fill(struct call *call, int round)
{
    int r, i;
    for (r = 0; r < (sends_blocks(call->kind) ? size : 1); r++)
        for (i = 0; i < call->n; i++)
            call->in[r * call->n + i] = element(call, round, rank, r, i);
    for (i = 0; i < size * call->n; i++)
        call->out[i] = -1;
}

static int sum(const struct call *call, int round, int first, int last, int to, int i)
{
    int r, all = 0;
    for (r = first; r < last; r++)
        all += element(call, round, r, to, i);
    return all;
}

static int is_right(const struct call *call, int round)
{
    int i, r, n = call->n, kind = call->kind, at_root = rank == call->root, *out = call->out;
    int blocks = kind == ALLGATHER || kind == ALLTOALL || kind == ALLGATHERV || kind == ALLTOALLV || (kind == GATHER && at_root);
    if (kind == BARRIER || ((kind == GATHER || kind == REDUCE) && !at_root) || (kind == BCAST && at_root))
        return 1;
    for (r = 0; r < (blocks ? size : 1); r++) {
        for (i = 0; i < n; i++) {
            int want, to = kind == ALLTOALL || kind == ALLTOALLV ? rank : 0;
            switch (kind) {
            case BCAST: want = element(call, round, call->root, 0, i); break;
            case SCATTER: want = element(call, round, call->root, rank, i); break;
            case REDUCE: case ALLREDUCE: want = sum(call, round, 0, size, 0, i); break;
            case REDUCE_SCATTER: want = sum(call, round, 0, size, rank, i); break;
            case SCAN: want = sum(call, round, 0, rank + 1, 0, i); break;
            case EXSCAN: want = rank ? sum(call, round, 0, rank, 0, i) : -1; break;
            default: want = element(call, round, r, to, i); break;
            }
            if (out[r * n + i] != want)
                return 0;
        }
    }
    return 1;
}

/* How the requests of a round are completed. */
static void complete(MPI_Request *requests, int n, int how)
{
    int i, done, index;
    switch (how % 4) {
    case 0: MPI_Waitall(n, requests, MPI_STATUSES_IGNORE); break;
    case 1:
        for (i = n - 1; i >= 0; i--)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 2:
        for (i = 0; i < n; i++)
            for (done = 0; !done;)
                MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        break;
    default:
        do
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        while (index != MPI_UNDEFINED);
    }
}

static int test_orders(int derived)
{
    enum { CALLS = 2 * KINDS, ROUNDS = 40 };
    struct call calls[CALLS];
    MPI_Request requests[CALLS];
    unsigned same = 5 + derived, own = 1000 + rank;
    int i, round, good = 1;
    for (i = 0; i < CALLS; i++) {
        int n = lengths[draw(&same, LENGTHS)];
        create(&calls[i], i % KINDS, n, draw(&same, size), derived);
    }
    for (round = 0; round < ROUNDS; round++) {
        int order[CALLS];
        for (i = 0; i < CALLS; i++)
            order[i] = i;
        for (i = CALLS - 1; i > 0; i--) {
            int j = draw(&own, i + 1), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
        for (i = 0; i < CALLS; i++) {
            struct call *call = &calls[order[i]];
            fill(call, round);
            requests[order[i]] = call->request;
            MPI_Start(&requests[order[i]]);
        }
        if (round % 5 == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        complete(requests, CALLS, round);
        for (i = 0; i < CALLS; i++)
            good &= is_right(&calls[i], round) && requests[i] == calls[i].request;
    }
    for (i = 0; i < CALLS; i++) {
        MPI_Request_free(&calls[i].request);
        free(calls[i].in);
        free(calls[i].out);
    }
    return good;
}

/* The root may end its rounds without the others, as long as there is room. */
static int test_ahead(int n)
{
    struct call call;
    int round, good = 1;
    create(&call, BCAST, n, 0, 0);
    for (round = 0; round < 600; round++) {
        if (rank == size - 1 && round % 200 == 0)
            usleep(2000);
        fill(&call, round);
        MPI_Start(&call.request);
        MPI_Wait(&call.request, MPI_STATUS_IGNORE);
        good &= is_right(&call, round);
    }
    MPI_Request_free(&call.request);
    free(call.in);
    free(call.out);
    return good;
}

static int test_freed(void)
{
    MPI_Comm copy;
    MPI_Request request, other;
    int one = rank + 1, all = 0, round, good = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Allreduce_init(&one, &all, 1, MPI_INT, MPI_SUM, copy, MPI_INFO_NULL, &request);
    MPI_Barrier_init(copy, MPI_INFO_NULL, &other);
    MPI_Comm_free(&copy);
    for (round = 0; round < 3; round++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        good &= all == size * (size + 1) / 2;
        all = 0;
    }
    MPI_Start(&other);
    MPI_Request_free(&other);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request_free(&request);
    return good && other == MPI_REQUEST_NULL;
}

/* More than have an area of their own. */
static int test_many(void)
{
    enum { MANY = 150 };
    static MPI_Request requests[MANY];
    static int in[MANY], out[MANY];
    int i, round, good = 1;
    for (i = 0; i < MANY; i++)
        MPI_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    for (round = 0; round < 3; round++) {
        for (i = 0; i < MANY; i++)
            in[i] = i + round + rank;
        MPI_Startall(MANY, requests);
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < MANY; i++)
            good &= out[i] == i + round + size - 1;
    }
    for (i = 0; i < MANY; i++)
        MPI_Request_free(&requests[i]);
    return good;
}

int main(int argc, char **argv)
{
    unsigned i;
    int good = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    verdict(test_orders(0), "rounds of many requests, in other orders on other ranks");
    verdict(test_orders(1), "rounds of plain data and derived types");
    for (i = 0; i < LENGTHS; i++)
        good &= test_ahead(lengths[i]);
    verdict(good, "a root that is ahead");
    verdict(test_freed(), "requests that outlive their communicator, or their handle");
    verdict(test_many(), "more requests than have areas");
    MPI_Type_free(&pair);
    MPI_Finalize();
    return failed;
}
