/* Jobs of different mpiexecs: `server NAME CLIENTS` accepts so many clients, `client NAME`. */
#include "check.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter, merged;
    int rank, size, them, sum = 0, one = 1, is_server;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    is_server = !strcmp(argv[1], "server");
    if (is_server && rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(argv[2], MPI_INFO_NULL, port);
    }
    for (int client = 0; client < (is_server ? atoi(argv[3]) : 1); client++) {
        if (is_server) {
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        } else {
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
            while (rank == 0 && MPI_Lookup_name(argv[2], MPI_INFO_NULL, port))
                usleep(20000);
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        }
        MPI_Comm_remote_size(inter, &them);
        MPI_Intercomm_merge(inter, !is_server, &merged);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
        check_all(sum == size + them, "%s: a merge with another mpiexec's job", argv[1]);
        MPI_Comm_disconnect(&merged);
        MPI_Comm_disconnect(&inter);
    }
    if (is_server && rank == 0) {
        MPI_Unpublish_name(argv[2], MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    return finish();
}
