/* What the members of one communicator of two jobs do as those of one job do: groups of them agree by themselves, with any tag, and
 * those that can share memory are found. usage: mpiexec -n N merged */
#include "check.h"

static int sum_over(MPI_Comm comm)
{
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Comm parent, between, all, some, node;
    MPI_Group everyone, part;
    MPI_Win win;
    int rank, size, own, others, here, i, *mine, *ub, flag, good = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    between = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Comm_size(MPI_COMM_WORLD, &own);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
    others = size - own;

    /* All, then overlapping pairs of neighbours that take turns. */
    MPI_Comm_group(all, &everyone);
    MPI_Comm_create_group(all, everyone, *ub, &some);
    good &= sum_over(some) == size;
    MPI_Comm_free(&some);
    for (i = 0; i + 1 < size; i++) {
        int pair[2] = {i, i + 1};
        if (rank != i && rank != i + 1)
            continue;
        MPI_Group_incl(everyone, 2, pair, &part);
        MPI_Comm_create_group(all, part, 7, &some);
        good &= sum_over(some) == 2;
        MPI_Comm_free(&some);
        MPI_Group_free(&part);
    }
    MPI_Group_free(&everyone);

    MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Win_allocate_shared(sizeof *mine, sizeof *mine, MPI_INFO_NULL, node, &mine, &win);
    *mine = rank;
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    good &= here >= 1 && here <= size && others > 0;

    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, all);
    if (rank == 0)
        check(good, "groups of two jobs agree, and those that share memory are found", here);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return !good;
}
