/* The info key mpi_error_uniform: a process dies at a random moment while all make calls of one kind, and all others have the same error
 * from the same call. Without failures the calls give what they always do.
 *
 * usage: mpiexec -with-ft ulfm -n N uniform VALUE SEED     VALUE: create, coll
 */
#include "failures.h"

enum { LENGTH = 3, MOST = 64 };

static int in[LENGTH * MOST], out[LENGTH * MOST];

static int bcast(MPI_Comm comm) { return MPI_Bcast(in, LENGTH, MPI_INT, 0, comm); }
static int reduce(MPI_Comm comm) { return MPI_Reduce(out, in, LENGTH, MPI_INT, MPI_SUM, 0, comm); }
static int scatter(MPI_Comm comm) { return MPI_Scatter(out, LENGTH, MPI_INT, in, LENGTH, MPI_INT, 0, comm); }
static int gather(MPI_Comm comm) { return MPI_Gather(out, LENGTH, MPI_INT, in, LENGTH, MPI_INT, 0, comm); }
static int barrier(MPI_Comm comm) { return MPI_Barrier(comm); }
static int scan(MPI_Comm comm) { return MPI_Scan(out, in, LENGTH, MPI_INT, MPI_SUM, comm); }
static int alltoall(MPI_Comm comm) { return MPI_Alltoall(out, LENGTH, MPI_INT, in, LENGTH, MPI_INT, comm); }

static int allreduce(MPI_Comm comm) {
    int one = 1, sum = 0, count, code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_size(comm, &count);
    if (code == MPI_SUCCESS && sum != count)
        check(0, "a sum", sum);
    return code;
}

/* What a call has made goes again; one that fails has made nothing. */
static int made(int code, MPI_Comm *comm) {
    if ((code == MPI_SUCCESS) != (*comm != MPI_COMM_NULL))
        check(0, "a communicator is there if its call has succeeded", code);
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
    return code;
}

static int duplicate(MPI_Comm comm) {
    MPI_Comm new = MPI_COMM_NULL;
    int code = MPI_Comm_dup(comm, &new);
    return made(code, &new);
}

static int split(MPI_Comm comm) {
    MPI_Comm new = MPI_COMM_NULL;
    int code = MPI_Comm_split(comm, me % 2, me, &new);
    return made(code, &new);
}

static int cart(MPI_Comm comm) {
    MPI_Comm new = MPI_COMM_NULL;
    int count, period = 1;
    MPI_Comm_size(comm, &count);
    int code = MPI_Cart_create(comm, 1, &count, &period, 0, &new);
    return made(code, &new);
}

static const struct {
    const char *name;
    int (*call)(MPI_Comm);
    int makes;
} kinds[] = {
    {"MPI_Bcast", bcast, 0},     {"MPI_Comm_dup", duplicate, 1},    {"MPI_Reduce", reduce, 0},     {"MPI_Comm_split", split, 1},
    {"MPI_Scatter", scatter, 0}, {"MPI_Cart_create", cart, 1}, {"MPI_Allreduce", allreduce, 0}, {"MPI_Gather", gather, 0},
    {"MPI_Barrier", barrier, 0}, {"MPI_Scan", scan, 0},       {"MPI_Alltoall", alltoall, 0},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

int main(int argc, char **argv) {
    MPI_Comm living, next, comm;
    MPI_Info info, shown;
    char text[MPI_MAX_INFO_VAL] = "";
    int flag = 0, count, rank;
    begin(&argc, &argv);
    const char *value = argc > 1 ? argv[1] : "coll";
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    srand(seed);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_error_uniform", value);
    MPI_Comm_dup(MPI_COMM_WORLD, &living);
    MPI_Comm_dup_with_info(living, info, &comm);
    MPI_Comm_get_info(comm, &shown);
    MPI_Info_get(shown, "mpi_error_uniform", sizeof text - 1, text, &flag);
    MPI_Info_free(&shown);
    int good = flag && strcmp(text, value) == 0;
    for (unsigned i = 0; i < KINDS; i++)
        good &= kinds[i].call(comm) == MPI_SUCCESS;
    all_good(living, good, "calls of all kinds without a failure");
    MPI_Comm_free(&comm);
    for (unsigned i = 0; i < KINDS; i++) {
        long moment = rand() % 4000;
        /* Ranks do not suffice for all kinds. */
        unsigned kind = (i + 4 * seed) % KINDS;
        MPI_Comm_size(living, &count);
        MPI_Comm_rank(living, &rank);
        if (count < 3)
            break;
        if (!kinds[kind].makes && strcmp(value, "coll") != 0)
            continue;
        /* A hint that comes later counts as well, also where the fast paths have been used. */
        MPI_Comm_dup(living, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Barrier(comm);
        MPI_Comm_set_info(comm, info);
        if (rank == count - 1)
            die_after(moment);
        int code, calls[4] = {0, 0, 0, 0}, all[4];
        do
            code = kinds[kind].call(comm);
        while (calls[0]++, code == MPI_SUCCESS);
        MPIX_Comm_shrink(living, &next);
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        calls[1] = -calls[0];
        calls[2] = class_of(code);
        calls[3] = -calls[2];
        code = MPI_Allreduce(calls, all, 4, MPI_INT, MPI_MAX, next);
        good = code == MPI_SUCCESS && all[0] == -all[1] && all[2] == MPIX_ERR_PROC_FAILED && all[3] == -all[2];
        all_good(next, good, kinds[kind].name);
        MPI_Comm_free(&comm);
        MPI_Comm_free(&living);
        living = next;
    }
    MPI_Comm_free(&living);
    MPI_Info_free(&info);
    return finish();
}
