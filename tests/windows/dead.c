/* A process ends while it holds a lock, and the job lives on (-disable-auto-cleanup): those that wait for the lock get an error, and
 * those that wait for others do not. One that was the last to combine elements, over and over, leaves no lock behind. */
#include <alhena.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "windows.h"

int main(int argc, char **argv)
{
    int rank, size, code, i, all = argc > 1 && strcmp(argv[1], "all") == 0, keeper = argc > 1 && strcmp(argv[1], "keeper") == 0,
        leaves = argc > 1 && strcmp(argv[1], "leaves") == 0, waits = argc > 1 && strcmp(argv[1], "waits") == 0,
        early = argc > 1 && strcmp(argv[1], "early") == 0;
    enum { MANY = 16, TIMES = 3000 };
    long *mine, one = 1, ones[MANY] = {1}, seen = -1;
    MPI_Win win, second;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_allocate(MANY * sizeof *mine, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_create(ones, sizeof ones, sizeof *ones, MPI_INFO_NULL, MPI_COMM_WORLD, &second);
    MPI_Win_set_errhandler(second, MPI_ERRORS_RETURN);
    if (keeper) {
        memset(mine, 0, MANY * sizeof *mine);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win);
        for (i = 0; i < TIMES && rank == size - 1; i++) {
            MPI_Accumulate(ones, MANY, MPI_LONG, 0, 0, MANY, MPI_LONG, MPI_SUM, win);
            MPI_Win_flush(0, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == size - 1)
            raise(SIGKILL);
        for (i = 0, code = MPI_SUCCESS; i < TIMES && code == MPI_SUCCESS; i++)
            code = MPI_Accumulate(ones, MANY, MPI_LONG, 0, 0, MANY, MPI_LONG, MPI_SUM, win);
        if (code == MPI_SUCCESS)
            code = MPI_Fetch_and_op(NULL, &seen, MPI_LONG, 0, 0, MPI_NO_OP, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_unlock(0, win);
        printf("%s rank %d: accumulates after those of a process that has ended: %d, %ld\n",
               code == MPI_SUCCESS && seen >= 2 * TIMES && seen <= 3 * TIMES ? "ok" : "FAIL", rank, class_of(code), seen);
        fflush(stdout);
        _exit(0);
    }
    if (leaves) {
        MPI_Group world, last;
        int ranks[1] = {size - 1};

        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, 1, ranks, &last);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == size - 1)
            raise(SIGKILL);
        /* A post of one that has ended does not come, nor the end of its access; and it does not come to a fence. */
        code = MPI_Win_start(last, 0, win);
        printf("%s rank %d: a start to a process that has ended: %d\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank,
               class_of(code));
        MPI_Win_post(last, 0, win);
        code = MPI_Win_wait(win);
        printf("%s rank %d: an exposure to a process that has ended: %d\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank,
               class_of(code));
        code = MPI_Win_fence(0, second);
        printf("%s rank %d: a fence of a process that has ended: %d\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank,
               class_of(code));
        fflush(stdout);
        _exit(0);
    }
    if (early) {
        MPI_Group world, some;
        int ranks[2] = {1, size - 1}, target[1] = {0};

        MPI_Comm_group(MPI_COMM_WORLD, &world);
        if (rank == 0) {
            MPI_Group_incl(world, 2, ranks, &some);
            mine[1] = 0;
            MPI_Win_post(some, 0, win);
            code = MPI_Win_wait(win);
            printf("%s rank 0: an exposure to one that lives and one that has ended after its access: %d, %ld\n",
                   code == MPI_SUCCESS && mine[1] == 7 ? "ok" : "FAIL", class_of(code), mine[1]);
        } else {
            MPI_Group_incl(world, 1, target, &some);
            MPI_Win_start(some, 0, win);
            if (rank == 1)
                /* Longer than it takes to see that the other one has ended. */
                sleep(3);
            one = 7;
            MPI_Put(&one, 1, MPI_LONG, 0, rank, 1, MPI_LONG, win);
            code = MPI_Win_complete(win);
            if (rank == size - 1)
                raise(SIGKILL);
            printf("%s rank 1: an access beside that of one that has ended: %d\n", code == MPI_SUCCESS ? "ok" : "FAIL", class_of(code));
        }
        fflush(stdout);
        _exit(0);
    }
    if (waits) {
        MPI_Request request;
        MPI_Comm copy;
        uint64_t count;

        MPI_Win_lock_all(0, win);
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        /* The end of a process shows to those that have a connection with it. */
        for (i = 0; i < size - 1; i++)
            if (rank == size - 1)
                MPI_Recv(&one, 1, MPI_LONG, i, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else if (rank == i)
                MPI_Send(&one, 1, MPI_LONG, size - 1, 4, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        /* The last process stops before it ends, so that what the others ask of it is under way. */
        if (rank == size - 1) {
            if (fork() == 0) {
                usleep(300000);
                kill(getppid(), SIGKILL);
                _exit(0);
            }
            raise(SIGSTOP);
        }
        if (rank == 0) {
            code = MPI_Rget_accumulate(&one, 1, MPI_LONG, &seen, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, MPI_SUM, win, &request);
            if (code == MPI_SUCCESS)
                code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            /* On one node it may be done at once. */
            printf("%s rank 0: the request of an operation at a process that ends: %d\n",
                   class_of(code) == MPI_ERR_PROC_ABORTED || (code == MPI_SUCCESS && seen != -1) ? "ok" : "FAIL", class_of(code));
        } else {
            code = MPI_Recv(&one, 1, MPI_LONG, size - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%s rank %d: a receive from a process that ends: %d\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank,
                   class_of(code));
        }
        code = MPI_Probe(size - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%s rank %d: a probe for a message of a process that has ended: %d\n",
               class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank, class_of(code));
        code = alhena_notices(1, 1, &count, win);
        printf("%s rank %d: a notice that a process may have had to raise which has ended: %d\n",
               class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank, class_of(code));
        /* The end was reported: those that live still raise theirs. */
        if (rank == 0)
            sleep(2);
        code = alhena_rput(&one, sizeof one, (rank + 1) % (size - 1), 8, 2, win);
        if (code == MPI_SUCCESS)
            code = alhena_notices(2, 1, &count, win);
        printf("%s rank %d: a notice that a process raises which lives: %d\n", code == MPI_SUCCESS && count == 1 ? "ok" : "FAIL", rank,
               class_of(code));
        code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
        for (i = 0; code == MPI_SUCCESS && !i;)
            code = MPI_Test(&request, &i, MPI_STATUS_IGNORE);
        printf("%s rank %d: tests of a barrier with a process that has ended: %d\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL",
               rank, class_of(code));
        code = MPI_Barrier(copy);
        printf("%s rank %d: a barrier with a process that has ended: %d\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank,
               class_of(code));
        fflush(stdout);
        _exit(0);
    }
    if (rank == size - 1) {
        if (all) {
            /* The operation has the lock taken wherever the target is. */
            MPI_Win_lock_all(0, win);
            MPI_Get(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
            MPI_Win_flush(0, win);
        } else
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    printf("%s rank %d: a lock of a holder that has ended: %d\n", class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank,
           class_of(code));
    if (!all) {
        code = MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        if (code == MPI_SUCCESS)
            code = MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_unlock(1, win);
        printf("%s rank %d: a lock of another target: %d\n", code == MPI_SUCCESS ? "ok" : "FAIL", rank, code);
    }
    fflush(stdout);
    _exit(0);
}
