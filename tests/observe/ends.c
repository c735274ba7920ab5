/* A call of MPI that fails, whose place mpiexec names. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, buffer[4] = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(buffer, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* call */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
