/* Persistent requests of several threads, each with a communicator of its own: messages in both directions and collectives, waited
 * for by MPI_Waitall, one by one, and by threads that find them complete. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 400, REQUESTS = 5 };

static MPI_Comm comms[THREADS];
static int rank, size, good[THREADS];

static void *work(void *argument)
{
    int me = *(int *)argument, in = 0, out = 0, token = 0, got = -1, given = 0, round, i, done, left = (rank + size - 1) % size,
        right = (rank + 1) % size;
    MPI_Comm comm = comms[me];
    MPI_Request requests[REQUESTS];
    MPI_Status status;
    MPI_Recv_init(&got, 1, MPI_INT, left, 3, comm, &requests[0]);
    MPI_Send_init(&given, 1, MPI_INT, right, 3, comm, &requests[1]);
    MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[2]);
    MPI_Bcast_init(&token, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[3]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[4]);
    good[me] = 1;
    for (round = 0; round < ROUNDS; round++) {
        given = 1000 * me + round + rank;
        in = round + rank;
        token = rank ? -1 : round;
        if ((round + rank) % 2)
            MPI_Startall(REQUESTS, requests);
        else
            for (i = REQUESTS - 1; i >= 0; i--)
                MPI_Start(&requests[i]);
        if (round % 3 == 0) {
            MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
        } else {
            for (i = 0; i < REQUESTS; i++) {
                if (round % 3 == 1)
                    MPI_Wait(&requests[i], &status);
                else
                    for (done = 0; !done;)
                        MPI_Test(&requests[i], &done, &status);
                if (i == 0)
                    good[me] &= status.MPI_SOURCE == left && status.MPI_TAG == 3;
            }
        }
        good[me] &= got == 1000 * me + round + left && out == size * round + size * (size - 1) / 2 && token == round;
    }
    for (i = 0; i < REQUESTS; i++)
        MPI_Request_free(&requests[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, i, all = 1, numbers[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (i = 0; i < THREADS; i++) {
        numbers[i] = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all &= good[i];
        MPI_Comm_free(&comms[i]);
    }
    printf("%s persistent requests of %d threads, rank %d\n", all ? "ok" : "FAIL", THREADS, rank);
    MPI_Finalize();
    return !all;
}
