/* Collectives that move blocks of different sizes and types, against what every rank can compute alone. */
#include "collectives.h"

static int mode, unit, stride;
static MPI_Datatype type;

/* Elements that `from` has for `to`: some blocks are empty. */
static int length(int from, int to)
{
    return (from + 2 * to) % 4 * unit;
}

/* Blocks lie in reverse order with a gap of one element between them. */
struct layout {
    int counts[16], displs[16], total;
};

static void lay_out(struct layout *l, int by_sender, int other)
{
    int r;
    l->total = 0;
    for (r = size - 1; r >= 0; r--) {
        l->counts[r] = by_sender ? length(r, other) : length(other, r);
        l->displs[r] = l->total + 1;
        l->total += l->counts[r] + 1;
    }
    l->total++;
}

static int *at(int *buffer, const struct layout *l, int r)
{
    return buffer + l->displs[r] * stride;
}

static int test_gatherv(int root, int in_place)
{
    struct layout l;
    int *mine, *all, good = 1, r;
    lay_out(&l, 1, root);
    mine = blank(1, length(rank, root), stride);
    all = blank(1, l.total, stride);
    put(mine, length(rank, root), stride, rank, root);
    in_place = in_place && rank == root;
    RUN(mode,
        (erase(all, 1, l.total, stride), in_place ? put(at(all, &l, rank), l.counts[rank], stride, rank, root) : (void)0),
        Gatherv, gatherv, in_place ? MPI_IN_PLACE : mine, length(rank, root), type, rank == root ? all : NULL,
        rank == root ? l.counts : NULL, rank == root ? l.displs : NULL, type, root, MPI_COMM_WORLD);
    for (r = 0; r < size && rank == root; r++)
        good &= holds(at(all, &l, r), l.counts[r], stride, r, root) && all[(l.displs[r] - 1) * stride] == HOLE;
    free(mine);
    free(all);
    return good;
}

static int test_scatterv(int root, int in_place)
{
    struct layout l;
    int *mine, *all, good, r, own = length(root, rank);
    lay_out(&l, 0, root);
    mine = blank(1, own, stride);
    all = blank(1, l.total, stride);
    for (r = 0; r < size; r++)
        put(at(all, &l, r), l.counts[r], stride, root, r);
    in_place = in_place && rank == root;
    RUN(mode, erase(mine, 1, own, stride), Scatterv, scatterv, rank == root ? all : NULL, rank == root ? l.counts : NULL,
        rank == root ? l.displs : NULL, type, in_place ? MPI_IN_PLACE : mine, own, type, root, MPI_COMM_WORLD);
    good = in_place ? untouched(mine, own, stride) : holds(mine, own, stride, root, rank);
    free(mine);
    free(all);
    return good;
}

static int test_allgatherv(int in_place)
{
    struct layout l;
    int *mine, *all, good = 1, r;
    lay_out(&l, 1, 0);
    mine = blank(1, length(rank, 0), stride);
    all = blank(1, l.total, stride);
    put(mine, length(rank, 0), stride, rank, 0);
    RUN(mode,
        (erase(all, 1, l.total, stride), in_place ? put(at(all, &l, rank), l.counts[rank], stride, rank, 0) : (void)0),
        Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : mine, length(rank, 0), type, all, l.counts, l.displs, type,
        MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        good &= holds(at(all, &l, r), l.counts[r], stride, r, 0) && all[(l.displs[r] - 1) * stride] == HOLE;
    free(mine);
    free(all);
    return good;
}

static int test_alltoallv(void)
{
    struct layout to, from;
    int *out, *in, good = 1, r;
    lay_out(&to, 0, rank);
    lay_out(&from, 1, rank);
    out = blank(1, to.total, stride);
    in = blank(1, from.total, stride);
    for (r = 0; r < size; r++)
        put(at(out, &to, r), to.counts[r], stride, rank, r);
    RUN(mode, erase(in, 1, from.total, stride), Alltoallv, alltoallv, out, to.counts, to.displs, type, in, from.counts,
        from.displs, type, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        good &= holds(at(in, &from, r), from.counts[r], stride, r, rank) && in[(from.displs[r] - 1) * stride] == HOLE;
    free(out);
    free(in);
    return good;
}

/* Elements that two ranks exchange in place: the same in both directions. */
static int swapped(int one, int other)
{
    return (one + other) % 4 * unit;
}

static void lay_out_swap(struct layout *l)
{
    int r;
    l->total = 0;
    for (r = 0; r < size; r++) {
        l->counts[r] = swapped(rank, r);
        l->displs[r] = l->total;
        l->total += l->counts[r];
    }
}

static int test_alltoallv_in_place(void)
{
    struct layout l;
    int *all, good = 1, r;
    lay_out_swap(&l);
    all = blank(1, l.total, stride);
    RUN(mode,
        {
            for (r = 0; r < size; r++)
                put(at(all, &l, r), l.counts[r], stride, rank, r);
        },
        Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, l.counts, l.displs, type, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        good &= holds(at(all, &l, r), l.counts[r], stride, r, rank);
    free(all);
    return good;
}

/* Even ranks' blocks are dense, odd ranks' have holes; displacements are in bytes. */
static int test_alltoallw(const struct kind kinds[2], int in_place)
{
    int out_counts[16], in_counts[16], out_at[16], in_at[16], r, good = 1, total_out = 0, total_in = 0;
    MPI_Datatype out_types[16], in_types[16];
    int *out, *in;
    for (r = 0; r < size; r++) {
        out_counts[r] = in_place ? swapped(rank, r) : length(rank, r);
        in_counts[r] = in_place ? swapped(rank, r) : length(r, rank);
        out_at[r] = total_out * (int)sizeof(int);
        in_at[r] = total_in * (int)sizeof(int);
        out_types[r] = kinds[r % 2].type;
        in_types[r] = kinds[(r + 1) % 2].type;
        total_out += out_counts[r] * kinds[r % 2].stride;
        total_in += in_counts[r] * kinds[(r + 1) % 2].stride;
    }
    out = blank(1, total_out, 1);
    in = blank(1, total_in, 1);
    for (r = 0; r < size; r++)
        put(out + out_at[r] / sizeof(int), out_counts[r], kinds[r % 2].stride, rank, r);
    RUN(mode,
        {
            erase(in, 1, total_in, 1);
            for (r = 0; r < size && in_place; r++)
                put(in + in_at[r] / sizeof(int), in_counts[r], kinds[(r + 1) % 2].stride, rank, r);
        },
        Alltoallw, alltoallw, in_place ? MPI_IN_PLACE : out, out_counts, out_at, out_types, in, in_counts, in_at, in_types,
        MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        good &= holds(in + in_at[r] / sizeof(int), in_counts[r], kinds[(r + 1) % 2].stride, r, rank);
    free(out);
    free(in);
    return good;
}

int main(int argc, char **argv)
{
    /* The longer ones make calls of which some blocks go through shared lines and others do not. */
    static const int units[] = {0, 1, 300, 700, 3000, 9000};
    static const char *const calls[] = {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"};
    struct kind kinds[2];
    int good[5], k, u, root, place;
    char name[128];
    start(&argc, &argv);
    make_kinds(kinds);
    for (mode = 0; mode < MODES; mode++) {
        for (k = 0; k < 5; k++)
            good[k] = 1;
        for (u = 0; u < (int)(sizeof units / sizeof units[0]); u++) {
            unit = units[u];
            /* The third time ranks differ in their types. */
            for (k = 0; k < 3; k++) {
                type = kinds[k < 2 ? k : rank % 2].type;
                stride = kinds[k < 2 ? k : rank % 2].stride;
                for (place = 0; place < 2; place++) {
                    for (root = 0; root < size; root++) {
                        TEST(good[0], calls[0], test_gatherv(root, place));
                        TEST(good[1], calls[1], test_scatterv(root, place));
                    }
                    TEST(good[2], calls[2], test_allgatherv(place));
                }
                TEST(good[3], calls[3], test_alltoallv() & test_alltoallv_in_place());
            }
            TEST(good[4], calls[4], test_alltoallw(kinds, 0) & test_alltoallw(kinds, 1));
        }
        for (k = 0; k < 5; k++) {
            if (!wanted(calls[k]))
                continue;
            snprintf(name, sizeof name, "%s, %s, %d ranks", calls[k], mode_names[mode], size);
            verdict(good[k], name);
        }
    }
    MPI_Type_free(&kinds[1].type);
    return finish();
}
