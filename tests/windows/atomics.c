/* Accumulates of all kinds on the same places by all ranks at once, the target included: totals are exact, nothing is torn, and what
 * one origin does to one place happens in its order (MPI-5.0 sections 12.3.4 and 12.7.1). */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "windows.h"

enum { ROUNDS = 2000, PLACE = 64 };

static int rank, size;
static char *mine;
static MPI_Win win;

static void zero(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(mine, 0, PLACE * 16);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One word of rank 0 in four ways. Sums are whole numbers that every type holds exactly. */
#define MIXED(NAME, CTYPE, MPITYPE, SWAPS)                                                                       \
    static void NAME(const char *kind)                                                                           \
    {                                                                                                            \
        CTYPE one = 1, seen = 0, before, last = 0, total;                                                        \
        int i, wrong = 0;                                                                                        \
                                                                                                                 \
        zero();                                                                                                  \
        MPI_Win_lock_all(0, win);                                                                                \
        for (i = 0; i < ROUNDS / 100; i++) {                                                                     \
            MPI_Accumulate(&one, 1, MPITYPE, 0, 0, 1, MPITYPE, MPI_SUM, win);                                    \
            MPI_Fetch_and_op(&one, &before, MPITYPE, 0, 0, MPI_SUM, win);                                        \
            MPI_Get_accumulate(NULL, 0, MPITYPE, &seen, 1, MPITYPE, 0, 0, 1, MPITYPE, MPI_NO_OP, win);           \
            MPI_Win_flush(0, win);                                                                               \
            wrong += seen < before + 1 || before < last;                                                         \
            last = seen;                                                                                         \
            if (SWAPS) {                                                                                         \
                CTYPE expected, next;                                                                            \
                do {                                                                                             \
                    expected = seen;                                                                             \
                    next = expected + 1;                                                                         \
                    MPI_Compare_and_swap(&next, &expected, &seen, SWAPS ? MPITYPE : MPI_INT, 0, 0, win);         \
                    MPI_Win_flush(0, win);                                                                       \
                } while (seen != expected);                                                                      \
            }                                                                                                    \
        }                                                                                                        \
        MPI_Win_unlock_all(win);                                                                                 \
        MPI_Barrier(MPI_COMM_WORLD);                                                                             \
        memcpy(&total, mine, sizeof total);                                                                      \
        check_all(wrong == 0, "%s: values only grow", kind);                                                         \
        check_all(rank != 0 || total == (CTYPE)(size * (ROUNDS / 100) * (SWAPS ? 3 : 2)), "%s: the total is exact", kind); \
    }

MIXED(mixed_16, int16_t, MPI_INT16_T, 1)
MIXED(mixed_32, int32_t, MPI_INT32_T, 1)
MIXED(mixed_64, int64_t, MPI_INT64_T, 1)
MIXED(mixed_f32, float, MPI_FLOAT, 0)
MIXED(mixed_f64, double, MPI_DOUBLE, 0)
MIXED(mixed_long, long double, MPI_LONG_DOUBLE, 0)

/* Each rank offers pairs; the smallest value with its own index is left. */
static void pairs(void)
{
    struct { double value; int index; } offer, seen;
    struct { long double value; int index; } wide;
    int i, wrong = 0;

    zero();
    offer.value = 1e9;
    offer.index = -1;
    MPI_Win_lock_all(0, win);
    if (rank == 0)
        MPI_Accumulate(&offer, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_REPLACE, win);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = ROUNDS / 10; i > 0; i--) {
        offer.value = i * size + rank;
        offer.index = 7 * (i * size + rank);
        MPI_Get_accumulate(&offer, 1, MPI_DOUBLE_INT, &seen, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC, win);
        MPI_Win_flush(0, win);
        wrong += seen.index != -1 && seen.index != 7 * (int)seen.value;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get_accumulate(NULL, 0, MPI_DOUBLE_INT, &seen, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    check_all(wrong == 0, "pairs are never torn");
    check_all(seen.value == size && seen.index == 7 * size, "the smallest pair is left");
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 1; i <= ROUNDS / 10; i++) {
        wide.value = i * size + rank;
        wide.index = 3 * (i * size + rank);
        MPI_Accumulate(&wide, 1, MPI_LONG_DOUBLE_INT, 0, 512, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC, win);
        MPI_Win_flush_local(0, win);
    }
    MPI_Win_flush(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get_accumulate(NULL, 0, MPI_LONG_DOUBLE_INT, &wide, 1, MPI_LONG_DOUBLE_INT, 0, 512, 1, MPI_LONG_DOUBLE_INT,
                       MPI_NO_OP, win);
    MPI_Win_unlock_all(win);
    check_all(wide.value == ROUNDS / 10 * size + size - 1 && wide.index == 3 * (int)wide.value, "the largest wide pair is left");
}

/* The second of two replacements stays; the target itself and types with holes are no exception. */
static void order(void)
{
    int i, target, wrong = 0, first[3] = {1, 2, 3}, second[3], seen[6];
    MPI_Datatype holes;

    MPI_Type_vector(3, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    zero();
    for (target = 0; target < size; target++) {
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        for (i = 0; i < 100; i++) {
            MPI_Aint place = 64 * (rank % 8);

            second[0] = second[1] = second[2] = 1000 * i + rank;
            MPI_Accumulate(first, 3, MPI_INT, target, place, 1, holes, MPI_REPLACE, win);
            MPI_Accumulate(second, 3, MPI_INT, target, place, 1, holes, MPI_REPLACE, win);
            MPI_Get_accumulate(NULL, 0, MPI_INT, seen, 1, holes, target, place, 1, holes, MPI_NO_OP, win);
            MPI_Win_flush(target, win);
            wrong += seen[0] != second[0] || seen[2] != second[1] || seen[4] != second[2];
        }
        MPI_Win_unlock(target, win);
    }
    MPI_Type_free(&holes);
    check_all(size > 8 || wrong == 0, "replacements keep their order");
}

/* Elements that are not aligned, next to ones that are. */
static void unaligned(void)
{
    int i, one = 1, total;

    zero();
    MPI_Win_lock_all(0, win);
    for (i = 0; i < ROUNDS / 10; i++)
        MPI_Accumulate(&one, 1, MPI_INT, 0, 61, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    memcpy(&total, mine + 61, sizeof total);
    check_all(rank != 0 || total == size * (ROUNDS / 10), "sums at an odd address");
}

/* Atomics beside the other ways to name memory: request-based ones, many elements at once. */
static void many(void)
{
    enum { COUNT = 32 };
    double ones[COUNT], seen[COUNT];
    int i, wrong = 0;
    MPI_Request request[2];

    for (i = 0; i < COUNT; i++)
        ones[i] = 1;
    zero();
    MPI_Win_lock_all(0, win);
    for (i = 0; i < ROUNDS / 20; i++) {
        MPI_Raccumulate(ones, COUNT, MPI_DOUBLE, 0, 0, COUNT, MPI_DOUBLE, MPI_SUM, win, &request[0]);
        MPI_Rget_accumulate(ones, COUNT, MPI_DOUBLE, seen, COUNT, MPI_DOUBLE, 0, 0, COUNT, MPI_DOUBLE, MPI_SUM, win, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < COUNT; i++)
        wrong += ((double *)mine)[i] != 2.0 * size * (ROUNDS / 20);
    check_all(rank != 0 || wrong == 0, "sums of arrays with requests");
}

static void all(const char *kind)
{
    char what[60];

#define ONE(NAME, TYPE) (snprintf(what, sizeof what, "%s, " TYPE, kind), NAME(what))
    ONE(mixed_16, "2 bytes");
    ONE(mixed_32, "4 bytes");
    ONE(mixed_64, "8 bytes");
    ONE(mixed_f32, "float");
    ONE(mixed_f64, "double");
    ONE(mixed_long, "long double");
    pairs();
    order();
    unaligned();
    many();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(PLACE * 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    all("allocated");
    MPI_Win_free(&win);
    mine = malloc(PLACE * 16);
    MPI_Win_create(mine, PLACE * 16, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    all("created");
    MPI_Win_free(&win);
    free(mine);
    return finish();
}
