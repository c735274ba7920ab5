/* Sum of doubles over all ranks, of the given size per rank: the time of one MPI_Allreduce. */
#include "kernel.h"

static void allreduce(size_t bytes, long iterations)
{
    int n = (int)(bytes / (long)sizeof(double));
    for (long i = 0; i < iterations; i++)
        MPI_Allreduce(k.out, k.in, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Once, with numbers whose sum is known: the ranks' own, plus their place. */
static void verify(void)
{
    double *out = (double *)k.out, *in = (double *)k.in;
    int n = (int)(k.max / (long)sizeof(double));
    for (int i = 0; i < n; i++)
        out[i] = k.rank + i;
    allreduce(k.max, 1);
    for (int i = 0; i < n; i++)
        if (in[i] != k.ranks * (k.ranks - 1) / 2.0 + (double)k.ranks * i)
            kernel_fail("checking the sum", "a sum is wrong");
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 8, 1 << 20);
    verify();
    kernel_sizes(allreduce, kernel_microseconds, "us");
    kernel_end();
    return 0;
}
