/* A rank that computes answers its peers (mpi_async_progress). Each odd rank posts a receive and computes, without any call of
 * MPI, until its partner reports by a file that the send has returned: a synchronous one of 8 bytes, or one of 4 MiB. Where
 * no thread makes progress meanwhile, the pair hangs. In between they exchange messages as usual, and pause.
 *
 * usage: away DIRECTORY LEVEL ROUNDS
 */
#include <mpi.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LARGE (4 << 20)

static int rank, size;

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What the program computes: it is done when its partner's file is there. */
static double compute_until(const char *path)
{
    double sum = 0;
    while (access(path, F_OK) != 0)
        for (int i = 1; i < 100000; i++)
            sum += 1.0 / i;
    return sum;
}

static void talk(int partner, int times)
{
    int value, other;
    for (int i = 0; i < times; i++) {
        value = i;
        MPI_Sendrecv(&value, 1, MPI_INT, partner, 3, &other, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (other != i)
            fail("a message is wrong");
    }
}

int main(int argc, char **argv)
{
    int provided, level = atoi(argv[2]), rounds = atoi(argv[3]);
    char path[4096];
    MPI_Init_thread(&argc, &argv, level ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *data = calloc(LARGE, 1);
    int partner = rank ^ 1;
    for (int round = 0; round < rounds && partner < size; round++) {
        int bytes = round % 2 ? LARGE : 8;
        snprintf(path, sizeof path, "%s/%d.%d", argv[1], rank | 1, round);
        if (rank % 2) {
            MPI_Request request;
            MPI_Irecv(data, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request);
            MPI_Barrier(MPI_COMM_WORLD);
            compute_until(path);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int i = 0; i < bytes; i += 7)
                if (data[i] != (char)(round + i))
                    fail("the data is wrong");
        } else {
            for (int i = 0; i < bytes; i++)
                data[i] = (char)(round + i);
            MPI_Barrier(MPI_COMM_WORLD);
            if (round % 3 == 0)
                usleep(30000);
            MPI_Ssend(data, bytes, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
            int file = open(path, O_CREAT | O_WRONLY, 0600);
            if (file < 0)
                fail("no file");
            close(file);
        }
        talk(partner, round % 4 ? 100 : 1);
        if (round % 5 == 0)
            usleep(15000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        puts("ok");
    free(data);
    MPI_Finalize();
    return 0;
}
