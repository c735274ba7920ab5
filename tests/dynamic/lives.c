/* Who ends with whom. `connected`: the child is killed, and the parents end. `parted`: a child that is disconnected fails, and the
 * parents go on. `parent`: the parents are killed, and the child ends with them. `orphan`: the parents end, and a child that is
 * disconnected goes on. */
#include "check.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, pid;
    MPI_Comm parent, inter;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        pid = getpid();
        MPI_Send(&pid, 1, MPI_INT, 0, 0, parent);
        if (!strcmp(argv[1], "connected"))
            raise(SIGKILL);
        if (!strcmp(argv[1], "parent"))
            for (;;)
                pause();
        MPI_Comm_disconnect(&parent);
        if (!strcmp(argv[1], "parted"))
            raise(SIGKILL);
        usleep(500000);
        printf("the child has outlived its parents\n");
        MPI_Finalize();
        return 0;
    }
    char *arguments[] = {argv[1], NULL};
    MPI_Comm_spawn(argv[0], arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    if (rank == 0)
        MPI_Recv(&pid, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!strcmp(argv[1], "connected")) {
        MPI_Barrier(inter);
        printf("a barrier with a child that was killed\n");
    } else if (!strcmp(argv[1], "parent")) {
        if (rank == 0) {
            printf("child %d\n", pid);
            fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    } else {
        MPI_Comm_disconnect(&inter);
        if (!strcmp(argv[1], "parted"))
            usleep(300000);
        MPI_Barrier(MPI_COMM_WORLD);
        check_all(1, "%s", argv[1]);
    }
    return finish();
}
