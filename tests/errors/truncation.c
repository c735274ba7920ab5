/* Messages longer than the receive buffer, of every protocol's size: MPI_ERR_TRUNCATE at the receiver only, nothing
 * written past the buffer, and the next message is not disturbed. Two ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define GUARD 64
#define LARGEST (1 << 20)

static const int sizes[] = {1, 100, 4000, 20000, 100000, LARGEST};
static char *out, *in;

static int guard_is_intact(int from)
{
    int i;
    for (i = from; i < from + GUARD; i++)
        if (in[i] != 'g')
            return 0;
    return 1;
}

static void report(int code, int expected, const char *call, int size)
{
    char name[128];
    int class = -1;
    MPI_Error_class(code, &class);
    snprintf(name, sizeof name, "%s of %d bytes into half of that", call, size);
    CHECK_EQ(class, expected, name);
    snprintf(name, sizeof name, "%s of %d bytes writes nothing past the buffer", call, size);
    check(guard_is_intact(size / 2), name, 0);
}

/* Every way to receive; each gets one message of `size` bytes into a buffer of half the size. */
static void receive(int size)
{
    int half = size / 2, code;
    MPI_Request request, both[2];
    MPI_Status status, statuses[2];
    MPI_Message message;
    char small = 0;

    memset(in, 'g', LARGEST + GUARD);
    report(MPI_Recv(in, half, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE, "MPI_Recv", size);

    memset(in, 'g', LARGEST + GUARD);
    MPI_Irecv(in, half, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request);
    report(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE, "MPI_Irecv and MPI_Wait", size);
    CHECK_EQ(request, MPI_REQUEST_NULL, "the request is gone after the error");

    memset(in, 'g', LARGEST + GUARD);
    MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, &status);
    report(MPI_Mrecv(in, half, MPI_CHAR, &message, &status), MPI_ERR_TRUNCATE, "MPI_Mrecv", size);

    memset(in, 'g', LARGEST + GUARD);
    MPI_Irecv(in, half, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &both[0]);
    MPI_Irecv(&small, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &both[1]);
    code = MPI_Waitall(2, both, statuses);
    report(code, MPI_ERR_IN_STATUS, "MPI_Waitall", size);
    CHECK_EQ(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE, "the status of the truncated one says so");
    CHECK_EQ(statuses[1].MPI_ERROR, MPI_SUCCESS, "the status of the other says success");
    CHECK_EQ(small, 's', "which has arrived");

    memset(in, 'g', LARGEST + GUARD);
    report(MPI_Recv(in, half, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE,
           "MPI_Recv from anyone of a synchronous message", size);
    CHECK_EQ(status.MPI_SOURCE, 0, "its sender is known");
}

static void send(int size)
{
    char small = 's';
    int tag, code, good = 1;
    for (tag = 1; tag <= 4; tag++) {
        code = MPI_Send(out, size, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
        good &= code == MPI_SUCCESS;
    }
    check(good, "the sender sees no error", size);
    MPI_Send(&small, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
    CHECK_EQ(MPI_Ssend(out, size, MPI_CHAR, 1, 7, MPI_COMM_WORLD), MPI_SUCCESS, "a synchronous sender is answered");
}

/* To oneself the same holds. */
static void to_oneself(int size)
{
    MPI_Request request;
    MPI_Status status;
    memset(in, 'g', LARGEST + GUARD);
    MPI_Isend(out, size, MPI_CHAR, 0, 6, MPI_COMM_SELF, &request);
    report(MPI_Recv(in, size / 2, MPI_CHAR, 0, 6, MPI_COMM_SELF, &status), MPI_ERR_TRUNCATE, "MPI_Recv from oneself", size);
    CHECK_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS, "whose send succeeds");
}

int main(int argc, char **argv)
{
    unsigned i;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    out = calloc(1, LARGEST);
    in = malloc(LARGEST + GUARD);
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (rank == 0)
            send(sizes[i]);
        else
            receive(sizes[i]);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        to_oneself(sizes[i]);
    free(out);
    free(in);
    MPI_Finalize();
    return check_failures != 0;
}
