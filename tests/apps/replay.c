/* A kernel to be recorded: a ring exchange, a persistent exchange, a nonblocking reduction, messages from any rank, probes,
 * a communicator of every other rank. Each round computes for about half a millisecond. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 400, WORDS = 4000 };

static double compute(int rounds) {
    volatile double sum = 0;
    for (int i = 0; i < rounds; i++) sum += i * 0.5;
    return sum;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm own, half;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, size - rank, &half);
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double *in = calloc(WORDS, sizeof *in), *out = calloc(WORDS, sizeof *out), *far = calloc(WORDS, sizeof *far);
    MPI_Request kept[2];
    MPI_Recv_init(in, WORDS, MPI_DOUBLE, left, 1, own, &kept[0]);
    MPI_Send_init(out, WORDS, MPI_DOUBLE, right, 1, own, &kept[1]);
    int wrong = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        compute(200000 + 20000 * ((rank + round) % 3));
        for (int i = 0; i < WORDS; i++) out[i] = rank + round;
        MPI_Startall(2, kept);
        double mine = rank, sum = 0;
        MPI_Request reduction;
        MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, half, &reduction);
        MPI_Waitall(2, kept, MPI_STATUSES_IGNORE);
        wrong += in[WORDS - 1] != left + round;
        MPI_Wait(&reduction, MPI_STATUS_IGNORE);
        if (rank == 0) {
            for (int from = 1; from < size; from++) {
                MPI_Status status;
                MPI_Probe(MPI_ANY_SOURCE, 7, own, &status);
                int count;
                MPI_Get_count(&status, MPI_DOUBLE, &count);
                MPI_Recv(far, count, MPI_DOUBLE, status.MPI_SOURCE, 7, own, MPI_STATUS_IGNORE);
            }
        } else {
            MPI_Send(out, rank, MPI_DOUBLE, 0, 7, own);
        }
        MPI_Bcast(far, 100, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Sendrecv(out, 10, MPI_DOUBLE, right, 2, far, 10, MPI_DOUBLE, left, 2, own, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request_free(&kept[0]);
    MPI_Request_free(&kept[1]);
    MPI_Comm_free(&half);
    MPI_Comm_free(&own);
    MPI_Finalize();
    if (wrong) fprintf(stderr, "rank %d received wrong data in %d rounds\n", rank, wrong);
    return wrong != 0;
}
