/* A process revokes communicators as soon as it has them, while others still make them: they are made all the same, and then calls on
 * them fail. */
#include "making.h"

enum { ROUNDS = 40 };

int main(int argc, char **argv) {
    static const int kinds[] = {DUP, SPLIT, GROUP, IDUP};
    begin(&argc, &argv);
    for (int i = 0; i < 4; i++) {
        int made = 0, refused = 0;
        for (int round = 0; round < ROUNDS; round++) {
            MPI_Comm comm = MPI_COMM_NULL;
            int code = make(kinds[i], MPI_COMM_WORLD, &comm);
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
        all_good(MPI_COMM_WORLD, made == ROUNDS && refused == ROUNDS, making[kinds[i]]);
    }
    return finish();
}
