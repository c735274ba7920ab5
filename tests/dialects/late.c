/* Ranks that are slow to call MPI_Init, or never do: mpiexec knows the library of this ABI as its own, and is silent. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments) {
    printf("a line before MPI_Init\n");
    fflush(stdout);
    /* mpiexec looks for other MPI libraries first when a rank has been silent for a quarter of a second. */
    sleep(1);
    if (count > 1) {
        MPI_Init(&count, &arguments);
        MPI_Finalize();
    }
    return 0;
}
