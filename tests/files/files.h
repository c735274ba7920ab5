/* What the test programs of files share: one line a check by rank 0, agreed on by all; a path of their own. */
#ifndef FILES_H
#define FILES_H

#include "check.h"
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;
static char path[4096];

/* One check of all processes: rank 0 prints the first value that was not as expected. */
static inline void all_eq(long seen, long expected, const char *name)
{
    struct { long wrong; int rank; } mine = { seen != expected, rank }, any;
    long value = seen;
    MPI_Allreduce(&mine, &any, 1, MPI_LONG_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_LONG, any.rank, MPI_COMM_WORLD);
    if (rank == 0)
        check(!any.wrong, name, value);
}

static inline long bytes_of(const MPI_Status *status)
{
    MPI_Count count;
    MPI_Get_elements_c(status, MPI_BYTE, &count);
    return (long)count;
}

/* Who this process is, and where its file lies: the first argument of the program is the folder. */
static inline void named(int argc, char **argv, const char *name)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/%s", argc > 1 ? argv[1] : "/tmp", name);
}

static inline void start(int *argc, char ***argv, const char *name)
{
    MPI_Init(argc, argv);
    named(*argc, *argv, name);
}

/* The bytes of the file, by one process; NULL if there is none. */
static inline unsigned char *whole(const char *name, long *bytes)
{
    FILE *f = fopen(name, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *bytes = ftell(f);
    rewind(f);
    unsigned char *all = malloc(*bytes + 1);
    *bytes = fread(all, 1, *bytes, f);
    fclose(f);
    return all;
}

static inline MPI_File opened(int amode)
{
    MPI_File f;
    int code = MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &f);
    if (code != MPI_SUCCESS) {
        printf("FAIL open %s: class %d\n", path, class_of(code));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return f;
}

#define RW (MPI_MODE_CREATE | MPI_MODE_RDWR)

#endif
