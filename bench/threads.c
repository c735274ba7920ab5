/*
 * Message rate of threads, each with a communicator of its own: the threads of the first rank send windows of small
 * messages to those of the last one; messages of all threads together per second. --what is the number of threads.
 */
#include "kernel.h"

#include <pthread.h>

enum { WINDOW = 64, MOST = 64 };

static struct worker {
    pthread_t thread;
    MPI_Comm comm;
    size_t bytes;
    long iterations;
} workers[MOST];

static int threads;

static void *work(void *argument)
{
    struct worker *w = argument;
    int n = (int)w->bytes, last = k.ranks - 1;
    MPI_Request requests[WINDOW];
    for (long i = 0; i < w->iterations; i++) {
        if (k.rank == 0) {
            for (int m = 0; m < WINDOW; m++)
                MPI_Isend(k.out, n, MPI_BYTE, last, TAG, w->comm, &requests[m]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(NULL, 0, MPI_BYTE, last, TAG, w->comm, MPI_STATUS_IGNORE);
        } else if (k.rank == last) {
            for (int m = 0; m < WINDOW; m++)
                MPI_Irecv(k.in, n, MPI_BYTE, 0, TAG, w->comm, &requests[m]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, w->comm);
        }
    }
    return NULL;
}

static void rate(size_t bytes, long iterations)
{
    for (int i = 0; i < threads; i++) {
        workers[i].bytes = bytes;
        workers[i].iterations = iterations;
        if (i > 0 && pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            kernel_fail("starting a thread", "the system has no more");
    }
    work(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(workers[i].thread, NULL);
}

static double messages_per_second(size_t bytes, double seconds)
{
    (void)bytes;
    return (double)WINDOW * threads / seconds;
}

int main(int argc, char **argv)
{
    k.level = MPI_THREAD_MULTIPLE;
    kernel_begin(argc, argv, 2, 8, 1024);
    k.factor = 8;
    k.receives = k.rank == k.ranks - 1;
    threads = *k.what ? atoi(k.what) : 2;
    if (threads < 1 || threads > MOST)
        kernel_fail("choosing a number of threads; 1 to 64 are possible", k.what);
    for (int i = 0; i < threads; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    kernel_sizes(rate, messages_per_second, "msg/s");
    for (int i = 0; i < threads; i++)
        MPI_Comm_free(&workers[i].comm);
    kernel_end();
    return 0;
}
