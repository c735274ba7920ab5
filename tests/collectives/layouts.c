/* Types whose size is their extent and whose first byte is at 0, but whose elements are not one run of bytes: with parts in
 * reverse order, or with holes that other elements fill. Each rank describes the same data in another way. */
#include "collectives.h"

/* An element is two ints; where they are, in ints from the element's origin, two ints after that of the one before. */
struct layout {
    const char *name;
    MPI_Datatype type;
    int at[2];
};

enum { LAYOUTS = 4, MOST = 4096 };
static struct layout layouts[LAYOUTS];

/* Blocks of all ranks, and as much for the second ints of those that are far away. */
static int far_away(void) { return 2 * MOST * size; }
static size_t ints(void) { return 2 * (size_t)far_away(); }

static void make_layouts(void)
{
    MPI_Aint none = 0, second = sizeof(int);
    MPI_Datatype type;
    int one = 1, swapped[2] = {1, 0};
    layouts[0] = (struct layout){"in order", MPI_DATATYPE_NULL, {0, 1}};
    MPI_Type_contiguous(2, MPI_INT, &layouts[0].type);

    layouts[1] = (struct layout){"far apart", MPI_DATATYPE_NULL, {0, far_away()}};
    MPI_Type_vector(2, 1, far_away(), MPI_INT, &type);
    MPI_Type_create_resized(type, none, 2 * sizeof(int), &layouts[1].type);
    MPI_Type_free(&type);

    layouts[2] = (struct layout){"backwards", MPI_DATATYPE_NULL, {1, 0}};
    MPI_Type_vector(2, 1, -1, MPI_INT, &type);
    MPI_Type_create_struct(1, &one, &second, &type, &layouts[2].type);
    MPI_Type_free(&type);

    layouts[3] = (struct layout){"swapped", MPI_DATATYPE_NULL, {1, 0}};
    MPI_Type_create_indexed_block(2, 1, swapped, MPI_INT, &layouts[3].type);
    for (one = 0; one < LAYOUTS; one++)
        MPI_Type_commit(&layouts[one].type);
}

static void empty(int *buffer)
{
    size_t i;
    for (i = 0; i < ints(); i++)
        buffer[i] = HOLE;
}

/* Block `b` of a buffer gets, in layout `l`, what `from` has for `to`. */
static void give(int *buffer, const struct layout *l, int b, int count, int from, int to)
{
    int i;
    for (i = 0; i < 2 * count; i++)
        buffer[2 * (b * count + i / 2) + l->at[i % 2]] = value(from, to, i);
}

static int got(const int *buffer, const struct layout *l, int b, int count, int from, int to)
{
    int i;
    for (i = 0; i < 2 * count; i++)
        if (buffer[2 * (b * count + i / 2) + l->at[i % 2]] != value(from, to, i))
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 40, 700, MOST};
    static const char *const names[] = {"bcast", "gather", "scatter", "allgather", "alltoall", "allgatherv", "alltoallv"};
    int good[7], *out, *in, numbers[16], places[16], c, a, b, r, root, mode;
    start(&argc, &argv);
    make_layouts();
    out = malloc(ints() * sizeof *out);
    in = malloc(ints() * sizeof *in);
    for (mode = 0; mode < MODES; mode++) {
        for (r = 0; r < 7; r++)
            good[r] = 1;
        for (c = 0; c < 4; c++)
            for (a = 0; a < LAYOUTS; a++)
                for (b = 0; b < LAYOUTS; b++) {
                    int n = counts[c];
                    const struct layout *mine = &layouts[(a + rank) % LAYOUTS], *want = &layouts[(b + rank) % LAYOUTS];
                    for (r = 0; r < size; r++)
                        numbers[r] = n, places[r] = r * n;
                    root = (a + b) % size;
                    if (wanted("bcast")) {
                        RUN(mode, (empty(in), rank == root ? give(in, want, 0, n, root, 0) : (void)0), Bcast, bcast, in, n,
                            want->type, root, MPI_COMM_WORLD);
                        good[0] &= got(in, want, 0, n, root, 0);
                    }
                    empty(out);
                    give(out, mine, 0, n, rank, 0);
                    if (wanted("gather")) {
                        RUN(mode, empty(in), Gather, gather, out, n, mine->type, in, n, want->type, root, MPI_COMM_WORLD);
                        for (r = 0; r < size && rank == root; r++)
                            good[1] &= got(in, want, r, n, r, 0);
                    }
                    if (wanted("allgather")) {
                        RUN(mode, empty(in), Allgather, allgather, out, n, mine->type, in, n, want->type, MPI_COMM_WORLD);
                        for (r = 0; r < size; r++)
                            good[3] &= got(in, want, r, n, r, 0);
                    }
                    if (wanted("allgatherv")) {
                        RUN(mode, empty(in), Allgatherv, allgatherv, out, n, mine->type, in, numbers, places, want->type,
                            MPI_COMM_WORLD);
                        for (r = 0; r < size; r++)
                            good[5] &= got(in, want, r, n, r, 0);
                    }
                    empty(out);
                    for (r = 0; r < size; r++)
                        give(out, mine, r, n, rank, r);
                    if (wanted("scatter")) {
                        RUN(mode, empty(in), Scatter, scatter, out, n, mine->type, in, n, want->type, root, MPI_COMM_WORLD);
                        good[2] &= got(in, want, 0, n, root, rank);
                    }
                    if (wanted("alltoall")) {
                        RUN(mode, empty(in), Alltoall, alltoall, out, n, mine->type, in, n, want->type, MPI_COMM_WORLD);
                        for (r = 0; r < size; r++)
                            good[4] &= got(in, want, r, n, r, rank);
                    }
                    if (wanted("alltoallv")) {
                        RUN(mode, empty(in), Alltoallv, alltoallv, out, numbers, places, mine->type, in, numbers, places,
                            want->type, MPI_COMM_WORLD);
                        for (r = 0; r < size; r++)
                            good[6] &= got(in, want, r, n, r, rank);
                    }
                }
        for (r = 0; r < 7; r++) {
            char name[128];
            if (!wanted(names[r]))
                continue;
            snprintf(name, sizeof name, "%s of types as long as their extents, %s, %d ranks", names[r], mode_names[mode], size);
            verdict(good[r], name);
        }
    }
    for (r = 0; r < LAYOUTS; r++)
        MPI_Type_free(&layouts[r].type);
    free(out);
    free(in);
    return finish();
}
