/* With coll_tuned_online=1: results are right while algorithms are tried, at the vote and after it, on several
 * communicators. */
#include "collectives.h"

enum { CALLS = 150, LONGEST = 3000 };

static int sums_are_right(MPI_Comm comm, int call, int n)
{
    static double out[LONGEST], in[LONGEST];
    int me, ranks, i;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    for (i = 0; i < n; i++)
        out[i] = me + call + i;
    MPI_Allreduce(out, in, n, MPI_DOUBLE, MPI_SUM, comm);
    for (i = 0; i < n; i++)
        if (in[i] != ranks * (ranks - 1) / 2.0 + (double)ranks * (call + i))
            return 0;
    return 1;
}

static int copies_are_right(MPI_Comm comm, int call, int n)
{
    static int data[LONGEST];
    int me, ranks, i, root;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    root = call % ranks;
    for (i = 0; i < n; i++)
        data[i] = me == root ? call * 7 + i : -1;
    MPI_Bcast(data, n, MPI_INT, root, comm);
    for (i = 0; i < n; i++)
        if (data[i] != call * 7 + i)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    int call, sums = 1, copies = 1, elsewhere = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (call = 0; call < CALLS; call++) {
        sums &= sums_are_right(MPI_COMM_WORLD, call, 1);
        sums &= sums_are_right(MPI_COMM_WORLD, call, LONGEST);
        copies &= copies_are_right(MPI_COMM_WORLD, call, 100);
        elsewhere &= sums_are_right(other, call, 40);
        MPI_Barrier(other);
    }
    MPI_Comm_free(&other);
    verdict(sums, "allreduce");
    verdict(copies, "bcast with roots in turn");
    verdict(elsewhere, "another communicator");
    MPI_Finalize();
    return failed;
}
