/* Probing and matched probing, with wildcards and messages of all protocols (MPI-5.0 section 3.8). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

enum { SHORT = 16, LONG = 200000 };
static char buffer[LONG], other[LONG];

static void send_both(int rank)
{
    memset(buffer, 'a' + rank, LONG);
    MPI_Send(buffer, SHORT, MPI_CHAR, 0, rank, MPI_COMM_WORLD);
    MPI_Send(buffer, LONG, MPI_CHAR, 0, 10 + rank, MPI_COMM_WORLD);
}

static int count_of(const MPI_Status *status)
{
    int count;

    MPI_Get_count(status, MPI_CHAR, &count);
    return count;
}

static void probes(void)
{
    MPI_Status probed, received;
    int flag = 1;

    MPI_Probe(1, 11, MPI_COMM_WORLD, &probed);
    CHECK_EQ(count_of(&probed), LONG, "a probe knows the length of a long message");
    MPI_Iprobe(1, 12, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0, "a probe for a tag that no message has finds nothing");
    MPI_Probe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
    CHECK_EQ(probed.MPI_TAG, 1, "a probe for any tag finds the first message");
    MPI_Recv(buffer, LONG, MPI_CHAR, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD, &received);
    CHECK_EQ(count_of(&received), SHORT, "and the receive gets it");
    MPI_Recv(buffer, LONG, MPI_CHAR, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &received);
    CHECK_EQ(count_of(&received) == LONG && buffer[LONG - 1] == 'b', 1, "the long one comes whole");
}

static void matched(void)
{
    MPI_Message first, second = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Request request;
    int flag = 1;

    MPI_Mprobe(2, 12, MPI_COMM_WORLD, &first, &status);
    CHECK_EQ(count_of(&status), LONG, "a matched probe takes the long message");
    MPI_Iprobe(2, 12, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0, "which no probe sees any more");
    do
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &second, &status);
    while (!flag);
    CHECK_EQ(status.MPI_TAG, 2, "the short one is left");
    MPI_Imrecv(other, LONG, MPI_CHAR, &first, &request);
    CHECK_EQ(first == MPI_MESSAGE_NULL, 1, "the message handle is used up");
    MPI_Mrecv(buffer, SHORT, MPI_CHAR, &second, &status);
    CHECK_EQ(count_of(&status) == SHORT && buffer[0] == 'c', 1, "a matched receive");
    MPI_Wait(&request, &status);
    CHECK_EQ(count_of(&status) == LONG && other[LONG - 1] == 'c', 1, "a nonblocking matched receive");
}

static void nobody(void)
{
    MPI_Message message;
    MPI_Status status;

    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    CHECK_EQ(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL, 1, "a probe of MPI_PROC_NULL");
    MPI_Mrecv(NULL, 0, MPI_CHAR, &message, &status);
    CHECK_EQ(message == MPI_MESSAGE_NULL && count_of(&status) == 0, 1, "and its receive");
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        probes();
        matched();
        nobody();
    } else {
        send_both(rank);
    }
    MPI_Finalize();
    return 0;
}
