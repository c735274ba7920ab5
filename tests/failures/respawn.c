/* A new process takes the place of each that dies; those that have been started so die, too.
 *
 * usage: mpiexec -with-ft ulfm -n N respawn ROUNDS [HOST]     HOST: where the new ones run
 */
#include "failures.h"

static MPI_Comm world;
static int size_of_world, total;

static void must(int code, const char *what) {
    if (code != MPI_SUCCESS) {
        check(0, what, class_of(code));
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* The old ones and the new one, which gets the rank of the dead: all in the order of their ranks. */
static void join(MPI_Comm inter, int rank, int is_new) {
    MPI_Comm merged, ordered;
    int flag = 1;
    must(MPI_Intercomm_merge(inter, is_new, &merged), "a merge");
    MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
    must(MPIX_Comm_agree(merged, &flag), "an agreement of old and new processes");
    must(MPI_Comm_split(merged, 0, rank, &ordered), "a split");
    MPI_Comm_set_errhandler(ordered, MPI_ERRORS_RETURN);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    world = ordered;
}

/* The others replace one that has died. */
static void replace(const char *program, const char *host, int round) {
    MPI_Comm alive, inter;
    MPI_Group old, now, dead;
    MPI_Info info;
    int count, first = 0, missing, me_now;
    char words[3][24];
    char *arguments[] = {words[0], words[1], words[2], (char *)host, NULL};
    MPIX_Comm_revoke(world);
    must(MPIX_Comm_shrink(world, &alive), "a shrink");
    MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
    MPI_Comm_size(alive, &count);
    if (count != size_of_world - 1) {
        check(0, "one has died", count);
        MPI_Abort(MPI_COMM_WORLD, 4);
    }
    MPI_Comm_group(world, &old);
    MPI_Comm_group(alive, &now);
    MPI_Group_difference(old, now, &dead);
    MPI_Group_translate_ranks(dead, 1, &first, old, &missing);
    MPI_Group_free(&old);
    MPI_Group_free(&now);
    MPI_Group_free(&dead);
    sprintf(words[0], "%d", total);
    sprintf(words[1], "%d", round);
    sprintf(words[2], "%d", missing);
    MPI_Info_create(&info);
    if (host)
        MPI_Info_set(info, "host", host);
    must(MPI_Comm_spawn(program, arguments, 1, info, 0, alive, &inter, MPI_ERRCODES_IGNORE), "a spawn");
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &me_now);
    MPI_Comm_free(&alive);
    MPI_Comm_free(&world);
    join(inter, me_now, 0);
}

/* A round: one dies, all others notice, and one takes its place. */
static void rounds(const char *program, const char *host, int from) {
    for (int round = from; round < total; round++) {
        int rank, count, sum = 0, code;
        MPI_Comm_rank(world, &rank);
        MPI_Comm_size(world, &count);
        code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, world);
        if (code == MPI_SUCCESS && sum != count * (count - 1) / 2)
            check(0, "a sum over old and new processes", sum);
        /* Old ones and new ones in turn, and never the one that mpiexec started first. It may die while others have no sum yet. */
        if (rank == 1 + round / 2 % (count - 1)) {
            must(code, "a reduction over all");
            die();
        }
        while (code == MPI_SUCCESS)
            code = MPI_Barrier(world);
        if (class_of(code) != MPIX_ERR_PROC_FAILED && class_of(code) != MPIX_ERR_REVOKED)
            check(0, "the class of the error", class_of(code));
        replace(program, host, round);
    }
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    int rank, flag = ~0, sum = 0, one = 1;
    begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    total = argc > 1 ? atoi(argv[1]) : 4;
    if (parent == MPI_COMM_NULL) {
        size_of_world = size;
        must(MPI_Comm_dup(MPI_COMM_WORLD, &world), "a duplicate");
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        rounds(argv[0], argc > 2 ? argv[2] : NULL, 0);
    } else {
        int round = atoi(argv[2]);
        MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
        MPI_Comm_remote_size(parent, &size_of_world);
        size_of_world++;
        join(parent, atoi(argv[3]), 1);
        rounds(argv[0], argc > 4 ? argv[4] : NULL, round + 1);
    }
    MPI_Comm_rank(world, &rank);
    must(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, world), "a last reduction");
    must(MPIX_Comm_agree(world, &flag), "a last agreement");
    if (rank == 0)
        check(sum == size_of_world && flag == ~0, "all places are taken again", sum);
    MPI_Comm_free(&world);
    return finish();
}
