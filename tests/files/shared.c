/* Shared pointers, ordered and split access, sequential files, errors of one process (MPI-5.0 sections 14.4.4, 14.4.5). */
#include "files.h"
#include <pthread.h>

enum { RECORD = 24, RECORDS = 50 };

static void fill(char *record, int of_rank, int number)
{
    memset(record, 0, RECORD);
    snprintf(record, RECORD, "%d:%d", of_rank, number);
}

static void fresh(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Records by all at once: none lost, none twice, none torn, each rank's in order. */
static void appends(int nonblocking)
{
    char record[RECORD];
    int good = 1;
    MPI_Offset offset;
    MPI_Request request;
    fresh();
    MPI_File f = opened(RW);
    for (int i = 0; i < RECORDS; i++) {
        fill(record, rank, i);
        if (nonblocking) {
            MPI_File_iwrite_shared(f, record, RECORD, MPI_CHAR, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_File_write_shared(f, record, RECORD, MPI_CHAR, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_position_shared(f, &offset);
    all_eq(offset, (long)RECORD * RECORDS * size, "the shared pointer is behind all records");
    long bytes = 0;
    unsigned char *all = whole(path, &bytes);
    int next[64] = { 0 };
    good = bytes == (long)RECORD * RECORDS * size;
    for (long i = 0; good && i < bytes / RECORD; i++) {
        int r = atoi((char *)all + i * RECORD);
        fill(record, r, next[r]++);
        good = memcmp(all + i * RECORD, record, RECORD) == 0;
    }
    free(all);
    all_eq(good, 1, nonblocking ? "records by iwrite_shared are whole and in order" : "records by write_shared are whole and in order");
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    long seen = 0, total;
    MPI_Status status;
    do {
        MPI_File_read_shared(f, record, RECORD, MPI_CHAR, &status);
        seen += bytes_of(&status) == RECORD;
    } while (bytes_of(&status) == RECORD);
    MPI_Allreduce(&seen, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    all_eq(total, (long)RECORDS * size, "all records are read once by read_shared");
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_get_position_shared(f, &offset);
    all_eq(offset, 0, "a new view puts the shared pointer at its begin");
    MPI_File_seek_shared(f, -RECORD / 4, MPI_SEEK_END);
    MPI_File_get_position_shared(f, &offset);
    all_eq(offset, (long)RECORDS * size * RECORD / 4 - RECORD / 4, "the end is counted in etypes");
    /* One process asks for more than there is. */
    MPI_Barrier(MPI_COMM_WORLD);
    long came = RECORD;
    if (rank == size - 1) {
        char more[2 * RECORD];
        MPI_File_read_shared(f, more, 2 * RECORD, MPI_CHAR, &status);
        came = bytes_of(&status);
    }
    all_eq(came, RECORD, "a shared read across the end tells what it has read");
    if (size > 1)
        all_eq(class_of(MPI_File_seek_shared(f, rank, MPI_SEEK_SET)), MPI_ERR_NOT_SAME, "different targets are noticed");
    MPI_File_close(&f);
}

/* Unequal lengths in rank order, some of them nothing. */
static void ordered(int split)
{
    int mine[64], back[64], good = 1;
    MPI_Status status;
    fresh();
    MPI_File f = opened(RW);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    for (int round = 0; round < 5; round++) {
        int n = (rank + round) % 4;
        for (int i = 0; i < n; i++)
            mine[i] = 1000 * round + 10 * rank + i;
        if (split) {
            int one = rank, sum;
            MPI_File_write_ordered_begin(f, mine, n, MPI_INT);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            MPI_File_write_ordered_end(f, mine, &status);
        } else {
            MPI_File_write_ordered(f, mine, n, MPI_INT, &status);
        }
        good &= bytes_of(&status) == 4l * n;
    }
    all_eq(good, 1, "ordered writes tell what they wrote");
    MPI_Barrier(MPI_COMM_WORLD);
    long bytes = 0, at = 0;
    int *all = (int *)whole(path, &bytes);
    for (int round = 0; round < 5; round++)
        for (int r = 0; r < size; r++)
            for (int i = 0; i < (r + round) % 4; i++, at++)
                good &= at < bytes / 4 && all[at] == 1000 * round + 10 * r + i;
    free(all);
    all_eq(good && at * 4 == bytes, 1, split ? "split ordered writes keep the order of ranks" : "ordered writes keep the order of ranks");
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    for (int round = 0; round < 5; round++) {
        int n = (rank + round) % 4;
        if (split) {
            MPI_File_read_ordered_begin(f, back, n, MPI_INT);
            MPI_File_read_ordered_end(f, back, &status);
        } else {
            MPI_File_read_ordered(f, back, n, MPI_INT, &status);
        }
        for (int i = 0; i < n; i++)
            good &= back[i] == 1000 * round + 10 * rank + i;
        good &= bytes_of(&status) == 4l * n;
    }
    all_eq(good, 1, "ordered reads give them back");
    MPI_File_read_ordered(f, back, 1, MPI_INT, &status);
    all_eq(bytes_of(&status), 0, "behind the end there is nothing");
    MPI_File_close(&f);
}

static void splits(void)
{
    char mine[100], other[100];
    MPI_Status status;
    fresh();
    MPI_File f = opened(RW);
    memset(mine, 'a' + rank, 100);
    all_eq(class_of(MPI_File_write_all_end(f, mine, &status)), MPI_ERR_IO, "an end without a begin");
    MPI_File_write_at_all_begin(f, 100 * rank, mine, 100, MPI_CHAR);
    all_eq(class_of(MPI_File_write_all_begin(f, mine, 100, MPI_CHAR)), MPI_ERR_IO, "a second begin");
    all_eq(class_of(MPI_File_write_all(f, mine, 100, MPI_CHAR, &status)), MPI_ERR_IO, "another collective between");
    all_eq(class_of(MPI_File_write_all_end(f, mine, &status)), MPI_ERR_IO, "the end of another kind");
    /* Messages and collectives on the communicator do not disturb the split collective. */
    int token = rank, sum;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &status);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    all_eq(MPI_File_write_at_all_end(f, mine, &status), MPI_SUCCESS, "the end");
    all_eq(token == (rank + size - 1) % size && sum == size * (size - 1) / 2, 1, "what went between was not disturbed");
    all_eq(bytes_of(&status), 100, "tells what was written");
    int from = (rank + 1) % size;
    MPI_File_seek(f, 100 * from, MPI_SEEK_SET);
    MPI_File_read_all_begin(f, other, 100, MPI_CHAR);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_all_end(f, other, &status);
    all_eq(other[0] == 'a' + from && other[99] == 'a' + from, 1, "and is read");
    /* Several nonblocking collectives at once, ended in another order. */
    MPI_Request requests[3];
    char a[10], b[10], c[10];
    memset(a, 'x', 10), memset(b, 'y', 10), memset(c, 0, 10);
    MPI_File_iwrite_at_all(f, 10 * rank, a, 10, MPI_CHAR, &requests[0]);
    MPI_File_iwrite_at_all(f, 10 * rank, b, 10, MPI_CHAR, &requests[1]);
    MPI_File_iread_at_all(f, 10 * rank, c, 10, MPI_CHAR, &requests[2]);
    MPI_Wait(&requests[2], &status);
    all_eq(bytes_of(&status) == 10 && c[0] == 'y' && c[9] == 'y', 1, "nonblocking collectives take place in order");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_File_iwrite_at_all(f, 0, a, 1, MPI_CHAR, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_File_write_at_all(f, 0, b, 1, MPI_CHAR, &status);
    all_eq(bytes_of(&status), 1, "a blocking one comes after a freed one");
    MPI_File_close(&f);
}

static void sequential(void)
{
    char mine[8], back[8];
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    fresh();
    MPI_File f = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    memset(mine, 'a' + rank, 8);
    all_eq(MPI_File_write_ordered(f, mine, 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_SUCCESS, "a sequential file is written");
    all_eq(class_of(MPI_File_set_view(f, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL)), MPI_ERR_ARG, "its view begins where it is");
    all_eq(MPI_File_set_view(f, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL), MPI_SUCCESS, "which has a name");
    MPI_File_get_view(f, &disp, &etype, &filetype, datarep);
    all_eq(disp, 8 * size, "and a place");
    MPI_File_write_ordered(f, mine, 8, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
    f = opened(MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
    MPI_File_read_ordered(f, back, 8, MPI_CHAR, MPI_STATUS_IGNORE);
    all_eq(memcmp(mine, back, 8), 0, "a sequential file is read");
    MPI_File_read_ordered(f, back, 8, MPI_CHAR, MPI_STATUS_IGNORE);
    all_eq(memcmp(mine, back, 8), 0, "to its end");
    MPI_File_close(&f);
}

/* One process has something wrong: all return an error, and the next call works. */
static void one_fails(void)
{
    char mine[8] = "abcdefg", *buffer = rank == size - 1 ? NULL : mine;
    MPI_Status status;
    MPI_Request request;
    fresh();
    MPI_File f = opened(RW);
    all_eq(class_of(MPI_File_write_at_all(f, 8 * rank, buffer, 8, MPI_CHAR, &status)), MPI_ERR_BUFFER, "one buffer is null: an error everywhere");
    MPI_File_iwrite_at_all(f, 8 * rank, buffer, 8, MPI_CHAR, &request);
    all_eq(class_of(MPI_Wait(&request, &status)), MPI_ERR_BUFFER, "also if it does not block");
    all_eq(class_of(MPI_File_write_ordered(f, buffer, 8, MPI_CHAR, &status)), MPI_ERR_BUFFER, "also in order");
    MPI_Offset offset;
    MPI_File_get_position_shared(f, &offset);
    all_eq(offset, 0, "the shared pointer has not moved");
    all_eq(MPI_File_write_at_all(f, 8 * rank, mine, 8, MPI_CHAR, &status), MPI_SUCCESS, "the next call works");
    all_eq(class_of(MPI_File_set_view(f, rank == size - 1 ? -1 : 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL)), MPI_ERR_ARG, "one view is wrong: an error everywhere");
    if (size > 1)
        all_eq(class_of(MPI_File_set_view(f, 0, rank ? MPI_CHAR : MPI_INT, MPI_INT, "native", MPI_INFO_NULL)), MPI_ERR_NOT_SAME, "different etypes are noticed");
    all_eq(class_of(MPI_File_set_view(f, 0, MPI_CHAR, MPI_CHAR, "no such", MPI_INFO_NULL)), MPI_ERR_UNSUPPORTED_DATAREP, "an unknown representation");
    MPI_File_close(&f);
    MPI_File g;
    char name[4200];
    snprintf(name, sizeof name, "%s%s", path, rank == size - 1 && size > 1 ? "/missing" : "");
    int class = class_of(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &g));
    all_eq(size == 1 ? MPI_File_close(&g) == 0 : class == MPI_ERR_BAD_FILE, 1, "one cannot open: an error everywhere");
    if (access("/dev/full", W_OK) == 0) {
        MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &g);
        all_eq(class_of(MPI_File_write_at_all(g, 8 * rank, mine, 8, MPI_CHAR, &status)), MPI_ERR_NO_SPACE, "a full disk is no space");
        all_eq(class_of(MPI_File_write_at(g, 8 * rank, mine, 8, MPI_CHAR, &status)), MPI_ERR_NO_SPACE, "for one as for all");
        MPI_File_close(&g);
    }
}

static volatile int meddles;

/* Uses the file as programs without MPI do; closing it drops the classic locks of the whole process. */
static void *meddle(void *unused)
{
    while (meddles) {
        struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = (off_t)1 << 50, .l_len = 1 };
        int other = open(path, O_RDWR);
        fcntl(other, F_SETLK, &lock);
        close(other);
        usleep(200);
    }
    return unused;
}

/* Overlapping accesses in atomic mode: what is there is by one process, whatever else the process does with the file. */
static void atomic(int noncontiguous)
{
    enum { N = 1 << 20 };
    pthread_t meddler;
    unsigned char *mine = malloc(N), *back = malloc(N);
    MPI_Datatype view;
    int good = 1, flag;
    fresh();
    MPI_File f = opened(RW);
    MPI_File_set_atomicity(f, 1);
    MPI_File_get_atomicity(f, &flag);
    all_eq(flag, 1, "atomic mode is on");
    MPI_Type_vector(N / 64, 64, 100, MPI_BYTE, &view);
    MPI_Type_commit(&view);
    if (noncontiguous)
        MPI_File_set_view(f, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
    meddles = 1;
    pthread_create(&meddler, NULL, meddle, NULL);
    for (int round = 0; round < 10; round++) {
        memset(mine, 1 + (rank + round) % 200, N);
        if (round % 2)
            MPI_File_write_at_all(f, 0, mine, N, MPI_BYTE, MPI_STATUS_IGNORE);
        else
            MPI_File_write_at(f, 0, mine, N, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_read_at(f, 0, back, N, MPI_BYTE, MPI_STATUS_IGNORE);
        for (int i = 1; i < N; i++)
            good &= back[i] == back[0];
    }
    meddles = 0;
    pthread_join(meddler, NULL);
    all_eq(good, 1, noncontiguous ? "overlapping pieces are by one process" : "overlapping writes are by one process");
    MPI_File_set_atomicity(f, 0);
    MPI_Type_free(&view);
    MPI_File_close(&f);
    free(mine), free(back);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "shared");
    appends(0);
    appends(1);
    ordered(0);
    ordered(1);
    splits();
    sequential();
    one_fails();
    atomic(0);
    atomic(1);
    fresh();
    return finish();
}
