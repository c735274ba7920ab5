/* Wrong requests and messages: NULL, foreign, stale, of the wrong kind, in arrays. */
#include <mpi.h>
#include <stdint.h>

#include "check.h"

static MPI_Request foreign(void)
{
    return (MPI_Request)(intptr_t)0x7eadbeef;
}

/* The handle of a request that is complete and gone. */
static MPI_Request stale(void)
{
    int out = 1, in = 0;
    MPI_Request receive, copy;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
    copy = receive;
    MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    return copy;
}

static void expect_request_error(MPI_Request request, const char *kind)
{
    int flag, index, count, indices[1];
    char name[128];
    MPI_Request copy;
    MPI_Status status;
#define EXPECT(call, what) \
    copy = request; \
    snprintf(name, sizeof name, "%s for %s", what, kind); \
    CHECK_EQ(call, MPI_ERR_REQUEST, name)
    EXPECT(MPI_Wait(&copy, &status), "MPI_Wait");
    EXPECT(MPI_Test(&copy, &flag, &status), "MPI_Test");
    EXPECT(MPI_Waitany(1, &copy, &index, &status), "MPI_Waitany");
    EXPECT(MPI_Testany(1, &copy, &index, &flag, &status), "MPI_Testany");
    EXPECT(MPI_Waitall(1, &copy, &status), "MPI_Waitall");
    EXPECT(MPI_Testall(1, &copy, &flag, &status), "MPI_Testall");
    EXPECT(MPI_Waitsome(1, &copy, &count, indices, &status), "MPI_Waitsome");
    EXPECT(MPI_Testsome(1, &copy, &count, indices, &status), "MPI_Testsome");
    EXPECT(MPI_Request_free(&copy), "MPI_Request_free");
    EXPECT(MPI_Cancel(&copy), "MPI_Cancel");
    EXPECT(MPI_Request_get_status(copy, &flag, &status), "MPI_Request_get_status");
    EXPECT(MPI_Start(&copy), "MPI_Start");
    EXPECT(MPI_Grequest_complete(copy), "MPI_Grequest_complete");
}

static void inactive_and_null(void)
{
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0, index = 0;
    CHECK_EQ(MPI_Wait(&null, &status), MPI_SUCCESS, "MPI_Wait for MPI_REQUEST_NULL");
    check(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG, "gives an empty status", status.MPI_TAG);
    CHECK_EQ(MPI_Test(&null, &flag, &status), MPI_SUCCESS, "MPI_Test for MPI_REQUEST_NULL");
    CHECK_EQ(flag, 1, "is complete");
    CHECK_EQ(MPI_Waitany(1, &null, &index, &status), MPI_SUCCESS, "MPI_Waitany for no active request");
    CHECK_EQ(index, MPI_UNDEFINED, "gives no index");
    CHECK_EQ(MPI_Request_free(&null), MPI_ERR_REQUEST, "MPI_Request_free for MPI_REQUEST_NULL");
    CHECK_EQ(MPI_Start(&null), MPI_ERR_REQUEST, "MPI_Start for MPI_REQUEST_NULL");
    CHECK_EQ(MPI_Cancel(&null), MPI_ERR_REQUEST, "MPI_Cancel for MPI_REQUEST_NULL");
}

/* A request that is not persistent cannot be started; an active one cannot be started again. */
static void wrong_kind(void)
{
    int in = 0, out = 3;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    CHECK_EQ(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start for a nonblocking request");
    CHECK_EQ(MPI_Grequest_complete(request), MPI_ERR_REQUEST, "MPI_Grequest_complete for a receive");
    MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Start(&request);
    CHECK_EQ(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start for an active request");
    MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(in, out, "which completes all the same");
    MPI_Request_free(&request);
}

static void messages(void)
{
    MPI_Message wrong = (MPI_Message)(intptr_t)0x7eadbeef, null = MPI_MESSAGE_NULL, none = MPI_MESSAGE_NO_PROC;
    MPI_Request request;
    MPI_Status status;
    int in = 0;
    CHECK_EQ(MPI_Mrecv(&in, 1, MPI_INT, &wrong, &status), MPI_ERR_REQUEST, "MPI_Mrecv of a foreign message");
    CHECK_EQ(MPI_Imrecv(&in, 1, MPI_INT, &wrong, &request), MPI_ERR_REQUEST, "MPI_Imrecv of a foreign message");
    CHECK_EQ(MPI_Mrecv(&in, 1, MPI_INT, &null, &status), MPI_ERR_REQUEST, "MPI_Mrecv of MPI_MESSAGE_NULL");
    CHECK_EQ(MPI_Mrecv(&in, 1, MPI_INT, &none, &status), MPI_SUCCESS, "MPI_Mrecv of MPI_MESSAGE_NO_PROC");
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL, "comes from MPI_PROC_NULL");
    CHECK_EQ(none, MPI_MESSAGE_NULL, "and is MPI_MESSAGE_NULL afterwards");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_request_error(foreign(), "a foreign handle");
    expect_request_error(stale(), "a stale handle");
    inactive_and_null();
    wrong_kind();
    messages();
    MPI_Finalize();
    return check_failures != 0;
}
