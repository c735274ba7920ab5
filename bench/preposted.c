/* Ping-pong whose receives are posted before the message they take can have been sent: half the round trip. */
#include "kernel.h"

static void preposted(size_t bytes, long iterations)
{
    int n = (int)bytes, last = k.ranks - 1;
    MPI_Request request;

    if (k.rank != 0 && k.rank != last)
        return;
    int peer = k.rank == 0 ? last : 0;
    MPI_Irecv(k.in, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request);
    for (long i = 0; i < iterations; i++) {
        /* The next receive is posted before the answer goes out that makes the peer send. */
        int is_last_one = i + 1 == iterations;
        if (k.rank == 0)
            MPI_Send(k.out, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!is_last_one)
            MPI_Irecv(k.in, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request);
        if (k.rank == last)
            MPI_Send(k.out, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 1, 8 << 20);
    k.receives = k.rank == 0 || k.rank == k.ranks - 1;
    kernel_sizes(preposted, kernel_half_microseconds, "us");
    kernel_end();
    return 0;
}
