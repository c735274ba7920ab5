/* MPI_Abort from a signal handler that interrupts a thread inside MPI: a wait, and a call in full swing.
 *
 * usage: aborts waiting|busy single|multiple
 */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static void handler(int number)
{
    (void)number;
    MPI_Abort(MPI_COMM_WORLD, 7);
}

int main(int argc, char **argv)
{
    int rank, provided, value = 0;
    struct itimerval soon = {{0, 0}, {0, 200000}};
    MPI_Init_thread(&argc, &argv, strcmp(argv[2], "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        signal(SIGALRM, handler);
        setitimer(ITIMER_REAL, &soon, NULL);
        if (strcmp(argv[1], "busy") == 0)
            for (;;)
                MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
