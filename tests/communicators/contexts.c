/* Context ids over a long time (MPI-5.0 sections 7.2.4 and 7.4.3), above all where a network has few of them.
 *   laps       ranks have other communicators of their own, which change, and make and free one together
 *   receives   a plain receive whose communicator was freed takes nothing that is sent on later communicators
 *   all        all ids are used up: an error everywhere, and ids come back
 * usage: contexts CASE [ROUNDS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size, rounds = 3000;

static void laps(void)
{
    unsigned random = 12345 + 777 * (unsigned)rank;
    int held = 0, most = 2 * rank + 2, good = 1;
    MPI_Comm *own = malloc(sizeof(MPI_Comm) * most), comm;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i <= rank; i++) {
            int one = (int)((random = random * 1664525 + 1013904223) >> 16) % most;
            if (held < most) {
                MPI_Comm_dup(MPI_COMM_SELF, &own[held++]);
            } else {
                MPI_Comm_free(&own[one]);
                MPI_Comm_dup(MPI_COMM_SELF, &own[one]);
            }
        }
        good &= MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS;
        MPI_Comm_free(&comm);
    }
    while (held > 0)
        MPI_Comm_free(&own[--held]);
    free(own);
    check(good, "communicators lap after lap", 0);
}

static void receives(void)
{
    MPI_Comm comm, keep, self;
    MPI_Request old, request;
    int taken = -1, good = 1, next = (rank + 1) % size, word, done = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &keep);
    /* From rank 0 of whatever communicator: of one with this process alone that is itself. */
    MPI_Irecv(&taken, 1, MPI_INT, size > 1 ? MPI_ANY_SOURCE : 0, MPI_ANY_TAG, comm, &old);
    if (rank == 0 || size == 1) {
        MPI_Comm late = comm;
        comm = MPI_COMM_NULL;
        MPI_Send(&word, 0, MPI_INT, 0, 1, MPI_COMM_SELF), MPI_Recv(&word, 0, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Comm_free(&late);
        MPI_Comm ring[4];
        for (int round = 0; round < rounds; round++) {
            int out = 1000 + round, in = -1;
            if (round >= 4)
                MPI_Comm_free(&ring[round % 4]);
            MPI_Comm_dup(MPI_COMM_SELF, &ring[round % 4]);
            self = ring[round % 4];
            MPI_Isend(&out, 1, MPI_INT, 0, 5, self, &request);
            /* Does not wait for ever where the old receive has taken it. */
            for (int found = 0; !found && !done;) {
                MPI_Iprobe(0, 5, self, &found, MPI_STATUS_IGNORE);
                MPI_Test(&old, &done, MPI_STATUS_IGNORE);
            }
            if (done)
                break;
            MPI_Recv(&in, 1, MPI_INT, 0, 5, self, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            good &= in == out;
        }
        for (int i = 0; i < 4 && !done; i++)
            MPI_Comm_free(&ring[i]);
        check(good && !done, "a receive of a freed communicator takes nothing of later ones", taken);
        if (done)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Barrier(keep);
    if (size > 1) {
        /* Rank 0's is still there; the others have their communicator yet. */
        if (comm != MPI_COMM_NULL) {
            word = 42;
            if (rank == 1)
                MPI_Send(&word, 1, MPI_INT, 0, 9, comm);
            MPI_Isend(&word, 1, MPI_INT, rank, 9, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&old, MPI_STATUS_IGNORE);
        check(taken == 42, "and what was sent to it", taken);
    } else {
        MPI_Cancel(&old);
        MPI_Wait(&old, MPI_STATUS_IGNORE);
    }
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    MPI_Barrier(keep);
    /* The id comes back. */
    for (int round = 0; round < 300; round++) {
        good &= MPI_Comm_dup(keep, &comm) == MPI_SUCCESS;
        MPI_Sendrecv(&round, 1, MPI_INT, next, 1, &word, 1, MPI_INT, (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
        good &= word == round;
        MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&keep);
    check(good, "communicators after it", 0);
}

static void all(void)
{
    enum { MOST = 10000 };
    static MPI_Comm comms[MOST];
    int made = 0, result = MPI_SUCCESS, least, good = 1, class = MPI_SUCCESS;
    MPI_Comm again, after;
    /* Rank 0 has fewer left than the others. */
    for (int i = 0; rank == 0 && i < 5; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[made++]);
    while (made < MOST && (result = MPI_Comm_dup(MPI_COMM_WORLD, &again)) == MPI_SUCCESS)
        comms[made++] = again;
    MPI_Error_class(result, &class);
    check(class == MPI_ERR_OTHER || made == MOST, "no id is left", class);
    MPI_Allreduce(&made, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    check(made == least + (rank == 0 && size > 1 ? 5 : 0) || made == MOST, "on all ranks at once", made);
    for (int i = made; i-- > made / 2;)
        MPI_Comm_free(&comms[i]);
    for (int i = 0; i < 20; i++) {
        good &= MPI_Comm_dup(MPI_COMM_WORLD, &after) == MPI_SUCCESS;
        if (after != MPI_COMM_NULL)
            MPI_Comm_free(&after);
    }
    check(good, "ids come back", 0);
    for (int i = made / 2; i-- > 0;)
        MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!strcmp(name, "laps"))
        laps();
    else if (!strcmp(name, "receives"))
        receives();
    else if (!strcmp(name, "all"))
        all();
    else
        return 2;
    MPI_Finalize();
    return check_failures != 0;
}
