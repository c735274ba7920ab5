/* What the programs about failures share. Each rank prints its own checks; those that die print nothing more. */
#ifndef FAILURES_H
#define FAILURES_H

#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <mpi-ext.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int me, size;

static inline void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline void die(void) {
    fflush(stdout);
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static inline void *death(void *argument) {
    long moment = (long)argument;
    struct timespec time = {moment / 1000000, moment % 1000000 * 1000};
    nanosleep(&time, NULL);
    die();
    return NULL;
}

/* Dies after so many microseconds, wherever the main thread is then. */
static inline void die_after(long moment) {
    pthread_t thread;
    pthread_create(&thread, NULL, death, (void *)moment);
    pthread_detach(thread);
}

/* The calling rank says "ok" once for what all ranks of a communicator that live have found good. */
static inline void all_good(MPI_Comm comm, int good, const char *name) {
    int all = good, rank;
    MPI_Comm_rank(comm, &rank);
    int code = MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm);
    if (code != MPI_SUCCESS)
        check(0, name, class_of(code));
    else if (!good)
        check(0, name, rank);
    else if (all && rank == 0)
        check(1, name, 0);
    check_failures += !all;
}

/* The name of the server's port, once it is in the file. */
static inline void find_port(const char *path, char *port) {
    FILE *file;
    struct timespec moment = {0, 1000000};
    while (!(file = fopen(path, "r")))
        nanosleep(&moment, NULL);
    if (fscanf(file, "%1023s", port) != 1)
        MPI_Abort(MPI_COMM_WORLD, 2);
    fclose(file);
}

/* Puts it there. */
static inline void give_port(const char *path, const char *port) {
    char other[4096];
    snprintf(other, sizeof other, "%s.new", path);
    FILE *file = fopen(other, "w");
    fprintf(file, "%s\n", port);
    fclose(file);
    rename(other, path);
}

#endif
