/* MPI_Comm_create_group again under one tag after a failure: what a making that failed has sent is nothing to the next one.
 *
 * usage: mpiexec -with-ft ulfm -n N tagged     N: at least 4; all but three ranks die, one after the other
 */
#include "failures.h"

static int make(int count, MPI_Comm *comm) {
    MPI_Group all, first;
    int range[1][3] = {{0, count - 1, 1}};
    *comm = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_range_incl(all, 1, range, &first);
    int code = MPI_Comm_create_group(MPI_COMM_WORLD, first, 3, comm);
    MPI_Group_free(&all);
    MPI_Group_free(&first);
    return code;
}

static int failures(void) {
    MPI_Group failed;
    int count;
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
    MPI_Group_size(failed, &count);
    MPI_Group_free(&failed);
    return count;
}

static void rest(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

static void wait_for_failures(int count) {
    while (failures() < count)
        rest(1);
}

int main(int argc, char **argv) {
    MPI_Comm comm, own[64];
    int good = 1, made = 0, sum = 0, one = 1, word = 0;
    begin(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int count = size; count > 3; count--) {
        if (me == count - 1) {
            wait_for_failures(size - count);
            rest(20);
            die();
        }
        /* The last one that lives comes to know of the failure and takes nothing of what the others have sent. */
        if (me == count - 2)
            wait_for_failures(size - count + 1);
        good &= class_of(make(count, &comm)) == MPIX_ERR_PROC_FAILED;
        wait_for_failures(size - count + 1);
        /* From now on the ranks have other context ids free, and offer others. */
        for (int i = 0; i < 1 + 3 * (me % 2) && made < 64; i++)
            MPI_Comm_dup(MPI_COMM_SELF, &own[made++]);
        good &= make(count - 1, &comm) == MPI_SUCCESS;
        if (comm == MPI_COMM_NULL)
            continue;
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        good &= MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == count - 1;
        word = me;
        good &= MPI_Bcast(&word, 1, MPI_INT, count - 2, comm) == MPI_SUCCESS && word == count - 2;
        MPI_Comm_free(&comm);
    }
    while (made > 0)
        MPI_Comm_free(&own[--made]);
    if (make(3, &comm) == MPI_SUCCESS) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        all_good(comm, good, "groups under one tag");
        MPI_Comm_free(&comm);
    } else
        check(0, "a last group", me);
    return finish();
}
