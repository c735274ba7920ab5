/*
 * The communication of an ocean model's barotropic solver (POP): each iteration exchanges a nine-point halo with the
 * eight neighbours on a periodic two-dimensional grid of ranks, applies a nine-point stencil and sums two numbers over
 * all ranks, whose result it needs to go on. The size is that of a block's edge; an edge of n bytes is n / 8 numbers.
 */
#include "kernel.h"

enum { NEIGHBOURS = 8 };

static MPI_Comm grid;
static int neighbour[NEIGHBOURS];
static const int STEP[NEIGHBOURS][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};

static void find_neighbours(void)
{
    int dims[2] = {0, 0}, periodic[2] = {1, 1}, place[2];
    MPI_Dims_create(k.ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periodic, 0, &grid);
    MPI_Cart_coords(grid, k.rank, 2, place);
    for (int i = 0; i < NEIGHBOURS; i++) {
        int there[2] = {place[0] + STEP[i][0], place[1] + STEP[i][1]};
        MPI_Cart_rank(grid, there, &neighbour[i]);
    }
}

/* The first number of what goes to neighbour `i` (inner), or comes from it (outer ring), in rows of `width`. */
static double *edge(double *field, int n, int width, int i, int outer)
{
    int at[2];
    for (int d = 0; d < 2; d++)
        at[d] = STEP[i][d] == 0 ? 1 : STEP[i][d] < 0 ? 1 - outer : n + outer;
    return field + at[0] * width + at[1];
}

static void exchange(double *field, int n, MPI_Datatype column)
{
    int width = n + 2;
    MPI_Request requests[2 * NEIGHBOURS];
    for (int i = 0; i < NEIGHBOURS; i++) {
        int corner = STEP[i][0] != 0 && STEP[i][1] != 0, upright = STEP[i][0] == 0;
        int count = corner || upright ? 1 : n;
        MPI_Datatype type = upright ? column : MPI_DOUBLE;
        /* What leaves in direction i arrives from the opposite one; the tag names the direction of travel. */
        int opposite = 0;
        while (STEP[opposite][0] != -STEP[i][0] || STEP[opposite][1] != -STEP[i][1])
            opposite++;
        MPI_Irecv(edge(field, n, width, i, 1), count, type, neighbour[i], opposite, grid, &requests[i]);
        MPI_Isend(edge(field, n, width, i, 0), count, type, neighbour[i], i, grid, &requests[NEIGHBOURS + i]);
    }
    MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
}

/* One application of the stencil; the sums of the old and the new field. */
static void apply(const double *from, double *to, int n, double sums[2])
{
    int width = n + 2;
    sums[0] = sums[1] = 0;
    for (int row = 1; row <= n; row++)
        for (int column = 1; column <= n; column++) {
            const double *at = from + row * width + column;
            double value = 0.4 * at[0] + 0.1 * (at[-1] + at[1] + at[-width] + at[width])
                + 0.05 * (at[-width - 1] + at[-width + 1] + at[width - 1] + at[width + 1]);
            to[row * width + column] = value;
            sums[0] += at[0];
            sums[1] += value;
        }
}

static double *fields[2];

static void solve(size_t bytes, long iterations)
{
    int n = (int)(bytes / sizeof(double)), width = n + 2;
    MPI_Datatype column;
    MPI_Type_vector(n, 1, width, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int row = 0; row < width; row++)
        for (int at = 0; at < width; at++)
            fields[0][row * width + at] = k.rank + 1.0;
    for (long i = 0; i < iterations; i++) {
        double mine[2], all[2];
        exchange(fields[i % 2], n, column);
        apply(fields[i % 2], fields[(i + 1) % 2], n, mine);
        MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, grid);
        /* The weights add up to 1: the sum over the periodic field does not change. */
        if (all[1] < all[0] * 0.999999 || all[1] > all[0] * 1.000001)
            kernel_fail("checking the sums", "the field is not conserved");
    }
    MPI_Type_free(&column);
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 64, 1 << 10);
    find_neighbours();
    size_t width = k.max / sizeof(double) + 2;
    for (int i = 0; i < 2; i++)
        fields[i] = (double *)kernel_buffer(width * width * sizeof(double));
    kernel_sizes(solve, kernel_microseconds, "us");
    free(fields[0]);
    free(fields[1]);
    MPI_Comm_free(&grid);
    kernel_end();
    return 0;
}
