/* The file system fails on one rank (faults.c is loaded): every rank returns the error's class, bytes outside the views stay, and the next
 * access works. Runs with short transfers and interruptions throughout. */
#define _GNU_SOURCE
#include "files.h"
#include <dlfcn.h>
#include <errno.h>

enum { PIECE = 40, BLOCK = 64, PIECES = 600 };

static void (*faults_set)(int, int);
static int (*faults_hit)(void);

static unsigned char old(long at)
{
    return (unsigned char)(at * 7 + 3);
}

static MPI_File open_file(const char *nodes, const char *staging)
{
    MPI_Info info;
    MPI_File f;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *fresh = fopen(path, "wb");
        for (long i = 0; i < (long)BLOCK * PIECES * size; i++)
            fputc(old(i), fresh);
        fclose(fresh);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", nodes);
    MPI_Info_set(info, "cb_buffer_size", "8192");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "io_staging", staging);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &f);
    MPI_Info_free(&info);
    MPI_Datatype piece, view;
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, BLOCK * size, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(f, BLOCK * rank + 8, MPI_BYTE, view, "native", MPI_INFO_NULL);
    MPI_Type_free(&piece), MPI_Type_free(&view);
    return f;
}

/* Bytes that are neither as before nor, within the views, `value`. */
static long strange(int value, int all_new)
{
    long bytes = 0, wrong = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned char *all = whole(path, &bytes);
    for (long i = 0; i < bytes; i++) {
        int in_view = i % BLOCK >= 8 && i % BLOCK < 8 + PIECE;
        wrong += in_view ? !(all[i] == value || (!all_new && all[i] == old(i))) : all[i] != old(i);
    }
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
    return wrong + (bytes != (long)BLOCK * PIECES * size);
}

static int somebody_hit(void)
{
    int mine = faults_hit(), all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

static void together(const char *nodes, const char *staging, int error, int class, int failing)
{
    static unsigned char data[PIECE * PIECES], back[PIECE * PIECES];
    char name[200];
    MPI_File f = open_file(nodes, staging);
    int staged = strcmp(staging, "off") != 0, length = PIECE * PIECES, code;
    snprintf(name, sizeof name, "%s aggregators, staging %s, errno %d on rank %d", nodes, staging, error, failing);
    memset(data, 200, length);
    if (rank == failing)
        faults_set(error, 2);
    code = MPI_File_write_at_all(f, 0, data, length, MPI_BYTE, MPI_STATUS_IGNORE);
    if (staged && code == MPI_SUCCESS)
        code = MPI_File_sync(f);
    int expected = somebody_hit() ? class : MPI_SUCCESS;
    faults_set(0, 0);
    all_eq(class_of(code), expected, name);
    all_eq(strange(200, 0), 0, "bytes outside the views are as before, those inside old or new");
    memset(data, 201, length);
    code = MPI_File_write_at_all(f, 0, data, length, MPI_BYTE, MPI_STATUS_IGNORE);
    all_eq(class_of(code), MPI_SUCCESS, "the next write works");
    all_eq(class_of(MPI_File_sync(f)), MPI_SUCCESS, "and its sync");
    all_eq(strange(201, 1), 0, "and is in the file");
    if (rank == failing)
        faults_set(error, 1);
    code = MPI_File_read_at_all(f, 0, back, length, MPI_BYTE, MPI_STATUS_IGNORE);
    expected = somebody_hit() ? class : MPI_SUCCESS;
    faults_set(0, 0);
    all_eq(class_of(code), expected, "a read that fails has the class everywhere");
    code = MPI_File_read_at_all(f, 0, back, length, MPI_BYTE, MPI_STATUS_IGNORE);
    all_eq(class_of(code) == MPI_SUCCESS && memcmp(back, data, length) == 0, 1, "and the next one works");
    MPI_File_close(&f);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "failing");
    *(void **)&faults_set = dlsym(RTLD_DEFAULT, "faults_set");
    *(void **)&faults_hit = dlsym(RTLD_DEFAULT, "faults_hit");
    if (!faults_set || !faults_hit) {
        all_eq(0, 1, "faults.c is loaded");
        return finish();
    }
    char all[12];
    snprintf(all, sizeof all, "%d", size);
    const char *nodes[] = { "1", "2", all }, *places[] = { "off", "memory" };
    const int errors[] = { ENOSPC, EIO, EDQUOT }, classes[] = { MPI_ERR_NO_SPACE, MPI_ERR_IO, MPI_ERR_QUOTA };
    for (int n = 0; n < 3; n++)
        for (int e = 0; e < 3; e++)
            for (int s = 0; s < 2; s++)
                together(nodes[n], places[s], errors[e], classes[e], (n + e) % size);
    if (rank == 0)
        unlink(path);
    return finish();
}
