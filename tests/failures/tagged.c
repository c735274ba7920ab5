/* MPI_Comm_create_group again under one tag after a failure: what a making that failed has sent is nothing to the next one.
 *
 * usage: mpiexec -with-ft ulfm -n N tagged [SPAWNED]     N with SPAWNED: at least 4; all but three ranks die, one after the other;
 *                                                        so many are another job's, which dies first
 */
#include "failures.h"

static MPI_Comm world = MPI_COMM_WORLD;

static int make(int count, MPI_Comm *comm) {
    MPI_Group all, first;
    int range[1][3] = {{0, count - 1, 1}};
    *comm = MPI_COMM_NULL;
    MPI_Comm_group(world, &all);
    MPI_Group_range_incl(all, 1, range, &first);
    int code = MPI_Comm_create_group(world, first, 3, comm);
    MPI_Group_free(&all);
    MPI_Group_free(&first);
    return code;
}

static void rest(long milliseconds) {
    struct timespec time = {0, milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* Processes of another job are not announced: a wait for one finds out. */
static int wait_for_failure(int rank) {
    return class_of(MPI_Recv(NULL, 0, MPI_INT, rank, 9, world, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED;
}

/* The ranks of this job, then those of one that it starts. */
static void merge(const char *program, char *spawned) {
    MPI_Comm inter;
    char *arguments[] = {spawned, NULL};
    MPI_Comm_get_parent(&inter);
    int is_new = inter != MPI_COMM_NULL;
    if (!is_new)
        MPI_Comm_spawn(program, arguments, atoi(spawned), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, is_new, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &size);
}

int main(int argc, char **argv) {
    MPI_Comm comm, own[64];
    int good = 1, made = 0, sum = 0, one = 1, word = 0;
    begin(&argc, &argv);
    if (argc > 1)
        merge(argv[0], argv[1]);
    MPI_Barrier(world);
    for (int count = size; count > 3; count--) {
        if (me == count - 1) {
            rest(20);
            die();
        }
        /* The last one that lives comes to know of the failure and takes nothing of what the others have sent. */
        if (me == count - 2)
            good &= wait_for_failure(count - 1);
        good &= class_of(make(count, &comm)) == MPIX_ERR_PROC_FAILED;
        good &= wait_for_failure(count - 1);
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
