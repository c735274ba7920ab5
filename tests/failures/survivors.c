/* Ranks compute until some of them are lost, and go on with those that are left.
 *
 * usage: mpiexec -with-ft ulfm -n N survivors LEFT     each rank prints "ready"; in the end LEFT are left
 */
#include "failures.h"

/* Each sends each a message, short or long, and gets the right ones. */
static int exchange(MPI_Comm comm, int length) {
    int rank, count, good = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    int *out = malloc(length * sizeof *out), *in = malloc(length * sizeof *in);
    for (int step = 1; step < count; step++) {
        int to = (rank + step) % count, from = (rank + count - step) % count;
        for (int i = 0; i < length; i++)
            out[i] = rank * 1000003 + to + i;
        if (MPI_Sendrecv(out, length, MPI_INT, to, 5, in, length, MPI_INT, from, 5, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            good = 0;
            break;
        }
        for (int i = 0; i < length; i++)
            good &= in[i] == from * 1000003 + rank + i;
    }
    free(out);
    free(in);
    return good;
}

/* Until an error comes to someone; then all have one. */
static void work_on(MPI_Comm comm, int count) {
    for (int sum = 0, one = 1;; sum = 0) {
        int code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (code != MPI_SUCCESS) {
            check_failures += class_of(code) != MPIX_ERR_PROC_FAILED && class_of(code) != MPIX_ERR_REVOKED;
            MPIX_Comm_revoke(comm);
            return;
        }
        if (sum != count)
            check(0, "a sum of all", sum);
    }
}

int main(int argc, char **argv) {
    MPI_Comm comm, next;
    MPI_Group failed, whole;
    int left = argc > 1 ? atoi(argv[1]) : 1, count, gone, code, flag, good = 1;

    begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    exchange(comm, 10);
    MPI_Barrier(comm);
    printf("ready\n");
    fflush(stdout);
    for (count = size; count > left; comm = next) {
        work_on(comm, count);
        code = MPIX_Comm_shrink(comm, &next);
        if (code != MPI_SUCCESS) {
            check(0, "a shrink", class_of(code));
            return finish();
        }
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        MPI_Comm_free(&comm);
        MPI_Comm_size(next, &count);
    }
    if (count != left)
        check(0, "the number of those that are left", count);
    all_good(comm, exchange(comm, 10) && exchange(comm, 100000), "messages between all that are left");
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
    MPI_Group_size(failed, &gone);
    MPI_Comm_group(MPI_COMM_WORLD, &whole);
    all_good(comm, gone == size - left, "all of them know the lost ones");
    flag = ~(1 << me % 8);
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    good = code == MPI_SUCCESS;
    all_good(comm, good, "an agreement in the whole world");
    MPI_Group_free(&whole);
    MPI_Group_free(&failed);
    MPI_Comm_free(&comm);
    return finish();
}
