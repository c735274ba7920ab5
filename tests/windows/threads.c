/* Threads: each has a window of its own that it locks, and all add to one word of a common window in one epoch
 * (MPI-5.0 section 11.6: MPI_THREAD_MULTIPLE). */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include "windows.h"

enum { THREADS = 3 };

static int rank, size, rounds;
static MPI_Win common, own[THREADS];
static long *memory[THREADS];
static int wrong[THREADS];

static void *work(void *argument)
{
    int me = (int)(long)argument, i;
    long one = 1, before, last = -1;

    for (i = 0; i < rounds; i++) {
        int target = (rank + i) % size;
        long seen;

        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, common);
        MPI_Win_flush(0, common);
        wrong[me] += before <= last;
        last = before;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, own[me]);
        MPI_Get(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, own[me]);
        MPI_Win_flush(target, own[me]);
        seen++;
        MPI_Put(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, own[me]);
        MPI_Win_unlock(target, own[me]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, i, bad = 0;
    pthread_t threads[THREADS];
    long *word, total = 0, all;

    rounds = argc > 1 ? atoi(argv[1]) : 500;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &word, &common);
    *word = 0;
    for (i = 0; i < THREADS; i++) {
        MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &own[i]);
        *memory[i] = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, common);
    for (i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(long)i);
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        bad += wrong[i];
    }
    MPI_Win_unlock_all(common);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < THREADS; i++)
        total += *memory[i];
    MPI_Allreduce(&total, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check_all(bad == 0, "what a thread fetches grows");
    check_all(rank != 0 || *word == (long)size * THREADS * rounds, "threads add to one word");
    check_all(all == (long)size * THREADS * rounds, "threads lock windows of their own: %ld of %ld", all,
          (long)size * THREADS * rounds);
    for (i = 0; i < THREADS; i++)
        MPI_Win_free(&own[i]);
    MPI_Win_free(&common);
    return finish();
}
