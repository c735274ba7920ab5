/* Checks of all ranks of a program: rank 0 prints one line for each, "ok NAME" or "FAIL NAME", once all agree. */
#ifndef WINDOWS_H
#define WINDOWS_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

static int check_failures;

/* Collective over MPI_COMM_WORLD. */
static inline void check(int good, const char *format, ...)
{
    char what[300];
    va_list arguments;
    int me, all;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (!good)
        printf("FAIL rank %d: %s\n", me, what);
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all && me == 0)
        printf("ok %s\n", what);
    fflush(stdout);
    check_failures += !good;
}

/* Whether all processes are on one node, so that they can have a shared window. */
static inline int share_memory(void)
{
    MPI_Comm node;
    int here, all;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_free(&node);
    return here == all;
}

/* The class of an error code. */
static inline int class_of(int code)
{
    int class = code;

    MPI_Error_class(code, &class);
    return class;
}

static inline int finish(void)
{
    MPI_Finalize();
    return check_failures != 0;
}

#endif
