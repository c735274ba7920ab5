/* Where the system has no memory for the library's copy of the data, calls fail with MPI_ERR_NO_MEM, and work again when
 * there is some. Run on one process and on two. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "process.h"

/* Ints with a hole behind each, so that they are packed. */
enum { COUNT = 24 << 20 };
static int *data;
static MPI_Datatype holes;

/* Lets the process map `more` bytes more, or as much as it likes. */
static void limit(long more)
{
    struct rlimit as;
    getrlimit(RLIMIT_AS, &as);
    as.rlim_cur = more < 0 ? as.rlim_max : (rlim_t)(mapped() * 1024 + more);
    setrlimit(RLIMIT_AS, &as);
}

static int replace(MPI_Datatype type, int count)
{
    return class_of(MPI_Sendrecv_replace(data, count, type, 0, 1, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

static int ireplace(MPI_Datatype type, int count)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Isendrecv_replace(data, count, type, 0, 1, 0, 1, MPI_COMM_SELF, &request);
    if (code == MPI_SUCCESS)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    return class_of(code);
}

int main(int argc, char **argv)
{
    const long little = 8 << 20;
    MPI_Comm comm;
    MPI_Request request;
    int rank, size, i, code, good = 1, *all;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &holes);
    MPI_Type_commit(&holes);
    data = calloc(2 * (size_t)COUNT, sizeof(int));
    for (i = 0; i < COUNT; i++)
        data[2 * i] = i;

    limit(little);
    check(replace(holes, COUNT) == MPI_ERR_NO_MEM, "MPI_Sendrecv_replace of data with holes", 0);
    check(replace(MPI_INT, COUNT) == MPI_ERR_NO_MEM, "MPI_Sendrecv_replace", 0);
    check(ireplace(holes, COUNT) == MPI_ERR_NO_MEM, "MPI_Isendrecv_replace", 0);
    limit(-1);
    check(replace(holes, COUNT) == MPI_SUCCESS && ireplace(MPI_INT, 100) == MPI_SUCCESS, "with memory they work", 0);
    for (i = 0; i < COUNT; i++)
        good &= data[2 * i] == i;
    check(good, "the data is what it was", 0);

    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    limit(little);
    code = MPI_Bsend(data, COUNT, holes, 0, 2, MPI_COMM_SELF);
    check(class_of(code) == MPI_ERR_NO_MEM, "MPI_Bsend", class_of(code));
    code = MPI_Ibsend(data, COUNT, MPI_INT, 0, 2, MPI_COMM_SELF, &request);
    check(class_of(code) == MPI_ERR_NO_MEM, "MPI_Ibsend", class_of(code));
    limit(-1);
    MPI_Buffer_detach(&all, &i);

    /* No rank has memory for scratch; the communicator is not used any more. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    all = calloc(2 * (size_t)COUNT * size, sizeof(int));
    for (i = 0; i < 2; i++)
        MPI_Barrier(comm);
    limit(little);
    code = MPI_Allgather(data, COUNT, holes, all, COUNT, holes, comm);
    check(class_of(code) == MPI_ERR_NO_MEM, "MPI_Allgather of data with holes", class_of(code));
    limit(-1);
    MPI_Comm_free(&comm);
    free(all);
    free(data);
    MPI_Type_free(&holes);
    MPI_Finalize();
    return check_failures != 0;
}
