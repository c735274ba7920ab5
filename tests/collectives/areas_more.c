/* More communicators at a time than the node has areas for: each makes one of its own after some calls. Calls before, during and after
 * that, blocking and nonblocking, of all communicators in turn; some are freed on the way.
 * usage: areas_more [COMMUNICATORS] */
#include <mpi.h>
#include <stdlib.h>
#include "check.h"

enum { MOST = 64, CALLS = 60 };

int main(int argc, char **argv)
{
    int many = argc > 1 ? atoi(argv[1]) : 12, rank, size;
    long wrong = 0;
    MPI_Comm comms[MOST];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < many; i++)
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 2 ? rank % 2 : 0, i % 2 ? -rank : rank, &comms[i]);
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < many; i++) {
            int me, members, value, sum = 0, pair[2] = {0, 0};
            MPI_Request request;

            MPI_Comm_rank(comms[i], &me);
            MPI_Comm_size(comms[i], &members);
            value = me == call % members ? call * 100 + i : -1;
            MPI_Ibcast(&value, 1, MPI_INT, call % members, comms[i], &request);
            MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            wrong += value != call * 100 + i || sum != members * (members - 1) / 2;
            pair[0] = me == 0 ? call : -1;
            MPI_Bcast(pair, call % 5 ? 1 : 0, MPI_INT, 0, comms[i]);
            wrong += (call % 5 || me == 0) && pair[0] != call;
        }
        if (call % 20 == 19) {
            MPI_Comm_free(&comms[call % many]);
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[call % many]);
        }
    }
    for (int i = 0; i < many; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        CHECK_EQ(wrong, 0, "communicators beyond the node's areas");
    MPI_Finalize();
    return 0;
}
