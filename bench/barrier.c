/* Barriers of all ranks: the time of one. The size printed is 0. */
#include "kernel.h"

static void barrier(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 0, 0);
    kernel_sizes(barrier, kernel_microseconds, "us");
    kernel_end();
    return 0;
}
