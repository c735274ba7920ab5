/* MPI_THREAD_MULTIPLE: threads that exchange on communicators of their own and on a shared one, with wildcards,
 * probes, cancelled receives and waits that other threads' progress completes. Prints "ok" from rank 0. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 300, LARGE = 100000 };

static int rank, size;
static MPI_Comm own[THREADS];
static int failures;

static void check(int good, const char *what, int thread)
{
    if (!good) {
        __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
        fprintf(stderr, "rank %d thread %d: %s\n", rank, thread, what);
    }
}

/* A ring on the thread's own communicator, short and long messages in turn. */
static void ring(int thread)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int *out = malloc(LARGE * sizeof *out), *in = malloc(LARGE * sizeof *in);
    for (int i = 0; i < ROUNDS; i++) {
        int count = i % 50 == 49 ? LARGE : i % 7 + 1;
        for (int k = 0; k < count; k++)
            out[k] = rank * 1000003 + thread * 1009 + i + k;
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Irecv(in, count, MPI_INT, previous, i, own[thread], &requests[0]);
        MPI_Isend(out, count, MPI_INT, next, i, own[thread], &requests[1]);
        MPI_Waitall(2, requests, statuses);
        int received, good = 1;
        MPI_Get_count(&statuses[0], MPI_INT, &received);
        for (int k = 0; k < count; k++)
            good &= in[k] == previous * 1000003 + thread * 1009 + i + k;
        check(good && received == count && statuses[0].MPI_TAG == i, "ring data", thread);
    }
    free(out);
    free(in);
}

/* All threads share one communicator and tell their messages apart by tag; the even ones receive by matched probe
 * with a wildcard source, the odd ones by blocking receive. */
static void shared(int thread)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        int out[3] = {rank, thread, i}, in[3] = {-1, -1, -1};
        MPI_Request request;
        MPI_Isend(out, 3, MPI_INT, next, thread, MPI_COMM_WORLD, &request);
        if (thread % 2 == 0) {
            MPI_Message message;
            MPI_Status status;
            MPI_Mprobe(MPI_ANY_SOURCE, thread, MPI_COMM_WORLD, &message, &status);
            MPI_Mrecv(in, 3, MPI_INT, &message, &status);
            check(status.MPI_SOURCE == previous, "source of a probed message", thread);
        } else {
            MPI_Recv(in, 3, MPI_INT, previous, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(in[0] == previous && in[1] == thread && in[2] == i, "order on the shared communicator", thread);
    }
}

/* Receives that nothing matches can be cancelled while other threads receive. */
static void cancel(int thread)
{
    for (int i = 0; i < ROUNDS; i++) {
        int never, cancelled;
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 7777 + thread, own[thread], &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        check(cancelled, "an unmatched receive was not cancelled", thread);
    }
}

static void *work(void *argument)
{
    int thread = (int)(long)argument, sum = 0;
    ring(thread);
    shared(thread);
    cancel(thread);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, own[thread]);
        check(sum == size * (size - 1) / 2, "allreduce", thread);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(provided == MPI_THREAD_MULTIPLE, "provided level", -1);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&own[i]);
    int all;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all == 0 ? "ok" : "FAIL");
    MPI_Finalize();
    return all != 0;
}
