/*
 * Persistent messages between the first and the last rank, by --what: `pingpong`, half the round trip of MPI_Start and MPI_Wait;
 * `both`, both directions at once by MPI_Startall and MPI_Waitall, the bandwidth of both.
 */
#include "kernel.h"

static int peer;
static MPI_Request requests[2]; /* the receive, the send */

static void make(size_t bytes)
{
    int n = (int)bytes;
    MPI_Recv_init(k.in, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(k.out, n, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[1]);
}

static void end(void)
{
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void once(MPI_Request *request)
{
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void pingpong(size_t bytes, long iterations)
{
    if (k.rank != 0 && k.rank != k.ranks - 1)
        return;
    make(bytes);
    for (long i = 0; i < iterations; i++) {
        once(&requests[k.rank == 0]);
        once(&requests[k.rank != 0]);
    }
    end();
}

static void both(size_t bytes, long iterations)
{
    if (k.rank != 0 && k.rank != k.ranks - 1)
        return;
    make(bytes);
    for (long i = 0; i < iterations; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    end();
}

static double megabytes_per_second(size_t bytes, double seconds)
{
    return 2.0 * bytes / seconds / 1e6;
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 1, 8 << 20);
    peer = k.rank == 0 ? k.ranks - 1 : 0;
    k.receives = k.rank == 0 || k.rank == k.ranks - 1;
    if (strcmp(k.what, "both") == 0)
        kernel_sizes(both, megabytes_per_second, "MB/s");
    else
        kernel_sizes(pingpong, kernel_half_microseconds, "us");
    kernel_end();
    return 0;
}
