/* A process revokes a communicator as soon as it has made another one of it, while others still make theirs. What all processes have made
 * is good for all calls, and what some have made leaves nothing behind: neither messages that later communicators take nor fast paths. */
#include "failures.h"

enum { ROUNDS = 60, DUP, SPLIT, CREATE, KINDS };

static int make(int kind, MPI_Comm parent, MPI_Comm *comm) {
    MPI_Group group;
    int code;
    switch (kind) {
    case DUP:
        return MPI_Comm_dup(parent, comm);
    case SPLIT:
        return MPI_Comm_split(parent, 0, me, comm);
    default:
        MPI_Comm_group(parent, &group);
        code = MPI_Comm_create_group(parent, group, 3, comm);
        MPI_Group_free(&group);
        return code;
    }
}

static int use(MPI_Comm comm) {
    int sum = 0, one = 1, root = size - 1, word = me;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return MPI_Barrier(comm) == MPI_SUCCESS && MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size &&
           MPI_Bcast(&word, 1, MPI_INT, root, comm) == MPI_SUCCESS && word == root;
}

int main(int argc, char **argv) {
    static const char *const names[] = {[DUP] = "MPI_Comm_dup", [SPLIT] = "MPI_Comm_split", [CREATE] = "MPI_Comm_create_group"};
    begin(&argc, &argv);
    for (int kind = DUP; kind < KINDS; kind++) {
        int good = 1;
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Comm parent, comm = MPI_COMM_NULL;
            MPI_Comm_dup(MPI_COMM_WORLD, &parent);
            /* What the processes find out about each other in its first call is known to those that are made of it. */
            MPI_Barrier(parent);
            int all = make(kind, parent, &comm) == MPI_SUCCESS;
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
        all_good(MPI_COMM_WORLD, good, names[kind]);
    }
    return finish();
}
