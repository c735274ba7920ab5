/* A process revokes communicators as soon as it has them, while others still make them: they are made all the same, and then calls on
 * them fail. */
#include "failures.h"

enum { ROUNDS = 40, DUP, SPLIT, CREATE, IDUP, KINDS };

static int make(int kind, MPI_Comm *comm) {
    MPI_Group group;
    MPI_Request request;
    int code;
    switch (kind) {
    case DUP:
        return MPI_Comm_dup(MPI_COMM_WORLD, comm);
    case SPLIT:
        return MPI_Comm_split(MPI_COMM_WORLD, 0, me, comm);
    case CREATE:
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        code = MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, comm);
        MPI_Group_free(&group);
        return code;
    default:
        code = MPI_Comm_idup(MPI_COMM_WORLD, comm, &request);
        return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    }
}

int main(int argc, char **argv) {
    static const char *const names[] = {[DUP] = "MPI_Comm_dup", [SPLIT] = "MPI_Comm_split", [CREATE] = "MPI_Comm_create_group",
                                        [IDUP] = "MPI_Comm_idup"};
    begin(&argc, &argv);
    for (int kind = DUP; kind < KINDS; kind++) {
        int made = 0, refused = 0;
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Comm comm = MPI_COMM_NULL;
            int code = make(kind, &comm);
            if (code != MPI_SUCCESS)
                continue;
            made++;
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
            if (me == round % size)
                MPIX_Comm_revoke(comm);
            code = MPI_Barrier(comm);
            refused += class_of(code) == MPIX_ERR_REVOKED;
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Comm_free(&comm);
        }
        all_good(MPI_COMM_WORLD, made == ROUNDS && refused == ROUNDS, names[kind]);
    }
    return finish();
}
