/* Windows and files one of whose processes dies: calls that need it end with an error, none of them hangs, and what the others have
 * afterwards is theirs.
 *
 * usage: mpiexec -with-ft ulfm -n N shared FILE     N is 8 or more
 */
#include "failures.h"

/* A call on an object with a dead process: an error of a failure, or success where it did not need that one. */
static int ended(int code) {
    int class = class_of(code);
    return class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED;
}

static int failed(int code) { return class_of(code) == MPIX_ERR_PROC_FAILED; }

/* Those that live, once all of them know of the death. */
static MPI_Comm survivors(MPI_Comm comm) {
    MPI_Comm alive;
    MPIX_Comm_shrink(comm, &alive);
    MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
    return alive;
}

/* The process that is to die next has a window with the others, and dies in it as `how` says. */
enum how { HOLDS_LOCK, HOLDS_SHARED_LOCK, IN_EPOCH };

static MPI_Comm window(MPI_Comm comm, enum how how, const char *name) {
    MPI_Win win;
    MPI_Group group, others;
    int *memory, rank, count, code, value = 7, got = -1, place;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    place = count - 1;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memory[0] = memory[1] = rank;
    MPI_Barrier(comm);
    if (how == HOLDS_LOCK || how == HOLDS_SHARED_LOCK) {
        if (rank == place) {
            MPI_Win_lock(how == HOLDS_LOCK ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
            MPI_Send(&value, 1, MPI_INT, 0, 1, comm);
            die();
        }
        if (rank == 0)
            MPI_Recv(&value, 1, MPI_INT, place, 1, comm, MPI_STATUS_IGNORE);
    } else if (rank == place) {
        die();
    }
    MPI_Comm alive = survivors(comm);
    code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    int locked = code == MPI_SUCCESS;
    int good = ended(code);
    if (locked) {
        code = MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        good &= ended(code);
        code = MPI_Win_unlock(0, win);
        good &= ended(code) && (code != MPI_SUCCESS || got == 0);
    }
    all_good(alive, good, name);
    if (how == IN_EPOCH) {
        code = MPI_Win_lock(MPI_LOCK_SHARED, place, 0, win);
        if (code == MPI_SUCCESS) {
            MPI_Put(&value, 1, MPI_INT, place, 0, 1, MPI_INT, win);
            code = MPI_Win_unlock(place, win);
        }
        all_good(alive, ended(code), "a put to the dead ends");
        code = MPI_Win_fence(0, win);
        all_good(alive, failed(code), "a fence with a dead process fails");
        MPI_Win_get_group(win, &group);
        MPI_Group_incl(group, 1, &place, &others);
        code = MPI_Win_post(others, 0, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_wait(win);
        all_good(alive, failed(code), "a wait for the epoch of a dead process fails");
        code = MPI_Win_start(others, 0, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_complete(win);
        all_good(alive, ended(code), "an epoch at a dead process ends");
        MPI_Group_free(&group);
        MPI_Group_free(&others);
    }
    MPI_Win_free(&win);
    all_good(alive, win == MPI_WIN_NULL, "and the window is freed");
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, alive, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % place, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    all_good(alive, *memory == (rank + place - 1) % place, "one of those that live is used");
    MPI_Win_free(&win);
    return alive;
}

/* A process frees a window after the failure of another one, in the middle of its epochs, while the others still use it: what they ask
 * of it ends, with the error of a failure if it is not done, and what it had locked is free. */
static MPI_Comm left(MPI_Comm comm) {
    MPI_Win win;
    MPI_Group group, others;
    enum { AT = 1, LOCKED = 2 };
    int *memory, rank, count, good = 1, codes[12], made = 0, one = 1, got = 0, place, at = AT;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    place = count - 1;
    MPI_Win_allocate(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    /* The first holds a lock of the one that leaves, which holds one of another process, and a third waits for that of the first. */
    MPI_Barrier(comm);
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, AT, 0, win);
    if (rank == AT)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, LOCKED, 0, win);
    MPI_Barrier(comm);
    if (rank == place)
        die();
    MPI_Comm alive = survivors(comm);
    if (rank == AT) {
        MPI_Win_free(&win);
        good = win == MPI_WIN_NULL;
    }
    /* This one waits for the lock before or after its owner has left. */
    if (rank == 3)
        codes[made++] = MPI_Win_lock(MPI_LOCK_SHARED, AT, 0, win);
    /* All others ask for something once it has. */
    if (rank == AT)
        for (int i = 0; i < place; i++)
            if (i != AT && i != 3)
                MPI_Send(&one, 1, MPI_INT, i, 2, alive);
    if (rank != AT && rank != 3)
        MPI_Recv(&got, 1, MPI_INT, AT, 2, alive, MPI_STATUS_IGNORE);
    if (rank == 0) {
        codes[made++] = MPI_Put(&one, 1, MPI_INT, AT, 0, 1, MPI_INT, win);
        codes[made++] = MPI_Win_flush(AT, win);
        codes[made++] = MPI_Get(&got, 1, MPI_INT, AT, 0, 1, MPI_INT, win);
        codes[made++] = MPI_Win_flush(AT, win);
        codes[made++] = MPI_Fetch_and_op(&one, &got, MPI_INT, AT, 0, MPI_SUM, win);
        codes[made++] = MPI_Win_flush(AT, win);
        codes[made++] = MPI_Accumulate(&one, 1, MPI_INT, AT, 0, 1, MPI_INT, MPI_SUM, win);
        codes[made++] = MPI_Win_unlock(AT, win);
    } else if (rank != AT && rank != 3) {
        codes[made++] = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, AT, 0, win);
        if (codes[0] == MPI_SUCCESS)
            codes[made++] = MPI_Win_unlock(AT, win);
        codes[made] = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, LOCKED, 0, win);
        if (codes[made++] == MPI_SUCCESS)
            codes[made++] = MPI_Win_unlock(LOCKED, win);
    }
    if (rank == 3 && codes[0] == MPI_SUCCESS)
        codes[made++] = MPI_Win_unlock(AT, win);
    for (int i = 0; i < made; i++)
        good &= ended(codes[i]);
    all_good(alive, good, "what is asked of one that has freed its window ends");
    made = 0;
    if (rank == 4) {
        MPI_Win_get_group(win, &group);
        MPI_Group_incl(group, 1, &at, &others);
        codes[made++] = MPI_Win_post(others, 0, win);
        codes[made++] = MPI_Win_wait(win);
        good &= failed(codes[1]);
        codes[made++] = MPI_Win_post(others, 0, win);
        do
            codes[made] = MPI_Win_test(win, &got);
        while (codes[made] == MPI_SUCCESS && !got);
        good &= failed(codes[made++]);
        codes[made++] = MPI_Win_start(others, 0, win);
        good &= failed(codes[4]);
        codes[made++] = MPI_Win_start(others, MPI_MODE_NOCHECK, win);
        codes[made++] = MPI_Put(&one, 1, MPI_INT, AT, 0, 1, MPI_INT, win);
        codes[made++] = MPI_Win_complete(win);
        codes[made++] = MPI_Win_fence(0, win);
        MPI_Group_free(&group);
        MPI_Group_free(&others);
    }
    for (int i = 0; i < made; i++)
        good &= ended(codes[i]);
    all_good(alive, good, "and epochs with it");
    if (rank != AT)
        MPI_Win_free(&win);
    return alive;
}

/* Blocks of all are written by two-phase I/O; the last process dies before it writes. */
static MPI_Comm file(MPI_Comm comm, const char *name) {
    enum { LENGTH = 1 << 15, PIECE = 1 << 10 };
    MPI_File file;
    MPI_Datatype strided;
    static int block[LENGTH];
    int rank, count, code, good = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    code = MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    check_failures += code != MPI_SUCCESS;
    MPI_Type_vector(LENGTH / PIECE, PIECE, PIECE * count, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_File_set_view(file, (MPI_Offset)rank * PIECE * sizeof(int), MPI_INT, strided, "native", MPI_INFO_NULL);
    for (int i = 0; i < LENGTH; i++)
        block[i] = rank;
    MPI_Barrier(comm);
    if (rank == count - 1)
        die();
    code = MPI_File_write_all(file, block, LENGTH, MPI_INT, MPI_STATUS_IGNORE);
    good = ended(code);
    MPI_Comm alive = survivors(comm);
    all_good(alive, good, "a collective write without a dead process ends");
    code = MPI_File_read_all(file, block, LENGTH, MPI_INT, MPI_STATUS_IGNORE);
    all_good(alive, failed(code), "later ones fail");
    MPI_File_close(&file);
    all_good(alive, file == MPI_FILE_NULL, "and the file is closed");
    /* Those that live write their blocks once more. */
    code = MPI_File_open(alive, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, (MPI_Offset)rank * PIECE * sizeof(int), MPI_INT, strided, "native", MPI_INFO_NULL);
    for (int i = 0; i < LENGTH; i++)
        block[i] = rank + i;
    MPI_File_write_all(file, block, LENGTH, MPI_INT, MPI_STATUS_IGNORE);
    memset(block, 0, sizeof block);
    MPI_File_read_at_all(file, 0, block, LENGTH, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < LENGTH; i++)
        good &= block[i] == rank + i;
    all_good(alive, good, "those that live read what they have written");
    MPI_File_close(&file);
    MPI_Type_free(&strided);
    return alive;
}

int main(int argc, char **argv) {
    MPI_Comm comm, next;
    int last;
    begin(&argc, &argv);
    const char *name = argc > 1 ? argv[1] : "/tmp/shared-file";
    if (size < 8) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    next = left(comm);
    next = window(next, HOLDS_LOCK, "a lock that a dead process held ends");
    next = window(next, HOLDS_SHARED_LOCK, "a lock that a dead process shared ends");
    next = window(next, IN_EPOCH, "a lock of a window with a dead process ends");
    next = file(next, name);
    MPI_Comm_size(next, &last);
    all_good(next, last == size - 5, "five have died");
    if (me == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    return finish();
}
