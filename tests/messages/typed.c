/* Derived datatypes on the way between two ranks: every way in which such a message travels, with every mixture of types on
 * both sides. The bytes arrive, and what lies between them is left alone. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { MOST = 4 << 20, ROOM = 3 * MOST };

static char *memory, *expected;

/* `total` bytes in runs of `run` bytes, of which every second one is left out. */
static MPI_Datatype in_runs(int total, int run)
{
    MPI_Datatype type;
    MPI_Type_vector(total / run, run, 2 * run, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void spread(char *to, int total, int run)
{
    for (int i = 0; i < total; i++)
        to[i / run * 2 * run + i % run] = (char)(i * 7 + i / 251);
}

static int sent(int total, int from, int into, int first)
{
    int rank, good = 1, bytes = 0;
    MPI_Status status;
    MPI_Datatype type;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    type = in_runs(total, rank == 0 ? from : into);
    memset(memory, -1, ROOM);
    if (rank == 0) {
        spread(memory, total, from);
        if (!first)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(memory, 1, type, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Request request;
        memset(expected, -1, ROOM);
        spread(expected, total, into);
        if (first)
            MPI_Probe(0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(memory, 1, type, 0, 0, MPI_COMM_WORLD, &request);
        if (!first)
            MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        good = bytes == total && memcmp(memory, expected, ROOM) == 0;
    }
    MPI_Type_free(&type);
    MPI_Bcast(&good, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return good;
}

/* A message that is longer than its receive: the error, and nothing behind the end. */
static int truncated(int run)
{
    int rank, good = 1, bytes = 0;
    MPI_Status status;
    MPI_Datatype type;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    type = in_runs(rank == 0 ? 1 << 20 : 1 << 19, run);
    memset(memory, -1, ROOM);
    if (rank == 0) {
        MPI_Send(memory, 1, type, 1, 0, MPI_COMM_WORLD);
    } else {
        int code = MPI_Recv(memory, 1, type, 0, 0, MPI_COMM_WORLD, &status), class;
        MPI_Error_class(code, &class);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        good = class == MPI_ERR_TRUNCATE && bytes <= 1 << 19;
    }
    MPI_Type_free(&type);
    MPI_Bcast(&good, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return good;
}

/* To oneself: from one half of the memory to the other. */
static int to_oneself(int total, int from, int into)
{
    char *to = memory + ROOM / 2;
    MPI_Datatype out = in_runs(total, from), in = in_runs(total, into);
    memset(memory, -1, ROOM);
    memset(expected, -1, ROOM / 2);
    spread(memory, total, from);
    spread(expected, total, into);
    MPI_Sendrecv(memory, 1, out, 0, 0, to, 1, in, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Type_free(&out);
    MPI_Type_free(&in);
    return memcmp(to, expected, ROOM / 2) == 0;
}

int main(int argc, char **argv)
{
    static const int runs[] = {8, 512, 4096, 65536}, totals[] = {65536, 262144, 1 << 20, MOST};
    int rank;
    char name[128];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memory = malloc(ROOM);
    expected = malloc(ROOM);
    for (size_t t = 0; t < sizeof totals / sizeof *totals; t++) {
        int good = 1;
        for (size_t a = 0; a < sizeof runs / sizeof *runs; a++)
            for (size_t b = 0; b < sizeof runs / sizeof *runs; b++)
                good &= sent(totals[t], runs[a], runs[b], 0) && sent(totals[t], runs[a], runs[b], 1);
        snprintf(name, sizeof name, "%d bytes in runs of any length arrive in runs of any length", totals[t]);
        if (rank == 0)
            check(good, name, totals[t]);
    }
    for (size_t t = 0; t + 1 < sizeof totals / sizeof *totals; t++) {
        int good = 1;
        for (size_t a = 0; a < sizeof runs / sizeof *runs; a++)
            for (size_t b = 0; b < sizeof runs / sizeof *runs; b++)
                good &= to_oneself(totals[t], runs[a], runs[b]);
        snprintf(name, sizeof name, "%d bytes in runs of any length go to oneself", totals[t]);
        if (rank == 0)
            check(good, name, totals[t]);
    }
    for (size_t a = 0; a < sizeof runs / sizeof *runs; a++) {
        int good = truncated(runs[a]);
        snprintf(name, sizeof name, "a message in runs of %d bytes that is too long is cut", runs[a]);
        if (rank == 0)
            check(good, name, runs[a]);
    }
    free(memory);
    free(expected);
    MPI_Finalize();
    return check_failures != 0;
}
