/* A program for a tool to watch: three sends to MPI_PROC_NULL. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int i, value = 0;
    MPI_Init(&argc, &argv);
    for (i = 0; i < 3; i++)
        MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
