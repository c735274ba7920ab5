/*
 * Counts of partitions are MPI_Count (MPI-5.0 section 4.2.1), by either name.
 *
 * MPI_Request_free on one side of a partitioned channel while its setup message is under way (MPI-5.0 section 4.2). The
 * memory of that message is the library's: nothing may write to it, or be read from it, after it has become the program's.
 *
 * Run with a small mpi_unexpected_cap, so that the setup is offered and not sent at once. Between two steps the ranks wait
 * for each other outside MPI, at FIFOs, so that each makes the progress that it is meant to make.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"

/* As programs redeclare them that wrap the functions. */
int MPI_Psend_init(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
int MPI_Precv_init(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);

enum { WORDS = 3 * 8, BLOCKS = 4096, FLOOD = 20, LENGTH = 4000 };

static int rank;
static char fifo[2][64];
static char *blocks[BLOCKS];
static char data[LENGTH];

static void make_fifos(void)
{
    char directory[] = "/tmp/alhena-partitioned-XXXXXX";

    if (rank == 0 && !mkdtemp(directory))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) {
        snprintf(fifo[i], sizeof fifo[i], "%s/%d", directory, i);
        if (rank == 0 && mkfifo(fifo[i], 0600))
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void remove_fifos(void)
{
    unlink(fifo[0]);
    unlink(fifo[1]);
    *strrchr(fifo[0], '/') = 0;
    rmdir(fifo[0]);
}

/* Rank `to` goes on when the other one has come here. */
static void hand_over(int to)
{
    char byte = 0;
    int file = open(fifo[to], rank == to ? O_RDONLY : O_WRONLY);

    if (file < 0 || (rank == to ? read(file, &byte, 1) : write(file, &byte, 1)) != 1)
        MPI_Abort(MPI_COMM_WORLD, 1);
    close(file);
}

/* Progress without other effect. */
static void poll(void)
{
    int flag;

    for (int i = 0; i < 100; i++)
        MPI_Iprobe(1 - rank, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Takes what was freed last, and fills it. */
static void take_blocks(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(WORDS);
        memset(blocks[i], 0x77, WORDS);
    }
}

static long changed_blocks(void)
{
    long changed = 0;

    for (int i = 0; i < BLOCKS; i++) {
        int differs = 0;
        for (int j = 0; j < WORDS; j++)
            differs |= blocks[i][j] != 0x77;
        changed += differs;
        free(blocks[i]);
    }
    return changed;
}

/* Rank 1 keeps so much that rank 0 only offers its messages from now on. */
static void flood(void)
{
    MPI_Request requests[FLOOD];
    int flag = 0;

    if (rank == 0)
        for (int i = 0; i < FLOOD; i++)
            MPI_Isend(data, LENGTH, MPI_CHAR, 1, i, MPI_COMM_WORLD, requests + i);
    else
        while (!flag)
            MPI_Iprobe(0, FLOOD / 2 + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        for (int i = 0; i < FLOOD; i++)
            MPI_Request_free(requests + i);
}

static void drain(void)
{
    if (rank == 1)
        for (int i = 0; i < FLOOD; i++)
            MPI_Recv(data, LENGTH, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The receiver has accepted the setup, and frees its request before the words come. */
static void receiver_frees(void)
{
    MPI_Request request;

    flood();
    if (rank == 1)
        MPI_Precv_init(data, 2, 100, MPI_CHAR, 0, 50, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Psend_init(data, 2, 100, MPI_CHAR, 1, 50, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        hand_over(1);
        hand_over(0);
        poll();
        MPI_Request_free(&request);
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        hand_over(1);
        poll();
        MPI_Request_free(&request);
        take_blocks();
        hand_over(0);
        MPI_Barrier(MPI_COMM_WORLD);
        poll();
        CHECK_EQ(changed_blocks(), 0, "the words of a setup do not go to memory that was freed");
    }
    drain();
}

/* The sender frees its request when the receiver has accepted the setup, and before the words go. */
static void sender_frees(void)
{
    MPI_Request request;
    int flag;

    flood();
    if (rank == 0) {
        MPI_Psend_init(data, 2, 100, MPI_CHAR, 1, 51, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        hand_over(1);
        hand_over(0);
        MPI_Request_free(&request);
        take_blocks();
        poll();
        MPI_Barrier(MPI_COMM_WORLD);
        changed_blocks();
    } else {
        hand_over(1);
        MPI_Precv_init(data, 2, 100, MPI_CHAR, 0, 51, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        poll();
        hand_over(0);
        MPI_Barrier(MPI_COMM_WORLD);
        poll();
        /* Other words than the sender's would end it with an error. */
        CHECK_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS, "the words of a setup are the sender's");
        CHECK_EQ(flag, 0, "and the receive waits for its partitions");
        if (!flag)
            MPI_Request_free(&request);
    }
    drain();
}

/* Counts above 2^31, of a type without data. */
static void large_counts(void)
{
    const MPI_Count many = 3000000000LL;
    MPI_Datatype nothing;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Count got;
    int i, good = 1;
    MPI_Type_contiguous(0, MPI_CHAR, &nothing);
    MPI_Type_commit(&nothing);
    if (rank == 0) {
        good &= MPI_Psend_init(data, 2, many, nothing, 1, 52, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]) == MPI_SUCCESS;
        good &= MPI_Psend_init_c(data, 1, many, nothing, 1, 53, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]) == MPI_SUCCESS;
    } else {
        good &= MPI_Precv_init(data, 2, many, nothing, 0, 52, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]) == MPI_SUCCESS;
        good &= MPI_Precv_init_c(data, 1, many, nothing, 0, 53, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]) == MPI_SUCCESS;
    }
    MPI_Startall(2, requests);
    if (rank == 0) {
        MPI_Pready_range(0, 1, requests[0]);
        MPI_Pready(0, requests[1]);
    }
    good &= MPI_Waitall(2, requests, statuses) == MPI_SUCCESS;
    MPI_Get_count_c(&statuses[0], MPI_CHAR, &got);
    check(good && got == 0, "counts of partitions above 2^31", (long)got);
    for (i = 0; i < 2; i++)
        MPI_Request_free(&requests[i]);
    MPI_Type_free(&nothing);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    make_fifos();
    receiver_frees();
    sender_frees();
    large_counts();
    if (rank == 0)
        remove_fifos();
    MPI_Finalize();
    return check_failures != 0;
}
