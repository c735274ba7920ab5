/* Errors under MPI_ERRORS_ARE_FATAL, made by rank 0, by rank 1 or by all; the others wait for a message that never comes.
 *
 * usage: fatal one|all|truncated|waited|among|named
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "one";
    int rank, value[20] = {0};
    MPI_Comm named;
    MPI_Datatype pair;
    MPI_Request request, both[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &named);
    MPI_Comm_set_name(named, "ocean");
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_set_name(pair, "pair");
    if (strcmp(what, "all") == 0 || (strcmp(what, "one") == 0 && rank == 0))
        MPI_Send(value, 1, MPI_INT, 1000000, 0, MPI_COMM_WORLD);
    if (strcmp(what, "named") == 0 && rank == 0)
        MPI_Bcast(MPI_IN_PLACE, -1, pair, 0, named);
    if ((strcmp(what, "truncated") == 0 || strcmp(what, "waited") == 0 || strcmp(what, "among") == 0) && rank == 0)
        MPI_Send(value, 20, MPI_INT, 1, 5, MPI_COMM_WORLD);
    if (strcmp(what, "truncated") == 0 && rank == 1)
        MPI_Recv(value, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(what, "waited") == 0 && rank == 1) {
        MPI_Irecv(value, 3, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(what, "among") == 0 && rank == 1) {
        both[0] = MPI_REQUEST_NULL;
        MPI_Irecv(value, 3, MPI_INT, 0, 5, MPI_COMM_WORLD, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    MPI_Recv(value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("FAIL a fatal error came back\n");
    MPI_Finalize();
    return 0;
}
