/* Random programs of epochs and operations against an oracle. Every rank draws the whole program from the same seed, so each knows
 * what all others do: the oracle applies all of it to its own copy of every rank's memory.
 *
 * A round is one epoch of one kind. In it, each cell of each target has one owner, who may put, get and accumulate there in any order;
 * and some cells are summed into by all ranks at once, in which only the total counts. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "windows.h"

enum { CELLS = 24, SHARED_CELLS = 8, ALL = CELLS + SHARED_CELLS, MOST_RANKS = 8, OPERATIONS = 12 };

static int rank, size;
static uint64_t drawn;
static int64_t oracle[MOST_RANKS][ALL];
static int64_t result[OPERATIONS][4], expected[OPERATIONS][4];
static int64_t origin[OPERATIONS][2];

static unsigned draw(unsigned below)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(drawn >> 33) % below;
}

enum kind { FENCE, GROUPS, LOCK, EXCLUSIVE, LOCK_ALL, KINDS };

static MPI_Datatype strided; /* two cells, two apart */

static int64_t apply(MPI_Op op, int64_t left, int64_t right)
{
    if (op == MPI_SUM)
        return left + right;
    if (op == MPI_PROD)
        return (int64_t)((uint64_t)left * (uint64_t)right);
    if (op == MPI_MAX)
        return left > right ? left : right;
    if (op == MPI_BXOR)
        return left ^ right;
    if (op == MPI_NO_OP)
        return right;
    return left;
}

/* One operation of `who` on cells that it owns at `target`: does it if this is `who`, and tells the oracle. */
static int operation(int who, int target, int number, MPI_Win win, int passive, MPI_Request *request)
{
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_BXOR, MPI_REPLACE};
    int what = (int)draw(8), count = 1 + (int)draw(2), holes = count == 2 && draw(2), cell, step = holes ? 2 : 1;
    int i, requested = 0, mine = who == rank, with_request = passive && draw(3) == 0;
    MPI_Op op = ops[draw(5)];
    MPI_Datatype type = holes ? strided : MPI_INT64_T;
    int items = holes ? 1 : count;
    int64_t values[2];
    /* Cells of the owner: CELLS / size in a row. */
    int each = CELLS / size;

    cell = who * each + (int)draw((unsigned)(each - (count - 1) * step));
    values[0] = (int64_t)draw(1000000) - 500000;
    values[1] = (int64_t)draw(1000000) - 500000;
    if (mine) {
        origin[number][0] = values[0];
        origin[number][1] = values[1];
    }
    switch (what) {
    case 0:
    case 1:
        if (mine && with_request)
            MPI_Rput(origin[number], count, MPI_INT64_T, target, cell, items, type, win, request), requested = 1;
        else if (mine)
            MPI_Put(origin[number], count, MPI_INT64_T, target, cell, items, type, win);
        for (i = 0; i < count; i++)
            oracle[target][cell + i * step] = values[i];
        break;
    case 2:
        for (i = 0; i < count && mine; i++)
            expected[number][i] = oracle[target][cell + i * step];
        if (mine && with_request)
            MPI_Rget(result[number], count, MPI_INT64_T, target, cell, items, type, win, request), requested = 1;
        else if (mine)
            MPI_Get(result[number], count, MPI_INT64_T, target, cell, items, type, win);
        break;
    case 3:
    case 4:
        if (mine && with_request)
            MPI_Raccumulate(origin[number], count, MPI_INT64_T, target, cell, items, type, op, win, request), requested = 1;
        else if (mine)
            MPI_Accumulate(origin[number], count, MPI_INT64_T, target, cell, items, type, op, win);
        for (i = 0; i < count; i++)
            oracle[target][cell + i * step] = apply(op, values[i], oracle[target][cell + i * step]);
        break;
    case 5:
        if (draw(4) == 0)
            op = MPI_NO_OP;
        for (i = 0; i < count && mine; i++)
            expected[number][i] = oracle[target][cell + i * step];
        if (mine && with_request)
            MPI_Rget_accumulate(origin[number], count, MPI_INT64_T, result[number], count, MPI_INT64_T, target, cell, items,
                                type, op, win, request), requested = 1;
        else if (mine)
            MPI_Get_accumulate(origin[number], count, MPI_INT64_T, result[number], count, MPI_INT64_T, target, cell, items,
                               type, op, win);
        for (i = 0; i < count; i++)
            oracle[target][cell + i * step] = apply(op, values[i], oracle[target][cell + i * step]);
        break;
    case 6:
        if (mine)
            expected[number][0] = oracle[target][cell];
        if (mine)
            MPI_Fetch_and_op(origin[number], result[number], MPI_INT64_T, target, cell, op, win);
        oracle[target][cell] = apply(op, values[0], oracle[target][cell]);
        break;
    default:
        if (mine)
            expected[number][0] = oracle[target][cell];
        if (draw(2)) /* a swap that succeeds */
            values[1] = oracle[target][cell];
        if (mine)
            origin[number][1] = values[1];
        if (mine)
            MPI_Compare_and_swap(&origin[number][0], &origin[number][1], result[number], MPI_INT64_T, target, cell, win);
        if (oracle[target][cell] == values[1])
            oracle[target][cell] = values[0];
    }
    return requested;
}

/* Between two operations that are not accumulates on one place a flush is due: without one their order is not said. */
static int round_of(MPI_Win win, int64_t *mine)
{
    enum kind kind = (enum kind)draw(KINDS);
    int who, number, i, wrong = 0, requests = 0, count = 1 + (int)draw(OPERATIONS - 1);
    MPI_Request request[OPERATIONS];
    MPI_Group world;
    int target_of[MOST_RANKS], sums;
    int64_t more[4], mine_more[4];

    memset(result, 0, sizeof result);
    memset(expected, 0, sizeof expected);
    for (who = 0; who < size; who++)
        target_of[who] = (int)draw((unsigned)size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    if (kind == FENCE) {
        MPI_Win_fence(draw(2) ? MPI_MODE_NOPRECEDE : 0, win);
    } else if (kind == GROUPS) {
        MPI_Win_post(world, 0, win);
        MPI_Win_start(world, 0, win);
    } else if (kind == LOCK || kind == EXCLUSIVE) {
        MPI_Win_lock(kind == LOCK ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target_of[rank], 0, win);
    } else {
        MPI_Win_lock_all(0, win);
    }
    for (who = 0; who < size; who++) {
        int passive = kind >= LOCK, one = passive ? count : 1;

        for (number = 0; number < one; number++) {
            requests += operation(who, target_of[who], number, win, passive, &request[requests]);
            if (who == rank && passive)
                MPI_Win_flush(target_of[who], win);
        }
        for (sums = (int)draw(4), i = 0; i < sums; i++) {
            int cell = CELLS + (int)draw(SHARED_CELLS);

            more[i] = 1 + (int64_t)draw(100);
            oracle[target_of[who]][cell] += more[i];
            if (who == rank) {
                mine_more[i] = more[i];
                MPI_Accumulate(&mine_more[i], 1, MPI_INT64_T, target_of[who], cell, 1, MPI_INT64_T, MPI_SUM, win);
            }
        }
    }
    MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
    if (kind == FENCE) {
        MPI_Win_fence(draw(2) ? MPI_MODE_NOSUCCEED : 0, win);
    } else if (kind == GROUPS) {
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    } else if (kind == LOCK || kind == EXCLUSIVE) {
        MPI_Win_unlock(target_of[rank], win);
    } else {
        MPI_Win_unlock_all(win);
    }
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (i = 0; i < ALL; i++)
        wrong += mine[i] != oracle[rank][i];
    MPI_Win_unlock(rank, win);
    for (number = 0; number < OPERATIONS; number++)
        for (i = 0; i < 2; i++)
            wrong += result[number][i] != expected[number][i];
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : 20, first = argc > 2 ? (unsigned)atoi(argv[2]) : 1, seed;
    int failed = 0, together;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    together = share_memory();
    MPI_Type_vector(2, 1, 2, MPI_INT64_T, &strided);
    MPI_Type_commit(&strided);
    for (seed = first; seed < first + seeds; seed++) {
        MPI_Win win;
        int64_t *mine, *own = NULL;
        int round, wrong = 0, made;

        drawn = seed * 0x9e3779b97f4a7c15u + 1;
        made = (int)draw(3);
        if (made == 1 && !together)
            made = 0;
        if (made == 0) {
            MPI_Win_allocate(ALL * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        } else if (made == 1) {
            MPI_Win_allocate_shared(ALL * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        } else {
            own = mine = malloc(ALL * sizeof *mine);
            MPI_Win_create(mine, ALL * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        memset(mine, 0, ALL * sizeof *mine);
        memset(oracle, 0, sizeof oracle);
        for (round = 0; round < 30 && wrong == 0; round++) {
            int here = round_of(win, mine);

            MPI_Allreduce(&here, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
        if (wrong && rank == 0)
            printf("FAIL seed %u, round %d: %d values are wrong\n", seed, round, wrong);
        failed += wrong != 0;
        MPI_Win_free(&win);
        free(own);
    }
    MPI_Type_free(&strided);
    check(failed == 0, "random programs from seed %u on: %u", first, seeds);
    return finish();
}
