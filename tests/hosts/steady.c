/* Two ranks exchange messages of many lengths for some seconds, whatever happens to the network, and check what they get.
 * usage: steady SECONDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 300000 };

int main(int argc, char **argv)
{
    static unsigned char out[LONGEST], in[LONGEST];
    int rank, wrong = 0, rounds = 0, more = 1;
    double end;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
    for (; more; rounds++) {
        int length = 1 + rounds * 7919 % LONGEST;

        memset(out, rounds + rank, length);
        MPI_Sendrecv(out, length, MPI_BYTE, !rank, rounds % 1000, in, LONGEST, MPI_BYTE, !rank, rounds % 1000, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < length; i++)
            wrong += in[i] != (unsigned char)(rounds + !rank);
        more = MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 1 && rounds == 20) {
            printf("running %d\n", (int)getpid());
            fflush(stdout);
        }
    }
    printf("%s rank %d: %d rounds, %d wrong bytes\n", wrong ? "FAIL" : "ok", rank, rounds, wrong);
    MPI_Finalize();
    return wrong != 0;
}
