/* Arguments that the C interface itself checks: NULL where something must be, negative lengths, text bounds. */
#include <mpi.h>
#include <string.h>

#include "check.h"

static void before_init(void)
{
    int flag = -1, version = 0, subversion = -1;
    CHECK_EQ(MPI_Initialized(&flag), MPI_SUCCESS, "MPI_Initialized before MPI_Init");
    CHECK_EQ(flag, 0, "MPI_Initialized says no");
    MPI_Get_version(&version, &subversion);
    CHECK_EQ(version * 10 + subversion, 50, "MPI_Get_version before MPI_Init");
}

static void null_pointers(void)
{
    MPI_Request requests[1] = {MPI_REQUEST_NULL};
    CHECK_EQ(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_rank into NULL");
    CHECK_EQ(MPI_Comm_size(MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Comm_size into NULL");
    CHECK_EQ(MPI_Isend(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG, "MPI_Isend without a request");
    CHECK_EQ(MPI_Wait(NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG, "MPI_Wait for NULL");
    CHECK_EQ(MPI_Waitall(1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "MPI_Waitall for a NULL array");
    CHECK_EQ(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE), MPI_SUCCESS, "MPI_Waitall for no requests");
    CHECK_EQ(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS, "MPI_Waitall without statuses");
    CHECK_EQ(MPI_Waitall(-1, requests, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "MPI_Waitall for -1 requests");
    CHECK_EQ(MPI_Get_processor_name(NULL, NULL), MPI_ERR_ARG, "MPI_Get_processor_name into NULL");
}

static void text(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = -1;
    CHECK_EQ(MPI_Get_processor_name(name, &length), MPI_SUCCESS, "MPI_Get_processor_name");
    CHECK_EQ(length, strlen(name), "the length is the text's");
}

static void handles(void)
{
    CHECK_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101, "MPI_Comm_toint");
    check(MPI_Comm_fromint(0x101) == MPI_COMM_WORLD, "MPI_Comm_fromint", 0);
    CHECK_EQ(MPI_Aint_diff(MPI_Aint_add(1000, 24), 24), 1000, "MPI_Aint_add and MPI_Aint_diff");
}

int main(int argc, char **argv)
{
    before_init();
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    null_pointers();
    text();
    handles();
    MPI_Finalize();
    return check_failures != 0;
}
