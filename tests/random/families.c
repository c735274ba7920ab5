/* Communicators: made, duplicated, split and freed at random, each with a model of who is in it and who its
 * neighbours are. */
#include "random.h"

struct family families[SLOTS];

enum { PERMANENT = 2 };

struct family *choose_family(struct stream *s, unsigned shapes)
{
    int first = (int)below(s, SLOTS), i;
    for (i = 0; i < SLOTS; i++) {
        struct family *f = &families[(first + i) % SLOTS];
        if (f->used && (shapes >> f->shape & 1) && !(options.no_feature[SELF] && f == &families[1]))
            return f;
    }
    return NULL;
}

static void verify(const struct family *f, int step)
{
    MPI_Group here, all;
    int size, rank, inter, side, ranks[MAX_RANKS], seen[MAX_RANKS], i;
    MPI_Comm_size(f->comm, &size);
    MPI_Comm_rank(f->comm, &rank);
    MPI_Comm_test_inter(f->comm, &inter);
    if (size != f->size[f->side] || rank != f->rank || inter != (f->shape == INTERCOMM))
        wrong(step, "communicator: rank %d of %d, not %d of %d", rank, size, f->rank, f->size[f->side]);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (side = 0; side <= inter; side++) {
        if (side == f->side || !inter)
            MPI_Comm_group(f->comm, &here);
        else
            MPI_Comm_remote_group(f->comm, &here);
        MPI_Group_size(here, &size);
#ifdef MPICH /* 5.0.2: the group of a Cartesian communicator has the ranks that were left out, too */
        if (f->shape == CART)
            size = f->size[side];
#endif
        if (size != f->size[side])
            wrong(step, "communicator: a group of %d, not %d", size, f->size[side]);
        for (i = 0; i < size; i++)
            ranks[i] = i;
        MPI_Group_translate_ranks(here, size, ranks, all, seen);
        for (i = 0; i < size; i++)
            if (seen[i] != f->world[side][i])
                wrong(step, "communicator: process %d is %d of the world, not %d", i, seen[i], f->world[side][i]);
        MPI_Group_free(&here);
    }
    MPI_Group_free(&all);
}

void first_families(void)
{
    int i;
    families[0] = (struct family){.used = 1, .member = 1, .comm = MPI_COMM_WORLD, .rank = world_rank};
    families[0].size[0] = world_size;
    for (i = 0; i < world_size; i++)
        families[0].world[0][i] = i;
    families[1] = (struct family){.used = 1, .member = 1, .comm = MPI_COMM_SELF};
    families[1].size[0] = 1;
    families[1].world[0][0] = world_rank;
    for (i = 0; i < SLOTS; i++)
        families[i].made = MPI_REQUEST_NULL;
}

void settle_family(struct family *f, int step)
{
    if (f->made == MPI_REQUEST_NULL)
        return;
    MPI_Wait(&f->made, MPI_STATUS_IGNORE);
    verify(f, step);
}

static void release(struct family *f, int step)
{
    settle_family(f, step);
    if (options.no_feature[ORPHAN])
        drop_kept_of(f, step);
    if (f->used && f->member)
        MPI_Comm_free(&f->comm);
    f->used = 0;
}

void free_family(int step)
{
    struct stream s = common(step, 1);
    int slot = PERMANENT + (int)below(&s, SLOTS - PERMANENT);
    release(&families[slot], step);
}

void last_families(void)
{
    int i;
    for (i = PERMANENT; i < SLOTS; i++)
        release(&families[i], options.steps);
}

/* Where a world rank stands in a list; -1 if it does not. */
static int find(const int *list, int n, int what)
{
    int i;
    for (i = 0; i < n; i++)
        if (list[i] == what)
            return i;
    return -1;
}

static void place_me(struct family *to)
{
    int side;
    to->member = 0;
    for (side = 0; side < 2; side++) {
        int at = find(to->world[side], to->size[side], world_rank);
        if (at >= 0) {
            to->member = 1;
            to->side = side;
            to->rank = at;
        }
    }
}

static void copy_model(struct family *to, const struct family *from)
{
    MPI_Comm comm = to->comm;
    MPI_Request made = to->made;
    *to = *from;
    to->comm = comm;
    to->made = made;
}

static void duplicate(struct family *to, struct family *from, struct stream *s)
{
    int later = may(s, IDUP, 40);
    if (!from->member)
        return;
    copy_model(to, from);
    if (later && chance(s, 50))
        MPI_Comm_idup(from->comm, &to->comm, &to->made);
    else if (later)
        MPI_Comm_idup_with_info(from->comm, MPI_INFO_NULL, &to->comm, &to->made);
    else if (chance(s, 70))
        MPI_Comm_dup(from->comm, &to->comm);
    else
        MPI_Comm_dup_with_info(from->comm, MPI_INFO_NULL, &to->comm);
}

/* The members of one side with my colour, by key and old rank. */
static void sort_side(struct family *to, const struct family *from, int side, const int *color, const int *key, int mine)
{
    int order[MAX_RANKS], n = 0, i, k;
    for (i = 0; i < from->size[side]; i++) {
        if (color[i] != mine)
            continue;
        for (k = n++; k > 0 && key[order[k - 1]] > key[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (i = 0; i < n; i++)
        to->world[side][i] = from->world[side][order[i]];
    to->size[side] = n;
}

static void split(struct family *to, struct family *from, struct stream *s)
{
    int color[2][MAX_RANKS], key[2][MAX_RANKS], colors = 1 + (int)below(s, 3), side, i, mine;
    /* All ranks are of one node, unless the options exclude NODE. */
    int by_type = chance(s, 15) && !options.no_feature[NODE];
    for (side = 0; side < 2; side++)
        for (i = 0; i < MAX_RANKS; i++) {
            color[side][i] = (int)below(s, colors) * 7;
            if (chance(s, 8))
                color[side][i] = MPI_UNDEFINED;
            key[side][i] = (int)below(s, 5) - 2;
        }
    if (!from->member)
        return;
    to->shape = from->shape == INTERCOMM ? INTERCOMM : INTRA;
    mine = color[from->side][from->rank];
    for (side = 0; side <= (to->shape == INTERCOMM); side++)
        sort_side(to, from, side, color[side], key[side], mine);
    place_me(to);
    if (mine == MPI_UNDEFINED || (to->shape == INTERCOMM && to->size[!from->side] == 0))
        to->member = 0;
    if (by_type && to->shape == INTRA)
        MPI_Comm_split_type(from->comm, mine == MPI_UNDEFINED ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED,
                            key[from->side][from->rank], MPI_INFO_NULL, &to->comm);
    else
        MPI_Comm_split(from->comm, mine, key[from->side][from->rank], &to->comm);
    if (by_type && to->shape == INTRA) {
        for (i = 0; i < from->size[0]; i++)
            color[0][i] = color[0][i] == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
        sort_side(to, from, 0, color[0], key[0], color[0][from->rank]);
        place_me(to);
        to->member = mine != MPI_UNDEFINED;
    }
    if (!to->member && to->comm != MPI_COMM_NULL)
        wrong(current_step, "a split gives a communicator to a process that asked for none");
}

/* By group, on all members or on those of the group alone. */
static void create(struct family *to, struct family *from, struct stream *s)
{
    int picks[2][MAX_RANKS], n[2] = {0, 0}, order[MAX_RANKS], side, i, members_only = chance(s, 50), tag = (int)below(s, 9);
    uint64_t pick = draw(s);
    MPI_Group group, part;
    if (!from->member)
        return;
    to->shape = from->shape == INTERCOMM ? INTERCOMM : INTRA;
    for (side = 0; side < 2; side++) {
        for (i = 0; i < from->size[side]; i++)
            order[i] = i;
        shuffle(s, order, from->size[side]);
        for (i = 0; i < from->size[side]; i++)
            if (mix(pick + side * 100 + i) % 3 || (from->shape == INTERCOMM && i == 0 && n[side] == 0))
                picks[side][n[side]++] = order[i];
        for (i = 0; i < n[side]; i++)
            to->world[side][i] = from->world[side][picks[side][i]];
        to->size[side] = n[side];
    }
    place_me(to);
    if (to->shape == INTERCOMM && n[0] * n[1] == 0)
        to->member = 0;
    MPI_Comm_group(from->comm, &group);
    MPI_Group_incl(group, n[from->side], picks[from->side], &part);
    if (!members_only || from->shape == INTERCOMM)
        MPI_Comm_create(from->comm, part, &to->comm);
    else if (to->member)
        MPI_Comm_create_group(from->comm, part, tag, &to->comm);
    MPI_Group_free(&part);
    MPI_Group_free(&group);
}

static void cart_neighbours(struct family *f)
{
    int d, up, at[3] = {0, 0, 0}, rest = f->rank;
    for (d = f->dimensions - 1; d >= 0; d--) {
        at[d] = rest % f->dims[d];
        rest /= f->dims[d];
    }
    f->in_degree = f->out_degree = 2 * f->dimensions;
    for (d = 0; d < f->dimensions; d++)
        for (up = 0; up < 2; up++) {
            int there = at[d] + (up ? 1 : -1), rank = 0, k;
            for (k = 0; k < f->dimensions; k++)
                rank = rank * f->dims[k] + (k == d ? (there + f->dims[d]) % f->dims[d] : at[k]);
            if (!f->periods[d] && (there < 0 || there >= f->dims[d]))
                rank = MPI_PROC_NULL;
            f->in[2 * d + up] = f->out[2 * d + up] = rank;
            f->out_label[2 * d + up] = 2 * d + up;
            f->in_label[2 * d + up] = 2 * d + !up;
        }
}

static void cartesian(struct family *to, struct family *from, struct stream *s)
{
    int d, n = 1, left = from->size[0];
    to->shape = CART;
    to->dimensions = 1 + (int)below(s, 3);
    for (d = 0; d < to->dimensions; d++)
        to->periods[d] = chance(s, 50);
    if (!from->member)
        return;
    for (d = 0; d < to->dimensions; d++) {
        to->dims[d] = 1 + (int)below(s, left < 4 ? left : 4);
        if (d == 0 && chance(s, 50))
            to->dims[d] = left;
        n *= to->dims[d];
        left /= to->dims[d];
        to->periods[d] &= to->dims[d] > 2 || !options.no_feature[FOLDED];
    }
    memcpy(to->world[0], from->world[0], sizeof to->world[0]);
    to->size[0] = n;
    place_me(to);
    MPI_Cart_create(from->comm, to->dimensions, to->dims, to->periods, 0, &to->comm);
    if (to->member)
        cart_neighbours(to);
}

static void part_of_cart(struct family *to, struct family *from, struct stream *s)
{
    int keep[3], d, i, k = 0;
    for (d = 0; d < 3; d++)
        keep[d] = chance(s, 60);
    to->shape = CART;
    if (!from->member)
        return;
    for (d = 0; d < from->dimensions; d++)
        if (keep[d]) {
            to->dims[k] = from->dims[d];
            to->periods[k++] = from->periods[d];
        }
    to->dimensions = k;
    for (i = 0; i < from->size[0]; i++) {
        int mine = from->rank, other = i, same = 1;
        for (d = from->dimensions - 1; d >= 0; d--) {
            same &= keep[d] || mine % from->dims[d] == other % from->dims[d];
            mine /= from->dims[d];
            other /= from->dims[d];
        }
        if (same)
            to->world[0][to->size[0]++] = from->world[0][i];
    }
    place_me(to);
    MPI_Cart_sub(from->comm, keep, &to->comm);
    cart_neighbours(to);
}

/* Edges at random, also loops and several between the same two. The i-th from a to b leaves a as i-th to b and
 * comes to b as i-th from a. */
static void graph(struct family *to, struct family *from, struct stream *s)
{
    int edges, n = from->size[0], e, a[MAX_EDGES], b[MAX_EDGES], order[MAX_EDGES], adjacent = chance(s, 60), i, dense = (int)below(s, 4);
    uint64_t how = draw(s);
    to->shape = GRAPH;
    if (!from->member)
        return;
    edges = (int)below(s, dense * n + 2);
    edges = edges > MAX_EDGES ? MAX_EDGES : edges;
    for (e = 0; e < edges; e++) {
        a[e] = (int)below(s, n);
        b[e] = (int)below(s, n);
        order[e] = e;
    }
    memcpy(to->world[0], from->world[0], sizeof to->world[0]);
    to->size[0] = n;
    place_me(to);
    for (e = 0; e < edges; e++)
        if (a[e] == to->rank)
            to->out[to->out_degree++] = b[e];
    shuffle(s, order, edges);
    for (e = 0; e < edges; e++)
        if (b[order[e]] == to->rank)
            to->in[to->in_degree++] = a[order[e]];
    if (adjacent) {
        int weights[MAX_EDGES] = {0};
        MPI_Dist_graph_create_adjacent(from->comm, to->in_degree, to->in, how % 2 ? MPI_UNWEIGHTED : weights,
                                       to->out_degree, to->out, how % 2 ? MPI_UNWEIGHTED : weights, MPI_INFO_NULL, 0,
                                       &to->comm);
    } else {
        /* Any rank may name an edge; in which order neighbours come is the library's choice. */
        int sources[MAX_EDGES], degrees[MAX_EDGES], targets[MAX_EDGES], mine = 0, in_degree, out_degree, weighted, sum = 0;
        for (e = 0; e < edges; e++)
            if ((int)(mix(how + e) % n) == to->rank) {
                sources[mine] = a[e];
                targets[mine] = b[e];
                degrees[mine++] = 1;
            }
        MPI_Dist_graph_create(from->comm, mine, sources, degrees, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &to->comm);
        MPI_Dist_graph_neighbors_count(to->comm, &in_degree, &out_degree, &weighted);
        if (in_degree != to->in_degree || out_degree != to->out_degree || weighted)
            wrong(current_step, "graph: %d and %d neighbours, not %d and %d", in_degree, out_degree, to->in_degree, to->out_degree);
        for (i = 0; i < in_degree; i++)
            sum += 1 << to->in[i] % 16;
        for (i = 0; i < out_degree; i++)
            sum += 3 << to->out[i] % 16;
        MPI_Dist_graph_neighbors(to->comm, in_degree, to->in, MPI_UNWEIGHTED, out_degree, to->out, MPI_UNWEIGHTED);
        for (i = 0; i < in_degree; i++)
            sum -= 1 << to->in[i] % 16;
        for (i = 0; i < out_degree; i++)
            sum -= 3 << to->out[i] % 16;
        if (sum)
            wrong(current_step, "graph: other neighbours than those given");
    }
    for (e = 0; e < to->in_degree; e++)
        for (i = 0, to->in_label[e] = 0; i < e; i++)
            to->in_label[e] += to->in[i] == to->in[e];
    for (e = 0; e < to->out_degree; e++)
        for (i = 0, to->out_label[e] = 0; i < e; i++)
            to->out_label[e] += to->out[i] == to->out[e];
}

static void intercomm(struct family *to, struct family *from, struct stream *s)
{
    int side[MAX_RANKS], leader[2] = {-1, -1}, i, tag = (int)below(s, 100);
    MPI_Comm half;
    to->shape = INTERCOMM;
    for (i = 0; i < MAX_RANKS; i++)
        side[i] = (int)below(s, 2);
    if (!from->member || from->size[0] < 2)
        return;
    side[0] = !side[1];
    for (i = 0; i < from->size[0]; i++) {
        to->world[side[i]][to->size[side[i]]++] = from->world[0][i];
        if (leader[side[i]] < 0)
            leader[side[i]] = i;
    }
    place_me(to);
    MPI_Comm_split(from->comm, to->side, 0, &half);
    MPI_Intercomm_create(half, 0, from->comm, leader[!to->side], tag, &to->comm);
    MPI_Comm_free(&half);
}

static void merge(struct family *to, struct family *from, struct stream *s)
{
    int high = (int)below(s, 2), side;
    to->shape = INTRA;
    if (!from->member)
        return;
    for (side = 0; side < 2; side++) {
        int of = side ? !high : high;
        memcpy(to->world[0] + to->size[0], from->world[of], sizeof(int) * from->size[of]);
        to->size[0] += from->size[of];
    }
    place_me(to);
    MPI_Intercomm_merge(from->comm, from->side != high, &to->comm);
}

void make_family(int step)
{
    struct stream s = common(step, 1);
    int slot = PERMANENT + (int)below(&s, SLOTS - PERMANENT), which = (int)below(&s, 100);
    int topology = may(&s, TOPOLOGY, 100), inter = may(&s, INTER, 100);
    struct family *to = &families[slot], *from = choose_family(&s, ~0u);
    release(to, step);
    if (from == to || from == NULL)
        from = &families[0];
    settle_family(from, step);
    *to = (struct family){.used = 1, .shape = from->shape, .comm = MPI_COMM_NULL, .made = MPI_REQUEST_NULL};
    if (which < 20) {
        current_what = "duplicate";
        duplicate(to, from, &s);
    } else if (from->shape == INTERCOMM) {
        current_what = "from intercommunicator";
        if (which < 50) {
            split(to, from, &s);
        } else if (which < 65) {
            create(to, from, &s);
        } else {
            to->shape = INTRA;
            merge(to, from, &s);
        }
    } else if (which < 30 && from->shape == CART) {
        current_what = "cart_sub";
        part_of_cart(to, from, &s);
    } else if (which < 50 && topology) {
        current_what = "cart_create";
        cartesian(to, from, &s);
    } else if (which < 70 && topology) {
        current_what = "dist_graph_create";
        graph(to, from, &s);
    } else if (which < 80 && inter) {
        current_what = "intercomm_create";
        intercomm(to, from, &s);
    } else if (which < 90) {
        current_what = "split";
        to->shape = INTRA;
        split(to, from, &s);
    } else {
        current_what = "create";
        to->shape = INTRA;
        create(to, from, &s);
    }
    if (to->member && to->made == MPI_REQUEST_NULL)
        verify(to, step);
}
