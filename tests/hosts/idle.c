/* A rank that waits sleeps: for SECONDS, it uses a small part of one processor's time. Rank 0 waits for each of the others in
 * turn, by one thread or by two of which each waits for messages of its own; they compute (sleep) and then send. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define SECONDS 0.7

static int size;

static void *wait_for_all(void *tag)
{
    int value;
    for (int other = 1; other < size; other++) {
        MPI_Recv(&value, 1, MPI_INT, other, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (value != other)
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return NULL;
}

static double used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    int rank, provided, threads = argc > 1 ? atoi(argv[1]) : 1, tags[2] = {0, 1};
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 2; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank) {
            usleep((useconds_t)(SECONDS * 1e6 * rank));
            for (int thread = 0; thread < threads; thread++)
                MPI_Send(&rank, 1, MPI_INT, 0, tags[thread], MPI_COMM_WORLD);
            continue;
        }
        double before = used(), began = MPI_Wtime();
        pthread_t other;
        if (threads > 1)
            pthread_create(&other, NULL, wait_for_all, &tags[1]);
        wait_for_all(&tags[0]);
        if (threads > 1)
            pthread_join(other, NULL);
        double part = (used() - before) / (MPI_Wtime() - began);
        if (part > 0.3) {
            printf("FAIL a waiting rank used %.2f of a processor\n", part);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    if (rank == 0)
        puts("ok");
    MPI_Finalize();
    return 0;
}
