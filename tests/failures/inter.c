/* Inter-communicators: a process of one group dies.
 *
 * usage: mpiexec -with-ft ulfm -n N inter     N is 5 or more
 */
#include "failures.h"

int main(int argc, char **argv) {
    MPI_Comm half, inter, small, merged, alive;
    int code, flag, value = 0, count, last, own, other;
    begin(&argc, &argv);
    last = size - 1;
    /* Even against odd ranks; the last one dies. */
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Comm_split(MPI_COMM_WORLD, me == last, me, &alive);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 3, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    flag = me % 2 ? 0x0f : 0x3c;
    code = MPIX_Comm_agree(inter, &flag);
    check_all(code == MPI_SUCCESS && flag == (me % 2 ? 0x3c : 0x0f), "each group gets the bits of the other one");
    if (me == last)
        die();
    if (me % 2 != last % 2) {
        code = MPI_Recv(&value, 1, MPI_INT, last / 2, 0, inter, MPI_STATUS_IGNORE);
        all_good(half, class_of(code) == MPIX_ERR_PROC_FAILED, "a receive from the dead of the other group");
    }
    flag = 1;
    code = MPIX_Comm_agree(inter, &flag);
    all_good(alive, class_of(code) == MPIX_ERR_PROC_FAILED && flag == 1, "an agreement with a failure that none has acknowledged");
    MPIX_Comm_failure_ack(inter);
    code = MPIX_Comm_agree(inter, &flag);
    all_good(alive, code == MPI_SUCCESS && flag == 1, "and once all have");
    MPI_Group group;
    MPIX_Comm_failure_get_acked(inter, &group);
    MPI_Group_size(group, &count);
    all_good(alive, count == 1, "one is acknowledged");
    MPI_Group_free(&group);
    if (me == 0)
        MPIX_Comm_revoke(inter);
    else
        code = MPI_Recv(&value, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE);
    all_good(alive, me == 0 || class_of(code) == MPIX_ERR_REVOKED, "both groups learn of a revocation");
    code = MPIX_Comm_shrink(inter, &small);
    MPI_Comm_size(small, &own);
    MPI_Comm_remote_size(small, &other);
    all_good(alive, code == MPI_SUCCESS && own + other == last, "the shrunk one has both groups without the dead");
    MPI_Comm_set_errhandler(small, MPI_ERRORS_RETURN);
    MPI_Comm_rank(small, &flag);
    code = MPI_Sendrecv(&me, 1, MPI_INT, flag % other, 1, &value, 1, MPI_INT, flag < other ? flag : MPI_PROC_NULL, 1, small, MPI_STATUS_IGNORE);
    all_good(alive, code == MPI_SUCCESS, "messages between the groups");
    code = MPI_Intercomm_merge(small, me % 2, &merged);
    MPI_Comm_size(merged, &count);
    all_good(alive, code == MPI_SUCCESS && count == last, "the merged one has all that live");
    code = MPI_Allreduce(&me, &value, 1, MPI_INT, MPI_SUM, merged);
    all_good(alive, code == MPI_SUCCESS && value == last * (last - 1) / 2, "its collectives work");
    MPI_Comm_free(&merged);
    MPI_Comm_free(&small);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_free(&alive);
    return finish();
}
