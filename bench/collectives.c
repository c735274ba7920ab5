/*
 * One collective operation of all ranks, chosen by --what: the time of one call.
 *
 * The size is that of one rank's vector (bcast, reduce, allreduce, scans) or of one block (the others). MPI_Barrier has
 * no size; 0 is printed. Nonblocking operations are waited for at once; persistent ones, whose names begin with p, are started
 * and waited for; the blocks of the "v" and "w" operations are all
 * of one size, so that their figures stand beside those of the regular ones.
 *
 * Calls follow each other and roots take turns, so that no rank can run ahead of the others. With --paced 1, as in
 * OSU's programs, a barrier comes before each call, the root is rank 0, and the figure is the mean over all ranks of
 * the time inside the call.
 */
#include "kernel.h"

static char *out, *in; /* of one vector, or one block for each rank */
static int root;
static int *counts, *places;     /* of the blocks of `blocks_of` bytes, for the "v" and "w" operations */
static MPI_Datatype *types;
static size_t blocks_of;
static MPI_Comm around; /* a ring: two neighbours */

static int doubles(size_t bytes)
{
    return (int)(bytes / sizeof(double));
}

static void blocks(size_t bytes)
{
    if (bytes == blocks_of)
        return;
    blocks_of = bytes;
    for (int r = 0; r < k.ranks; r++) {
        counts[r] = (int)bytes;
        places[r] = (int)(r * bytes);
        types[r] = MPI_BYTE;
    }
}

static void block_of_doubles(size_t bytes)
{
    blocks_of = 0;
    for (int r = 0; r < k.ranks; r++)
        counts[r] = doubles(bytes);
}

/* The persistent request of the calls with this root: made by the first one of this many bytes. */
static MPI_Request *kept;
static size_t kept_of;

static void forget(void)
{
    for (int r = 0; r < k.ranks; r++)
        if (kept[r] != MPI_REQUEST_NULL)
            MPI_Request_free(&kept[r]);
}

static MPI_Request *kept_for(size_t bytes)
{
    if (bytes != kept_of)
        forget();
    kept_of = bytes;
    return &kept[root];
}

static void finish(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

/* One call of each: what `out` and `in` of `bytes` mean is in the table below. */
#define WORLD MPI_COMM_WORLD
#define ONE(name, call) static void name(size_t bytes) { (void)bytes; MPI_##call; }
#define LATER(name, call) static void name(size_t bytes) { (void)bytes; MPI_Request r; MPI_##call; finish(&r); }
#define AGAIN(name, call) static void name(size_t bytes) { \
    MPI_Request *r = kept_for(bytes); \
    if (*r == MPI_REQUEST_NULL) { blocks(bytes); MPI_##call; } \
    MPI_Start(r); finish(r); }
#define BLOCKWISE(name, call) static void name(size_t bytes) { blocks(bytes); MPI_##call; }
#define B (int)bytes, MPI_BYTE
#define D doubles(bytes), MPI_DOUBLE, MPI_SUM
#define V counts, places, MPI_BYTE
#define W counts, places, types
#define I MPI_INFO_NULL

ONE(barrier, Barrier(WORLD))
ONE(bcast, Bcast(root == k.rank ? out : in, B, root, WORLD))
ONE(reduce, Reduce(out, in, D, root, WORLD))
ONE(allreduce, Allreduce(out, in, D, WORLD))
ONE(reduce_scatter_block, Reduce_scatter_block(out, in, D, WORLD))
static void reduce_scatter(size_t bytes)
{
    block_of_doubles(bytes);
    MPI_Reduce_scatter(out, in, counts, MPI_DOUBLE, MPI_SUM, WORLD);
}
ONE(scan, Scan(out, in, D, WORLD))
ONE(exscan, Exscan(out, in, D, WORLD))
ONE(gather, Gather(out, B, in, B, root, WORLD))
BLOCKWISE(gatherv, Gatherv(out, B, in, V, root, WORLD))
ONE(scatter, Scatter(out, B, in, B, root, WORLD))
BLOCKWISE(scatterv, Scatterv(out, V, in, B, root, WORLD))
ONE(allgather, Allgather(out, B, in, B, WORLD))
BLOCKWISE(allgatherv, Allgatherv(out, B, in, V, WORLD))
ONE(alltoall, Alltoall(out, B, in, B, WORLD))
BLOCKWISE(alltoallv, Alltoallv(out, V, in, V, WORLD))
BLOCKWISE(alltoallw, Alltoallw(out, W, in, W, WORLD))
ONE(neighbor_allgather, Neighbor_allgather(out, B, in, B, around))
ONE(neighbor_alltoall, Neighbor_alltoall(out, B, in, B, around))
LATER(ibarrier, Ibarrier(WORLD, &r))
LATER(ibcast, Ibcast(root == k.rank ? out : in, B, root, WORLD, &r))
LATER(ireduce, Ireduce(out, in, D, root, WORLD, &r))
LATER(iallreduce, Iallreduce(out, in, D, WORLD, &r))
LATER(igather, Igather(out, B, in, B, root, WORLD, &r))
LATER(iscatter, Iscatter(out, B, in, B, root, WORLD, &r))
LATER(iallgather, Iallgather(out, B, in, B, WORLD, &r))
LATER(ialltoall, Ialltoall(out, B, in, B, WORLD, &r))
AGAIN(pbarrier, Barrier_init(WORLD, I, r))
AGAIN(pbcast, Bcast_init(root == k.rank ? out : in, B, root, WORLD, I, r))
AGAIN(preduce, Reduce_init(out, in, D, root, WORLD, I, r))
AGAIN(pallreduce, Allreduce_init(out, in, D, WORLD, I, r))
AGAIN(preduce_scatter_block, Reduce_scatter_block_init(out, in, D, WORLD, I, r))
AGAIN(pscan, Scan_init(out, in, D, WORLD, I, r))
AGAIN(pgather, Gather_init(out, B, in, B, root, WORLD, I, r))
AGAIN(pscatter, Scatter_init(out, B, in, B, root, WORLD, I, r))
AGAIN(pallgather, Allgather_init(out, B, in, B, WORLD, I, r))
AGAIN(pallgatherv, Allgatherv_init(out, B, in, V, WORLD, I, r))
AGAIN(palltoall, Alltoall_init(out, B, in, B, WORLD, I, r))
AGAIN(palltoallv, Alltoallv_init(out, V, in, V, WORLD, I, r))
AGAIN(palltoallw, Alltoallw_init(out, W, in, W, WORLD, I, r))

/* What element `i` of the result must be, where rank `r` contributes r + j as its element j of `n` a block. */
static double sum_to(int last, double place)
{
    return last * (last + 1) / 2.0 + (last + 1) * place;
}

static int neighbour(int i, int n) /* whose block the neighbour operations put there: the one before, the one after */
{
    return (k.rank + (i < n ? k.ranks - 1 : 1)) % k.ranks;
}

static double expect_bcast(int i, int n) { (void)n; return (double)i; }
static double expect_sum(int i, int n) { (void)n; return sum_to(k.ranks - 1, i); }
static double expect_block_sum(int i, int n) { return sum_to(k.ranks - 1, (double)k.rank * n + i); }
static double expect_prefix(int i, int n) { (void)n; return sum_to(k.rank, i); }
static double expect_before(int i, int n) { (void)n; return k.rank > 0 ? sum_to(k.rank - 1, i) : 0; }
static double expect_gathered(int i, int n) { return (double)(i / n + i % n); }
static double expect_scattered(int i, int n) { return (double)k.rank * n + i; }
static double expect_turned(int i, int n) { return (double)(i / n + k.rank * n + i % n); }
static double expect_around(int i, int n) { return (double)(neighbour(i, n) + i % n); }
/* The block that the one before sends is its second, as that goes to the one after; and the other way round. */
static double expect_crossed(int i, int n) { return (double)(neighbour(i, n) + (i < n ? n : 0) + i % n); }

/* How many blocks a buffer holds: one, one for each rank, or one for each of the two neighbours. */
enum extent { VECTOR, EACH, SIDES };

static const struct collective {
    const char *name;
    void (*once)(size_t bytes);
    double (*expect)(int i, int n);
    enum extent out, in;
    int rooted; /* whether only root 0 has a result */
} COLLECTIVES[] = {
    {"barrier", barrier, NULL, VECTOR, VECTOR, 0},
    {"bcast", bcast, expect_bcast, VECTOR, VECTOR, 0},
    {"reduce", reduce, expect_sum, VECTOR, VECTOR, 1},
    {"allreduce", allreduce, expect_sum, VECTOR, VECTOR, 0},
    {"reduce_scatter_block", reduce_scatter_block, expect_block_sum, EACH, VECTOR, 0},
    {"reduce_scatter", reduce_scatter, expect_block_sum, EACH, VECTOR, 0},
    {"scan", scan, expect_prefix, VECTOR, VECTOR, 0},
    {"exscan", exscan, expect_before, VECTOR, VECTOR, 0},
    {"gather", gather, expect_gathered, VECTOR, EACH, 1},
    {"gatherv", gatherv, expect_gathered, VECTOR, EACH, 1},
    {"scatter", scatter, expect_scattered, EACH, VECTOR, 0},
    {"scatterv", scatterv, expect_scattered, EACH, VECTOR, 0},
    {"allgather", allgather, expect_gathered, VECTOR, EACH, 0},
    {"allgatherv", allgatherv, expect_gathered, VECTOR, EACH, 0},
    {"alltoall", alltoall, expect_turned, EACH, EACH, 0},
    {"alltoallv", alltoallv, expect_turned, EACH, EACH, 0},
    {"alltoallw", alltoallw, expect_turned, EACH, EACH, 0},
    {"neighbor_allgather", neighbor_allgather, expect_around, VECTOR, SIDES, 0},
    {"neighbor_alltoall", neighbor_alltoall, expect_crossed, SIDES, SIDES, 0},
    {"ibarrier", ibarrier, NULL, VECTOR, VECTOR, 0},
    {"ibcast", ibcast, expect_bcast, VECTOR, VECTOR, 0},
    {"ireduce", ireduce, expect_sum, VECTOR, VECTOR, 1},
    {"iallreduce", iallreduce, expect_sum, VECTOR, VECTOR, 0},
    {"igather", igather, expect_gathered, VECTOR, EACH, 1},
    {"iscatter", iscatter, expect_scattered, EACH, VECTOR, 0},
    {"iallgather", iallgather, expect_gathered, VECTOR, EACH, 0},
    {"ialltoall", ialltoall, expect_turned, EACH, EACH, 0},
    {"pbarrier", pbarrier, NULL, VECTOR, VECTOR, 0},
    {"pbcast", pbcast, expect_bcast, VECTOR, VECTOR, 0},
    {"preduce", preduce, expect_sum, VECTOR, VECTOR, 1},
    {"pallreduce", pallreduce, expect_sum, VECTOR, VECTOR, 0},
    {"preduce_scatter_block", preduce_scatter_block, expect_block_sum, EACH, VECTOR, 0},
    {"pscan", pscan, expect_prefix, VECTOR, VECTOR, 0},
    {"pgather", pgather, expect_gathered, VECTOR, EACH, 1},
    {"pscatter", pscatter, expect_scattered, EACH, VECTOR, 0},
    {"pallgather", pallgather, expect_gathered, VECTOR, EACH, 0},
    {"pallgatherv", pallgatherv, expect_gathered, VECTOR, EACH, 0},
    {"palltoall", palltoall, expect_turned, EACH, EACH, 0},
    {"palltoallv", palltoallv, expect_turned, EACH, EACH, 0},
    {"palltoallw", palltoallw, expect_turned, EACH, EACH, 0},
};

static const struct collective *measured;

static const struct collective *named(const char *name)
{
    for (size_t i = 0; i < sizeof COLLECTIVES / sizeof *COLLECTIVES; i++)
        if (strcmp(COLLECTIVES[i].name, name) == 0)
            return &COLLECTIVES[i];
    kernel_fail("choosing a collective, there is none of this name", name);
    return NULL;
}

static int extent(enum extent of)
{
    return of == EACH ? k.ranks : of == SIDES ? 2 : 1;
}

/* Calls without anything between them; roots take turns. */
static void in_a_row(size_t bytes, long iterations)
{
    root = 0;
    for (long i = 0; i < iterations; i++) {
        measured->once(bytes);
        root = root + 1 < k.ranks ? root + 1 : 0;
    }
}

/* A barrier before each call; leaves the mean of the ranks' times in k.inside. */
static void paced(size_t bytes, long iterations)
{
    double mine = 0;
    root = 0;
    for (long i = 0; i < iterations; i++) {
        MPI_Barrier(WORLD);
        double start = MPI_Wtime();
        measured->once(bytes);
        mine += MPI_Wtime() - start;
    }
    MPI_Allreduce(&mine, &k.inside, 1, MPI_DOUBLE, MPI_SUM, WORLD);
    k.inside /= k.ranks;
}

/* Once with root 0, with numbers whose result is known. */
static void verify(const struct collective *c)
{
    int n = doubles(k.max < 1 << 16 ? k.max : 1 << 16);
    double *from = (double *)out, *into = (double *)in;
    for (int i = 0; i < n * extent(c->out); i++)
        from[i] = k.rank + i;
    root = 0;
    c->once(n * sizeof(double));
    if (!c->expect || (c->rooted && k.rank != 0) || (c->expect == expect_bcast && k.rank == 0))
        return;
    for (int i = 0; i < n * extent(c->in); i++)
        if (into[i] != c->expect(i, n))
            kernel_fail("checking the result", "an element is wrong");
}

static void make_ring(void)
{
    int periodic = 1;
    MPI_Cart_create(WORLD, 1, &k.ranks, &periodic, 0, &around);
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 8, 1 << 20);
    measured = named(k.what);
    if (measured->once == barrier || measured->once == ibarrier || measured->once == pbarrier)
        k.min = k.max = 0;
    out = kernel_buffer(k.max * extent(measured->out));
    in = kernel_buffer(k.max * extent(measured->in));
    counts = malloc(k.ranks * sizeof *counts);
    places = malloc(k.ranks * sizeof *places);
    types = malloc(k.ranks * sizeof *types);
    kept = malloc(k.ranks * sizeof *kept);
    for (int r = 0; r < k.ranks; r++)
        kept[r] = MPI_REQUEST_NULL;
    make_ring();
    verify(measured);
    kernel_sizes(k.paced ? paced : in_a_row, kernel_microseconds, "us");
    forget();
    MPI_Comm_free(&around);
    free(kept);
    free(types);
    free(places);
    free(counts);
    free(out);
    free(in);
    kernel_end();
    return 0;
}
