/* A process repeats a call that fails at once, since a process has failed that it needs, until another one has revoked the communicator. */
#include "failures.h"

static int barrier(MPI_Comm comm) { return MPI_Barrier(comm); }

static int send(MPI_Comm comm) { return MPI_Send(&me, 1, MPI_INT, size - 1, 4, comm); }

static int receive(MPI_Comm comm) {
    int it;
    return MPI_Recv(&it, 1, MPI_INT, size - 1, 4, comm, MPI_STATUS_IGNORE);
}

static int probe(MPI_Comm comm) { return MPI_Probe(MPI_ANY_SOURCE, 4, comm, MPI_STATUS_IGNORE); }

int main(int argc, char **argv) {
    static int (*const calls[])(MPI_Comm) = {barrier, send, receive, probe};
    static const char *const names[] = {"MPI_Barrier", "MPI_Send", "MPI_Recv", "MPI_Probe"};
    enum { CALLS = sizeof calls / sizeof *calls };
    MPI_Comm comms[CALLS], living;
    int good = 1;
    begin(&argc, &argv);
    for (int i = 0; i < CALLS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Comm_split(MPI_COMM_WORLD, me == size - 1, me, &living);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == size - 1)
        die();
    for (int i = 0; i < CALLS; i++) {
        struct timespec moment = {0, 20000000};
        int code;
        while (class_of(code = calls[i](comms[i])) != MPIX_ERR_REVOKED) {
            good &= code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED;
            if (me == 0 && code != MPI_SUCCESS) {
                nanosleep(&moment, NULL);
                MPIX_Comm_revoke(comms[i]);
            }
        }
        MPI_Comm_free(&comms[i]);
        all_good(living, good, names[i]);
    }
    MPI_Comm_free(&living);
    return finish();
}
