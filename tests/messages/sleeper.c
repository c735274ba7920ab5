/* A million messages of 1 KiB, from all other ranks, to the last one, which sleeps first: all arrive, those of each in order,
   and the payload that is kept for it stays under the cap. The argument is the number of MiB by which the receiver may grow. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"
#include "process.h"

#ifndef MESSAGES
#define MESSAGES 1000000
#endif
enum { BYTES = 1024 };

int main(int argc, char **argv)
{
    static char payload[BYTES];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    int last = size - 1, each = MESSAGES / last, most = argc > 1 ? atoi(argv[1]) : 150;

    if (rank != last) {
        for (int n = 0; n < each; n++) {
            memcpy(payload, &n, sizeof n);
            MPI_Send(payload, BYTES, MPI_CHAR, last, 1, MPI_COMM_WORLD);
        }
    } else {
        long before = peak(), good = 0;
        int *next = calloc(size, sizeof *next);

        sleep(5);
        for (int n = 0; n < last * each; n++) {
            MPI_Status status;
            int number;

            MPI_Recv(payload, BYTES, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            memcpy(&number, payload, sizeof number);
            good += number == next[status.MPI_SOURCE]++;
        }
        CHECK_EQ(good, last * each, "all in order");
        check((peak() - before) / 1024 < most, "the payload stays with the sender", (peak() - before) / 1024);
        printf("the receiver grew by %ld MiB\n", (peak() - before) / 1024);
    }
    MPI_Finalize();
    return 0;
}
