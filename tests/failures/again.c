/* Many agreements: on communicators that come and go, until their context ids are used again, and several at once on one.
 *
 * usage: mpiexec -n N again ROUNDS
 */
#include "failures.h"

/* Rank 0 makes its call when it has those of all others, perhaps for a communicator whose id another one had. */
static int on_new_ones(int rounds) {
    int good = 1;
    for (int i = 0; i < rounds; i++) {
        MPI_Comm comm;
        MPI_Request request;
        int flag = ~(1 << me), none = 0, code;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int from = 1; me == 0 && from < size; from++)
            MPI_Recv(&none, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* What came before these messages is taken now. */
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &none, MPI_STATUS_IGNORE);
        code = MPIX_Comm_iagree(comm, &flag, &request);
        if (me != 0)
            MPI_Send(&none, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        good &= code == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        good &= flag == (int)(~0u << size);
        MPI_Comm_free(&comm);
    }
    return good;
}

/* The results are taken in another order than the calls are made. */
static int at_once(int rounds) {
    int good = 1;
    for (int i = 0; i < rounds; i++) {
        MPI_Comm small;
        MPI_Request first, shrinking, last;
        int flags[2] = {me + i, ~me}, count = 0, all = 0, none = ~0;
        for (int rank = 0; rank < size; rank++) {
            all = rank == 0 ? i : all & (rank + i);
            none &= ~rank;
        }
        MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[0], &first);
        MPIX_Comm_ishrink(MPI_COMM_WORLD, &small, &shrinking);
        MPIX_Comm_iagree(MPI_COMM_WORLD, &flags[1], &last);
        good &= MPI_Wait(&last, MPI_STATUS_IGNORE) == MPI_SUCCESS && flags[1] == none;
        good &= MPI_Wait(&shrinking, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        MPI_Comm_size(small, &count);
        good &= count == size;
        MPI_Comm_free(&small);
        flags[1] = i;
        good &= MPIX_Comm_agree(MPI_COMM_WORLD, &flags[1]) == MPI_SUCCESS && flags[1] == i;
        good &= MPI_Wait(&first, MPI_STATUS_IGNORE) == MPI_SUCCESS && flags[0] == all;
    }
    return good;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    begin(&argc, &argv);
    check_all(on_new_ones(rounds), "agreements on communicators that come and go");
    check_all(at_once(rounds), "several agreements at once");
    return finish();
}
