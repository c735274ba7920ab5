/* Many spawns one after the other leave nothing: descriptors, mappings, memory. Arguments: how many. */
#include "check.h"
#include "process.h"
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 20, fds = 0, maps = 0;
    long memory = 0;
    MPI_Comm parent, inter;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < count; i++) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        MPI_Barrier(inter);
        MPI_Comm_disconnect(&inter);
        /* The first ones open what stays. */
        if (i == count / 4) {
            fds = descriptors();
            maps = mappings();
            memory = resident();
        }
    }
    /* A connection is there until its child has ended. */
    for (int i = 0, ready; i < 20000 && descriptors() > fds + 2; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &ready, MPI_STATUS_IGNORE);
        usleep(1000);
    }
    check_all(descriptors() <= fds + 2, "%d spawns leave no descriptors", count);
    check_all(mappings() <= maps + 4, "%d spawns leave no mappings", count);
    check_all(resident() <= memory + 2048, "%d spawns leave no memory", count);
    return finish();
}
