/* Communicators that are made while their makers are in different places. */
#include "collectives.h"

/* Groups that overlap, one after the other under one tag: a rank of the next group may be another process. */
static int random_groups(int rounds)
{
    int good = 1, round, i, n, in, sum, expected, *ranks = malloc(sizeof(int) * size);
    unsigned seed = 1;
    MPI_Group all, some;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (round = 0; round < rounds; round++) {
        for (i = n = in = expected = 0; i < size; i++) {
            seed = seed * 1103515245 + 12345;
            if (seed >> 16 & 1) {
                in |= i == rank;
                expected += i;
                ranks[n++] = i;
            }
        }
        MPI_Group_incl(all, n, ranks, &some);
        if (in) {
            MPI_Comm_create_group(MPI_COMM_WORLD, some, 0, &comm);
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
            good &= sum == expected;
            MPI_Comm_free(&comm);
        }
        MPI_Group_free(&some);
    }
    MPI_Group_free(&all);
    free(ranks);
    return good;
}

/* The two groups of an inter-communicator have used different numbers of context ids before they duplicate it. */
static int uneven_groups(void)
{
    int i, sum, local_rank, remote_size, good;
    MPI_Comm local, inter, copy, more[3];
    MPI_Request request;
    if (size < 2)
        return 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank % 2 == 0, 5, &inter);
    for (i = 0; i < 3 && rank % 2; i++)
        MPI_Comm_dup(local, &more[i]);
    MPI_Comm_idup(inter, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_rank(copy, &local_rank);
    MPI_Comm_remote_size(copy, &remote_size);
    MPI_Allreduce(&local_rank, &sum, 1, MPI_INT, MPI_SUM, copy);
    good = sum == remote_size * (remote_size - 1) / 2;
    for (i = 0; i < 3 && rank % 2; i++)
        MPI_Comm_free(&more[i]);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    return good;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    verdict(random_groups(200), "groups made one after the other under one tag");
    verdict(uneven_groups(), "an inter-communicator of uneven groups duplicated");
    MPI_Finalize();
    return failed;
}
