/* Collectives between two groups (inter-communicators) and among neighbours of a topology. */
#include "collectives.h"

static int mode, count;

/* The even ranks on one side, the odd ones on the other. */
static MPI_Comm inter;
static int local_rank, local_size, remote_size;

/* World rank of a rank of the other group. */
static int remote_world(int r) { return 2 * r + (rank % 2 == 0); }

static void open_inter(void)
{
    MPI_Comm local;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank % 2 == 0, 3, &inter);
    MPI_Comm_free(&local);
    MPI_Comm_rank(inter, &local_rank);
    MPI_Comm_size(inter, &local_size);
    MPI_Comm_remote_size(inter, &remote_size);
}

/* The root argument of this process when `root` of the even (0) or odd (1) side is the root. */
static int root_argument(int side, int root)
{
    if (rank % 2 != side)
        return root;
    return local_rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static int test_rooted(int side, int root)
{
    int argument = root_argument(side, root), at_root = argument == MPI_ROOT, other = rank % 2 != side, good = 1, r, i;
    int *one = blank(1, count, 1), *all = blank(size, count, 1), root_world = 2 * root + side;

    RUN(mode, (erase(one, 1, count, 1), at_root ? put(one, count, 1, rank, 0) : (void)0), Bcast, bcast, one, count, MPI_INT,
        argument, inter);
    good &= other || at_root ? holds(one, count, 1, root_world, 0) : untouched(one, count, 1);

    put(one, count, 1, rank, 0);
    RUN(mode, erase(all, size, count, 1), Gather, gather, one, count, MPI_INT, all, count, MPI_INT, argument, inter);
    for (r = 0; r < remote_size && at_root; r++)
        good &= holds(all + r * count, count, 1, remote_world(r), 0);
    good &= at_root || untouched(all, size * count, 1);

    for (r = 0; r < size; r++)
        put(all + r * count, count, 1, rank, r);
    RUN(mode, erase(one, 1, count, 1), Scatter, scatter, all, count, MPI_INT, one, count, MPI_INT, argument, inter);
    good &= other ? holds(one, count, 1, root_world, local_rank) : untouched(one, count, 1);

    put(one, count, 1, rank, 0);
    RUN(mode, erase(all, 1, count, 1), Reduce, reduce, one, all, count, MPI_INT, MPI_MAX, argument, inter);
    for (i = 0; i < count && at_root; i++)
        good &= all[i] == value(remote_world(remote_size - 1), 0, i);
    free(one);
    free(all);
    return good;
}

static int test_unrooted(void)
{
    int good = 1, r, i, parts[16], total = local_size * remote_size * count;
    int *one = blank(1, count, 1), *all = blank(size, count, 1), *out = blank(size, count, 1), *long_one, sum;
    put(one, count, 1, rank, 0);
    RUN(mode, erase(all, size, count, 1), Allgather, allgather, one, count, MPI_INT, all, count, MPI_INT, inter);
    for (r = 0; r < remote_size; r++)
        good &= holds(all + r * count, count, 1, remote_world(r), 0);

    for (r = 0; r < remote_size; r++)
        put(out + r * count, count, 1, local_rank, r);
    RUN(mode, erase(all, size, count, 1), Alltoall, alltoall, out, count, MPI_INT, all, count, MPI_INT, inter);
    for (r = 0; r < remote_size; r++)
        good &= holds(all + r * count, count, 1, r, local_rank);

    RUN(mode, erase(all, 1, count, 1), Allreduce, allreduce, one, all, count, MPI_INT, MPI_MAX, inter);
    for (i = 0; i < count; i++)
        good &= all[i] == value(remote_world(remote_size - 1), 0, i);

    /* Both groups' vectors have local_size * remote_size * count elements. */
    long_one = blank(1, total, 1);
    for (i = 0; i < total; i++)
        long_one[i] = i + rank;
    for (sum = 0, r = 0; r < remote_size; r++)
        sum += remote_world(r);
    RUN(mode, erase(all, 1, remote_size * count, 1), Reduce_scatter_block, reduce_scatter_block, long_one, all,
        remote_size * count, MPI_INT, MPI_SUM, inter);
    for (i = 0; i < remote_size * count; i++)
        good &= all[i] == remote_size * (local_rank * remote_size * count + i) + sum;
    for (r = 0; r < local_size; r++)
        parts[r] = remote_size * count;
    RUN(mode, erase(all, 1, remote_size * count, 1), Reduce_scatter, reduce_scatter, long_one, all, parts, MPI_INT, MPI_SUM,
        inter);
    for (i = 0; i < remote_size * count; i++)
        good &= all[i] == remote_size * (local_rank * remote_size * count + i) + sum;

    RUN(mode, (void)0, Barrier, barrier, inter);
    free(one);
    free(all);
    free(out);
    free(long_one);
    return good;
}

/* A group that has nothing for the other passes no elements, or elements of no bytes. */
static int test_nothing(int side, int which)
{
    int good = 1, r, gives = rank % 2 != side, empty = local_rank % 2 == which;
    int *one = blank(1, count, 1), *all = blank(size, count, 1);
    MPI_Datatype none;
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    put(one, count, 1, rank, 0);
    RUN(mode, erase(all, size, count, 1), Allgather, allgather, one, gives ? count : empty ? 5 : 0,
        !gives && empty ? none : MPI_INT, all, gives ? 0 : count, MPI_INT, inter);
    for (r = 0; r < remote_size && !gives; r++)
        good &= holds(all + r * count, count, 1, remote_world(r), 0);
    good &= !gives || untouched(all, size * count, 1);
    RUN(mode, erase(all, size, count, 1), Alltoall, alltoall, one, gives ? 0 : empty ? 5 : 0,
        !gives && empty ? none : MPI_INT, all, 0, MPI_INT, inter);
    good &= untouched(all, size * count, 1);
    MPI_Type_free(&none);
    free(one);
    free(all);
    return good;
}

/* A ring in one dimension of a grid, and a grid dimension of one process: both neighbours are the process itself. */
static int test_cartesian(void)
{
    int dims[2], periods[2] = {1, 1}, good = 1, source, destination, d, *one, *all, *out, up, down;
    MPI_Comm grid;
    dims[0] = size;
    dims[1] = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    one = blank(1, count, 1);
    out = blank(4, count, 1);
    all = blank(4, count, 1);
    put(one, count, 1, rank, 0);
    RUN(mode, erase(all, 4, count, 1), Neighbor_allgather, neighbor_allgather, one, count, MPI_INT, all, count, MPI_INT, grid);
    for (d = 0; d < 2; d++) {
        MPI_Cart_shift(grid, d, 1, &down, &up);
        good &= holds(all + 2 * d * count, count, 1, down, 0) && holds(all + (2 * d + 1) * count, count, 1, up, 0);
    }
    for (d = 0; d < 4; d++)
        put(out + d * count, count, 1, rank, d);
    RUN(mode, erase(all, 4, count, 1), Neighbor_alltoall, neighbor_alltoall, out, count, MPI_INT, all, count, MPI_INT, grid);
    for (d = 0; d < 4; d++) {
        /* What comes from one direction was sent in the opposite one. */
        MPI_Cart_shift(grid, d / 2, d % 2 ? 1 : -1, &destination, &source);
        good &= holds(all + d * count, count, 1, source, d ^ 1);
    }
    MPI_Comm_free(&grid);
    free(one);
    free(out);
    free(all);
    return good;
}

/* Every rank sends to all ranks above it, blocks of different sizes and types. */
static int test_graph(const struct kind kinds[2])
{
    int above[16], below[16], n_above = size - 1 - rank, n_below = rank, good = 1, r, *one, *all, *out;
    int counts[16], displs[16], out_counts[16], out_displs[16];
    MPI_Aint at[16], out_at[16];
    MPI_Datatype types[16], out_types[16];
    MPI_Comm graph;
    for (r = 0; r < n_above; r++) {
        above[r] = size - 1 - r;
        out_counts[r] = count + r;
        out_displs[r] = r * (count + size);
        out_at[r] = out_displs[r] * (MPI_Aint)sizeof(int);
        out_types[r] = MPI_INT;
    }
    for (r = 0; r < n_below; r++) {
        below[r] = r;
        counts[r] = count;
        displs[r] = r * (count + size);
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_below, below, MPI_UNWEIGHTED, n_above, above, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    one = blank(1, count, 1);
    all = blank(size, 2 * (count + size), 1);
    out = blank(size, count + size, 1);
    put(one, count, 1, rank, 0);
    RUN(mode, erase(all, size, count + size, 1), Neighbor_allgatherv, neighbor_allgatherv, one, count, MPI_INT, all, counts,
        displs, MPI_INT, graph);
    for (r = 0; r < n_below; r++)
        good &= holds(all + displs[r], count, 1, r, 0) && all[displs[r] + count] == HOLE;

    for (r = 0; r < n_above; r++)
        put(out + out_displs[r], out_counts[r], 1, rank, above[r]);
    for (r = 0; r < n_below; r++)
        counts[r] = count + size - 1 - rank;
    RUN(mode, erase(all, size, count + size, 1), Neighbor_alltoallv, neighbor_alltoallv, out, out_counts, out_displs, MPI_INT,
        all, counts, displs, MPI_INT, graph);
    for (r = 0; r < n_below; r++)
        good &= holds(all + displs[r], counts[r], 1, r, rank);

    for (r = 0; r < n_below; r++) {
        types[r] = kinds[1].type;
        at[r] = 2 * displs[r] * (MPI_Aint)sizeof(int);
    }
    RUN(mode, erase(all, size, 2 * (count + size), 1), Neighbor_alltoallw, neighbor_alltoallw, out, out_counts, out_at,
        out_types, all, counts, at, types, graph);
    for (r = 0; r < n_below; r++)
        good &= holds(all + 2 * displs[r], counts[r], 2, r, rank);
    MPI_Comm_free(&graph);
    free(one);
    free(all);
    free(out);
    return good;
}

/* A ring in which each rank describes its data in its own way, call after call, with blocks around the length from which
 * messages are offered first; with two ranks both neighbours are one process. */
static int test_ways(void)
{
    static const int lengths[] = {1, 7, 1023, 1024, 1025, 1, 5000, 0, 3};
    int periodic = 1, good = 1, call, up, down, most = 5000, *out = blank(2, most, 1), *all = blank(2, most, 1);
    MPI_Comm ring;
    MPI_Datatype one;
    MPI_Type_contiguous(1, MPI_INT, &one);
    MPI_Type_commit(&one);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &down, &up);
    for (call = 0; call < 300; call++) {
        int n = lengths[call % 9], counts[2] = {n, n}, displs[2] = {n, 0};
        MPI_Datatype type = (call + rank) % 3 ? MPI_INT : one;
        put(out, n, 1, rank, call);
        put(out + n, n, 1, rank, call + 1);
        erase(all, 2, n, 1);
        if (call % 2) {
            MPI_Neighbor_alltoall(out, n, type, all, n, type, ring);
            good &= holds(all, n, 1, down, call + 1) && holds(all + n, n, 1, up, call);
        } else {
            MPI_Neighbor_alltoallv(out, counts, displs, type, all, counts, displs, type, ring);
            good &= holds(all + n, n, 1, down, call) && holds(all, n, 1, up, call + 1);
        }
    }
    MPI_Comm_free(&ring);
    MPI_Type_free(&one);
    free(out);
    free(all);
    return good;
}

int main(int argc, char **argv)
{
    static const int counts[] = {0, 1, 500, 20000};
    struct kind kinds[2];
    int good[4], c, k, side, root;
    char name[128];
    static const char *const what[] = {"rooted collectives between groups", "collectives between groups",
                                       "neighbours in a grid", "neighbours in a graph"};
    start(&argc, &argv);
    make_kinds(kinds);
    if (size > 1)
        open_inter();
    for (mode = 0; mode < MODES; mode++) {
        for (k = 0; k < 4; k++)
            good[k] = 1;
        for (c = 0; c < 4; c++) {
            count = counts[c];
            for (side = 0; side < 2 && size > 1; side++)
                for (root = 0; root < (size + 1 - side) / 2; root++)
                    good[0] &= test_rooted(side, root);
            if (size > 1)
                good[1] &= test_unrooted() && test_nothing(0, 0) && test_nothing(1, 1) && test_nothing(0, 1) && test_nothing(1, 0);
            good[2] &= test_cartesian();
            good[3] &= test_graph(kinds);
        }
        for (k = size > 1 ? 0 : 2; k < 4; k++) {
            snprintf(name, sizeof name, "%s, %s, %d ranks", what[k], mode_names[mode], size);
            verdict(good[k], name);
        }
    }
    verdict(test_ways(), "neighbours that describe their data differently");
    if (size > 1)
        MPI_Comm_free(&inter);
    MPI_Type_free(&kinds[1].type);
    return finish();
}
