/* A race that ThreadSanitizer must report: one thread writes what another one has the library send. Shows that the library's
 * own accesses are seen, before its silence about tests/threads/stress.c is believed. */
#include <mpi.h>
#include <pthread.h>

static int shared[1000];

static void *writer(void *unused)
{
    for (int i = 0; i < 1000; i++)
        shared[i] = i;
    return unused;
}

int main(int argc, char **argv)
{
    int provided, copy[1000];
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    pthread_create(&thread, NULL, writer, NULL);
    MPI_Sendrecv(shared, 1000, MPI_INT, 0, 0, copy, 1000, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
