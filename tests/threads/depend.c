/* Threads that depend on each other's messages and completions; each case hangs where a wake-up is lost.
 *
 *   own_messages   two threads of a rank wait, each for a message that the other rank's other thread answers
 *   cancel         a receive that one thread waits for is cancelled by another
 *   pready         the last partition of a send that one thread waits for is marked by another
 *   complete       a generalized request that one thread waits for is completed by another
 *   probe          one thread probes for a message that another one's progress brings
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, rounds = 200;

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A pause that is long enough to fall asleep in every fourth round. */
static void pause_sometimes(int round)
{
    if (round % 4 == 0)
        usleep(2000);
}

struct leg { int me, partner, tag; };

/* Thread 0 of rank 0 sends to thread 1 of rank 1, which sends to thread 1 of rank 0, and so on: a chain through all four
 * threads, in which each waits while the others sleep. */
static void *chain(void *argument)
{
    int thread = *(int *)argument, other = 1 - rank, value;
    for (int round = 0; round < rounds; round++) {
        if (rank == 0 && thread == 0) {
            pause_sometimes(round);
            MPI_Send(&round, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1 && thread == 1) {
            MPI_Recv(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
        } else if (rank == 0) {
            MPI_Recv(&value, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&value, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
        }
        if (value != round && !(rank == 0 && thread == 0))
            fail("the chain brought another round's value");
    }
    return NULL;
}

static void own_messages(void)
{
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    if (rank > 1)
        return;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, chain, &numbers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void *wait_for(void *argument)
{
    MPI_Status status;
    int flag;
    MPI_Wait((MPI_Request *)argument, &status);
    MPI_Test_cancelled(&status, &flag);
    return (void *)(size_t)flag;
}

static void cancel(void)
{
    for (int round = 0; round < rounds; round++) {
        int value;
        pthread_t waiter;
        void *cancelled;
        MPI_Request request, same;
        MPI_Irecv(&value, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, &request);
        same = request;
        pthread_create(&waiter, NULL, wait_for, &request);
        pause_sometimes(round);
        MPI_Cancel(&same);
        pthread_join(waiter, &cancelled);
        if (!cancelled)
            fail("a cancelled receive is not marked so");
    }
}

static void pready(void)
{
    int data[2] = {1, 2}, got[2], other = rank ^ 1;
    MPI_Request send, receive;
    if (other >= size)
        return;
    MPI_Psend_init(data, 2, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(got, 2, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int round = 0; round < rounds; round++) {
        pthread_t waiter;
        MPI_Request same = send;
        MPI_Start(&receive);
        MPI_Start(&send);
        MPI_Pready(0, send);
        pthread_create(&waiter, NULL, wait_for, &same);
        pause_sometimes(round);
        MPI_Pready(1, send);
        pthread_join(waiter, NULL);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        if (got[0] != 1 || got[1] != 2)
            fail("a partition is wrong");
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int freed(void *state) { (void)state; return MPI_SUCCESS; }
static int cancelled(void *state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }

static void complete(void)
{
    for (int round = 0; round < rounds; round++) {
        pthread_t waiter;
        MPI_Request request, same;
        MPI_Grequest_start(query, freed, cancelled, NULL, &request);
        same = request;
        pthread_create(&waiter, NULL, wait_for, &same);
        pause_sometimes(round);
        MPI_Grequest_complete(request);
        pthread_join(waiter, NULL);
    }
}

static void *probe_and_receive(void *argument)
{
    int tag = *(int *)argument, value;
    MPI_Status status;
    for (int round = 0; round < rounds; round++) {
        MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status);
        if (value != round)
            fail("a probed message is of another round");
    }
    return NULL;
}

static void probe(void)
{
    int tags[3] = {11, 12, 13};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, probe_and_receive, &tags[i]);
    for (int round = 0; round < rounds; round++) {
        pause_sometimes(round);
        for (int i = 0; i < 3; i++)
            MPI_Send(&round, 1, MPI_INT, (rank + 1) % size, tags[(i + round) % 3], MPI_COMM_WORLD);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); } cases[] = {
        {"own_messages", own_messages}, {"cancel", cancel}, {"pready", pready}, {"complete", complete}, {"probe", probe},
    };
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc < 2 || strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            MPI_Barrier(MPI_COMM_WORLD);
        }
    MPI_Finalize();
    if (rank == 0)
        puts("ok");
    return 0;
}
