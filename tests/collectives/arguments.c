/* Bad arguments of collectives: the right error class on the communicator's handler, and the communicator still works.
 * Every rank makes the same mistake, so that no rank waits for a call that failed elsewhere. */
#include "collectives.h"

static int content = 1;

static void expect_class(int code, int expected, const char *what)
{
    int class = -1;
    MPI_Error_class(code, &class);
    if (class != expected)
        printf("FAIL %s: class %d instead of %d on rank %d\n", what, class, expected, rank);
    content &= class == expected;
}

#define EXPECT(class, call) expect_class(call, class, #call)

int main(int argc, char **argv)
{
    int buffer[64] = {0}, result[64] = {0}, counts[16] = {0}, displs[16] = {0}, negative[16], ones[16], sum = 0, one = 1;
    MPI_Datatype pair, types[16];
    MPI_Request request;
    MPI_Comm comm, ring;
    int r, periodic = 1;
    start(&argc, &argv);
    for (r = 0; r < 16; r++) {
        negative[r] = -1;
        ones[r] = 1;
        types[r] = MPI_DATATYPE_NULL;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
    MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &pair);

    EXPECT(MPI_ERR_ROOT, MPI_Bcast(buffer, 1, MPI_INT, size, comm));
    EXPECT(MPI_ERR_ROOT, MPI_Bcast(buffer, 1, MPI_INT, -1, comm));
    EXPECT(MPI_ERR_ROOT, MPI_Reduce(buffer, result, 1, MPI_INT, MPI_SUM, MPI_ROOT, comm));
    EXPECT(MPI_ERR_ROOT, MPI_Gather(buffer, 1, MPI_INT, result, 1, MPI_INT, MPI_PROC_NULL, comm));
    EXPECT(MPI_ERR_ROOT, MPI_Scatterv(buffer, counts, displs, MPI_INT, result, 1, MPI_INT, size, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Bcast(buffer, -1, MPI_INT, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Allreduce(buffer, result, -1, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Alltoallv(buffer, negative, displs, MPI_INT, result, counts, displs, MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Allgatherv(buffer, 1, MPI_INT, result, negative, displs, MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Reduce_scatter(buffer, result, negative, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Iscan(buffer, result, -2, MPI_INT, MPI_SUM, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Exscan_init(buffer, result, -2, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    EXPECT(MPI_ERR_TYPE, MPI_Bcast(buffer, 1, MPI_DATATYPE_NULL, 0, comm));
    EXPECT(MPI_ERR_TYPE, MPI_Allgather(buffer, 1, pair, result, 1, pair, comm)); /* not committed */
    EXPECT(MPI_ERR_OP, MPI_Allreduce(buffer, result, 1, MPI_INT, MPI_OP_NULL, comm));
    EXPECT(MPI_ERR_OP, MPI_Allreduce(buffer, result, 1, MPI_DOUBLE, MPI_BAND, comm));
    EXPECT(MPI_ERR_OP, MPI_Scan(buffer, result, 1, MPI_INT, MPI_REPLACE, comm));
    EXPECT(MPI_ERR_OP, MPI_Reduce_local(buffer, result, 1, MPI_FLOAT_INT, MPI_SUM));
    EXPECT(MPI_ERR_BUFFER, MPI_Bcast(NULL, 1, MPI_INT, 0, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Allreduce(buffer, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Allgather(buffer, 1, MPI_INT, NULL, 1, MPI_INT, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Ialltoall(buffer, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm, &request));
    EXPECT(MPI_ERR_BUFFER, MPI_Allreduce(buffer, buffer, 1, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Allgather(buffer, 1, MPI_INT, buffer, 1, MPI_INT, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Alltoallv(buffer, ones, displs, MPI_INT, buffer, ones, displs, MPI_INT, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Iscan(buffer, buffer, 1, MPI_INT, MPI_SUM, comm, &request));
    EXPECT(MPI_ERR_ARG, MPI_Allgatherv(buffer, 1, MPI_INT, result, NULL, displs, MPI_INT, comm));
    EXPECT(MPI_ERR_ARG, MPI_Alltoallw(buffer, counts, displs, NULL, result, counts, displs, types, comm));
    EXPECT(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_NULL));
    EXPECT(MPI_ERR_TOPOLOGY, MPI_Neighbor_allgather(buffer, 1, MPI_INT, result, 1, MPI_INT, comm));
    EXPECT(MPI_ERR_BUFFER, MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, result, 1, MPI_INT, ring));
    EXPECT(MPI_ERR_BUFFER, MPI_Neighbor_alltoallv(buffer, ones, displs, MPI_INT, NULL, ones, displs, MPI_INT, ring));
    EXPECT(MPI_ERR_COUNT, MPI_Neighbor_allgather(buffer, -1, MPI_INT, result, 1, MPI_INT, ring));
    EXPECT(MPI_ERR_ARG, MPI_Neighbor_allgatherv(buffer, 1, MPI_INT, result, ones, NULL, MPI_INT, ring));

    /* Nothing of an empty block is looked at. */
    EXPECT(MPI_SUCCESS, MPI_Alltoallw(NULL, counts, displs, types, NULL, counts, displs, types, comm));
    EXPECT(MPI_SUCCESS, MPI_Bcast(NULL, 0, MPI_INT, 0, comm));
    EXPECT(MPI_SUCCESS, MPI_Allreduce(buffer, buffer, 0, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_SUCCESS, MPI_Alltoallv(buffer, counts, displs, MPI_INT, buffer, counts, displs, MPI_INT, comm));
    EXPECT(MPI_SUCCESS, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    content &= sum == size;
    verdict(content, "bad arguments have their classes, and the communicator goes on");
    MPI_Type_free(&pair);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&comm);
    return finish();
}
