/* A process revokes a communicator as soon as it has made another one of it, while others still make theirs. What all processes have made
 * is good for all calls, and what some have made leaves nothing behind: neither messages that later communicators take nor fast paths. */
#include "making.h"

enum { ROUNDS = 60 };

static int use(MPI_Comm comm) {
    int sum = 0, one = 1, root = size - 1, word = me;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return MPI_Barrier(comm) == MPI_SUCCESS && MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size &&
           MPI_Bcast(&word, 1, MPI_INT, root, comm) == MPI_SUCCESS && word == root;
}

int main(int argc, char **argv) {
    static const int kinds[] = {DUP, SPLIT, GROUP};
    begin(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        int good = 1;
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Comm parent, comm = MPI_COMM_NULL;
            MPI_Comm_dup(MPI_COMM_WORLD, &parent);
            /* What the processes find out about each other in its first call is known to those that are made of it. */
            MPI_Barrier(parent);
            int all = make(kinds[i], parent, &comm) == MPI_SUCCESS;
            if (all && (round % 2 || me == round % size))
                MPIX_Comm_revoke(parent);
            MPIX_Comm_agree(MPI_COMM_WORLD, &all);
            if (all)
                good &= use(comm);
            good &= class_of(MPI_Barrier(parent)) == MPIX_ERR_REVOKED;
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Comm_free(&parent);
            if (comm != MPI_COMM_NULL)
                MPI_Comm_free(&comm);
        }
        all_good(MPI_COMM_WORLD, good, making[kinds[i]]);
    }
    return finish();
}
