/* Instructions of one-sided and two-sided communication, for a run under callgrind with --toggle-collect=measured and
 * --dump-after=measured: rank 0 calls `measured` for each way and size in a row, and prints both before. */
#include <alhena.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 200, MOST = 1 << 19 };

static MPI_Win win;
static char *out, *in;
static int rank;

__attribute__((noinline)) void measured(int way, int bytes)
{
    MPI_Request request;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        switch (way) {
        case 0:
            alhena_put(out, (size_t)bytes, 1, 0, win);
            alhena_flush(1, win);
            break;
        case 1:
            MPI_Put(out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
            MPI_Win_flush(1, win);
            break;
        case 2:
            alhena_get(in, (size_t)bytes, 1, 0, win);
            alhena_flush(1, win);
            break;
        case 3:
            MPI_Get(in, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
            MPI_Win_flush(1, win);
            break;
        default:
            MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request);
            MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

int main(int argc, char **argv)
{
    const char *names[] = {"alhena_put", "MPI_Put", "alhena_get", "MPI_Get", "messages"};
    int way, bytes, round;
    char *memory;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out = malloc(MOST);
    in = malloc(MOST);
    memset(out, 1, MOST);
    memset(in, 1, MOST);
    MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    for (bytes = 8; bytes <= MOST; bytes *= 2) {
        for (way = 0; way < 5; way++) {
            /* The second time counts. */
            for (round = 0; round < 2; round++) {
                MPI_Barrier(MPI_COMM_WORLD);
                if (rank == 0)
                    printf("%s %s %d\n", round ? "counts" : "first", names[way], bytes), fflush(stdout);
                if (way == 4 || rank == 0)
                    measured(way, bytes);
            }
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
