/* Collectives that move data, on intra- and intercommunicators, with own layouts on every rank; blocking, nonblocking,
 * or kept as persistent requests that later steps start again. */
#include "random.h"

enum { BCAST, GATHER, SCATTER, ALLGATHER, ALLTOALL, GATHERV, SCATTERV, ALLGATHERV, ALLTOALLV, ALLTOALLW, MOVES };
enum { KEEP = 6 };

static struct collective *kept[KEEP];
static int kept_used[KEEP];
static const struct family *kept_family[KEEP];

enum mode any_mode(struct stream *s)
{
    int later = may(s, NONBLOCKING, 45), keep = may(s, PERSISTENT, 30);
    return keep ? KEPT : later ? LATER : NOW;
}

static void free_collective(struct collective *c)
{
    if (c->mode == KEPT)
        MPI_Request_free(&c->request);
    if (c->extra)
        free(c->extra);
    free_area(&c->send);
    free_area(&c->recv);
    free(c->send_counts);
    free(c->recv_counts);
    free(c->send_places);
    free(c->recv_places);
    free(c->send_ats);
    free(c->recv_ats);
    free(c->send_types);
    free(c->recv_types);
    free(c);
}

static void collective_end(struct job *job)
{
    struct collective *c = (struct collective *)job;
    struct stream s = local(job->step, 7);
    check_area(&c->recv, c->payload, c, job->step, job->what);
    if (may(&s, SENDS, 30))
        check_area(&c->send, c->payload, c, job->step, job->what);
    if (!c->kept)
        free_collective(c);
}

static void begin(struct collective *c)
{
    fill_area(&c->send, c->payload, c);
    fill_area(&c->recv, c->payload, c);
    MPI_Start(&c->request);
}

static void let_go(int slot, int step)
{
    struct collective *c = kept[slot];
    kept_used[slot] = 0;
    kept[slot] = NULL;
    if (c == NULL)
        return;
    c->kept = 0;
    if (is_pending(&c->job))
        complete_one(&c->job, step);
    else
        free_collective(c);
}

/* All processes make a persistent collective at the same step, so all know which places of the table are taken, even
 * those that are not in its communicator. */
void go(struct collective *c, struct stream *s, int step, const char *what)
{
    struct stream mine = local(step, 6);
    int slot = (int)below(s, KEEP), keep = c->mode == KEPT && chance(s, 70);
    c->job = (struct job){.step = step, .what = what, .requests = &c->request, .end = collective_end};
    c->request = MPI_REQUEST_NULL;
    current_what = what;
    if (c->comm == MPI_COMM_NULL) {
        if (keep)
            let_go(slot, step);
        kept_used[slot] |= keep;
        kept_family[slot] = keep ? c->family : kept_family[slot];
        free(c);
        return;
    }
    place_area(&c->send, &mine);
    place_area(&c->recv, &mine);
    fill_area(&c->send, c->payload, c);
    fill_area(&c->recv, c->payload, c);
    c->call(c);
    c->job.n = c->mode != NOW;
    if (keep) {
        let_go(slot, step);
        kept_used[slot] = 1;
        kept_family[slot] = c->family;
        kept[slot] = c;
        c->kept = 1;
    }
    if (c->payload != reduced && chance(&mine, 60)) {
        forget_types(&c->send);
        forget_types(&c->recv);
    }
    if (c->mode == KEPT)
        begin(c);
    post(&c->job, c->mode == NOW || !may(&mine, DEFER, 70));
}

/* Starts a kept call again, with other data. */
void again(int step)
{
    struct stream s = common(step, 1), mine = local(step, 1);
    int first = (int)below(&s, KEEP), i, drop = chance(&s, 15), slot;
    struct collective *c;
    for (i = 0; i < KEEP; i++)
        if (kept_used[slot = (first + i) % KEEP])
            break;
    if (i == KEEP)
        return;
    if (drop) {
        let_go(slot, step);
        return;
    }
    c = kept[slot];
    if (c == NULL)
        return;
    current_what = c->job.what;
    if (is_pending(&c->job))
        complete_one(&c->job, step);
    c->salt = step;
    c->job.step = step;
    begin(c);
    post(&c->job, !may(&mine, DEFER, 70));
}

void drop_kept(void)
{
    int slot;
    for (slot = 0; slot < KEEP; slot++)
        let_go(slot, current_step);
}

/* Where calls must not outlive the handle of their communicator. */
void drop_kept_of(const struct family *family, int step)
{
    int slot;
    for (slot = 0; slot < KEEP; slot++)
        if (kept_used[slot] && kept_family[slot] == family)
            let_go(slot, step);
}

static void moved(const void *context, uint64_t id, unsigned char *out, size_t bytes)
{
    const struct collective *c = context;
    bytes_of(NULL, mix(id + (uint64_t)c->salt * 1000003), out, bytes);
}

/* The sides of a call: how many processes send to me and get from me, and how blocks are cut. */
struct cut {
    const struct atom *atom;
    uint64_t sizes;
    long atoms, grain;
    int step, vary, symmetric, zero[2];
};

static long atoms_between(const struct cut *cut, int side, int from, int to)
{
    uint64_t h;
    if (cut->zero[side])
        return 0;
    if (!cut->vary)
        return cut->sizes % 2 && side ? cut->atoms / cut->grain / 2 * cut->grain : cut->atoms;
    if (cut->symmetric && from > to) {
        int swap = from;
        from = to;
        to = swap;
    }
    h = mix(cut->sizes + 10007 * from + 101 * to + side);
    return h % 6 == 0 ? 0 : (long)(h / 8 % (cut->atoms / cut->grain + 1)) * cut->grain;
}

static uint64_t id_of(const struct cut *cut, int side, int from, int to)
{
    return hash(cut->step, side * 1000 + from, to, 8);
}

/* `n` equal blocks in a row. */
static struct layout *row(struct area *area, struct stream *s, const struct cut *cut, int n, long atoms, int *count)
{
    struct layout *l = own_layout(area, divide_layout(s, cut->atom, atoms, n));
    int i;
    *count = l->atoms ? (int)(atoms / l->atoms) : 1 + (int)below(s, 3);
    for (i = 0; i < n; i++)
        add_block(area, l, i * *count * l->extent, *count, (size_t)atoms * cut->atom->size);
    return l;
}

/* Blocks of different sizes in any order with gaps between; places are in extents. */
static struct layout *spread(struct area *area, struct stream *s, const struct cut *cut, int n, const long *atoms,
                             int **counts, int **places)
{
    int u = chance(s, 50) ? 1 : divisor(s, cut->grain, 100), order[MAX_EDGES], gaps = chance(s, 50), next = 0, i;
    struct layout *l;
    *counts = get(sizeof(int) * (n + 1));
    *places = get(sizeof(int) * (n + 1));
    for (i = 0; i < n; i++)
        order[i] = i;
    if (chance(s, 50))
        shuffle(s, order, n);
    for (i = 0; i < n; i++) {
        (*counts)[order[i]] = (int)(atoms[order[i]] / u);
        (*places)[order[i]] = next;
        next += (*counts)[order[i]] + (gaps ? (int)below(s, 3) : 0);
    }
    l = own_layout(area, make_layout(s, cut->atom, u, next));
    for (i = 0; i < n; i++)
        add_block(area, l, (*places)[i] * l->extent, (*counts)[i], (size_t)atoms[i] * cut->atom->size);
    return l;
}

/* A layout of its own for every block; places are in bytes. */
static void scatter_types(struct area *area, struct stream *s, const struct cut *cut, int n, const long *atoms,
                          int **counts, MPI_Aint **places, MPI_Datatype **types)
{
    MPI_Aint next = 0;
    int i;
    *counts = get(sizeof(int) * (n + 1));
    *places = get(sizeof(MPI_Aint) * (n + 1));
    *types = get(sizeof(MPI_Datatype) * (n + 1));
    for (i = 0; i < n; i++) {
        struct layout *l = own_layout(area, divide_layout(s, cut->atom, atoms[i], 1));
        long count = l->atoms ? atoms[i] / l->atoms : 1;
        MPI_Aint at = atoms[i] == 0 ? next : (next - l->low + 31) / 16 * 16;
        add_block(area, l, at, count, (size_t)atoms[i] * cut->atom->size);
        (*counts)[i] = (int)count;
        (*places)[i] = at;
        (*types)[i] = l->type;
        if (atoms[i])
            next = at + (count - 1) * l->extent + l->high;
    }
}

static void before(struct area *area, int block, uint64_t id)
{
    area->block[block].has_before = 1;
    area->block[block].before = id;
}

static void after(struct area *area, int block, uint64_t id)
{
    area->block[block].has_after = 1;
    area->block[block].after = id;
}

static void call(struct collective *c)
{
    void *out = c->send_buffer == MPI_IN_PLACE ? MPI_IN_PLACE : c->send.base, *in = c->recv.base;
    int n = c->sends, m = c->receives, root = c->root;
    int *ns = c->send_counts, *ms = c->recv_counts, *to = c->send_places, *from = c->recv_places, i;
    MPI_Datatype a = c->send_type, b = c->recv_type;
    MPI_Comm comm = c->comm;
    int *to_bytes = NULL, *from_bytes = NULL;
    switch (c->kind) {
    case BCAST: CALL(c, Bcast, bcast, in, m, b, root, comm); break;
    case GATHER: CALL(c, Gather, gather, out, n, a, in, m, b, root, comm); break;
    case SCATTER:
        if (c->alone)
            in = MPI_IN_PLACE;
        CALL(c, Scatter, scatter, c->send.base, n, a, in, m, b, root, comm);
        break;
    case ALLGATHER: CALL(c, Allgather, allgather, out, n, a, in, m, b, comm); break;
    case ALLTOALL: CALL(c, Alltoall, alltoall, out, n, a, in, m, b, comm); break;
    case GATHERV: CALL(c, Gatherv, gatherv, out, n, a, in, ms, from, b, root, comm); break;
    case SCATTERV:
        if (c->alone)
            in = MPI_IN_PLACE;
        CALL(c, Scatterv, scatterv, c->send.base, ns, to, a, in, m, b, root, comm);
        break;
    case ALLGATHERV: CALL(c, Allgatherv, allgatherv, out, n, a, in, ms, from, b, comm); break;
    case ALLTOALLV: CALL(c, Alltoallv, alltoallv, out, ns, to, a, in, ms, from, b, comm); break;
    default:
        to_bytes = get(sizeof(int) * (c->send.n + 1));
        from_bytes = get(sizeof(int) * (c->recv.n + 1));
        for (i = 0; i < c->send.n; i++)
            to_bytes[i] = (int)c->send_ats[i];
        for (i = 0; i < c->recv.n; i++)
            from_bytes[i] = (int)c->recv_ats[i];
        CALL(c, Alltoallw, alltoallw, out, ns, to_bytes, c->send_types, in, ms, from_bytes, c->recv_types, comm);
        /* The library may use the arrays until the call is over. */
        free(c->extra);
        free(c->send_places);
        free(c->recv_places);
        c->extra = NULL;
        c->send_places = to_bytes;
        c->recv_places = from_bytes;
    }
}

static const char *const move_names[MOVES] = {"bcast",   "gather",   "scatter",    "allgather", "alltoall",
                                              "gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"};

static void rooted(struct collective *c, const struct family *f, struct stream *mine, struct cut *cut, int root, int root_side,
                   int in_place)
{
    int inter = f->shape == INTERCOMM, me = f->rank, at_root = me == root && (!inter || f->side == root_side);
    int idle = inter && f->side == root_side && !at_root, away = inter ? !root_side : 0, n = f->size[away], i;
    int fan_in = c->kind == GATHER || c->kind == GATHERV, spread_out = c->kind == GATHERV || c->kind == SCATTERV;
    struct area *one = fan_in ? &c->send : &c->recv, *many = fan_in ? &c->recv : &c->send;
    int *one_count = fan_in ? &c->sends : &c->receives, *many_count = fan_in ? &c->receives : &c->sends;
    MPI_Datatype *one_type = fan_in ? &c->send_type : &c->recv_type, *many_type = fan_in ? &c->recv_type : &c->send_type;
    long atoms[MAX_RANKS];
    c->root = !inter ? root : at_root ? MPI_ROOT : idle ? MPI_PROC_NULL : root;
    c->send_type = c->recv_type = MPI_BYTE;
    for (i = 0; i < n; i++)
        atoms[i] = atoms_between(cut, 0, i, 0);
    if (at_root) {
        struct layout *l = !spread_out ? row(many, mine, cut, n, atoms[0], many_count)
                           : fan_in    ? spread(many, mine, cut, n, atoms, &c->recv_counts, &c->recv_places)
                                       : spread(many, mine, cut, n, atoms, &c->send_counts, &c->send_places);
        *many_type = l->type;
        for (i = 0; i < n; i++)
            if (fan_in)
                after(many, i, id_of(cut, 0, i, 0));
            else
                before(many, i, id_of(cut, 0, i, 0));
    }
    if (at_root && in_place && !inter) {
        if (fan_in) {
            c->send_buffer = MPI_IN_PLACE;
            before(many, me, id_of(cut, 0, me, 0));
        } else {
            c->alone = 1;
        }
    } else if (!idle && !(inter && at_root)) {
        *one_type = row(one, mine, cut, 1, atoms[me], one_count)->type;
        if (fan_in)
            before(one, 0, id_of(cut, 0, me, 0));
        else
            after(one, 0, id_of(cut, 0, me, 0));
    }
}

static void from_one(struct collective *c, const struct family *f, struct stream *mine, struct cut *cut, int root, int root_side)
{
    int inter = f->shape == INTERCOMM, at_root = f->rank == root && (!inter || f->side == root_side);
    c->root = !inter ? root : at_root ? MPI_ROOT : f->side == root_side ? MPI_PROC_NULL : root;
    c->recv_type = row(&c->recv, mine, cut, 1, cut->zero[0] ? 0 : cut->atoms, &c->receives)->type;
    if (at_root)
        before(&c->recv, 0, id_of(cut, 0, 0, 0));
    else if (c->root != MPI_PROC_NULL)
        after(&c->recv, 0, id_of(cut, 0, 0, 0));
}

static void all_gather(struct collective *c, const struct family *f, struct stream *mine, struct cut *cut, int in_place)
{
    int there = f->shape == INTERCOMM ? !f->side : 0, n = f->size[there], i;
    long atoms[MAX_RANKS], own;
    for (i = 0; i < n; i++)
        atoms[i] = atoms_between(cut, there, i, 0);
    own = atoms_between(cut, f->side, f->rank, 0);
    c->recv_type = (c->kind == ALLGATHER ? row(&c->recv, mine, cut, n, atoms[0], &c->receives)
                                         : spread(&c->recv, mine, cut, n, atoms, &c->recv_counts, &c->recv_places))->type;
    for (i = 0; i < n; i++)
        after(&c->recv, i, id_of(cut, there, i, 0));
    if (in_place) {
        c->send_buffer = MPI_IN_PLACE;
        c->send_type = MPI_BYTE;
        before(&c->recv, f->rank, id_of(cut, there, f->rank, 0));
    } else {
        c->send_type = row(&c->send, mine, cut, 1, own, &c->sends)->type;
        before(&c->send, 0, id_of(cut, f->side, f->rank, 0));
    }
}

static void all_to_all(struct collective *c, const struct family *f, struct stream *mine, struct cut *cut, int in_place)
{
    int there = f->shape == INTERCOMM ? !f->side : 0, n = f->size[there], i;
    long out[MAX_RANKS], in[MAX_RANKS];
    cut->symmetric = in_place;
    for (i = 0; i < n; i++) {
        out[i] = atoms_between(cut, f->side, f->rank, i);
        in[i] = atoms_between(cut, there, i, f->rank);
    }
    c->send_type = c->recv_type = MPI_BYTE;
    if (c->kind == ALLTOALL)
        c->recv_type = row(&c->recv, mine, cut, n, in[0], &c->receives)->type;
    else if (c->kind == ALLTOALLV)
        c->recv_type = spread(&c->recv, mine, cut, n, in, &c->recv_counts, &c->recv_places)->type;
    else
        scatter_types(&c->recv, mine, cut, n, in, &c->recv_counts, &c->recv_ats, &c->recv_types);
    for (i = 0; i < n; i++)
        after(&c->recv, i, id_of(cut, there, i, f->rank));
    if (in_place) {
        c->send_buffer = MPI_IN_PLACE;
        for (i = 0; i < n; i++)
            before(&c->recv, i, id_of(cut, 0, f->rank, i));
        return;
    }
    if (c->kind == ALLTOALL)
        c->send_type = row(&c->send, mine, cut, n, out[0], &c->sends)->type;
    else if (c->kind == ALLTOALLV)
        c->send_type = spread(&c->send, mine, cut, n, out, &c->send_counts, &c->send_places)->type;
    else
        scatter_types(&c->send, mine, cut, n, out, &c->send_counts, &c->send_ats, &c->send_types);
    for (i = 0; i < n; i++)
        before(&c->send, i, id_of(cut, f->side, f->rank, i));
}

struct collective *new_collective(const struct family *f, enum mode mode, int step)
{
    struct collective *c = get(sizeof *c);
    c->mode = mode;
    c->comm = f->member ? f->comm : MPI_COMM_NULL;
    c->family = f;
    c->salt = step;
    c->payload = moved;
    return c;
}

void move(int step)
{
    struct stream s = common(step, 1), mine = local(step, 1), after_all = common(step, 2);
    struct family *f = choose_family(&s, ~0u);
    enum mode mode = any_mode(&s);
    int kind = (int)below(&s, MOVES), root_side = (int)below(&s, 2), root, in_place = may(&s, IN_PLACE, 30), one_sided;
    struct cut cut = {.step = step};
    struct collective *c;
    if (f == NULL)
        return;
    settle_family(f, step);
    c = new_collective(f, mode, step);
    c->kind = kind;
    c->call = call;
    if (f->member) {
        int inter = f->shape == INTERCOMM;
        long blocks = f->size[0] + f->size[1];
        root = (int)below(&s, f->size[inter ? root_side : 0]);
        if (kind == ALLTOALL || kind == ALLTOALLV || kind == ALLTOALLW)
            blocks *= 2;
        cut.atom = any_atom(&s);
        cut.sizes = draw(&s);
        cut.atoms = any_size(&s, cut.atom, blocks);
        cut.grain = cut.atoms % 4 == 0 ? 4 : cut.atoms % 3 == 0 ? 3 : 1;
        cut.vary = kind >= GATHERV;
        one_sided = chance(&s, 30);
        if (inter && one_sided && kind != BCAST)
            cut.zero[below(&s, 2)] = 1;
        in_place &= !inter;
        if (kind == BCAST)
            from_one(c, f, &mine, &cut, root, root_side);
        else if (kind == GATHER || kind == SCATTER || kind == GATHERV || kind == SCATTERV)
            rooted(c, f, &mine, &cut, root, root_side, in_place);
        else if (kind == ALLGATHER || kind == ALLGATHERV)
            all_gather(c, f, &mine, &cut, in_place);
        else
            all_to_all(c, f, &mine, &cut, in_place);
    }
    go(c, &after_all, step, move_names[kind]);
}

enum { N_ALLGATHER, N_ALLGATHERV, N_ALLTOALL, N_ALLTOALLV, N_ALLTOALLW, N_KINDS };
static const char *const neighbour_names[N_KINDS] = {"neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
                                                     "neighbor_alltoallv", "neighbor_alltoallw"};

static void call_neighbours(struct collective *c)
{
    void *out = c->send.base, *in = c->recv.base;
    int n = c->sends, m = c->receives;
    int *ns = c->send_counts, *ms = c->recv_counts, *to = c->send_places, *from = c->recv_places;
    MPI_Datatype a = c->send_type, b = c->recv_type;
    MPI_Comm comm = c->comm;
    switch (c->kind) {
    case N_ALLGATHER: CALL(c, Neighbor_allgather, neighbor_allgather, out, n, a, in, m, b, comm); break;
    case N_ALLGATHERV: CALL(c, Neighbor_allgatherv, neighbor_allgatherv, out, n, a, in, ms, from, b, comm); break;
    case N_ALLTOALL: CALL(c, Neighbor_alltoall, neighbor_alltoall, out, n, a, in, m, b, comm); break;
    case N_ALLTOALLV: CALL(c, Neighbor_alltoallv, neighbor_alltoallv, out, ns, to, a, in, ms, from, b, comm); break;
    default:
        CALL(c, Neighbor_alltoallw, neighbor_alltoallw, out, ns, c->send_ats, c->send_types, in, ms, c->recv_ats, c->recv_types,
             comm);
    }
}

/* What an edge carries: by its ends, and by its label where there are several between the same two. Nothing comes from
 * or goes to MPI_PROC_NULL. */
static void edges(struct collective *c, const struct family *f, struct stream *mine, struct cut *cut)
{
    int all = c->kind <= N_ALLGATHERV, n = f->out_degree, m = f->in_degree, i;
    long out[MAX_EDGES + 1], in[MAX_EDGES + 1];
    for (i = 0; i < n; i++)
        out[i] = atoms_between(cut, 0, f->rank, 1000 * (f->out[i] + 1) + f->out_label[i]);
    for (i = 0; i < m; i++)
        in[i] = all ? atoms_between(cut, 0, f->in[i], 0)
                    : atoms_between(cut, 0, f->in[i], 1000 * (f->rank + 1) + f->in_label[i]);
    if (all || c->kind == N_ALLTOALL) {
        long own = all ? atoms_between(cut, 0, f->rank, 0) : cut->atoms;
        c->send_type = row(&c->send, mine, cut, all ? 1 : n, own, &c->sends)->type;
    } else if (c->kind == N_ALLTOALLV) {
        c->send_type = spread(&c->send, mine, cut, n, out, &c->send_counts, &c->send_places)->type;
    } else {
        scatter_types(&c->send, mine, cut, n, out, &c->send_counts, &c->send_ats, &c->send_types);
    }
    if (c->kind == N_ALLGATHER || c->kind == N_ALLTOALL)
        c->recv_type = row(&c->recv, mine, cut, m, cut->atoms, &c->receives)->type;
    else if (c->kind == N_ALLTOALLW)
        scatter_types(&c->recv, mine, cut, m, in, &c->recv_counts, &c->recv_ats, &c->recv_types);
    else
        c->recv_type = spread(&c->recv, mine, cut, m, in, &c->recv_counts, &c->recv_places)->type;
    if (all)
        before(&c->send, 0, id_of(cut, 0, f->rank, 0));
    else
        for (i = 0; i < n; i++)
            before(&c->send, i, id_of(cut, 0, f->rank, 1000 * (f->out[i] + 1) + f->out_label[i]));
    for (i = 0; i < m; i++)
        if (f->in[i] != MPI_PROC_NULL)
            after(&c->recv, i, all ? id_of(cut, 0, f->in[i], 0) : id_of(cut, 0, f->in[i], 1000 * (f->rank + 1) + f->in_label[i]));
}

void neighbours(int step)
{
    struct stream s = common(step, 1), mine = local(step, 1), after_all = common(step, 2);
    struct family *f = choose_family(&s, 1u << CART | 1u << GRAPH);
    enum mode mode = any_mode(&s);
    int kind = (int)below(&s, N_KINDS);
    struct cut cut = {.step = step};
    struct collective *c;
    if (f == NULL)
        return;
    settle_family(f, step);
    c = new_collective(f, mode, step);
    c->kind = kind;
    c->call = call_neighbours;
    if (f->member) {
        cut.atom = any_atom(&s);
        cut.sizes = draw(&s);
        cut.atoms = any_size(&s, cut.atom, 4 * f->size[0]);
        cut.grain = cut.atoms % 4 == 0 ? 4 : cut.atoms % 3 == 0 ? 3 : 1;
        cut.vary = kind == N_ALLGATHERV || kind == N_ALLTOALLV || kind == N_ALLTOALLW;
        edges(c, f, &mine, &cut);
    }
    go(c, &after_all, step, neighbour_names[kind]);
}

static void call_barrier(struct collective *c)
{
    CALL(c, Barrier, barrier, c->comm);
}

void barrier(int step)
{
    struct stream s = common(step, 1), after_all = common(step, 2);
    struct family *f = choose_family(&s, ~0u);
    struct collective *c;
    if (f == NULL)
        return;
    settle_family(f, step);
    c = new_collective(f, any_mode(&s), step);
    c->call = call_barrier;
    go(c, &after_all, step, "barrier");
}
