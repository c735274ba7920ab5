/* Processes that make different collective calls get an error and a message, not a hang (coll_check). The argument
 * names what differs; every process prints the class of error it gets. The process that has nothing to wait for in its
 * own call may succeed. */
#include "collectives.h"

static int differ(const char *what)
{
    double out[64] = {0}, in[64];
    MPI_Request request;
    int odd = rank == size - 1, status;
    if (strcmp(what, "operation") == 0)
        return odd ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (strncmp(what, "later", 5) == 0) { /* after so many calls that agree */
        for (status = atoi(what + 5); status > 0; status--)
            MPI_Barrier(MPI_COMM_WORLD);
        return differ("operation");
    }
    if (strcmp(what, "order") == 0) {
        status = odd ? MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD) : MPI_Barrier(MPI_COMM_WORLD);
        return status ? status
               : odd ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    }
    if (strcmp(what, "root") == 0)
        return MPI_Reduce(out, in, 4, MPI_DOUBLE, MPI_SUM, odd, MPI_COMM_WORLD)
            || MPI_Bcast(out, 8, MPI_DOUBLE, odd, MPI_COMM_WORLD);
    if (strcmp(what, "bytes") == 0)
        return MPI_Allreduce(out, in, odd ? 20 : 24, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(what, "nonblocking") == 0) {
        if (odd)
            MPI_Ibarrier(MPI_COMM_WORLD, &request);
        else
            MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(what, "persistent") == 0) {
        if (odd)
            MPI_Bcast_init(out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        else
            MPI_Allreduce_init(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (strcmp(what, "neighbours") == 0) {
        int periodic = 1;
        MPI_Comm ring;
        MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
        return odd ? MPI_Barrier(ring) : MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    }
    if (strcmp(what, "types") == 0) /* full mode only: as many bytes of other types */
        return MPI_Allreduce(out, in, odd ? 4 : 2, odd ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(what, "reduction") == 0) /* full mode only */
        return MPI_Allreduce(out, in, 2, MPI_DOUBLE, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
    return -1;
}

/* The last process finalizes MPI while the others go on: what they can do without it, they may do. */
static void leave(void)
{
    double out[2] = {0}, in[2];
    int class;
    if (rank == size - 1) {
        MPI_Finalize();
        exit(0);
    }
    MPI_Bcast(out, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Error_class(MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), &class);
    printf("rank %d: %d\n", rank, class);
    fflush(stdout);
    _Exit(0);
}

/* As above, but what the others do completes without the last process, the root: then they finalize MPI as well, and learn it there. */
static void leave_early(void)
{
    double out = 1, in;
    int class;
    if (rank != size - 1)
        MPI_Reduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
    MPI_Error_class(MPI_Finalize(), &class);
    printf("rank %d: %d\n", rank, class);
    exit(0);
}

int main(int argc, char **argv)
{
    int class, status, from, theirs;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "leaving") == 0)
        leave();
    if (argc > 1 && strcmp(argv[1], "early") == 0)
        leave_early();
    if (argc > 1 && strcmp(argv[1], "early_fatal") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        leave_early();
    }
    status = differ(argc > 1 ? argv[1] : "");
    MPI_Error_class(status, &class);
    printf("rank %d: %d\n", rank, class);
    fflush(stdout);
    /* No rank leaves before all have their answer; messages between two processes are as good as ever. */
    if (rank == 0) {
        for (from = 1; from < size; from++)
            MPI_Recv(&theirs, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (from = 1; from < size; from++)
            MPI_Send(&class, 1, MPI_INT, from, 2, MPI_COMM_WORLD);
    } else {
        MPI_Send(&class, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&theirs, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    _Exit(0); /* the communicator is of no use any more */
}
