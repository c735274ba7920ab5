/* Processes of one of two connected jobs die: all that live, of both jobs, learn of each of them, although none has sent them anything,
 * and go on without them.
 *
 * usage: mpiexec -with-ft ulfm -n N abroad spawn WHO [COUNT [FILE [HOST]]]     COUNT processes are spawned (2), on HOST
 *        mpiexec -with-ft ulfm -n N abroad server WHO PORT                     the port's name is in the file PORT then
 *        mpiexec -with-ft ulfm -n N abroad client WHO PORT
 *        WHO dies: `one` or `all` of the second job, `first` of the first job, `both`: one of each, or `unmet`: the whole second job,
 *        while no process that has met it is inside MPI until there is a FILE
 */
#include "failures.h"

/* Ranks of `all`, of which the first `ours` are the first job's, that die. */
static int dies(const char *who, int rank, int ours, int count) {
    int one = rank == count - 1, first = rank == ours - 1;
    if (strcmp(who, "all") == 0)
        return rank >= ours;
    if (strcmp(who, "both") == 0)
        return one || first;
    return strcmp(who, "one") == 0 ? one : first;
}

/* Until `expected` processes have failed, as far as this one knows; each look begins as the last one. */
static int learns(MPI_Comm all, int expected) {
    struct timespec moment = {0, 1000000};
    int before[64], now[64], indices[64], known = 0, good = 1;
    for (int i = 0; i < 64; i++)
        indices[i] = i;
    while (known < expected) {
        MPI_Group failed, whole;
        int count;
        nanosleep(&moment, NULL);
        MPIX_Comm_get_failed(all, &failed);
        MPI_Group_size(failed, &count);
        MPI_Comm_group(all, &whole);
        MPI_Group_translate_ranks(failed, count, indices, whole, now);
        good &= count >= known && memcmp(now, before, known * sizeof *now) == 0;
        memcpy(before, now, sizeof now);
        known = count;
        MPI_Group_free(&whole);
        MPI_Group_free(&failed);
    }
    return good && known == expected;
}

static void lose(MPI_Comm inter, int is_second, const char *who) {
    MPI_Comm all, alive;
    int count, rank, far, ours, expected = 0, dead = -1, code, flag = 1, sum = 0, one = 1, left;
    MPI_Comm_remote_size(inter, &far);
    MPI_Intercomm_merge(inter, is_second, &all);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Comm_size(all, &count);
    MPI_Comm_rank(all, &rank);
    ours = is_second ? far : count - far;
    for (int i = 0; i < count; i++)
        if (dies(who, i, ours, count)) {
            expected++;
            dead = i;
        }
    MPI_Barrier(all);
    if (dies(who, rank, ours, count))
        die();
    int good = learns(all, expected);
    code = MPI_Recv(&flag, 1, MPI_INT, dead, 4, all, MPI_STATUS_IGNORE);
    int receive = class_of(code) == MPIX_ERR_PROC_FAILED;
    MPIX_Comm_failure_ack(all);
    flag = ~(1 << rank);
    int agree = MPIX_Comm_agree(all, &flag) == MPI_SUCCESS;
    for (int i = 0; i < count; i++)
        agree &= (flag >> i & 1) == dies(who, i, ours, count);
    code = MPIX_Comm_shrink(all, &alive);
    if (code != MPI_SUCCESS) {
        check(0, "a shrink", class_of(code));
        return;
    }
    MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
    MPI_Comm_size(alive, &left);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, alive);
    all_good(alive, good, "the dead of both jobs are known, and in one order");
    all_good(alive, receive, "nothing comes of a dead process");
    all_good(alive, agree, "an agreement counts those that live");
    all_good(alive, left == count - expected && sum == left, "a shrink leaves those that live");
    MPI_Comm_free(&alive);
    MPI_Comm_free(&all);
}

/* The second job dies, while the one process that has a connection with it is outside MPI: the others learn of that without it. */
static void lose_unmet(MPI_Comm inter, int is_second, const char *file) {
    int rank, count, far, flag = 1;
    struct timespec moment = {0, 1000000};
    MPI_Comm_remote_size(inter, &far);
    MPI_Comm_size(inter, &count);
    MPI_Comm_rank(inter, &rank);
    /* The others have the inter-communicator by then. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_second) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
        die();
    }
    while (rank == 0 && access(file, F_OK) != 0)
        nanosleep(&moment, NULL);
    int good = learns(inter, far);
    if (rank == 1)
        fclose(fopen(file, "w"));
    MPIX_Comm_failure_ack(inter);
    good &= MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS;
    all_good(MPI_COMM_WORLD, good, "the end of a job is known to those that have never met it");
}

int main(int argc, char **argv) {
    MPI_Comm inter;
    MPI_Info info;
    char port[MPI_MAX_PORT_NAME] = "";
    begin(&argc, &argv);
    MPI_Comm_get_parent(&inter);
    const char *how = argc > 1 ? argv[1] : "spawn", *who = argc > 2 ? argv[2] : "one";
    int is_second = inter != MPI_COMM_NULL || strcmp(how, "client") == 0;
    if (inter == MPI_COMM_NULL && strcmp(how, "spawn") == 0) {
        MPI_Info_create(&info);
        if (argc > 5)
            MPI_Info_set(info, "host", argv[5]);
        MPI_Comm_spawn(argv[0], argv + 1, argc > 3 ? atoi(argv[3]) : 2, info, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        MPI_Info_free(&info);
    } else if (inter == MPI_COMM_NULL && is_second) {
        if (me == 0)
            find_port(argv[3], port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    } else if (inter == MPI_COMM_NULL) {
        if (me == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            give_port(argv[3], port);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        if (me == 0)
            MPI_Close_port(port);
    }
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (strcmp(who, "unmet") == 0)
        lose_unmet(inter, is_second, argv[4]);
    else
        lose(inter, is_second, who);
    MPI_Comm_free(&inter);
    return finish();
}
