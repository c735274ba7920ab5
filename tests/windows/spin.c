// Two processes take turns by a word of a window: each spins until it is its turn, by an operation that fetches and changes
// nothing, and a flush. On one processor the spinning one has to give way to the other.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Win win;

static int64_t fetch(int64_t operand, MPI_Op op) {
    int64_t before = -1;
    MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, 0, op, win);
    MPI_Win_flush(0, win);
    return before;
}

static int64_t compare_swap(int64_t expected, int64_t desired) {
    int64_t before = -1;
    MPI_Compare_and_swap(&desired, &expected, &before, MPI_INT64_T, 0, 0, win);
    MPI_Win_flush(0, win);
    return before;
}

static void turns(const char *name, int way, int rank, int rounds) {
    int64_t end = 2 * (int64_t)rounds;
    if (rank == 0) fetch(0, MPI_REPLACE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int64_t turn = rank; turn < end; turn += 2) {
        if (way == 2) {
            while (compare_swap(turn, turn + 1) != turn) {}
            continue;
        }
        while (fetch(0, way == 0 ? MPI_NO_OP : MPI_SUM) != turn) {}
        fetch(1, MPI_SUM);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t last = fetch(0, MPI_NO_OP);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0 || last != end) printf("%s %s\n", last == end ? "ok" : "FAIL", name);
}

int main(int argc, char **argv) {
    int rank, rounds = argc > 1 ? atoi(argv[1]) : 300;
    int64_t *memory;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    turns("turns awaited by fetches of nothing", 0, rank, rounds);
    turns("turns awaited by sums of zero", 1, rank, rounds);
    turns("turns awaited by exchanges that fail", 2, rank, rounds);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
