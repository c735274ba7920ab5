/* Random operations while a rank of the window dies, and the job lives on (-disable-auto-cleanup): what each operation returns is true.
 *
 * Each rank has cells of its own at every target, so it knows what is there. The last rank takes part until it ends in the middle of a
 * step, or stops answering before it is killed. Of the others
 *   - every operation on a living target succeeds and brings the right value, whatever becomes of the dead one;
 *   - one on the dead rank succeeds, and then the value is right, or ends with MPI_ERR_PROC_ABORTED: never with another class, never not;
 *   - a flush, request or unlock reports its own operations alone, and an epoch is over when its end was called.
 *
 * usage: lost SEED */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "process.h"
#include "windows.h"

enum { CELLS = 16, STEPS = 60, MOST_RANKS = 8, MOST = 8 };

static int rank, size, victim, failures;
static uint64_t drawn;
static MPI_Win win;
/* What this rank has at each target, and whether it knows. */
static int64_t oracle[MOST_RANKS][CELLS];
static char known[MOST_RANKS][CELLS];
static MPI_Aint place[MOST_RANKS], pace = 1;
static pid_t theirs;

static unsigned draw(unsigned below)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(drawn >> 33) % below;
}

static void fail(const char *what, int target, int code)
{
    printf("FAIL rank %d: %s of rank %d%s: class %d\n", rank, what, target, target == victim ? ", which dies" : "", class_of(code));
    fflush(stdout);
    failures++;
}

/* Whether a call on a target has succeeded; prints it if it may not fail in this way. `target` -1: of all. */
static int good(const char *what, int target, int code)
{
    if (code != MPI_SUCCESS && ((target >= 0 && target != victim) || class_of(code) != MPI_ERR_PROC_ABORTED))
        fail(what, target, code);
    return code == MPI_SUCCESS;
}

/* An operation that is not complete yet. */
static struct operation {
    int target, cell, fetches, over;
    int64_t value, before, expected;
    char is_known;
    MPI_Request request;
} pending[MOST];

/* Ends an operation that has succeeded, or has not. */
static void end(struct operation *op, int succeeded, const char *how)
{
    if (op->fetches && succeeded && op->is_known && op->before != op->expected) {
        printf("FAIL rank %d: %s brought %lld from cell %d of rank %d, where %lld was\n", rank, how, (long long)op->before, op->cell,
               op->target, (long long)op->expected);
        failures++;
    }
    if (!succeeded)
        known[op->target][op->cell] = 0;
}

/* Begins one operation on the target; 0: its call has failed. Accumulates of one place are in order, and the rest is on cells that no
 * other operation of the step has. */
static int begin(struct operation *op, int target, int cell)
{
    MPI_Aint disp = place[target] + (rank * CELLS + cell) * pace;
    int code, what = (int)draw(7);
    static const int64_t zero;

    *op = (struct operation){.target = target, .cell = cell, .value = (int64_t)draw(1000000), .before = -1, .request = MPI_REQUEST_NULL};
    op->expected = oracle[target][cell];
    op->is_known = known[target][cell];
    switch (what) {
    case 0:
        code = MPI_Put(&op->value, 1, MPI_INT64_T, target, disp, 1, MPI_INT64_T, win);
        break;
    case 1:
        code = MPI_Rput(&op->value, 1, MPI_INT64_T, target, disp, 1, MPI_INT64_T, win, &op->request);
        break;
    case 2:
        op->fetches = 1;
        code = MPI_Get(&op->before, 1, MPI_INT64_T, target, disp, 1, MPI_INT64_T, win);
        break;
    case 3:
        op->fetches = 1;
        code = MPI_Rget(&op->before, 1, MPI_INT64_T, target, disp, 1, MPI_INT64_T, win, &op->request);
        break;
    case 4:
        code = MPI_Accumulate(&op->value, 1, MPI_INT64_T, target, disp, 1, MPI_INT64_T, MPI_SUM, win);
        break;
    case 5:
        op->fetches = 1;
        code = MPI_Rget_accumulate(&op->value, 1, MPI_INT64_T, &op->before, 1, MPI_INT64_T, target, disp, 1, MPI_INT64_T, MPI_REPLACE, win,
                                   &op->request);
        break;
    default:
        op->fetches = 1;
        code = MPI_Compare_and_swap(&op->value, op->is_known ? &op->expected : &zero, &op->before, MPI_INT64_T, target, disp, win);
    }
    if (what == 0 || what == 1 || what == 5 || what == 6) {
        oracle[target][cell] = op->value;
        /* A swap of what is not known may not happen. */
        known[target][cell] = what != 6 || op->is_known;
    } else if (what == 4) {
        oracle[target][cell] += op->value;
    }
    if (!good("the call of an operation", target, code)) {
        known[target][cell] = 0;
        return 0;
    }
    return 1;
}

/* Completes operations: by their requests, and all of them by a flush or the end of the epoch. `all`: the flush was one of all ranks,
 * which another one's failure fails, too. */
static void complete(int count, int flushed, int all)
{
    int i, code, succeeded[MOST];

    for (i = 0; i < count; i++) {
        succeeded[i] = flushed || (all && pending[i].target != victim);
        if (pending[i].request != MPI_REQUEST_NULL) {
            code = MPI_Wait(&pending[i].request, MPI_STATUS_IGNORE);
            if (!good("the request", pending[i].target, code))
                succeeded[i] = 0;
            else if (pending[i].fetches)
                end(&pending[i], 1, "a request");
        }
        end(&pending[i], succeeded[i], "a flush");
    }
}

static void step(void)
{
    int locks_all = draw(2), target = (int)draw((unsigned)size), count = 1 + (int)draw(MOST - 1), i, begun = 0, code, used[MOST_RANKS] = {0};

    if (locks_all)
        code = MPI_Win_lock_all(0, win);
    else
        code = MPI_Win_lock(MPI_LOCK_SHARED, target, draw(3) ? 0 : MPI_MODE_NOCHECK, win);
    if (!good(locks_all ? "MPI_Win_lock_all" : "MPI_Win_lock", locks_all ? -1 : target, code))
        return;
    for (i = 0; i < count; i++) {
        int to = locks_all ? (int)draw((unsigned)size) : target;

        begun += begin(&pending[begun], to, used[to]);
        used[to]++;
        if (rank == victim && draw(40) == 0)
            raise(SIGKILL);
    }
    switch (draw(3)) {
    case 0: /* each target by itself: its flush reports what has become of it, and nothing of others */
        for (i = 0; i < begun; i++) {
            int j, ok;

            if (pending[i].over)
                continue;
            ok = good("MPI_Win_flush", pending[i].target, MPI_Win_flush(pending[i].target, win));
            for (j = i; j < begun; j++)
                if (pending[j].target == pending[i].target) {
                    struct operation *op = &pending[j];

                    op->over = 1;
                    code = op->request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Wait(&op->request, MPI_STATUS_IGNORE);
                    end(op, good("a request behind the flush", op->target, code) && ok, "a flush");
                }
        }
        break;
    case 1:
        complete(begun, good("MPI_Win_flush_all", -1, MPI_Win_flush_all(win)), 1);
        break;
    default: /* requests first */
        for (i = 0; i < begun; i++)
            if (pending[i].request != MPI_REQUEST_NULL && pending[i].fetches) {
                code = MPI_Wait(&pending[i].request, MPI_STATUS_IGNORE);
                end(&pending[i], good("a request before the flush", pending[i].target, code), "a request");
                pending[i].fetches = 0;
            }
        code = locks_all ? MPI_Win_flush_all(win) : MPI_Win_flush(target, win);
        complete(begun, good("a flush behind requests", locks_all ? -1 : target, code), locks_all);
    }
    code = locks_all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(target, win);
    good(locks_all ? "MPI_Win_unlock_all" : "MPI_Win_unlock", locks_all ? -1 : target, code);
    code = MPI_Win_flush(rank, win);
    if (class_of(code) != MPI_ERR_RMA_SYNC)
        fail("a flush outside an epoch", rank, code);
}

/* Kills the rank that has stopped: a rank that waits for it then waits for a dead one. */
static void *killer(void *unused)
{
    (void)unused;
    usleep(20000);
    kill(theirs, SIGKILL);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1, made, stops;
    int64_t *mine = NULL, said[CELLS];
    char sure[CELLS];
    int i, other, step_of_death, provided, wrong = 0;
    MPI_Comm living;
    pthread_t thread;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    victim = size - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    drawn = seed * 0x9e3779b97f4a7c15u + 1;
    made = draw(3);
    stops = draw(2);
    step_of_death = (int)draw(STEPS / 2);
    MPI_Comm_split(MPI_COMM_WORLD, rank == victim, rank, &living);
    MPI_Comm_set_errhandler(living, MPI_ERRORS_RETURN);
    if (made == 0) {
        MPI_Win_allocate(size * CELLS * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    } else {
        mine = malloc(size * CELLS * sizeof *mine);
        if (made == 1) {
            MPI_Win_create(mine, size * CELLS * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        } else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
            MPI_Win_attach(win, mine, size * CELLS * sizeof *mine);
            MPI_Get_address(mine, &place[rank]);
            MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, place, 1, MPI_AINT, MPI_COMM_WORLD);
            pace = sizeof *mine;
        }
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(mine, 0, size * CELLS * sizeof *mine);
    memset(known, 1, sizeof known);
    theirs = getpid();
    MPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, victim, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    alarm(100); /* a hang ends the program */
    drawn += (uint64_t)rank << 40;
    if (stops && rank == 0)
        pthread_create(&thread, NULL, killer, NULL);
    for (i = 0; i < STEPS; i++) {
        if (rank == victim && i == step_of_death) {
            if (stops)
                raise(SIGSTOP);
            raise(SIGKILL);
        }
        step();
    }
    if (rank == victim)
        raise(SIGKILL);
    if (stops && rank == 0)
        pthread_join(thread, NULL);
    /* The living know what they have at each other. */
    MPI_Barrier(living);
    for (other = 0; other < victim; other++) {
        if (rank != other) {
            MPI_Sendrecv(oracle[other], CELLS, MPI_INT64_T, other, 0, said, CELLS, MPI_INT64_T, other, 0, living, MPI_STATUS_IGNORE);
            MPI_Sendrecv(known[other], CELLS, MPI_BYTE, other, 0, sure, CELLS, MPI_BYTE, other, 0, living, MPI_STATUS_IGNORE);
        } else {
            memcpy(said, oracle[rank], sizeof said);
            memcpy(sure, known[rank], sizeof sure);
        }
        for (i = 0; i < CELLS; i++)
            wrong += !sure[i] || mine[other * CELLS + i] != said[i];
    }
    if (wrong)
        printf("FAIL rank %d: %d cells are wrong or not known\n", rank, wrong);
    printf("%s rank %d: operations while a rank %s, seed %u\n", failures || wrong ? "FAIL" : "ok", rank,
           stops ? "stops and is killed" : "ends", seed);
    fflush(stdout);
    MPI_Barrier(living);
    /* Until it dies, the last rank counts on the others. */
    while (is_there(theirs))
        usleep(1000);
    _exit(failures || wrong);
}
