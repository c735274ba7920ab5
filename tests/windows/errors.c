/* Wrong calls: the right error class, and a window that works afterwards (MPI-5.0 section 12.6). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "windows.h"

static int rank, size;
static MPI_Win win;
static int *mine;

static void expect(int code, int class, const char *what)
{
    check_all(class_of(code) == class, "%s: class %d, expected %d", what, class_of(code), class);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* The window still moves data. */
static void works(const char *after)
{
    int number = rank, seen = -1;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, win);
    MPI_Put(&number, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_flush((rank + 1) % size, win);
    MPI_Get(&seen, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_unlock((rank + 1) % size, win);
    check_all(seen == rank, "the window works after %s", after);
}

/* An operation that fails at its target fails where its epoch ends, and holds up no rank: not the fence of all others, and not the
 * targets of other operations of the same epoch. */
static void at_target(MPI_Group world)
{
    int last = size - 1, number = 7, place = 0, put, ended;
    MPI_Aint theirs[2];
    MPI_Win other;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN);
    MPI_Win_attach(other, &place, sizeof place);
    MPI_Get_address(&place, &theirs[0]);
    theirs[1] = theirs[0];
    MPI_Bcast(&theirs[0], 1, MPI_AINT, 1 % size, MPI_COMM_WORLD);
    MPI_Bcast(&theirs[1], 1, MPI_AINT, last, MPI_COMM_WORLD);
    MPI_Win_fence(0, other);
    put = rank == 0 ? MPI_Put(&number, 1, MPI_INT, 1 % size, theirs[0] + 64, 1, MPI_INT, other) : MPI_SUCCESS;
    ended = MPI_Win_fence(MPI_MODE_NOSUCCEED, other);
    check_all(class_of(put ? put : ended) == (rank == 0 ? MPI_ERR_RMA_RANGE : MPI_SUCCESS), "a put that fails at its target, fence");
    MPI_Win_post(world, 0, other);
    MPI_Win_start(world, 0, other);
    put = rank == 0 ? MPI_Put(&number, 1, MPI_INT, 1 % size, theirs[0] + 64, 1, MPI_INT, other) : MPI_SUCCESS;
    if (rank == 0)
        MPI_Put(&number, 1, MPI_INT, last, theirs[1], 1, MPI_INT, other);
    ended = MPI_Win_complete(other);
    MPI_Win_wait(other);
    check_all(class_of(put ? put : ended) == (rank == 0 ? MPI_ERR_RMA_RANGE : MPI_SUCCESS), "a put that fails at its target, complete");
    check_all(rank != last || place == number, "the other put of that epoch");
    MPI_Win_free(&other);
}

/* A request reports what a flush reports of its operation, and a flush nothing of other targets. */
static void of_requests(void)
{
    int guilty = 1 % size, innocent = 2 % size, mine[4] = {5, 6, 7, 8}, seen = -7, good = -7, got, waited, code;
    MPI_Aint theirs[2];
    MPI_Win other;
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN);
    if (rank == innocent && innocent != guilty)
        MPI_Win_attach(other, mine, sizeof mine);
    MPI_Get_address(mine, &theirs[0]);
    theirs[1] = theirs[0];
    MPI_Bcast(&theirs[0], 1, MPI_AINT, guilty, MPI_COMM_WORLD);
    MPI_Bcast(&theirs[1], 1, MPI_AINT, innocent, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, other);
    got = MPI_Rget(&seen, 1, MPI_INT, guilty, theirs[0], 1, MPI_INT, other, &request);
    waited = got ? got : MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_all(class_of(waited) == MPI_ERR_RMA_RANGE && seen == -7, "the request of a get that brings nothing: %d", class_of(waited));
    if (innocent != guilty) {
        code = MPI_Get(&good, 1, MPI_INT, innocent, theirs[1], 1, MPI_INT, other);
        code = code ? code : MPI_Win_flush(innocent, other);
        check_all(code == MPI_SUCCESS && good == 5, "a flush of another target: %d", class_of(code));
    }
    code = MPI_Win_flush(guilty, other);
    check_all(class_of(code) == (got ? MPI_SUCCESS : MPI_ERR_RMA_RANGE), "a flush of the target that failed: %d", class_of(code));
    code = MPI_Win_flush_all(other);
    check_all(code == MPI_SUCCESS, "a flush after it: %d", class_of(code));
    check_all(MPI_Win_unlock_all(other) == MPI_SUCCESS, "the end of the epoch");
    if (rank == innocent && innocent != guilty)
        MPI_Win_detach(other, mine);
    MPI_Win_free(&other);
}

/* A region without a byte hides nothing of another one that it lies in. */
static void empty_regions(void)
{
    static char place[128];
    char byte = 5;
    int next = (rank + 1) % size, code;
    MPI_Aint theirs;
    MPI_Win other;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN);
    MPI_Win_attach(other, place, 50);
    MPI_Win_attach(other, place + 20, 0);
    MPI_Win_attach(other, place, 0);
    MPI_Get_address(place + 30, &theirs);
    MPI_Sendrecv_replace(&theirs, 1, MPI_AINT, (rank + size - 1) % size, 0, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, other);
    code = MPI_Put(&byte, 1, MPI_CHAR, next, theirs, 1, MPI_CHAR, other);
    code = code ? code : MPI_Win_fence(0, other);
    check_all(code == MPI_SUCCESS && place[30] == 5, "a put behind an empty region: %d", class_of(code));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, other);
    check_all(MPI_Win_detach(other, place + 20) == MPI_SUCCESS && MPI_Win_detach(other, place + 20) == MPI_ERR_BASE &&
              MPI_Win_detach(other, place) == MPI_SUCCESS && MPI_Win_detach(other, place) == MPI_SUCCESS,
          "empty regions are detached");
    MPI_Win_free(&other);
}

int main(int argc, char **argv)
{
    int x = 1, y = 2, z = 3, next;
    MPI_Op op;
    MPI_Request request;
    MPI_Datatype mixed, types[2] = {MPI_INT, MPI_DOUBLE}, open;
    MPI_Aint places[2] = {0, 8};
    int lengths[2] = {1, 1};
    MPI_Win other;
    MPI_Group world, self;
    MPI_Aint bytes;
    int unit;
    void *base;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Op_create(add, 1, &op);

    /* Creation raises its errors on the communicator, in all processes. */
    expect(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other), MPI_ERR_SIZE, "negative size");
    expect(MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other), MPI_ERR_DISP, "unit 0");
    expect(MPI_Win_allocate(rank == 0 ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other),
           rank == 0 ? MPI_ERR_SIZE : MPI_ERR_OTHER, "a size that is negative in one process");
    expect(MPI_Win_allocate((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other), MPI_ERR_NO_MEM,
           "more memory than there is");
    expect(MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &other), MPI_ERR_BASE, "no memory");

    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(mine, 0, 4 * sizeof(int));

    expect(MPI_Put(&x, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "put outside of an epoch");
    expect(MPI_Win_unlock(next, win), MPI_ERR_RMA_SYNC, "unlock without a lock");
    expect(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "unlock_all without a lock");
    expect(MPI_Win_flush(next, win), MPI_ERR_RMA_SYNC, "flush outside of an epoch");
    expect(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC, "flush_all outside of an epoch");
    expect(MPI_Win_complete(win), MPI_ERR_RMA_SYNC, "complete without start");
    expect(MPI_Win_wait(win), MPI_ERR_RMA_SYNC, "wait without post");
    expect(MPI_Win_test(win, &x), MPI_ERR_RMA_SYNC, "test without post");
    expect(MPI_Win_lock(12345, next, 0, win), MPI_ERR_LOCKTYPE, "lock type");
    expect(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK, "lock of no rank");
    expect(MPI_Win_lock(MPI_LOCK_SHARED, next, MPI_MODE_NOPUT, win), MPI_ERR_ASSERT, "assertion of another call");
    expect(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT, "assertion of another call, fence");
    works("epoch errors");

    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    expect(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC, "two locks of one target");
    expect(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "lock_all with a lock");
    expect(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "fence with a lock");
    expect(MPI_Win_start(world, 0, win), MPI_ERR_RMA_SYNC, "start with a lock");
    expect(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "free with a lock");
    expect(MPI_Put(&x, 1, MPI_INT, next, -1, 1, MPI_INT, win), MPI_ERR_DISP, "negative displacement");
    expect(MPI_Put(&x, 1, MPI_INT, next, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE, "behind the end");
    expect(MPI_Put(&x, 1, MPI_INT, next, (MPI_Aint)1 << 62, 1, MPI_INT, win), MPI_ERR_RMA_RANGE, "far behind the end");
    expect(MPI_Put_c(&x, ((MPI_Count)1 << 32) + 1, MPI_INT, next, 0, ((MPI_Count)1 << 32) + 1, MPI_INT, win), MPI_ERR_RMA_RANGE,
           "a count above 32 bits");
    expect(MPI_Put(&x, -1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_COUNT, "negative count");
    expect(MPI_Put(NULL, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_BUFFER, "no buffer");
    expect(MPI_Put(&x, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK, "no such rank");
    expect(MPI_Put(&x, 1, MPI_DATATYPE_NULL, next, 0, 1, MPI_INT, win), MPI_ERR_TYPE, "no datatype");
    expect(MPI_Put(&x, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win), MPI_SUCCESS, "put to MPI_PROC_NULL");
    expect(MPI_Put(&x, 0, MPI_INT, next, 0, 0, MPI_INT, win), MPI_SUCCESS, "put of nothing");
    expect(MPI_Accumulate(&x, 1, MPI_INT, next, 0, 1, MPI_INT, op, win), MPI_ERR_OP, "operation of the program");
    expect(MPI_Accumulate(&x, 1, MPI_FLOAT, next, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP, "operation on floats");
    expect(MPI_Accumulate(&x, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP, "accumulate of MPI_NO_OP");
    MPI_Type_create_struct(2, lengths, places, types, &mixed);
    expect(MPI_Accumulate(&x, 1, mixed, next, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE, "not committed");
    MPI_Type_commit(&mixed);
    expect(MPI_Accumulate(&x, 1, mixed, next, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE, "mixed elements");
    expect(MPI_Fetch_and_op(&x, &y, mixed, next, 0, MPI_SUM, win), MPI_ERR_TYPE, "fetch_and_op of a derived type");
    expect(MPI_Compare_and_swap(&x, &y, &z, MPI_FLOAT, next, 0, win), MPI_ERR_TYPE, "compare_and_swap of floats");
    MPI_Type_vector(2, 1, 3, MPI_INT, &open);
    MPI_Type_commit(&open);
    expect(MPI_Get(mine, 2, MPI_INT, next, 1, 1, open, win), MPI_ERR_RMA_RANGE, "a type with a hole over the end");
    MPI_Type_free(&open);
    MPI_Type_free(&mixed);
    MPI_Win_unlock(next, win);
    works("errors of operations");

    expect(MPI_Rput(&x, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC, "rput outside of an epoch");
    MPI_Win_fence(0, win);
    expect(MPI_Rput(&x, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC, "rput after a fence");
    MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    expect(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC, "lock before the fence that completes");
    MPI_Win_fence(0, win);
    check_all(mine[0] == (rank + size - 1) % size, "the put before the error arrived");
    works("errors between fences");

    MPI_Win_post(self, 0, win);
    MPI_Win_start(self, 0, win);
    expect(MPI_Win_post(self, 0, win), MPI_ERR_RMA_SYNC, "two posts");
    expect(MPI_Win_start(self, 0, win), MPI_ERR_RMA_SYNC, "two starts");
    expect(MPI_Win_free(&win), MPI_ERR_RMA_SYNC, "free in an epoch");
    if (size > 1)
        expect(MPI_Put(&x, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "put to a rank that was not started");
    MPI_Win_complete(win);
    do
        MPI_Win_test(win, &x);
    while (!x);
    expect(MPI_Win_test(win, &x), MPI_ERR_RMA_SYNC, "test after it was true");
    works("errors between post and wait");

    MPI_Win_lock_all(0, win);
    MPI_Rput(&x, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request);
    {
        MPI_Request copy = request;

        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        expect(MPI_Cancel(&copy), MPI_ERR_REQUEST, "cancel of a one-sided request");
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);

    expect(MPI_Win_attach(win, &x, sizeof x), MPI_ERR_RMA_FLAVOR, "attach to an allocated window");
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN);
    expect(MPI_Win_shared_query(other, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR, "shared_query of a dynamic window");
    MPI_Win_attach(other, mine, 4 * sizeof(int));
    expect(MPI_Win_attach(other, mine + 1, 4), MPI_ERR_RMA_ATTACH, "attach of what is attached");
    MPI_Win_detach(other, mine);
    expect(MPI_Win_detach(other, mine), MPI_ERR_BASE, "detach of what is not attached");
    MPI_Win_free(&other);
    expect(MPI_Win_fence(0, other), MPI_ERR_WIN, "the null handle");
    MPI_Win_create(mine, 3 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_set_errhandler(other, MPI_ERRORS_RETURN);
    expect(MPI_Win_shared_query(other, rank, &bytes, &unit, &base), MPI_SUCCESS, "shared_query of a created window");
    check_all(bytes == 3 * sizeof(int) && unit == sizeof(int) && base == mine, "a process reaches its own memory in a created window");
    MPI_Win_free(&other);
    at_target(world);
    of_requests();
    empty_regions();
    works("all errors");
    MPI_Win_free(&win);
    MPI_Op_free(&op);
    MPI_Group_free(&world);
    MPI_Group_free(&self);
    return finish();
}
