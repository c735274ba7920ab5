/* Locks: no rank starves, shared locks taken crosswise behind waiting writers do not block, a target that computes delays no origin, and
 * exclusive locks exclude (MPI-5.0 section 12.5.3). A rank that writes does not give its core away. */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "windows.h"

static int rank, size;
static MPI_Win win;
static long *mine;

/* Rank 0 locks exclusively and changes two words, all others lock all and read them, as often as rounds go: they are equal. */
static void against_all(int rounds)
{
    int i, wrong = 0;
    long seen[2];

    mine[0] = mine[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < rounds; i++) {
        int target = i % size;

        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
            MPI_Get(seen, 2, MPI_LONG, target, 0, 2, MPI_LONG, win);
            MPI_Win_flush(target, win);
            seen[0]++;
            MPI_Put(&seen[0], 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
            MPI_Win_flush(target, win);
            seen[1]++;
            MPI_Put(&seen[1], 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
            MPI_Win_unlock(target, win);
        } else {
            MPI_Win_lock_all(0, win);
            MPI_Get(&seen[0], 1, MPI_LONG, target, 0, 1, MPI_LONG, win);
            MPI_Win_flush(target, win);
            MPI_Get(&seen[1], 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
            MPI_Win_unlock_all(win);
        }
        wrong += seen[0] != seen[1];
    }
    check_all(wrong == 0, "an exclusive lock against lock_all of all others: %d rounds", rounds);
}

/* Rank 0 locks itself exclusively so many times while all others lock all and read its memory, again and again until it is done: a
 * writer that waits is not held up by readers that come after it. */
static void until_done(int rounds)
{
    int i;
    long seen[2] = {0, 0}, epochs = 0;

    mine[0] = mine[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; rank == 0 ? i < rounds : seen[1] == 0; i++) {
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            seen[0] = i;
            seen[1] = i == rounds - 1;
            MPI_Put(seen, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win);
            MPI_Win_unlock(0, win);
        } else {
            MPI_Win_lock_all(0, win);
            MPI_Get(seen, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win);
            MPI_Win_unlock_all(win);
            epochs++;
        }
    }
    check_all(rank == 0 || epochs > 0, "a writer gets through among readers that go on and on: %d rounds", rounds);
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
    check_all(all == (long)rounds * size, "exclusive locks exclude: %ld of %ld", all, (long)rounds * size);
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
    check_all(1, "shared locks taken crosswise behind writers");
}

/* The target stays outside MPI until all others have locked it, put, flushed and unlocked, and made a file each. */
static void computing_target(void)
{
    char directory[80], name[120];
    long number = rank;
    int i, waited = 0;

    snprintf(directory, sizeof directory, "/tmp/alhena-locks-%ld", (long)getpid());
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        mkdir(directory, 0700);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        struct timespec pause = {0, 1000000};

        for (i = 1; i < size; i++) {
            snprintf(name, sizeof name, "%s/%d", directory, i);
            /* A minute: it only bounds a test that fails. */
            while (access(name, F_OK) != 0 && waited++ < 60000)
                nanosleep(&pause, NULL);
            unlink(name);
        }
        rmdir(directory);
    } else {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&number, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        MPI_Win_unlock(0, win);
        snprintf(name, sizeof name, "%s/%d", directory, rank);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    check_all(waited < 60000, "a target that computes delays no other rank");
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
    check_all(seen == rank, "locks that need no check");
}

static long switches(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Rank 0 writes to rank 1 and flushes two windows in turn, while all others compute, on the same cores if there are few. Each core
 * that it gave away would be gone for a whole time slice. */
static void computing_neighbours(void)
{
    enum { ROUNDS = 400 };
    MPI_Win other;
    void *memory;
    MPI_Aint bytes;
    int unit, i, near;
    long before, one = 1;

    MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &memory);
    near = bytes > 0;
    MPI_Allreduce(MPI_IN_PLACE, &near, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!near)
        return;
    MPI_Win_allocate(sizeof one, sizeof one, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &other);
    mine[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Win_lock_all(0, other);
    before = switches();
    for (i = 0; rank == 0 && i < ROUNDS; i++) {
        MPI_Put(&one, 1, MPI_LONG, 1, 1, 1, MPI_LONG, win);
        MPI_Win_flush_all(win);
        MPI_Put(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, other);
        MPI_Win_flush(1, other);
    }
    before = switches() - before;
    for (i = 1; rank == 0 && i < size; i++)
        MPI_Put(&one, 1, MPI_LONG, i, 0, 1, MPI_LONG, win);
    while (rank != 0 && *(volatile long *)mine == 0)
        ;
    MPI_Win_unlock_all(other);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&other);
    check_all(rank != 0 || before < ROUNDS / 4, "a rank that writes and flushes keeps its core");
    if (rank == 0 && before >= ROUNDS / 4)
        printf("%ld times not\n", before);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(2 * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    mine[0] = mine[1] = 0;
    unchecked();
    exclusive(rounds);
    against_all(rounds);
    until_done(rounds);
    crosswise(rounds / 10);
    computing_target();
    if (size > 1)
        computing_neighbours();
    MPI_Win_free(&win);
    return finish();
}
