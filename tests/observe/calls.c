/* Calls whose numbers a profile must have: ten sends of 100 to 1000 bytes, five reductions, three starts of a persistent send, a
   window and a file; then an end of the kind that the argument names. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buffer[4096];

static void messages(int rank)
{
    MPI_Request request;

    for (int i = 1; i <= 10; i++)
        if (rank == 0)
            MPI_Send(buffer, 100 * i, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(buffer, sizeof buffer, MPI_BYTE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 1)
        return;
    if (rank == 0)
        MPI_Send_init(buffer, 25, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);
    else
        MPI_Recv_init(buffer, 25, MPI_INT, 0, 8, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void collectives(int rank)
{
    double mine = rank, sum;
    MPI_Comm turned;

    for (int i = 0; i < 5; i++)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    /* Rank 0 of this communicator is the last one of the world. */
    int place;
    MPI_Comm_rank(turned, &place);
    if (place == 0)
        MPI_Send(buffer, 1, MPI_INT, 1, 9, turned);
    else if (place == 1)
        MPI_Recv(buffer, 1, MPI_INT, 0, 9, turned, MPI_STATUS_IGNORE);
    MPI_Comm_free(&turned);
}

static void windows_and_files(int rank, int size, const char *file)
{
    MPI_Win window;
    MPI_File handle;
    int value = rank;

    MPI_Win_create(buffer, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &handle);
    MPI_File_write_at(handle, 512 * rank, buffer, 512, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&handle);
}

int main(int argc, char **argv)
{
    int rank, size;
    const char *end = argc > 1 ? argv[1] : "well";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    messages(rank);
    if (!strcmp(end, "well")) {
        collectives(rank);
        windows_and_files(rank, size, argv[2]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(end, "control")) {
        MPI_Pcontrol(2);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 1 && !strcmp(end, "kill"))
        kill(getpid(), SIGKILL);
    if (rank == 1 && !strcmp(end, "crash"))
        *(volatile int *)0 = 1;
    if (rank == 1 && !strcmp(end, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 1 && !strcmp(end, "leave"))
        exit(0);
    if (strcmp(end, "well") && strcmp(end, "control")) {
        if (rank == 0) {
            printf("running\n");
            fflush(stdout);
        }
        MPI_Recv(buffer, 1, MPI_INT, rank == 0 ? 1 : 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
