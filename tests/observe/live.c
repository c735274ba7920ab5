/* A job to look at while it runs, on three ranks: rank 0 has a receive that waits for rank 2, and waits for rank 1; rank 1 has five
   messages without a receive, and waits for rank 2; rank 2 computes until a file is there. Then all goes well. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static volatile double sum;

static __attribute__((noinline)) void compute(const char *file)
{
    while (access(file, F_OK) != 0)
        for (int i = 1; i < 1000000; i++)
            sum += 1.0 / i;
}

int main(int argc, char **argv)
{
    int rank, value = 0, other = 0;
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(&other, 1, MPI_INT, 2, 77, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 5; i++)
            MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* rank 0 */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("ok all ends well\n");
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* rank 1 */
        for (int i = 0; i < 5; i++)
            MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    } else {
        compute(argv[1]);
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
