/* Neighbourhood collectives of processes that describe their data differently: pairs of a grid, and random graphs with edges
 * to oneself, several edges between two processes, blocks without data, and other collectives in between.
 *
 * usage: neighbours [GRAPHS [SEED]] */
#include "collectives.h"

enum { MOST_EDGES = 40, MOST = 6000, CALLS = 6 };

/* The same sequence on all ranks. */
static unsigned long long state;

static int below(int n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((state >> 33) % (unsigned)n);
}

/* The grid's rows and columns are communicators of two processes, some of them with a type of their own on one rank only. */
static int pairs(const struct kind kinds[2])
{
    int dims[2] = {0, 2}, periods[2] = {1, 1}, remain[2] = {0, 1}, good = 1, call, me, n, out[8], all[8], derived;
    MPI_Comm grid, pair;
    MPI_Datatype type;
    dims[0] = size / 2;
    if (size < 2)
        return 1;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    if (grid == MPI_COMM_NULL)
        return 1;
    MPI_Cart_sub(grid, remain, &pair);
    MPI_Comm_rank(pair, &me);
    for (call = 0; call < 20; call++) {
        n = 1 + call % 2;
        derived = me == call / 4 % 2;
        type = kinds[derived].type;
        erase(out, 2, n, kinds[derived].stride);
        erase(all, 2, n, kinds[derived].stride);
        put(out, n, kinds[derived].stride, me, call);
        put(out + n * kinds[derived].stride, n, kinds[derived].stride, me, call + 1);
        MPI_Neighbor_alltoall(out, n, type, all, n, type, pair);
        good &= holds(all, n, kinds[derived].stride, 1 - me, call + 1);
        good &= holds(all + n * kinds[derived].stride, n, kinds[derived].stride, 1 - me, call);
        MPI_Neighbor_allgather(out, n, type, all, n, type, pair);
        good &= holds(all, n, kinds[derived].stride, 1 - me, call);
        if (call == 10)
            MPI_Barrier(pair);
    }
    MPI_Comm_free(&pair);
    MPI_Comm_free(&grid);
    return good;
}

/* An edge, with its length in each call. */
struct edge {
    int from, to;
    int counts[CALLS];
};

/* The own edges, in the order in which the process lists them, and what it states about each. */
struct side {
    int n, edges[MOST_EDGES], ranks[MOST_EDGES], counts[MOST_EDGES], places[MOST_EDGES];
    MPI_Aint at[MOST_EDGES];
    MPI_Datatype types[MOST_EDGES];
};

/* Takes edge `e` into a random place; edges between the same two processes stay in order. */
static void take(struct side *side, const struct edge *edges, int e, int other, int incoming, int place)
{
    int i, last = -1;
    for (i = 0; i < side->n; i++)
        if ((incoming ? edges[side->edges[i]].from : edges[side->edges[i]].to) == other)
            last = i;
    place = last + 1 + place % (side->n - last);
    for (i = side->n++; i > place; i--) {
        side->edges[i] = side->edges[i - 1];
        side->ranks[i] = side->ranks[i - 1];
    }
    side->edges[place] = e;
    side->ranks[place] = other;
}

/* Lays the blocks of a call out, of `n` elements each or of the edges' own numbers; how many elements there are. */
static int lay_out(struct side *side, const struct edge *edges, int call, const struct kind *kind, int n)
{
    int i, at = 0;
    for (i = 0; i < side->n; i++) {
        side->counts[i] = n >= 0 ? n : edges[side->edges[i]].counts[call];
        side->places[i] = at;
        side->at[i] = at * kind->stride * (MPI_Aint)sizeof(int);
        side->types[i] = kind->type;
        at += side->counts[i];
    }
    return at;
}

static int correct(const int *all, const struct side *in, const struct edge *edges, int stride, int call, int own)
{
    int i, good = 1;
    for (i = 0; i < in->n; i++)
        good &= holds(all + in->places[i] * stride, in->counts[i], stride, own ? in->edges[i] : edges[in->edges[i]].from, call);
    return good;
}

/* One graph and some calls on it. */
static int graph(const struct kind kinds[2], int *out, int *all)
{
    static const int lengths[] = {0, 1, 3, 60, 1023, 1024, 1025, MOST};
    struct edge edges[MOST_EDGES];
    struct side from = {0}, to = {0};
    int n = below(MOST_EDGES + 1), e, c, i, good = 1, call;
    MPI_Comm comm;
    for (e = 0; e < n; e++) {
        int place[2];
        edges[e].from = below(size);
        edges[e].to = below(4) ? below(size) : edges[e].from;
        for (c = 0; c < CALLS; c++)
            edges[e].counts[c] = lengths[below(3) ? below(4) : below(8)];
        place[0] = below(1000);
        place[1] = below(1000);
        if (edges[e].to == rank)
            take(&from, edges, e, edges[e].from, 1, place[0]);
        if (edges[e].from == rank)
            take(&to, edges, e, edges[e].to, 0, place[1]);
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, from.n, from.ranks, MPI_UNWEIGHTED, to.n, to.ranks, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    for (call = 0; call < CALLS; call++) {
        int what = below(5), mode = below(4) ? BLOCKING : below(MODES), equal = lengths[below(3) ? below(4) : below(7)];
        int derived = below(1 << 20) >> rank & 1, other = below(1 << 20) >> rank & 1, extra = below(6);
        const struct kind *given = &kinds[derived], *wanted = &kinds[other];
        int given_count = lay_out(&to, edges, call, given, what < 3 ? equal : -1);
        int wanted_count = lay_out(&from, edges, call, wanted, what < 3 ? equal : -1);
        erase(out, 1, given_count + equal, given->stride);
        for (i = 0; i < to.n; i++)
            put(out + to.places[i] * given->stride, to.counts[i], given->stride, what < 2 ? rank : to.edges[i], call);
        if (what < 2)
            put(out, equal, given->stride, rank, call);
#define BLANK erase(all, 1, wanted_count, wanted->stride)
        switch (what) {
        case 0:
            RUN(mode, BLANK, Neighbor_allgather, neighbor_allgather, out, equal, given->type, all, equal, wanted->type, comm);
            break;
        case 1:
            RUN(mode, BLANK, Neighbor_allgatherv, neighbor_allgatherv, out, equal, given->type, all, from.counts, from.places,
                wanted->type, comm);
            break;
        case 2:
            RUN(mode, BLANK, Neighbor_alltoall, neighbor_alltoall, out, equal, given->type, all, equal, wanted->type, comm);
            break;
        case 3:
            RUN(mode, BLANK, Neighbor_alltoallv, neighbor_alltoallv, out, to.counts, to.places, given->type, all, from.counts,
                from.places, wanted->type, comm);
            break;
        default:
            RUN(mode, BLANK, Neighbor_alltoallw, neighbor_alltoallw, out, to.counts, to.at, to.types, all, from.counts, from.at,
                from.types, comm);
        }
        good &= correct(all, &from, edges, wanted->stride, call, what > 1);
        if (extra == 0)
            MPI_Barrier(comm);
        if (extra == 1) {
            int sum, one = 1;
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            good &= sum == size;
        }
    }
    MPI_Comm_free(&comm);
    return good;
}

int main(int argc, char **argv)
{
    struct kind kinds[2];
    int graphs = argc > 1 ? atoi(argv[1]) : 60, good = 1, g, *out, *all;
    start(&argc, &argv);
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    make_kinds(kinds);
    verdict(pairs(kinds), "pairs of a grid, of which one describes its data with a type");
    out = malloc(sizeof(int) * 2 * (MOST_EDGES + 1) * MOST);
    all = malloc(sizeof(int) * 2 * MOST_EDGES * MOST);
    for (g = 0; g < graphs && good; g++)
        if (!(good = graph(kinds, out, all)))
            fprintf(stderr, "rank %d: graph %d is wrong\n", rank, g);
    verdict(good, "random graphs");
    free(out);
    free(all);
    MPI_Type_free(&kinds[1].type);
    return finish();
}
