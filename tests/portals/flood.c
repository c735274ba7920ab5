/* Rank 0 sends messages that rank 1 does not receive, and ranks wait for each other meanwhile. An error that rank 1 gets is that
 * of a lost peer. */
#include <mpi.h>
#include <stdio.h>

enum { MESSAGES = 64, BYTES = 4000 };

int main(void) {
    static char data[BYTES];
    int rank;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Send(data, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(data, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        int error = MPI_Recv(data, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class = MPI_SUCCESS;
        MPI_Error_class(error, &class);
        if (class == MPI_ERR_PROC_ABORTED)
            printf("ok the error is returned\n");
        else
            printf("FAIL class %d\n", class);
        fflush(stdout);
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
}
