/* Ranks die at random moments, while the others compute, revoke, agree and shrink; those that live always have the same results.
 *
 * usage: mpiexec -with-ft ulfm -n N rounds SEED LEAST [ROUNDS]     until LEAST are left, or for so many rounds
 */
#include "failures.h"

static unsigned long state;

static unsigned below(unsigned limit) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    return (unsigned)(state >> 33) % limit;
}

int main(int argc, char **argv) {
    MPI_Comm comm, next;
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    int least = argc > 2 ? atoi(argv[2]) : 2, rounds = argc > 3 ? atoi(argv[3]) : 1000;
    int rank, count, done = 0, doomed = 0, is_doomed[256] = {0};

    begin(&argc, &argv);
    state = seed * 1000003UL + 17;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    /* All have it when the first one dies. */
    MPI_Barrier(comm);
    for (; done < rounds; done++) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &count);
        if (count == least && done > 3)
            break;
        /* All choose alike: how many die, which, and when. */
        int deaths = (int)below(4);
        for (int i = 0; i < deaths; i++) {
            int who = (int)below((unsigned)size), now = below(3) == 0;
            long moment = below(3000);
            if (is_doomed[who] || size - doomed <= least)
                continue;
            is_doomed[who] = 1;
            doomed++;
            if (who != me)
                continue;
            if (now)
                die();
            die_after(moment);
        }
        /* Work that fails somewhere, for some. */
        int failed = 0;
        for (int i = 0; i < 20 && !failed; i++) {
            int sum = 0, value = rank + 1;
            int code = MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
            if (code == MPI_SUCCESS && sum != count * (count + 1) / 2)
                check(0, "a sum of all", sum);
            failed = code != MPI_SUCCESS;
            if (!failed) {
                int from = -1, to = (rank + 1) % count;
                code = MPI_Sendrecv(&rank, 1, MPI_INT, to, i, &from, 1, MPI_INT, (rank + count - 1) % count, i, comm, MPI_STATUS_IGNORE);
                if (code == MPI_SUCCESS && from != (rank + count - 1) % count)
                    check(0, "a message of the neighbour", from);
                failed = code != MPI_SUCCESS;
            }
            if (failed && class_of(code) != MPIX_ERR_PROC_FAILED && class_of(code) != MPIX_ERR_REVOKED)
                check(0, "the class of an error", class_of(code));
        }
        if (failed)
            MPIX_Comm_revoke(comm);
        int good = !failed;
        int code = MPIX_Comm_agree(comm, &good);
        if (code != MPI_SUCCESS && class_of(code) != MPIX_ERR_PROC_FAILED)
            check(0, "the class of an agreement's error", class_of(code));
        /* Uniform: so all go the same way. */
        if (good == 1 && code == MPI_SUCCESS)
            continue;
        code = MPIX_Comm_shrink(comm, &next);
        if (code != MPI_SUCCESS) {
            check(0, "a shrink", class_of(code));
            break;
        }
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        MPI_Comm_free(&comm);
        comm = next;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    if (rank == 0 && !check_failures)
        printf("ok %d rounds, %d of %d ranks are left, seed %lu\n", done, count, size, seed);
    fflush(stdout);
    MPI_Comm_free(&comm);
    return finish();
}
