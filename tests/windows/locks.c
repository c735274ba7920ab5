/* Locks: nobody starves, shared locks taken crosswise behind waiting writers do not block, a target that computes delays nobody, and
 * exclusive locks exclude (MPI-5.0 section 12.5.3). */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include "windows.h"

static int rank, size;
static MPI_Win win;
static long *mine;

/* Rank 0 locks exclusively, all others lock all, as often as rounds go. */
static void against_all(int rounds)
{
    int i;
    long seen;

    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, i % size, 0, win);
            MPI_Get(&seen, 1, MPI_LONG, i % size, 0, 1, MPI_LONG, win);
            MPI_Win_flush(i % size, win);
            seen++;
            MPI_Put(&seen, 1, MPI_LONG, i % size, 0, 1, MPI_LONG, win);
            MPI_Win_unlock(i % size, win);
        } else {
            MPI_Win_lock_all(0, win);
            MPI_Win_unlock_all(win);
        }
    }
    check(1, "an exclusive lock against lock_all of all others: %d rounds", rounds);
}

/* A read and a write that only an exclusive lock keeps together. */
static void exclusive(int rounds)
{
    int i;
    long seen, total = 0, all = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    *mine = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < rounds; i++) {
        int target = (rank * 7 + i) % size;

        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
        MPI_Win_flush(target, win);
        seen++;
        MPI_Put(&seen, 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    total = *mine;
    MPI_Win_unlock(rank, win);
    MPI_Allreduce(&total, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check(all == (long)rounds * size, "exclusive locks exclude: %ld of %ld", all, (long)rounds * size);
}

/* Two readers take each the other's target while writers wait for both. */
static void crosswise(int rounds)
{
    int i;

    if (size < 4)
        return;
    for (i = 0; i < rounds; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank < 2) {
            MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
            MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win);
            MPI_Win_unlock(1 - rank, win);
            MPI_Win_unlock(rank, win);
        } else {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank % 2, 0, win);
            MPI_Win_unlock(rank % 2, win);
        }
    }
    check(1, "shared locks taken crosswise behind writers");
}

static void computing_target(void)
{
    double start, took = 0;
    long number = rank;
    struct timespec pause = {0, 300000000};

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        nanosleep(&pause, NULL);
    } else {
        start = MPI_Wtime();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&number, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        MPI_Win_unlock(0, win);
        took = MPI_Wtime() - start;
    }
    /* Without the target's help this takes microseconds; with it, as long as the target is away. */
    check(took < 0.15, "a target that computes delays nobody");
}

/* NOCHECK: no lock is taken, and none is given back. */
static void unchecked(void)
{
    long number = rank, seen = -1;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, MPI_MODE_NOCHECK, win);
    MPI_Put(&number, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
    MPI_Win_unlock(rank, win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Get(&seen, 1, MPI_LONG, rank, 0, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
    check(seen == rank, "locks that need no check");
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    *mine = 0;
    unchecked();
    exclusive(rounds);
    against_all(rounds);
    crosswise(rounds / 10);
    computing_target();
    MPI_Win_free(&win);
    return finish();
}
