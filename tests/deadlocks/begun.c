/* Collectives that have begun are no reason to wait for a rank that has begun them, too, and waits for something else: one case for
 * each three ranks, all at once. The first waits for the collective, the second for a message that the first sends then, and the
 * third begins it far later than mpi_deadlock_s. */
#include "check.h"

#include <unistd.h>

enum { LONG = 1 << 18 };
enum { BARRIER, ALLTOALLV, ALLREDUCE, NEIGHBOURS, PERSISTENT_BARRIER, PERSISTENT_ALLTOALLV, CASES };
static const char *const names[] = {"MPI_Ibarrier", "MPI_Ialltoallv", "MPI_Iallreduce", "MPI_Ineighbor_allgather", "MPI_Barrier_init", "MPI_Alltoallv_init"};

int main(int argc, char **argv)
{
    int world, me, byte = 0, which, in[3] = {0}, out[3] = {0}, counts[3] = {1, 1, 1}, places[3] = {0, 1, 2};
    static int sums[LONG];
    int periodic = 1, ranks = 3;
    MPI_Comm three, ring;
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    which = world / 3 % CASES;
    MPI_Comm_split(MPI_COMM_WORLD, world / 3, world, &three);
    MPI_Comm_rank(three, &me);
    MPI_Cart_create(three, 1, &ranks, &periodic, 0, &ring);
    /* Afterwards its processes know whether they can read each other's memory. */
    MPI_Barrier(three);
    if (which == PERSISTENT_BARRIER)
        MPI_Barrier_init(three, MPI_INFO_NULL, &request);
    else if (which == PERSISTENT_ALLTOALLV)
        MPI_Alltoallv_init(in, counts, places, MPI_INT, out, counts, places, MPI_INT, three, MPI_INFO_NULL, &request);
    if (me == 2)
        sleep(4);
    if (which == BARRIER)
        MPI_Ibarrier(three, &request);
    else if (which == ALLTOALLV)
        MPI_Ialltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, three, &request);
    else if (which == ALLREDUCE)
        MPI_Iallreduce(MPI_IN_PLACE, sums, LONG, MPI_INT, MPI_SUM, three, &request);
    else if (which == NEIGHBOURS)
        MPI_Ineighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring, &request);
    else
        MPI_Start(&request);
    if (me == 1)
        MPI_Recv(&byte, 1, MPI_INT, 0, 0, three, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (me == 0)
        MPI_Send(&byte, 1, MPI_INT, 1, 0, three);
    if (which >= PERSISTENT_BARRIER)
        MPI_Request_free(&request);
    if (me == 0)
        check(1, names[which], 0);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&three);
    return finish();
}
