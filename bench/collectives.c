/*
 * One collective operation of all ranks, chosen by --what: the time of one call.
 *
 * The size is that of one rank's vector (bcast, reduce, allreduce, scan) or of one block (the others). Roots take
 * turns, so that no rank can run ahead of the others. MPI_Barrier has no size; 0 is printed.
 */
#include "kernel.h"

static char *out, *in; /* of one vector, or one block for each rank */
static int root;

static int doubles(size_t bytes)
{
    return (int)(bytes / sizeof(double));
}

static void next_root(void)
{
    root = root + 1 < k.ranks ? root + 1 : 0;
}

static void barrier(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(size_t bytes, long iterations)
{
    root = 0;
    for (long i = 0; i < iterations; i++, next_root())
        MPI_Bcast(root == k.rank ? out : in, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void reduce(size_t bytes, long iterations)
{
    root = 0;
    for (long i = 0; i < iterations; i++, next_root())
        MPI_Reduce(out, in, doubles(bytes), MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}

static void allreduce(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_Allreduce(out, in, doubles(bytes), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_Reduce_scatter_block(out, in, doubles(bytes), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_Scan(out, in, doubles(bytes), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(size_t bytes, long iterations)
{
    root = 0;
    for (long i = 0; i < iterations; i++, next_root())
        MPI_Gather(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void scatter(size_t bytes, long iterations)
{
    root = 0;
    for (long i = 0; i < iterations; i++, next_root())
        MPI_Scatter(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void allgather(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_Allgather(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_Alltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* What element `i` of the result must be, where rank `r` contributes r + j as its element j of `n` a block. */
static double sum_to(int last, double place)
{
    return last * (last + 1) / 2.0 + (last + 1) * place;
}

static double expect_bcast(int i, int n) { (void)n; return (double)i; }
static double expect_sum(int i, int n) { (void)n; return sum_to(k.ranks - 1, i); }
static double expect_block_sum(int i, int n) { return sum_to(k.ranks - 1, (double)k.rank * n + i); }
static double expect_prefix(int i, int n) { (void)n; return sum_to(k.rank, i); }
static double expect_gathered(int i, int n) { return (double)(i / n + i % n); }
static double expect_scattered(int i, int n) { return (double)k.rank * n + i; }
static double expect_turned(int i, int n) { return (double)(i / n + k.rank * n + i % n); }

static const struct collective {
    const char *name;
    body *run;
    double (*expect)(int i, int n);
    int blocks_out, blocks_in; /* whether the buffer holds a block for each rank */
    int rooted;                /* whether only root 0 has a result */
} COLLECTIVES[] = {
    {"barrier", barrier, NULL, 0, 0, 0},
    {"bcast", bcast, expect_bcast, 0, 0, 0},
    {"reduce", reduce, expect_sum, 0, 0, 1},
    {"allreduce", allreduce, expect_sum, 0, 0, 0},
    {"reduce_scatter", reduce_scatter, expect_block_sum, 1, 0, 0},
    {"scan", scan, expect_prefix, 0, 0, 0},
    {"gather", gather, expect_gathered, 0, 1, 1},
    {"scatter", scatter, expect_scattered, 1, 0, 0},
    {"allgather", allgather, expect_gathered, 0, 1, 0},
    {"alltoall", alltoall, expect_turned, 1, 1, 0},
};

static const struct collective *named(const char *name)
{
    for (size_t i = 0; i < sizeof COLLECTIVES / sizeof *COLLECTIVES; i++)
        if (strcmp(COLLECTIVES[i].name, name) == 0)
            return &COLLECTIVES[i];
    kernel_fail("choosing a collective, there is none of this name", name);
    return NULL;
}

/* Once with root 0, with numbers whose result is known. */
static void verify(const struct collective *c)
{
    int n = doubles(k.max < 1 << 16 ? k.max : 1 << 16);
    double *from = (double *)out, *into = (double *)in;
    for (int i = 0; i < n * (c->blocks_out ? k.ranks : 1); i++)
        from[i] = k.rank + i;
    root = 0;
    c->run(n * sizeof(double), 1);
    if (!c->expect || (c->rooted && k.rank != 0) || (c->run == bcast && k.rank == 0))
        return;
    for (int i = 0; i < n * (c->blocks_in ? k.ranks : 1); i++)
        if (into[i] != c->expect(i, n))
            kernel_fail("checking the result", "an element is wrong");
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 8, 1 << 20);
    const struct collective *c = named(k.what);
    if (c->run == barrier)
        k.min = k.max = 0;
    out = kernel_buffer(k.max * (c->blocks_out ? k.ranks : 1));
    in = kernel_buffer(k.max * (c->blocks_in ? k.ranks : 1));
    verify(c);
    kernel_sizes(c->run, kernel_microseconds, "us");
    free(out);
    free(in);
    kernel_end();
    return 0;
}
