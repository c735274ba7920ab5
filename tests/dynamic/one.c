/* One rank alone spawns and connects, by MPI_COMM_SELF; the others never do. All end. */
#include "check.h"
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    static char *disconnects[] = {"disconnect", NULL}, *stays[] = {"stay", NULL}, **ways[] = {disconnects, stays};
    int rank, value = 7, there = 0;
    MPI_Comm parent, inter;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 0, 0, parent);
        /* The other child stays connected: both jobs end together. */
        if (argc > 1 && !strcmp(argv[1], "disconnect"))
            MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    for (int way = 0; way < 2 && rank == 1; way++) {
        MPI_Comm_spawn(argv[0], ways[way], 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
        for (int child = 0; child < 2; child++) {
            MPI_Send(&value, 1, MPI_INT, child, 0, inter);
            MPI_Recv(&there, 1, MPI_INT, child, 0, inter, MPI_STATUS_IGNORE);
        }
        if (way == 0)
            MPI_Comm_disconnect(&inter);
    }
    check_all(rank != 1 || there == 7, "one rank spawns, all end");
    return finish();
}
