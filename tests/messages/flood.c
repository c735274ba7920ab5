/* A legal program never deadlocks for want of buffers: a million sends are under way when the receiver asks for the
   message behind them, and the payload it must keep stays under the cap. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "process.h"

#ifndef MESSAGES
#define MESSAGES 1000000
#endif
enum { BYTES = 1024 };

static void flood(void)
{
    MPI_Request *requests = malloc((MESSAGES + 1) * sizeof *requests);
    static char payload[BYTES];

    memset(payload, 'f', BYTES);
    for (int n = 0; n < MESSAGES; n++)
        MPI_Isend(payload, BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[n]);
    MPI_Isend("last", 4, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[MESSAGES]);
    MPI_Waitall(MESSAGES + 1, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

static void receive(void)
{
    static char payload[BYTES];
    long before = peak(), good = 0;
    int size;

    MPI_Recv(payload, BYTES, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(memcmp(payload, "last", 4), 0, "the last message is received first");
    /* 976 MiB are under way: 64 at most are kept here, and an envelope for each message. */
    size = (int)((peak() - before) / 1024);
    check(size < 450, "the payload stays with the sender", size);
    for (int n = 0; n < MESSAGES; n++) {
        memset(payload, 0, BYTES);
        MPI_Recv(payload, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good += payload[0] == 'f' && payload[BYTES - 1] == 'f';
    }
    CHECK_EQ(good, MESSAGES, "then all others");
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        flood();
    else
        receive();
    MPI_Finalize();
    return 0;
}
