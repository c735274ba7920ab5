/* Staged writes (io_staging): what is acknowledged is read back at once, is in the file after sync and close, and its errors are
 * reported there; an analysis reads what is staged while the program goes on.
 *
 * usage: staged DIR [memory|FOLDER]      where data waits (default: memory) */
#include "files.h"
#include <alhena.h>
#include <signal.h>
#include <sys/resource.h>

enum { PIECE = 48, PIECES = 4000, LONG = 300000 };

static const char *where;

static MPI_File staged_file(int amode)
{
    MPI_File f;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "io_staging", where);
    MPI_Info_set(info, "io_staging_size", "256k");
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_File_open(MPI_COMM_WORLD, path, amode, info, &f);
    MPI_Info_free(&info);
    return f;
}

static MPI_File fresh(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    return staged_file(RW);
}

static void hints(void)
{
    MPI_File f = fresh();
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int there;
    MPI_File_get_info(f, &info);
    MPI_Info_get(info, "io_staging", MPI_MAX_INFO_VAL, value, &there);
    all_eq(there && !strcmp(value, where), 1, "the hint io_staging is in force");
    MPI_Info_get(info, "io_staging_size", MPI_MAX_INFO_VAL, value, &there);
    all_eq(atol(value), 256 << 10, "and its bound");
    MPI_Info_free(&info);
    MPI_File_close(&f);
}

static unsigned char value(int of_rank, long at)
{
    return (unsigned char)(1 + (of_rank * 37 + at * 11 + at / 256) % 255);
}

/* All ranks write pieces in turn through aggregators, then read and change some by themselves without any sync. */
static void ways(void)
{
    MPI_File f = fresh();
    MPI_Datatype piece, view;
    MPI_Status status;
    unsigned char *mine = malloc(PIECE * PIECES), *back = malloc(PIECE * PIECES);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, size * PIECE, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(f, rank * PIECE, MPI_BYTE, view, "native", MPI_INFO_NULL);
    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < PIECE * PIECES; i++)
            mine[i] = value(rank + round, i);
        MPI_File_write_at_all(f, 0, mine, PIECE * PIECES, MPI_BYTE, &status);
        for (long i = 0; i < 5 * PIECE; i++)
            mine[1000 * PIECE + i] = (unsigned char)(200 + round);
        MPI_File_write_at(f, 1000 * PIECE, mine + 1000 * PIECE, 5 * PIECE, MPI_BYTE, &status);
        memset(back, 0, PIECE * PIECES);
        MPI_File_read_at(f, 990 * PIECE, back + 990 * PIECE, 20 * PIECE, MPI_BYTE, &status);
        all_eq(memcmp(back + 990 * PIECE, mine + 990 * PIECE, 20 * PIECE), 0, "what was staged by both ways is read by the process");
        MPI_File_read_at_all(f, 0, back, PIECE * PIECES, MPI_BYTE, &status);
        all_eq(memcmp(back, mine, PIECE * PIECES), 0, "and by all together");
    }
    MPI_Offset bytes;
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(f, &bytes);
    all_eq(bytes, (long)size * PIECE * PIECES, "the size counts it after a sync");
    struct stat seen;
    stat(path, &seen);
    all_eq(seen.st_size, bytes, "the file system has it after a sync");
    /* The last collective writes are overwritten by nonblocking ones without a sync. */
    MPI_Request request;
    memset(mine, 7, PIECE * PIECES);
    MPI_File_write_at_all(f, 0, mine, PIECE * PIECES, MPI_BYTE, &status);
    memset(mine, 9, PIECE * PIECES);
    MPI_File_iwrite_at(f, 0, mine, PIECE * PIECES / 2, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
    MPI_File_iwrite_at_all(f, PIECE * PIECES / 2, mine, PIECE * PIECES / 2, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
    MPI_File_close(&f);
    MPI_Barrier(MPI_COMM_WORLD);
    long length = 0, wrong = 0;
    unsigned char *all = whole(path, &length);
    for (long i = 0; i < length; i++)
        wrong += all[i] != 9;
    all_eq(wrong, 0, "nothing acknowledged is lost by a close, and the last write wins");
    free(all), free(mine), free(back);
    MPI_Type_free(&piece), MPI_Type_free(&view);
}

static void sizes(void)
{
    MPI_File f = fresh();
    unsigned char bytes[1000], back[1000];
    MPI_Offset size_now;
    memset(bytes, 5, sizeof bytes);
    MPI_File_write_at(f, rank * 1000, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_get_size(f, &size_now);
    all_eq(size_now >= (rank + 1) * 1000, 1, "the size counts the process's own staged data");
    MPI_File_seek(f, 0, MPI_SEEK_END);
    MPI_File_get_position(f, &size_now);
    all_eq(size_now >= (rank + 1) * 1000, 1, "and so does the end that is sought");
    MPI_File_set_size(f, 500);
    MPI_File_get_size(f, &size_now);
    all_eq(size_now, 500, "staged data does not come after a cut");
    MPI_Status status;
    MPI_File_read_at(f, 0, back, 1000, MPI_BYTE, &status);
    all_eq(bytes_of(&status), 500, "nor does a read find it");
    /* Atomic mode stages nothing. */
    MPI_File_set_atomicity(f, 1);
    uint64_t before, after;
    alhena_staged(f, rank, &before, NULL);
    MPI_File_write_at(f, rank * 1000, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    alhena_staged(f, rank, &after, NULL);
    all_eq(before == after, 1, "atomic mode stages nothing");
    MPI_File_close(&f);
}

/* A rank reads what the others have staged, before any sync. */
static void analysis(void)
{
    MPI_File f = fresh();
    unsigned char *mine = malloc(LONG), *seen = malloc(LONG);
    uint64_t taken, written;
    size_t read;
    for (long i = 0; i < LONG; i++)
        mine[i] = value(rank, i);
    MPI_File_write_at(f, (MPI_Offset)rank * LONG, mine, LONG, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    long wrong = 0, short_ones = 0;
    for (int other = 0; other < size; other++) {
        wrong += alhena_staged(f, other, &taken, &written) != MPI_SUCCESS || taken != LONG || written > taken;
        wrong += alhena_read_staged(f, other, (MPI_Offset)other * LONG, seen, LONG, &read) != MPI_SUCCESS;
        short_ones += read != LONG;
        for (long i = 0; i < LONG; i++)
            wrong += seen[i] != value(other, i);
    }
    all_eq(wrong, 0, "each rank reads what each other one has staged");
    all_eq(short_ones, 0, "all of it");
    alhena_read_staged(f, size - 1, (MPI_Offset)size * LONG - 100, seen, 1000, &read);
    all_eq((long)read, 100, "up to the end of the file");
    all_eq(alhena_staged(f, size, &taken, &written), MPI_ERR_RANK, "a rank that is not there");
    all_eq(alhena_staged(MPI_FILE_NULL, 0, &taken, &written), MPI_ERR_FILE, "a file that is not there");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(f);
    alhena_staged(f, rank, &taken, &written);
    all_eq(taken == written, 1, "a sync leaves nothing staged");
    MPI_File_close(&f);
    free(mine), free(seen);
}

/* The file may not grow: writes are acknowledged, and the sync or close after them has the error, on all ranks, once. */
static void errors(void)
{
    MPI_File f = fresh();
    struct rlimit old, small = { 4096, RLIM_INFINITY };
    unsigned char byte = 1;
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    if (rank == 0)
        setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 2; i++) {
        int code = MPI_File_write_at(f, 10000 + rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        all_eq(class_of(code), MPI_SUCCESS, "a write that will fail is acknowledged");
        code = i == 0 ? MPI_File_sync(f) : MPI_File_close(&f);
        all_eq(class_of(code), MPI_ERR_NO_SPACE, i == 0 ? "the sync has its error" : "the close has its error");
        if (i == 0)
            all_eq(class_of(MPI_File_sync(f)), MPI_SUCCESS, "the next sync has none");
    }
    if (rank == 0)
        setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "staged");
    where = argc > 2 ? argv[2] : "memory";
    hints();
    ways();
    sizes();
    analysis();
    if (strcmp(where, "memory") == 0)
        errors();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    return finish();
}
