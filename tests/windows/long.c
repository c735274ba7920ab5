/* Long accumulates beside single elements on the same memory: nothing is lost and nothing is torn, whatever way the library takes and
 * whenever it changes it (MPI-5.0 section 12.7.1). */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "windows.h"

enum { CELLS = 4096 };

static int rank, size;
static MPI_Win win;
static int64_t *mine;

/* Every rank adds 1 to all cells of rank 0, in pieces of `piece` cells, and between two pieces `singles` times to one cell. */
static void sums(int piece, int singles, int rounds, int exclusive)
{
    static int64_t ones[CELLS], before[CELLS];
    int round, at, i, wrong = 0;
    int64_t one = 1, seen, extra = 0, all;

    for (i = 0; i < CELLS; i++)
        ones[i] = 1;
    memset(mine, 0, CELLS * sizeof *mine);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!exclusive)
        MPI_Win_lock_all(0, win);
    for (round = 0; round < rounds; round++) {
        for (at = 0; at < CELLS; at += piece) {
            if (exclusive)
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            if (at / piece % 2) {
                MPI_Get_accumulate(ones, piece, MPI_INT64_T, before, piece, MPI_INT64_T, 0, at, piece, MPI_INT64_T, MPI_SUM, win);
                MPI_Win_flush(0, win);
                for (i = 0; i < piece; i++)
                    wrong += before[i] < round || before[i] > (int64_t)rounds * size * (singles + 1);
            } else {
                MPI_Accumulate(ones, piece, MPI_INT64_T, 0, at, piece, MPI_INT64_T, MPI_SUM, win);
            }
            for (i = 0; i < singles; i++) {
                if (i % 3 == 0) {
                    MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, 0, at + i % piece, MPI_SUM, win);
                } else if (i % 3 == 1) {
                    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, at + i % piece, 1, MPI_INT64_T, MPI_SUM, win);
                } else {
                    int64_t expected, wanted;

                    MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, 0, at + i % piece, MPI_NO_OP, win);
                    MPI_Win_flush(0, win);
                    do {
                        expected = seen;
                        wanted = seen + 1;
                        MPI_Compare_and_swap(&wanted, &expected, &seen, MPI_INT64_T, 0, at + i % piece, win);
                        MPI_Win_flush(0, win);
                    } while (seen != expected);
                }
                extra++;
            }
            if (exclusive)
                MPI_Win_unlock(0, win);
        }
    }
    if (!exclusive)
        MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&extra, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        for (i = 0, seen = 0; i < CELLS; i++) {
            wrong += mine[i] < (int64_t)rounds * size;
            seen += mine[i];
        }
        MPI_Win_unlock(0, win);
        wrong += seen != (int64_t)rounds * size * CELLS + all;
    }
    check_all(wrong == 0, "pieces of %d cells, %d single ones between, %s: %d wrong", piece, singles,
          exclusive ? "exclusively" : "at once", wrong);
}

/* One rank at a time adds long pieces to rank 0 alone, often enough to keep the lock of its elements; then the others join it while it
 * goes on. */
static void keepers(int pieces)
{
    enum { PIECE = 16 };
    static int64_t ones[PIECE];
    int turn, i, wrong = 0;
    int64_t one = 1, seen, expected = 0, each = pieces + pieces / 4;

    for (i = 0; i < PIECE; i++)
        ones[i] = 1;
    memset(mine, 0, CELLS * sizeof *mine);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (turn = 0; turn < 2 * size; turn++) {
        int64_t begin = expected;

        for (i = 0; i < each && rank == turn % size; i++) {
            MPI_Accumulate(ones, PIECE, MPI_INT64_T, 0, 0, PIECE, MPI_INT64_T, MPI_SUM, win);
            MPI_Win_flush(0, win);
        }
        seen = begin;
        while (rank != turn % size && seen < begin + pieces) {
            MPI_Get(&seen, 1, MPI_INT64_T, 0, PIECE - 1, 1, MPI_INT64_T, win);
            MPI_Win_flush(0, win);
        }
        for (i = 0; i < 100 && rank != turn % size; i++) {
            if (i % 4 == turn % 4) {
                int64_t compare, wanted;

                do {
                    compare = seen;
                    wanted = seen + 1;
                    MPI_Compare_and_swap(&wanted, &compare, &seen, MPI_INT64_T, 0, PIECE - 1, win);
                    MPI_Win_flush(0, win);
                } while (seen != compare);
            } else if (i % 4 == 0) {
                MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, 0, PIECE - 1, MPI_SUM, win);
            } else {
                MPI_Accumulate(ones, PIECE, MPI_INT64_T, 0, 0, PIECE, MPI_INT64_T, MPI_SUM, win);
            }
            MPI_Win_flush(0, win);
        }
        expected += each + 100 * (size - 1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Get(&seen, 1, MPI_INT64_T, 0, PIECE - 1, 1, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        wrong += seen != expected;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    check_all(wrong == 0, "one rank alone for %d pieces, then all: %d wrong", pieces, wrong);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(CELLS * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    sums(512, 0, rounds * 10, 0);
    sums(64, 3, rounds, 0);
    sums(1024, 600, rounds, 0);
    sums(8, 9, 1 + rounds / 10, 0);
    sums(4096, 5, rounds, 1);
    sums(512, 1, 1 + rounds / 5, 1);
    keepers(150 * rounds);
    MPI_Win_free(&win);
    return finish();
}
