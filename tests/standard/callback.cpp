// An exception that leaves a callback other than an error handler: the process ends by SIGABRT, as documented, and
// does not run on with half-unwound frames. Exits with 0 only if the exception came through.
#include <mpi.h>

static int throwing(MPI_Comm, int, void *, void *)
{
    throw 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int keyval;
    MPI_Comm copy;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, throwing, &keyval, nullptr);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_set_attr(copy, keyval, nullptr);
    try {
        MPI_Comm_free(&copy);
    } catch (int) {
        return 0;
    }
    return 1;
}
