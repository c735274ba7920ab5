/* Messages of every protocol of the Gemini transport: lengths around the bands' limits, buffers at every alignment (a
   GET needs multiples of 4, so others fall back to PUT), contiguous and strided, all ranks at once, in both directions,
   expected and unexpected. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

enum { LARGEST = 3 << 20, SLACK = 16 };

static const int lengths[] = {0, 1, 8, 100, 180, 1000, 1024, 2044, 4096, 8000, 8188, 8192, 8193, 8195, 20001, 65536,
                              1048576, 1048579, LARGEST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static unsigned char value(int from, int length, int at)
{
    return (unsigned char)(from * 101 + length * 7 + at * 31 + at / 251);
}

static void fill(unsigned char *bytes, int from, int length)
{
    for (int at = 0; at < length; at++)
        bytes[at] = value(from, length, at);
}

static int differs(const unsigned char *bytes, int from, int length)
{
    for (int at = 0; at < length; at++)
        if (bytes[at] != value(from, length, at))
            return 1;
    return 0;
}

/* One message round the ring for each length and alignment on either side. */
static void ring(int rank, int size, int unexpected)
{
    unsigned char *out = malloc(LARGEST + SLACK), *in = malloc(LARGEST + SLACK);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, wrong = 0;

    for (int n = 0; n < LENGTHS; n++)
        for (int shift = 0; shift < 16; shift += lengths[n] > 65536 ? 5 : 1) {
            unsigned char *from = out + shift / 4, *to = in + shift % 4;
            MPI_Request requests[2];

            fill(from, rank, lengths[n]);
            memset(in, 0, lengths[n] + SLACK);
            if (!unexpected)
                MPI_Irecv(to, lengths[n], MPI_BYTE, before, n, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(from, lengths[n], MPI_BYTE, next, n, MPI_COMM_WORLD, &requests[1]);
            if (unexpected) {
                MPI_Probe(before, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Irecv(to, lengths[n], MPI_BYTE, before, n, MPI_COMM_WORLD, &requests[0]);
            }
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            wrong += differs(to, before, lengths[n]) || to[lengths[n]] != 0;
        }
    CHECK_EQ(wrong, 0, unexpected ? "every length and alignment, unexpected" : "every length and alignment, expected");
    free(out);
    free(in);
}

/* Every second int, which no transport can fetch in one run. */
static void strided(int rank, int size)
{
    enum { COUNT = 50000 };
    int *out = malloc(2 * COUNT * sizeof *out), *in = calloc(2 * COUNT, sizeof *in), wrong = 0;
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Datatype every_second;

    for (int at = 0; at < 2 * COUNT; at++)
        out[at] = rank * 1000000 + at;
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Sendrecv(out, 1, every_second, next, 0, in, 1, every_second, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 0; at < 2 * COUNT; at++)
        wrong += in[at] != (at % 2 ? 0 : before * 1000000 + at);
    CHECK_EQ(wrong, 0, "strided on both sides");
    MPI_Type_free(&every_second);
    free(out);
    free(in);
}

/* Many messages of mixed lengths from all to all at once: they are received in order, each once. */
static void crowd(int rank, int size)
{
    enum { EACH = 60, LONGEST = 12000 };
    int total = EACH * size, wrong = 0;
    unsigned char *out = malloc((size_t)total * LONGEST), *in = malloc((size_t)total * LONGEST);
    MPI_Request *requests = malloc(2 * total * sizeof *requests);

    for (int n = 0; n < total; n++) {
        int peer = n % size, length = n / size * 197 % LONGEST;
        fill(out + (size_t)n * LONGEST, rank, length);
        MPI_Irecv(in + (size_t)n * LONGEST, LONGEST, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &requests[n]);
        MPI_Isend(out + (size_t)n * LONGEST, length, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &requests[total + n]);
    }
    MPI_Waitall(2 * total, requests, MPI_STATUSES_IGNORE);
    for (int n = 0; n < total; n++)
        wrong += differs(in + (size_t)n * LONGEST, n % size, n / size * 197 % LONGEST);
    CHECK_EQ(wrong, 0, "a crowd from all to all keeps its order");
    free(out);
    free(in);
    free(requests);
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ring(rank, size, 0);
    ring(rank, size, 1);
    strided(rank, size);
    crowd(rank, size);
    MPI_Finalize();
    return check_failures != 0;
}
