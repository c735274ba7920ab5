/* A process ends that no other has ever sent to or heard from, and the job lives on (-disable-auto-cleanup): those that wait for
 * a message of it get an error. `receive`: in MPI_Recv; `probe`: in MPI_Probe; `test`: in MPI_Test; `seldom`:
 * in MPI_Test, and the program computes between two of them. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv)
{
    int rank, size, code = MPI_SUCCESS, value, done = 0;
    const char *how = argc > 1 ? argv[1] : "receive";
    MPI_Request request;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == size - 1) {
        usleep(300000);
        raise(SIGKILL);
    }
    if (strcmp(how, "probe") == 0) {
        code = MPI_Probe(size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "test") == 0 || strcmp(how, "seldom") == 0) {
        MPI_Irecv(&value, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, &request);
        while (code == MPI_SUCCESS && !done) {
            code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            if (strcmp(how, "seldom") == 0)
                usleep(2000);
        }
    } else {
        code = MPI_Recv(&value, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("%s rank %d: %s: a process that was never met has ended: %d\n",
           class_of(code) == MPI_ERR_PROC_ABORTED ? "ok" : "FAIL", rank, how, class_of(code));
    fflush(stdout);
    _exit(0);
}
