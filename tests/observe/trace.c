/* Messages of all kinds, for a timeline: each rank prints how many it sends. A rank is late twice, as a sender and as a receiver. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int me, size, sent;
static MPI_Comm world = MPI_COMM_WORLD;

static void send(int to, int tag, MPI_Comm comm)
{
    MPI_Send(&me, 1, MPI_INT, to, tag, comm);
    sent++;
}

static void receive(int from, int tag, MPI_Comm comm)
{
    int it;
    MPI_Status status;

    MPI_Recv(&it, 1, MPI_INT, from, tag, comm, &status);
}

static void late(void)
{
    if (me == 0) {
        usleep(20000);
        send(1, 1, world);
        MPI_Ssend(&me, 1, MPI_INT, 1, 2, world);
        sent++;
    } else if (me == 1) {
        receive(0, 1, world);
        usleep(20000);
        receive(0, 2, world);
    }
}

static void at_once(void)
{
    int it[4];
    MPI_Request requests[4];

    for (int i = 0; i < 4; i++)
        if (me == 0)
            MPI_Isend(&me, 1, MPI_INT, 1, i % 2, world, &requests[i]);
        else if (me == 1)
            MPI_Irecv(&it[i], 1, MPI_INT, 0, i % 2, world, &requests[i]);
    if (me < 2)
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    sent += me == 0 ? 4 : 0;
}

static void from_any(void)
{
    int it;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;

    if (me < size - 1) {
        for (int i = 0; i < 3; i++)
            send(size - 1, i, world);
        return;
    }
    for (int i = 0; i < 2 * (size - 1); i++)
        receive(MPI_ANY_SOURCE, i < size - 1 ? 0 : 1, world);
    for (int i = 0; i < size - 1; i++)
        if (i % 2) {
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &message, &status);
            MPI_Mrecv(&it, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(&it, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &request);
            MPI_Wait(&request, &status);
        }
}

static void again(void)
{
    int it;
    MPI_Request request;

    if (me == 0)
        MPI_Send_init(&me, 1, MPI_INT, 1, 5, world, &request);
    else if (me == 1)
        MPI_Recv_init(&it, 1, MPI_INT, 0, 5, world, &request);
    else
        return;
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    sent += me == 0 ? 3 : 0;
}

static void around(void)
{
    int it;
    MPI_Comm turned, early, same;
    MPI_Request request;

    MPI_Sendrecv(&me, 1, MPI_INT, (me + 1) % size, 6, &it, 1, MPI_INT, (me + size - 1) % size, 6, world, MPI_STATUS_IGNORE);
    sent++;
    MPI_Comm_split(world, 0, -me, &turned);
    /* One end uses the first copy before the second one is made, the other end after that. */
    MPI_Comm_idup(turned, &early, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (me == 0)
        MPI_Isend(&me, 1, MPI_INT, 0, 7, early, &request);
    MPI_Comm_dup(turned, &same);
    if (me == 0) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sent++;
        send(0, 7, same);
    } else if (me == size - 1) {
        receive(size - 1, 7, early);
        receive(size - 1, 7, same);
    }
    MPI_Comm_free(&early);
    MPI_Ibarrier(same, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&same);
    MPI_Comm_free(&turned);
}

/* Rank 0 stops its timeline for the first of two messages, and the communicator of a third one is freed meanwhile. */
static void paused(void)
{
    MPI_Comm turned;

    MPI_Comm_split(world, 0, -me, &turned);
    if (me == 0) {
        send(0, 8, turned);
        MPI_Pcontrol(0);
        send(1, 9, world);
    } else {
        if (me == size - 1)
            receive(size - 1, 8, turned);
        if (me == 1)
            receive(0, 9, world);
    }
    MPI_Comm_free(&turned);
    MPI_Comm_dup(world, &turned);
    if (me == 0) {
        MPI_Pcontrol(1);
        send(1, 9, world);
        send(1, 8, turned);
    } else if (me == 1) {
        receive(0, 9, world);
        receive(0, 8, turned);
    }
    MPI_Comm_free(&turned);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &size);
    MPI_Barrier(world);
    late();
    at_once();
    from_any();
    /* What is sent from here on is none of the messages with any tag. */
    MPI_Barrier(world);
    again();
    around();
    if (argc > 1 && !strcmp(argv[1], "paused"))
        paused();
    for (int i = 0; i < (argc > 1 && !strcmp(argv[1], "many") ? 10000 : 1); i++)
        MPI_Barrier(world);
    printf("rank %d sends %d\n", me, sent);
    fflush(stdout);
    if (argc > 1 && !strcmp(argv[1], "kill")) {
        if (me == 1)
            kill(getpid(), SIGKILL);
        receive(1, 99, world);
    }
    MPI_Finalize();
    return 0;
}
