/* Cancellation succeeds or has no effect, and the request completes in any case (MPI-5.0 section 3.8.4). */
#include <mpi.h>
#include <string.h>
#include "check.h"

enum { LONG = 200000 };
static char buffer[LONG];

static int cancelled_at_end(MPI_Request *request)
{
    MPI_Status status;
    int flag;

    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &flag);
    return flag;
}

static void receive(int rank)
{
    MPI_Request request;

    if (rank == 1) {
        MPI_Irecv(buffer, LONG, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        CHECK_EQ(cancelled_at_end(&request), 1, "a receive without a message");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send("x", 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    else {
        MPI_Recv(buffer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(buffer[0], 'x', "and the message goes to the next receive");
    }
}

/* The receiver is inside MPI (in the barrier) when it is asked to give an unmatched message back. */
static void send(int rank, int length)
{
    MPI_Request request;
    int flag;

    if (rank == 0) {
        MPI_Issend(buffer, length, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        CHECK_EQ(cancelled_at_end(&request), 1, "a send that was not matched");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 0, "and is not there any more");
    }
    /* The next message with this tag comes after that look. */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void matched(int rank, int length)
{
    MPI_Request request;

    if (rank == 0) {
        memset(buffer, 'm', length);
        MPI_Issend(buffer, length, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Cancel(&request);
        CHECK_EQ(cancelled_at_end(&request), 0, "a send that was matched");
    } else {
        memset(buffer, 0, LONG);
        MPI_Recv(buffer, length, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(buffer[length - 1], 'm', "arrives");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    receive(rank);
    send(rank, 8);
    send(rank, LONG);
    matched(rank, 8);
    matched(rank, LONG);
    MPI_Finalize();
    return 0;
}
