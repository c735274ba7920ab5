/* Communicators whose making is interrupted again and again, so that some processes have them and others do not, leave nothing: neither
 * memory, mappings, descriptors and messages, nor parts of what the processes of a node share.
 *
 * usage: mpiexec -with-ft ulfm -n N interrupted ROUNDS     the last rank dies first, and then a process revokes the parent each time
 */
#include "making.h"
#include "process.h"

static const int kinds[] = {DUP, SPLIT, CREATE, GROUP, SHARED};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* A process revokes the parent before it makes its communicator, or after it while others still make theirs; whether this one has it. */
static int interrupt(MPI_Comm all, int round) {
    MPI_Comm parent, comm = MPI_COMM_NULL;
    int rank, count, has;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &count);
    MPI_Comm_dup(all, &parent);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    MPI_Barrier(parent);
    int revokes = round % count == rank, first = round / count / KINDS % 2;
    if (revokes && first)
        MPIX_Comm_revoke(parent);
    has = make(kinds[round / count % KINDS], parent, &comm) == MPI_SUCCESS;
    if (revokes && !first)
        MPIX_Comm_revoke(parent);
    if (has) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        /* To a process that may not have it. */
        MPI_Send(&rank, 1, MPI_INT, (rank + 1) % count, 5, comm);
    }
    MPI_Barrier(all);
    if (has) {
        MPIX_Comm_revoke(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&parent);
    return has;
}

static unsigned long long value_of(MPI_T_pvar_session session, const char *name, int class) {
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int index, count;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) {
        check(0, name, class);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_handle_free(session, &handle);
    return value;
}

int main(int argc, char **argv) {
    MPI_Comm all, last;
    MPI_T_pvar_session session;
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, had = 0, lacked = 0, provided;
    begin(&argc, &argv);
    if (me == size - 1)
        die();
    MPIX_Comm_shrink(MPI_COMM_WORLD, &all);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    int files = 0, maps = 0;
    long memory = 0;
    for (int round = -rounds / 2; round < rounds; round++) {
        if (round == 0)
            files = descriptors(), maps = mappings(), memory = resident();
        if (interrupt(all, round + rounds))
            had++;
        else
            lacked++;
    }
    long grown = resident() - memory;
    all_good(all, had && lacked, "some communicators are made, and others are not");
    all_good(all, descriptors() <= files && mappings() <= maps + 2, "neither descriptors nor mappings are left");
    all_good(all, grown < 512, "nor memory");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_dup(all, &last);
    MPI_Barrier(last);
    unsigned long long sent = value_of(session, "pml_ob1_eager_sends", MPI_T_PVAR_CLASS_COUNTER);
    for (int i = 0; i < 100; i++)
        MPI_Barrier(last);
    sent = value_of(session, "pml_ob1_eager_sends", MPI_T_PVAR_CLASS_COUNTER) - sent;
    unsigned long long kept = value_of(session, "pml_ob1_unexpected_length", MPI_T_PVAR_CLASS_LEVEL);
    all_good(all, sent == 0, "a later communicator has shared memory");
    all_good(all, kept < 10, "messages of those that are gone are not kept");
    MPI_Comm_free(&last);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Comm_free(&all);
    return finish();
}
