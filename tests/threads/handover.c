/* One thread waits for a nonblocking collective while another one begins the next on the same communicator: the second gets
 * what both use when the first is over, even if the first thread hardly ever runs. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 300 };
static MPI_Comm comm;
static sem_t due, started;

/* Begins barriers and waits for them, at the lowest priority. */
static void *waiter(void *unused)
{
    struct sched_param none = {0};
    MPI_Request request;
    int round;
    (void)unused;
    sched_setscheduler(0, SCHED_IDLE, &none);
    for (round = 0; round < ROUNDS; round++) {
        sem_wait(&due);
        MPI_Ibarrier(comm, &request);
        sem_post(&started);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank, round, i, data[512], good = 1;
    pthread_t thread;
    MPI_Request request;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* Afterwards the processes know whether they can read each other's memory. */
    MPI_Barrier(comm);
    sem_init(&due, 0, 0);
    sem_init(&started, 0, 0);
    if (rank == 0)
        pthread_create(&thread, NULL, waiter, NULL);
    for (round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            sem_post(&due);
            sem_wait(&started);
        } else {
            usleep(200 + 37 * round % 1000);
            MPI_Ibarrier(comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (i = 0; i < 512; i++)
            data[i] = rank == 0 ? round + i : -1;
        MPI_Bcast(data, 512, MPI_INT, 0, comm);
        for (i = 0; i < 512; i++)
            good &= data[i] == round + i;
    }
    if (rank == 0)
        pthread_join(thread, NULL);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    if (rank == 0 && good)
        puts("ok");
    return !good;
}
