// Error handlers that throw: the exception leaves the MPI function, passes only the library's entry shim, and is
// caught around the call, again and again, from functions with few and with many arguments.
#include <cstring>
#include <mpi.h>
#include <stdexcept>

#include "check.h"

namespace {

struct MpiError : std::runtime_error {
    MpiError(MPI_Comm on, int code) : std::runtime_error("MPI error"), comm(on), error(code) {}
    MPI_Comm comm;
    int error;
};

int alive = 0;

// Proof that the program's own frames are unwound properly.
struct Witness {
    Witness() { alive++; }
    ~Witness() { alive--; }
};

void throwing(MPI_Comm *comm, int *code, ...)
{
    throw MpiError(*comm, *code);
}

int handled = 0;

void returning(MPI_Comm *, int *code, ...)
{
    handled++;
    *code = 12345; // what the function returns now (MPI-5.0 section 9.3.1)
}

// Calls `f` many times; every time it must throw `expected` on MPI_COMM_WORLD.
template <class F> void always_throws(const char *name, int expected, F f)
{
    const int rounds = 5000;
    int right = 0;
    for (int i = 0; i < rounds; i++) {
        Witness before;
        try {
            Witness inside;
            f();
        } catch (const MpiError &error) {
            right += error.comm == MPI_COMM_WORLD && error.error == expected;
        }
    }
    CHECK_EQ(right, rounds, name);
}

const int bad = 1 << 20; // no such rank

void few_arguments(int *buf)
{
    always_throws("MPI_Send throws", MPI_ERR_RANK, [&] { MPI_Send(buf, 1, MPI_INT, bad, 0, MPI_COMM_WORLD); });
    always_throws("MPI_Bcast throws", MPI_ERR_ROOT, [&] { MPI_Bcast(buf, 1, MPI_INT, bad, MPI_COMM_WORLD); });
    always_throws("MPI_Comm_rank throws for NULL", MPI_ERR_ARG, [&] { MPI_Comm_rank(MPI_COMM_WORLD, nullptr); });
}

void many_arguments(int *buf)
{
    MPI_Status status;
    always_throws("MPI_Recv (7 arguments) throws", MPI_ERR_RANK,
                  [&] { MPI_Recv(buf, 1, MPI_INT, bad, 0, MPI_COMM_WORLD, &status); });
    always_throws("MPI_Gather (8 arguments) throws", MPI_ERR_ROOT,
                  [&] { MPI_Gather(buf, 1, MPI_INT, buf + 8, 1, MPI_INT, bad, MPI_COMM_WORLD); });
    always_throws("MPI_Sendrecv_replace (9 arguments) throws", MPI_ERR_RANK, [&] {
        MPI_Sendrecv_replace(buf, 1, MPI_INT, bad, 0, 0, 0, MPI_COMM_WORLD, &status);
    });
    always_throws("MPI_Sendrecv (12 arguments) throws", MPI_ERR_RANK, [&] {
        MPI_Sendrecv(buf, 1, MPI_INT, 0, 0, buf + 8, 1, MPI_INT, bad, 0, MPI_COMM_WORLD, &status);
    });
}

// Every argument beyond the sixth arrives where it belongs.
void stack_arguments_arrive(int *buf)
{
    MPI_Status status;
    std::memset(&status, 0, sizeof status);
    buf[0] = 4711;
    int code = MPI_Sendrecv(buf, 1, MPI_INT, 0, 7, buf + 8, 2, MPI_INT, 0, 7, MPI_COMM_WORLD, &status);
    CHECK_EQ(code, MPI_SUCCESS, "MPI_Sendrecv to oneself");
    CHECK_EQ(buf[8], 4711, "MPI_Sendrecv receives into its sixth argument");
    CHECK_EQ(status.MPI_SOURCE, 0, "MPI_Sendrecv fills the status, its twelfth argument");
    CHECK_EQ(status.MPI_TAG, 7, "MPI_Sendrecv receives the tag of its tenth argument");
}

void handlers_that_return(int *buf)
{
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(returning, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    int code = MPI_Send(buf, 1, MPI_INT, bad, 0, MPI_COMM_WORLD);
    CHECK_EQ(code, 12345, "a handler that returns leaves the code that the function returns");
    CHECK_EQ(handled, 1, "the handler was called once");
    code = MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    CHECK_EQ(code, MPI_SUCCESS, "MPI_Comm_call_errhandler succeeds after the handler returned");
    CHECK_EQ(handled, 2, "MPI_Comm_call_errhandler calls the handler");
    MPI_Errhandler_free(&errhandler);
}

} // namespace

int main(int argc, char **argv)
{
    static int buf[16];
    MPI_Init(&argc, &argv);
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(throwing, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Errhandler_free(&errhandler);
    few_arguments(buf);
    many_arguments(buf);
    stack_arguments_arrive(buf);
    always_throws("MPI_Comm_call_errhandler throws", MPI_ERR_OTHER,
                  [&] { MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER); });
    handlers_that_return(buf);
    CHECK_EQ(alive, 0, "every frame of the program was unwound");
    MPI_Finalize();
    return check_failures != 0;
}
