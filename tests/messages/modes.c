/* Send modes, persistent requests, combined calls (MPI-5.0 sections 3.4, 3.6, 3.9, 3.11). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

enum { LONG = 100000 };
static char out[LONG], in[LONG];
static int rank, peer;

static void synchronous(int length)
{
    MPI_Request request;
    int flag = 1;

    if (rank == 0) {
        MPI_Issend(out, length, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        for (int n = 0; n < 1000; n++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0, "a synchronous send waits for its receive");
        MPI_Send(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_EQ(request == MPI_REQUEST_NULL, 1, "and then ends");
    } else {
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, length, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void buffered(void)
{
    static char space[3 * LONG + 10 * MPI_BSEND_OVERHEAD];
    void *address;
    int size, good = 0;

    if (rank == 0) {
        MPI_Buffer_attach(space, sizeof space);
        for (int n = 0; n < 3; n++) {
            memset(out, n, LONG);
            MPI_Bsend(out, n == 1 ? LONG : 10, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
        }
        MPI_Send(NULL, 0, MPI_CHAR, 1, 4, MPI_COMM_WORLD);
        MPI_Buffer_detach(&address, &size);
        CHECK_EQ(address == space && size == (int)sizeof space, 1, "the buffer comes back");
    } else {
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int n = 0; n < 3; n++) {
            MPI_Recv(in, LONG, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            good += in[0] == n && in[n == 1 ? LONG - 1 : 9] == n;
        }
        CHECK_EQ(good, 3, "buffered sends end before their receives and keep their data");
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ready(void)
{
    MPI_Request request;

    if (rank == 1) {
        MPI_Irecv(in, 8, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_EQ(memcmp(in, "12345678", 8), 0, "a ready send");
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Rsend("12345678", 8, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    }
}

static void persistent(int length)
{
    MPI_Request requests[2];
    int good = 0;

    MPI_Send_init(out, length, MPI_CHAR, peer, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, length, MPI_CHAR, peer, 6, MPI_COMM_WORLD, &requests[1]);
    for (int n = 0; n < 100; n++) {
        memset(out, n + rank, length);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        good += in[0] == (char)(n + peer) && in[length - 1] == (char)(n + peer);
    }
    CHECK_EQ(good, 100, "persistent requests are started again and again");
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void combined(int length)
{
    MPI_Status status;
    MPI_Request request;

    memset(out, 'p' + rank, length);
    MPI_Sendrecv(out, length, MPI_CHAR, peer, 7, in, LONG, MPI_CHAR, peer, 7, MPI_COMM_WORLD, &status);
    CHECK_EQ(in[length - 1], 'p' + peer, "send and receive in one call");
    MPI_Sendrecv_replace(out, length, MPI_CHAR, peer, 8, peer, 8, MPI_COMM_WORLD, &status);
    CHECK_EQ(out[length - 1], 'p' + peer, "in one buffer");
    MPI_Isendrecv(out, length, MPI_CHAR, peer, 9, in, LONG, MPI_CHAR, peer, 9, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK_EQ(in[length - 1], 'p' + rank, "in one nonblocking call");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    synchronous(8);
    synchronous(LONG);
    buffered();
    ready();
    persistent(8);
    persistent(LONG);
    combined(8);
    combined(LONG);
    MPI_Finalize();
    return 0;
}
