/* One rank dies, and the others see what each kind of operation does; then they go on without it.
 *
 * usage: mpiexec -with-ft ulfm -n N one [KIND-OF-DEATH]
 */
#include "failures.h"

/* The last rank dies, by a signal or by leaving without MPI_Finalize. */
static void victim(const char *how) {
    if (strcmp(how, "exit") == 0)
        _exit(0);
    die();
}

static int has_failed(MPI_Comm comm, int expected) {
    MPI_Group group, all;
    int count, rank = -1, zero = 0;
    MPIX_Comm_get_failed(comm, &group);
    MPI_Comm_group(comm, &all);
    MPI_Group_size(group, &count);
    if (count > 0)
        MPI_Group_translate_ranks(group, 1, &zero, all, &rank);
    if (group != MPI_GROUP_EMPTY)
        MPI_Group_free(&group);
    MPI_Group_free(&all);
    return count == 1 && rank == expected;
}

int main(int argc, char **argv) {
    int value = 0, code, flag, count, last, all;
    MPI_Request request, other;
    MPI_Status status;
    MPI_Comm half, small;

    begin(&argc, &argv);
    last = size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, me == last, me, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    MPI_Comm group, far;
    MPI_Info range;
    MPI_Info_create(&range);
    MPI_Info_set(range, "mpi_error_range", "group");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, range, &group);
    MPI_Info_set(range, "mpi_error_range", "universe");
    MPI_Comm_dup_with_info(half, range, &far);
    MPI_Info_free(&range);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == last) {
        struct timespec moment = {0, 50000000};
        nanosleep(&moment, NULL);
        victim(argc > 1 ? argv[1] : "kill");
    }

    /* A receive that waits for it. */
    code = MPI_Recv(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a receive from a process that dies");
    code = MPI_Recv(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a receive from one that is dead");
    code = MPI_Ssend(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a send to it");
    code = MPI_Issend(&value, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &request);
    all_good(half, code == MPI_SUCCESS, "a nonblocking send to it begins");
    code = MPI_Wait(&request, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED && request == MPI_REQUEST_NULL, "and fails when it is waited for");
    code = MPI_Probe(last, 1, MPI_COMM_WORLD, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a probe for its messages");
    all_good(half, has_failed(MPI_COMM_WORLD, last), "the group of the failed has it alone");

    /* Others are reached as before. */
    value = me;
    code = MPI_Sendrecv_replace(&value, 1, MPI_INT, (me + 1) % last, 2, (me + last - 1) % last, 2, MPI_COMM_WORLD, &status);
    all_good(half, code == MPI_SUCCESS && value == (me + last - 1) % last, "messages between the others");

    /* Receives of any process. */
    code = MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a receive of any process, while the failure is not acknowledged");
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &request);
    other = request;
    code = MPI_Wait(&request, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED_PENDING && request == other, "a nonblocking one is pending");
    code = MPI_Waitall(1, &request, &status);
    all_good(half, class_of(code) == MPI_ERR_IN_STATUS && class_of(status.MPI_ERROR) == MPIX_ERR_PROC_FAILED_PENDING && request == other,
             "in MPI_Waitall, too");
    code = MPI_Test(&request, &flag, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED_PENDING && request == other, "in MPI_Test, too");
    code = MPI_Probe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a probe for any process");
    MPI_Request lasting;
    int more = -1;
    MPI_Recv_init(&more, 1, MPI_INT, MPI_ANY_SOURCE, 14, MPI_COMM_WORLD, &lasting);
    MPI_Start(&lasting);
    code = MPI_Wait(&lasting, &status);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED_PENDING && lasting != MPI_REQUEST_NULL, "a persistent receive is pending");
    code = MPI_Waitall(1, &lasting, &status);
    all_good(half, class_of(code) == MPI_ERR_IN_STATUS && class_of(status.MPI_ERROR) == MPIX_ERR_PROC_FAILED_PENDING,
             "in MPI_Waitall, too, where it is persistent");
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 0, &count);
    all_good(half, count == 0, "nothing is acknowledged at first");
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 100, &count);
    all_good(half, count == 1, "one failure is acknowledged");
    code = MPI_Test(&request, &flag, &status);
    all_good(half, code == MPI_SUCCESS && !flag, "the pending receive goes on");
    value = -1;
    MPI_Barrier(half);
    int own = 100 + me;
    MPI_Send(&own, 1, MPI_INT, (me + 1) % last, 4, MPI_COMM_WORLD);
    code = MPI_Wait(&request, &status);
    all_good(half, code == MPI_SUCCESS && value == 100 + (me + last - 1) % last && status.MPI_SOURCE == (me + last - 1) % last,
             "it gets the message of another process, once");
    MPI_Send(&own, 1, MPI_INT, (me + 1) % last, 14, MPI_COMM_WORLD);
    code = MPI_Wait(&lasting, &status);
    all_good(half, code == MPI_SUCCESS && more == 100 + (me + last - 1) % last, "and so does the persistent one");
    MPI_Request_free(&lasting);

    /* Collectives, and communicators without the dead. */
    code = MPI_Allreduce(&me, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a collective");
    code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a nonblocking collective");
    code = MPI_Comm_dup(MPI_COMM_WORLD, &small);
    all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a duplicate");

    /* Agreement. */
    flag = me == 0 ? 6 : 7;
    code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    all_good(half, code == MPI_SUCCESS && flag == 6, "an agreement, the failure acknowledged by all");
    code = MPIX_Comm_iagree(MPI_COMM_WORLD, &flag, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    all_good(half, code == MPI_SUCCESS && flag == 6, "a nonblocking one");

    /* What the info key says. */
    MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN);
    MPIX_Comm_is_revoked(group, &flag);
    all_good(half, flag, "a failure has revoked a communicator whose range of errors is its group");
    code = MPI_Send(&value, 1, MPI_INT, me, 5, group);
    all_good(half, class_of(code) == MPIX_ERR_REVOKED, "so calls on it fail that do not need the dead process");
    MPIX_Comm_is_revoked(far, &flag);
    all_good(half, flag, "as it has one that does not contain it, whose range is the universe");
    MPI_Comm_free(&group);
    MPI_Comm_free(&far);

    /* Revocation. */
    MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag);
    all_good(half, !flag, "the world is not revoked");
    if (me == 0) {
        code = MPIX_Comm_revoke(MPI_COMM_WORLD);
        all = code == MPI_SUCCESS;
    } else {
        code = MPI_Recv(&value, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, &status);
        all = class_of(code) == MPIX_ERR_REVOKED;
    }
    all_good(half, all, "a revocation ends a receive");
    MPIX_Comm_is_revoked(MPI_COMM_WORLD, &flag);
    all_good(half, flag, "the world is revoked");
    code = MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    all_good(half, class_of(code) == MPIX_ERR_REVOKED, "a send in a revoked communicator");
    code = MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
    all_good(half, class_of(code) == MPIX_ERR_REVOKED, "a receive from MPI_PROC_NULL there");
    code = MPI_Irecv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, &status);
    else
        code = MPI_SUCCESS;
    all_good(half, class_of(code) == MPIX_ERR_REVOKED, "a nonblocking one begins there, and fails when it is waited for");
    code = MPI_Barrier(MPI_COMM_WORLD);
    all_good(half, class_of(code) == MPIX_ERR_REVOKED, "a barrier there");
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    all_good(half, count == size, "its size is known all the same");
    flag = ~0;
    code = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    all_good(half, code == MPI_SUCCESS && flag == ~0, "an agreement there");

    /* Going on. */
    code = MPIX_Comm_shrink(MPI_COMM_WORLD, &small);
    MPI_Comm_size(small, &count);
    all_good(half, code == MPI_SUCCESS && count == last, "the shrunk world has one process less");
    MPI_Comm_rank(small, &value);
    all_good(half, value == me, "the order is kept");
    code = MPI_Allreduce(&me, &value, 1, MPI_INT, MPI_SUM, small);
    all_good(half, code == MPI_SUCCESS && value == last * (last - 1) / 2, "a collective on it");
    MPI_Comm again;
    code = MPIX_Comm_ishrink(small, &again, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_size(again, &count);
    all_good(half, code == MPI_SUCCESS && count == last, "a nonblocking shrink without a failure");
    value = 0;
    code = MPI_Bcast(&value, 1, MPI_INT, last - 1, again);
    all_good(again, code == MPI_SUCCESS, "its collectives work");
    MPI_Comm_free(&again);
    MPI_Comm_free(&small);
    MPI_Comm_free(&half);
    return finish();
}
