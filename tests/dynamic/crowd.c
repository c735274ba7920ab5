/* Threads of two jobs connect and disconnect the same processes at once: meetings and partings of two processes overlap in every
 * order. Arguments: threads of each rank, connections of each thread. */
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define RANKS 8

static char ports[RANKS][MPI_MAX_PORT_NAME];
static int rank, size, rounds, is_parent;

/* One connection: the child's number goes there and back; if it is odd, then around a communicator of both. */
static int meet(MPI_Comm inter, int number)
{
    MPI_Comm both;
    int back = -1, sum = -1;

    if (is_parent) {
        MPI_Recv(&back, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
        MPI_Send(&back, 1, MPI_INT, 0, 4, inter);
        number = back;
    } else {
        MPI_Send(&number, 1, MPI_INT, 0, 3, inter);
        MPI_Recv(&back, 1, MPI_INT, 0, 4, inter, MPI_STATUS_IGNORE);
    }
    sum = 2 * number;
    if (number % 2) {
        MPI_Intercomm_merge(inter, is_parent, &both);
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, both);
        MPI_Comm_disconnect(&both);
    }
    return back == number && sum == 2 * number;
}

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    intptr_t wrong = 0;

    for (int i = 0; i < rounds; i++) {
        MPI_Comm inter;

        /* Every rank of the parents is called by as many threads as it has. */
        if (is_parent)
            MPI_Comm_accept(ports[rank], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        else
            MPI_Comm_connect(ports[(rank + me) % size], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        wrong += !meet(inter, me * 1000 + i);
        MPI_Comm_disconnect(&inter);
    }
    return (void *)wrong;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 4, provided;
    MPI_Comm between;
    pthread_t all[64];
    intptr_t wrong = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 2 ? atoi(argv[2]) : 20;
    MPI_Comm_get_parent(&between);
    is_parent = between == MPI_COMM_NULL;
    if (is_parent) {
        MPI_Open_port(MPI_INFO_NULL, ports[rank]);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, ports, MPI_MAX_PORT_NAME, MPI_CHAR, MPI_COMM_WORLD);
        MPI_Comm_spawn(argv[0], argv + 1, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    }
    MPI_Bcast(ports, sizeof ports, MPI_CHAR, is_parent ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, between);
    MPI_Comm_disconnect(&between);
    for (intptr_t i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++) {
        void *result;

        pthread_join(all[i], &result);
        wrong += (intptr_t)result;
    }
    check_all(wrong == 0, "%s: %d threads connect and disconnect the same processes", is_parent ? "parents" : "children",
              threads);
    if (is_parent)
        MPI_Close_port(ports[rank]);
    return finish();
}
