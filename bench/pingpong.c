/* Ping-pong between the first and the last rank: half the round trip. */
#include "kernel.h"

static void pingpong(size_t bytes, long iterations)
{
    int n = (int)bytes, last = k.ranks - 1;
    for (long i = 0; i < iterations; i++) {
        if (k.rank == 0) {
            MPI_Send(k.out, n, MPI_BYTE, last, TAG, MPI_COMM_WORLD);
            MPI_Recv(k.in, n, MPI_BYTE, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (k.rank == last) {
            MPI_Recv(k.in, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(k.out, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 1, 8 << 20);
    k.receives = k.rank == 0 || k.rank == k.ranks - 1;
    k.messages = 2;
    kernel_sizes(pingpong, kernel_half_microseconds, "us");
    kernel_end();
    return 0;
}
