/* One or two processes die at a random moment, while all make calls of one kind; none of the others hangs, and those that live go on with
 * right data.
 *
 * usage: mpiexec -with-ft ulfm -n N storm KIND SEED     KIND: agree, shrink, collectives, window, spawn
 */
#include "failures.h"
#include <pthread.h>

static const char *program;
static int at;

/* Dies after so many microseconds, wherever the main thread is then. */
static void *bomb(void *argument) {
    long moment = (long)argument;
    struct timespec time = {moment / 1000000, moment % 1000000 * 1000};
    nanosleep(&time, NULL);
    die();
    return NULL;
}

static int agree(MPI_Comm comm) {
    int flag = ~(1 << at % 8), code = MPIX_Comm_agree(comm, &flag);
    return code;
}

static int shrink(MPI_Comm comm) {
    MPI_Comm small;
    int code = MPIX_Comm_shrink(comm, &small), sum = 0, count, one = 1;
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(small, MPI_ERRORS_RETURN);
    MPI_Comm_size(small, &count);
    code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, small);
    if (code == MPI_SUCCESS && sum != count)
        check(0, "a sum over those that live", sum);
    if (code != MPI_SUCCESS)
        MPIX_Comm_revoke(small);
    MPI_Comm_free(&small);
    return code;
}

static int collectives(MPI_Comm comm) {
    static int out[20000], in[20000];
    int rank, count, length = at % 2 ? 20000 : 3, code;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    for (int i = 0; i < length; i++)
        out[i] = rank + i;
    code = MPI_Allreduce(out, in, length, MPI_INT, MPI_SUM, comm);
    for (int i = 0; code == MPI_SUCCESS && i < length; i++)
        if (in[i] != count * (count - 1) / 2 + count * i) {
            check(0, "a sum", in[i]);
            break;
        }
    if (code == MPI_SUCCESS)
        code = MPI_Ibcast(in, length, MPI_INT, at % count, comm, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

static int window(MPI_Comm comm) {
    MPI_Win win;
    int rank, count, *memory, code, one = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    code = MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    *memory = 0;
    code = MPI_Win_fence(0, win);
    if (code == MPI_SUCCESS)
        code = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < 3 && code == MPI_SUCCESS; i++) {
        code = MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, (rank + i) % count, 0, win);
        if (code == MPI_SUCCESS) {
            int put = MPI_Accumulate(&one, 1, MPI_INT, (rank + i) % count, 0, 1, MPI_INT, MPI_SUM, win);
            code = MPI_Win_unlock((rank + i) % count, win);
            code = put != MPI_SUCCESS ? put : code;
        }
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Barrier(comm);
        if (code == MPI_SUCCESS && *memory != 3)
            check(0, "what all have added", *memory);
    }
    int freed = MPI_Win_free(&win);
    return code != MPI_SUCCESS ? code : freed;
}

static int spawn(MPI_Comm comm) {
    MPI_Comm inter;
    char *arguments[] = {"child", NULL};
    int code = MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    code = MPI_Barrier(inter);
    if (code != MPI_SUCCESS)
        MPIX_Comm_revoke(inter);
    int parted = code == MPI_SUCCESS ? MPI_Comm_disconnect(&inter) : MPI_Comm_free(&inter);
    return code != MPI_SUCCESS ? code : parted;
}

static const struct {
    const char *name;
    int (*call)(MPI_Comm);
} KINDS[] = {{"agree", agree}, {"shrink", shrink}, {"collectives", collectives}, {"window", window}, {"spawn", spawn}};

/* One that was spawned. */
static int child(MPI_Comm parent) {
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    if (MPI_Barrier(parent) == MPI_SUCCESS)
        MPI_Comm_disconnect(&parent);
    else
        MPIX_Comm_revoke(parent);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv) {
    MPI_Comm comm, alive, parent;
    int (*call)(MPI_Comm) = NULL;
    begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return child(parent);
    program = argv[0];
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, random = seed * 6364136223846793005UL + 1442695040888963407UL;
    for (size_t i = 0; argc > 1 && i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(argv[1], KINDS[i].name) == 0)
            call = KINDS[i].call;
    if (!call)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    /* All choose alike. */
    int deaths = 1 + (int)(random >> 33) % 2, doomed = 0;
    for (int i = 0; i < deaths; i++) {
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        int who = (int)(random >> 33) % size;
        long moment = (long)(random >> 40) % 20000;
        if (doomed & 1 << who)
            continue;
        doomed |= 1 << who;
        if (who != me)
            continue;
        pthread_t thread;
        pthread_create(&thread, NULL, bomb, (void *)moment);
        pthread_detach(thread);
    }
    deaths = __builtin_popcount((unsigned)doomed);
    int count = size, rounds = 0;
    while (count > size - deaths) {
        int code = call(comm);
        int class = class_of(code);
        at++, rounds++;
        if (code != MPI_SUCCESS) {
            if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED && class != MPI_ERR_SPAWN)
                check(0, "the class of an error", class);
            MPIX_Comm_revoke(comm);
        }
        int good = code == MPI_SUCCESS;
        code = MPIX_Comm_agree(comm, &good);
        if (good && code == MPI_SUCCESS)
            continue;
        if (MPIX_Comm_shrink(comm, &alive) != MPI_SUCCESS) {
            check(0, "a shrink", 0);
            break;
        }
        MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
        MPI_Comm_free(&comm);
        comm = alive;
        MPI_Comm_size(comm, &count);
        at = 0;
    }
    /* No more dies. */
    int code = call(comm), rank;
    MPI_Comm_rank(comm, &rank);
    all_good(comm, code == MPI_SUCCESS, argc > 1 ? argv[1] : "");
    MPI_Comm_free(&comm);
    return finish();
}
