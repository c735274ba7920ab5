/* Messages of one sender and envelope arrive in order, whatever their protocols (MPI-5.0 section 3.5). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

static const int sizes[] = {8, 0, 100, 1, 5000, 64, 300000, 40000, 1000, 3, 70000, 8};
enum { KINDS = sizeof sizes / sizeof *sizes, ROUNDS = 600, LARGEST = 300000, WINDOW = 50 };

static void fill(char *buffer, int number)
{
    memset(buffer, number % 127, sizes[number % KINDS]);
    if (sizes[number % KINDS] >= (int)sizeof number)
        memcpy(buffer, &number, sizeof number);
}

/* Whether this is message `number`, whole. */
static int is(const char *buffer, int number, const MPI_Status *status)
{
    static char expected[LARGEST];
    int count;

    MPI_Get_count(status, MPI_CHAR, &count);
    fill(expected, number);
    return count == sizes[number % KINDS] && !memcmp(buffer, expected, count);
}

static void blocking(int rank)
{
    char *buffer = malloc(LARGEST);
    int good = 0;

    for (int n = 0; n < ROUNDS; n++) {
        if (rank == 0) {
            fill(buffer, n);
            if (n % 5 == 0)
                MPI_Ssend(buffer, sizes[n % KINDS], MPI_CHAR, 1, n % 3, MPI_COMM_WORLD);
            else
                MPI_Send(buffer, sizes[n % KINDS], MPI_CHAR, 1, n % 3, MPI_COMM_WORLD);
        } else {
            MPI_Status status;
            int source = n % 4 == 0 ? MPI_ANY_SOURCE : 0, tag = n % 7 == 0 ? MPI_ANY_TAG : n % 3;

            MPI_Recv(buffer, LARGEST, MPI_CHAR, source, tag, MPI_COMM_WORLD, &status);
            good += is(buffer, n, &status) && status.MPI_SOURCE == 0 && status.MPI_TAG == n % 3;
        }
    }
    if (rank == 1)
        CHECK_EQ(good, ROUNDS, "blocking receives, with and without wildcards");
    free(buffer);
}

/* Receives are posted before or after the messages come, by turns. */
static void nonblocking(int rank, int receive_first)
{
    char *buffers = malloc((size_t)WINDOW * LARGEST);
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];
    int good = 0;

    if (rank == 0 && receive_first)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int n = 0; n < WINDOW; n++) {
        char *buffer = buffers + (size_t)n * LARGEST;

        if (rank == 0) {
            fill(buffer, n);
            MPI_Isend(buffer, sizes[n % KINDS], MPI_CHAR, 1, 9, MPI_COMM_WORLD, &requests[n]);
        }
    }
    if (rank == 0 && !receive_first)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        if (!receive_first)
            MPI_Barrier(MPI_COMM_WORLD);
        for (int n = 0; n < WINDOW; n++)
            MPI_Irecv(buffers + (size_t)n * LARGEST, LARGEST, MPI_CHAR, n % 2 ? 0 : MPI_ANY_SOURCE,
                      n % 3 ? 9 : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[n]);
        if (receive_first)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Waitall(WINDOW, requests, statuses);
    for (int n = 0; rank == 1 && n < WINDOW; n++)
        good += is(buffers + (size_t)n * LARGEST, n, &statuses[n]);
    if (rank == 1)
        CHECK_EQ(good, WINDOW, receive_first ? "receives posted first" : "messages sent first");
    free(buffers);
}

/* Different tags are received in the opposite order of sending. */
static void backwards(int rank)
{
    enum { TAGS = 2000 };
    static int values[TAGS];
    static MPI_Request requests[TAGS];
    int good = 0;

    for (int n = 0; rank == 0 && n < TAGS; n++) {
        values[n] = n;
        MPI_Isend(&values[n], 1, MPI_INT, 1, n, MPI_COMM_WORLD, &requests[n]);
    }
    if (rank == 0)
        MPI_Waitall(TAGS, requests, MPI_STATUSES_IGNORE);
    for (int n = TAGS - 1; rank == 1 && n >= 0; n--) {
        int value = -1;

        MPI_Recv(&value, 1, MPI_INT, 0, n, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        good += value == n;
    }
    if (rank == 1)
        CHECK_EQ(good, TAGS, "tags in the opposite order");
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    blocking(rank);
    nonblocking(rank, 1);
    nonblocking(rank, 0);
    backwards(rank);
    MPI_Finalize();
    return 0;
}
