/* Shared areas handed on from communicator to communicator, entered at different times: no rank may sleep for a wake-up
 * that was given before. */
#include "collectives.h"

#include <unistd.h>

/* Duplicates a communicator, uses the copy at once, and frees it: more often than there are areas. */
static int handed_on(int rounds)
{
    int good = 1, round, step, sum;
    for (round = 0; round < rounds; round++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        if (round % 16 == rank)
            usleep(1000);
        for (step = 0; step < 20; step++) {
            int mine = rank + step;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, copy);
            good &= sum == size * (size - 1) / 2 + size * step;
        }
        MPI_Comm_free(&copy);
    }
    return good;
}

/* Several at once, freed in another order than they came. */
static int held_together(int rounds)
{
    int good = 1, round, i;
    for (round = 0; round < rounds; round++) {
        MPI_Comm copies[6];
        for (i = 0; i < 6; i++) {
            MPI_Comm_dup(i % 2 ? copies[i - 1] : MPI_COMM_WORLD, &copies[i]);
            MPI_Barrier(copies[i]);
        }
        for (i = 0; i < 6; i++) {
            int word = rank == i % size ? round * 6 + i : -1;
            MPI_Bcast(&word, 1, MPI_INT, i % size, copies[i]);
            good &= word == round * 6 + i;
        }
        for (i = 0; i < 6; i++)
            MPI_Comm_free(&copies[(i * 5 + round) % 6]);
    }
    return good;
}

int main(int argc, char **argv)
{
    int rounds;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rounds = argc > 1 ? atoi(argv[1]) : size > 16 ? 60 : 200;
    verdict(handed_on(rounds), "areas handed on");
    verdict(held_together(rounds), "areas held together");
    MPI_Finalize();
    return failed;
}
