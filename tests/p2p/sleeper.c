/* A million messages of 1 KiB to a receiver that sleeps first: all arrive, in order, and the payload that is kept
   for it stays under the cap. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "memory.h"

#ifndef MESSAGES
#define MESSAGES 1000000
#endif
enum { BYTES = 1024 };

int main(int argc, char **argv)
{
    static char payload[BYTES];
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int n = 0; n < MESSAGES; n++) {
            memcpy(payload, &n, sizeof n);
            MPI_Send(payload, BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        }
    } else {
        long before = peak_mib(), good = 0;

        sleep(5);
        for (int n = 0; n < MESSAGES; n++) {
            int number;

            MPI_Recv(payload, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            memcpy(&number, payload, sizeof number);
            good += number == n;
        }
        CHECK_EQ(good, MESSAGES, "all in order");
        check(peak_mib() - before < 150, "the payload stays with the sender", peak_mib() - before);
    }
    MPI_Finalize();
    return 0;
}
