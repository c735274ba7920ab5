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
static int64_t origin[OPERATIONS][4];
/* Displacements: of a rank's first cell, and from one cell to the next. */
static MPI_Aint place[MOST_RANKS], pace;

static unsigned draw(unsigned below)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(drawn >> 33) % below;
}

enum kind { FENCE, GROUPS, LOCK, EXCLUSIVE, LOCK_ALL, KINDS };

static MPI_Datatype strided; /* two cells, two apart */
static MPI_Datatype backward; /* the second one comes before the first */

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

/* One operation of `who` on cells that it owns at `target`: does it if this is `who`, and notes it in the oracle. */
static int operation(int who, int target, int number, MPI_Win win, int passive, MPI_Request *request)
{
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_BXOR, MPI_REPLACE};
    int what = (int)draw(8), count = 1 + (int)draw(2), holes = count == 2 ? (int)draw(3) : 0, cell;
    int i, requested = 0, mine = who == rank, with_request = passive && draw(3) == 0;
    MPI_Op op = ops[draw(5)];
    MPI_Datatype type = holes == 0 ? MPI_INT64_T : holes == 1 ? strided : backward;
    int items = holes ? 1 : count, step = holes == 0 ? 1 : holes == 1 ? 2 : -2, wide = count - 1 + (holes != 0);
    /* The same at the origin, where only the layout is another. */
    int apart = count == 2 && draw(2) ? 2 : 1, kept = apart == 2 ? 1 : count;
    MPI_Datatype own = apart == 2 ? strided : MPI_INT64_T;
    int64_t values[2];
    /* Cells of the owner: CELLS / size in a row. */
    int each = CELLS / size;
    MPI_Aint disp;

    cell = who * each + (int)draw((unsigned)(each - wide)) + (step < 0 ? 2 : 0);
    disp = place[target] + cell * pace;
    values[0] = (int64_t)draw(1000000) - 500000;
    values[1] = (int64_t)draw(1000000) - 500000;
    if (mine) {
        origin[number][0] = values[0];
        origin[number][apart] = values[1];
    }
    switch (what) {
    case 0:
    case 1:
        if (mine && with_request)
            MPI_Rput(origin[number], kept, own, target, disp, items, type, win, request), requested = 1;
        else if (mine)
            MPI_Put(origin[number], kept, own, target, disp, items, type, win);
        for (i = 0; i < count; i++)
            oracle[target][cell + i * step] = values[i];
        break;
    case 2:
        for (i = 0; i < count && mine; i++)
            expected[number][i * apart] = oracle[target][cell + i * step];
        if (mine && with_request)
            MPI_Rget(result[number], kept, own, target, disp, items, type, win, request), requested = 1;
        else if (mine)
            MPI_Get(result[number], kept, own, target, disp, items, type, win);
        break;
    case 3:
    case 4:
        if (mine && with_request)
            MPI_Raccumulate(origin[number], kept, own, target, disp, items, type, op, win, request), requested = 1;
        else if (mine)
            MPI_Accumulate(origin[number], kept, own, target, disp, items, type, op, win);
        for (i = 0; i < count; i++)
            oracle[target][cell + i * step] = apply(op, values[i], oracle[target][cell + i * step]);
        break;
    case 5:
        if (draw(4) == 0)
            op = MPI_NO_OP;
        for (i = 0; i < count && mine; i++)
            expected[number][i * apart] = oracle[target][cell + i * step];
        if (mine && with_request)
            MPI_Rget_accumulate(origin[number], kept, own, result[number], kept, own, target, disp, items,
                                type, op, win, request), requested = 1;
        else if (mine)
            MPI_Get_accumulate(origin[number], kept, own, result[number], kept, own, target, disp, items,
                               type, op, win);
        for (i = 0; i < count; i++)
            oracle[target][cell + i * step] = apply(op, values[i], oracle[target][cell + i * step]);
        break;
    case 6:
        if (mine)
            expected[number][0] = oracle[target][cell];
        if (mine)
            MPI_Fetch_and_op(origin[number], result[number], MPI_INT64_T, target, disp, op, win);
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
            MPI_Compare_and_swap(&origin[number][0], &origin[number][1], result[number], MPI_INT64_T, target, disp, win);
        if (oracle[target][cell] == values[1])
            oracle[target][cell] = values[0];
    }
    return requested;
}

/* Between two operations that are not accumulates on one place a flush is due: without one they have no order. */
static int round_of(MPI_Win win, int64_t *mine)
{
    enum kind kind = (enum kind)draw(KINDS);
    int who, number, i, wrong = 0, requests = 0, count = 1 + (int)draw(OPERATIONS - 1);
    MPI_Request request[OPERATIONS];
    MPI_Group world, started, posted;
    int target_of[MOST_RANKS], targets[MOST_RANKS], origins[MOST_RANKS], starts = 0, posts = 0, sums;
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
        /* Groups that overlap: of each origin its target, and others by chance. */
        for (who = 0; who < size; who++)
            for (i = 0; i < size; i++)
                if (draw(3) == 0 || i == target_of[who]) {
                    if (who == rank)
                        targets[starts++] = i;
                    if (i == rank)
                        origins[posts++] = who;
                }
        MPI_Group_incl(world, starts, targets, &started);
        MPI_Group_incl(world, posts, origins, &posted);
        MPI_Win_post(posted, 0, win);
        MPI_Win_start(started, 0, win);
        MPI_Group_free(&started);
        MPI_Group_free(&posted);
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
                MPI_Accumulate(&mine_more[i], 1, MPI_INT64_T, target_of[who], place[target_of[who]] + cell * pace, 1, MPI_INT64_T,
                               MPI_SUM, win);
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
        for (i = 0; i < 4; i++)
            wrong += result[number][i] != expected[number][i];
    return wrong;
}

int main(int argc, char **argv)
{
    unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : 20, first = argc > 2 ? (unsigned)atoi(argv[2]) : 1, seed;
    int failed = 0, together, ends[2] = {1, 1}, turned[2] = {0, -2}, i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    together = share_memory();
    MPI_Type_vector(2, 1, 2, MPI_INT64_T, &strided);
    MPI_Type_commit(&strided);
    MPI_Type_indexed(2, ends, turned, MPI_INT64_T, &backward);
    MPI_Type_commit(&backward);
    for (seed = first; seed < first + seeds; seed++) {
        MPI_Win win;
        int64_t *mine, *own = NULL, *given = NULL;
        int round, wrong = 0, made;

        drawn = seed * 0x9e3779b97f4a7c15u + 1;
        made = (int)draw(6);
        pace = 1;
        memset(place, 0, sizeof place);
        if (made == 1 && !together)
            made = 0;
        if (made == 0) {
            MPI_Win_allocate(ALL * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        } else if (made == 1) {
            MPI_Win_allocate_shared(ALL * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        } else if (made == 4 || (made == 5 && rank % 2)) {
            /* Memory that processes may share, of all of them or of every other one. */
            MPI_Alloc_mem(ALL * sizeof *mine, MPI_INFO_NULL, &given);
            mine = given;
            MPI_Win_create(mine, ALL * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        } else if (made == 2 || made == 5) {
            own = mine = malloc(ALL * sizeof *mine);
            MPI_Win_create(mine, ALL * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        } else {
            /* In two pieces, which operations may span. */
            own = mine = malloc(ALL * sizeof *mine);
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
            for (i = 0; i < 2; i++)
                MPI_Win_attach(win, mine + i * ALL / 2, ALL / 2 * sizeof *mine);
            MPI_Get_address(mine, &place[rank]);
            MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, 1, MPI_AINT, MPI_COMM_WORLD);
            pace = sizeof *mine;
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
        if (given)
            MPI_Free_mem(given);
    }
    MPI_Type_free(&strided);
    MPI_Type_free(&backward);
    check_all(failed == 0, "random programs from seed %u on: %u", first, seeds);
    return finish();
}
