/* Where hosts cache files for themselves: who has written waits for the device before others go on, and who reads drops what it
 * has. The file system only answers as one of that kind (nfs.c). */
#define _GNU_SOURCE
#include "files.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    start(&argc, &argv, "caches");
    const char *(*calls)(void);
    *(void **)&calls = dlsym(RTLD_DEFAULT, "nfs_calls");
    MPI_Status status;
    char byte = 'x', back;
    MPI_File f = opened(RW | MPI_MODE_DELETE_ON_CLOSE);
    calls();
    if (rank == 0)
        MPI_File_write_at(f, 0, &byte, 1, MPI_BYTE, &status);
    MPI_File_sync(f);
    all_eq(strcmp(calls(), rank == 0 ? "slu" : "lu"), 0, "a sync writes what this process has written, then drops what it caches");
    MPI_File_read_at(f, 0, &back, 1, MPI_BYTE, &status);
    all_eq(bytes_of(&status) == 1 && back == 'x', 1, "and reads what others have written");
    MPI_File_close(&f);
    f = opened(RW);
    if (rank == size - 1)
        MPI_File_write_at(f, 0, &byte, 1, MPI_BYTE, &status);
    calls();
    MPI_File_close(&f);
    all_eq(strcmp(calls(), rank == size - 1 ? "s" : ""), 0, "a close writes, too");
    f = opened(RW | MPI_MODE_DELETE_ON_CLOSE);
    calls();
    MPI_File_set_atomicity(f, 1);
    calls();
    MPI_File_write_at(f, 0, &byte, 1, MPI_BYTE, &status);
    all_eq(strcmp(calls(), "lu"), 0, "in atomic mode each access has its lock");
    MPI_File_close(&f);
    return finish();
}
