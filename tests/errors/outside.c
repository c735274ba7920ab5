/* Calls before MPI_Init and after MPI_Finalize. Run with the initial error handler MPI_ERRORS_RETURN, they give
 * MPI_ERR_OTHER; those that the standard allows at any time work. */
#include <mpi.h>

#include "check.h"

static void refused(const char *when)
{
    int value = 0, flag;
    char name[64];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;
#define REFUSED(call) \
    snprintf(name, sizeof name, "%.30s is refused %s", #call, when); \
    CHECK_EQ(call, MPI_ERR_OTHER, name)
    REFUSED(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    REFUSED(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    REFUSED(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE));
    REFUSED(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    REFUSED(MPI_Comm_rank(MPI_COMM_WORLD, &value));
    REFUSED(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    REFUSED(MPI_Barrier(MPI_COMM_WORLD));
    REFUSED(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD));
    REFUSED(MPI_Type_commit(&(MPI_Datatype){MPI_INT}));
    REFUSED(MPI_Query_thread(&value));
}

static void allowed(const char *when)
{
    int value = -1, other, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[64];
    MPI_Info info;
#define ALLOWED(call) \
    snprintf(name, sizeof name, "%.30s works %s", #call, when); \
    CHECK_EQ(call, MPI_SUCCESS, name)
    ALLOWED(MPI_Initialized(&value));
    ALLOWED(MPI_Finalized(&value));
    ALLOWED(MPI_Get_version(&value, &other));
    ALLOWED(MPI_Get_library_version(text, &length));
    ALLOWED(MPI_Info_create(&info));
    ALLOWED(MPI_Info_set(info, "key", "value"));
    ALLOWED(MPI_Info_free(&info));
    ALLOWED(MPI_Error_class(MPI_ERR_RANK, &value));
    ALLOWED(MPI_Error_string(MPI_ERR_RANK, text, &length));
    ALLOWED(MPI_Add_error_class(&value));
    ALLOWED(MPI_Remove_error_class(value));
    ALLOWED(MPI_Abi_get_version(&value, &other));
    ALLOWED(MPI_T_init_thread(MPI_THREAD_SINGLE, &value));
    ALLOWED(MPI_T_finalize());
}

int main(int argc, char **argv)
{
    int flag = -1;
    refused("before MPI_Init");
    allowed("before MPI_Init");
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQ(MPI_Init(&argc, &argv), MPI_ERR_OTHER, "MPI_Init a second time");
    MPI_Finalize();
    refused("after MPI_Finalize");
    allowed("after MPI_Finalize");
    CHECK_EQ(MPI_Init(&argc, &argv), MPI_ERR_OTHER, "MPI_Init after MPI_Finalize");
    CHECK_EQ(MPI_Finalize(), MPI_ERR_OTHER, "MPI_Finalize a second time");
    MPI_Initialized(&flag);
    CHECK_EQ(flag, 1, "MPI_Initialized stays true");
    MPI_Finalized(&flag);
    CHECK_EQ(flag, 1, "MPI_Finalized is true");
    return check_failures != 0;
}
