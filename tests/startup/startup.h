/* What the programs with sessions have in common. */
#ifndef STARTUP_H
#define STARTUP_H
#include "check.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int failed;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("FAIL %s:%d: ", __FILE__, __LINE__);                                                                \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
            fflush(stdout);                                                                                            \
            failed = 1;                                                                                                \
        }                                                                                                              \
    } while (0)

/* A session, and a communicator of all processes that comes from it. */
static inline MPI_Comm begin(MPI_Session *session, const char *name, MPI_Errhandler handler) {
    MPI_Group all;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, handler, session);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, name, MPI_INFO_NULL, handler, &comm);
    MPI_Group_free(&all);
    return comm;
}

#endif
