/* Checks of the test programs: one line each, "ok NAME" or "FAIL NAME: what was seen". */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

static int check_failures;

/* One check of this process. */
static inline void check(int good, const char *name, long seen)
{
    if (good)
        printf("ok %s\n", name);
    else
        printf("FAIL %s: saw %ld\n", name, seen);
    fflush(stdout);
    check_failures += !good;
}

static inline void check_eq(long seen, long expected, const char *name)
{
    check(seen == expected, name, seen);
}

/* For integers and handles alike. */
#define CHECK_EQ(seen, expected, name) check_eq((long)(seen), (long)(expected), name)

/* One check of all processes, collective over MPI_COMM_WORLD: rank 0 prints "ok" once all agree, each that does not its "FAIL". */
static inline void check_all(int good, const char *format, ...)
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

/* The class of an error code. */
static inline int class_of(int code)
{
    int class_ = code;

    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class_);
    return class_;
}

/* The end of a program; what it returns is the exit status. */
static inline int finish(void)
{
    MPI_Finalize();
    return check_failures != 0;
}

#endif
