/* Reductions with predefined and own operations. Numbers are chosen so that results are exact: unsigned integers wrap,
 * floating-point numbers are small integers. What each process gives is known to all, which compute results alone. */
#include "random.h"

enum { REDUCE_ONE, ALLREDUCE, REDUCE_SCATTER_BLOCK, REDUCE_SCATTER, SCAN, EXSCAN, REDUCTIONS };
enum number { U8, U16, U32, U64, I32, F64, F32, PAIR, AFFINE, NUMBERS };

static const char *const reduction_names[REDUCTIONS] = {"reduce",         "allreduce", "reduce_scatter_block",
                                                        "reduce_scatter", "scan",      "exscan"};

/* What is reduced, and over whom. */
struct reduction {
    enum number number;
    int which, size, step;
    size_t bytes;
};

/* A block's id names the elements that it holds, and the contribution or result that they are of. */
enum { GIVEN = 0, ALL = 1, UP_TO = 2 };

static uint64_t block_id(int what, int side, int rank, long first)
{
    return (uint64_t)first << 20 | what << 16 | side << 12 | rank;
}

struct affine {
    uint32_t a, b;
};

static MPI_Op user_sum, user_affine;

/* x -> a x + b, one after the other: associative and not commutative. */
static struct affine then(struct affine first, struct affine second)
{
    return (struct affine){first.a * second.a, second.a * first.b + second.b};
}

static void call_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int i;
    (void)type;
    for (i = 0; i < *n; i++)
        ((uint32_t *)inout)[i] += ((const uint32_t *)in)[i];
}

/* The second number follows the first at a distance that the extent gives. */
static void call_affine(void *in, void *inout, int *n, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    int i, second;
    MPI_Type_get_extent(*type, &lb, &extent);
    second = extent == 20 ? 12 : 4;
    for (i = 0; i < *n; i++) {
        unsigned char *x = (unsigned char *)in + i * extent, *y = (unsigned char *)inout + i * extent;
        struct affine p, q;
        memcpy(&p.a, x, 4);
        memcpy(&p.b, x + second, 4);
        memcpy(&q.a, y, 4);
        memcpy(&q.b, y + second, 4);
        p = then(p, q);
        memcpy(y, &p.a, 4);
        memcpy(y + second, &p.b, 4);
    }
}

static MPI_Datatype type_of(enum number number)
{
    switch (number) {
    case U8: return MPI_UINT8_T;
    case U16: return MPI_UINT16_T;
    case U32: return MPI_UINT32_T;
    case U64: return MPI_UINT64_T;
    case I32: return MPI_INT;
    case F64: return MPI_DOUBLE;
    case F32: return MPI_FLOAT;
    case PAIR: return MPI_2INT;
    default: return MPI_UINT32_T;
    }
}

enum { SUM, PROD, MAX, MIN, BAND, BOR, BXOR, LAND, LOR, LXOR, OWN, MAXLOC, MINLOC, CHAIN };

static MPI_Op op_of(int which)
{
    switch (which) {
    case SUM: return MPI_SUM;
    case PROD: return MPI_PROD;
    case MAX: return MPI_MAX;
    case MIN: return MPI_MIN;
    case BAND: return MPI_BAND;
    case BOR: return MPI_BOR;
    case BXOR: return MPI_BXOR;
    case LAND: return MPI_LAND;
    case LOR: return MPI_LOR;
    case LXOR: return MPI_LXOR;
    case OWN: return user_sum;
    case MAXLOC: return MPI_MAXLOC;
    case MINLOC: return MPI_MINLOC;
    default: return user_affine;
    }
}

/* Element `i` of what a rank gives, as 8 bytes. */
static uint64_t element(const struct reduction *r, int salt, int side, int rank, long i)
{
    uint64_t h = hash(r->step, (uint64_t)salt * 2 + side, rank, i);
    switch (r->number) {
    case I32: return (uint32_t)(int)(h % 2001) - 1000;
    case F64: case F32: return h % 201;
    case PAIR: return h % 5 | (h >> 40 & 0xff) << 32;
    default: return r->which >= LAND && r->which <= LXOR ? h % 2 : h;
    }
}

static uint64_t unsigned_result(int which, uint64_t x, uint64_t y)
{
    switch (which) {
    case SUM: case OWN: return x + y;
    case PROD: return x * y;
    case MAX: return x > y ? x : y;
    case MIN: return x < y ? x : y;
    case BAND: return x & y;
    case BOR: return x | y;
    case BXOR: return x ^ y;
    case LAND: return x && y;
    case LOR: return x || y;
    default: return !x != !y;
    }
}

static uint64_t combine(const struct reduction *r, uint64_t x, uint64_t y)
{
    static const int bits[] = {8, 16, 32, 64};
    switch (r->number) {
    case U8: case U16: case U32: case U64: {
        uint64_t mask = ~(uint64_t)0 >> (64 - bits[r->number]);
        return unsigned_result(r->which, x & mask, y & mask) & mask;
    }
    case I32: {
        int p = (int)(uint32_t)x, q = (int)(uint32_t)y;
        return (uint32_t)(r->which == SUM ? p + q : r->which == MAX ? (p > q ? p : q) : (p < q ? p : q));
    }
    case F64: case F32: return r->which == SUM ? x + y : r->which == MAX ? (x > y ? x : y) : (x < y ? x : y);
    case PAIR: {
        uint32_t p = (uint32_t)x, q = (uint32_t)y;
        if (p == q)
            return x >> 32 < y >> 32 ? x : y;
        return (r->which == MAXLOC) == (p > q) ? x : y;
    }
    default: {
        struct affine p, q;
        memcpy(&p, &x, 8);
        memcpy(&q, &y, 8);
        p = then(p, q);
        memcpy(&x, &p, 8);
        return x;
    }
    }
}

static void write_element(const struct reduction *r, uint64_t x, unsigned char *out)
{
    double d = (double)x;
    float f = (float)x;
    if (r->number == F64)
        memcpy(out, &d, 8);
    else if (r->number == F32)
        memcpy(out, &f, 4);
    else
        memcpy(out, &x, r->bytes);
}

void reduced(const void *context, uint64_t id, unsigned char *out, size_t bytes)
{
    const struct collective *c = context;
    const struct reduction *r = c->extra;
    int what = id >> 16 & 15, side = id >> 12 & 15, rank = id & 0xfff, k;
    long first = (long)(id >> 20), n = (long)(bytes / r->bytes), i;
    for (i = 0; i < n; i++) {
        uint64_t x;
        if (what == GIVEN) {
            x = element(r, c->salt, side, rank, first + i);
        } else {
            int last = what == ALL ? r->size - 1 : rank;
            x = element(r, c->salt, side, 0, first + i);
            for (k = 1; k <= last; k++)
                x = combine(r, x, element(r, c->salt, side, k, first + i));
        }
        write_element(r, x, out + i * r->bytes);
    }
}

static void call(struct collective *c)
{
    void *out = c->send_buffer == MPI_IN_PLACE ? MPI_IN_PLACE : c->send.base, *in = c->recv.base;
    int n = c->sends, m = c->receives;
    MPI_Datatype t = c->send_type;
    switch (c->kind) {
    case REDUCE_ONE: CALL(c, Reduce, reduce, out, in, n, t, c->op, c->root, c->comm); break;
    case ALLREDUCE: CALL(c, Allreduce, allreduce, out, in, n, t, c->op, c->comm); break;
    case REDUCE_SCATTER_BLOCK: CALL(c, Reduce_scatter_block, reduce_scatter_block, out, in, m, t, c->op, c->comm); break;
    case REDUCE_SCATTER: CALL(c, Reduce_scatter, reduce_scatter, out, in, c->recv_counts, t, c->op, c->comm); break;
    case SCAN: CALL(c, Scan, scan, out, in, n, t, c->op, c->comm); break;
    default: CALL(c, Exscan, exscan, out, in, n, t, c->op, c->comm);
    }
}

static struct block *part(struct area *area, struct layout *l, long at, long n, size_t bytes)
{
    return add_block(area, l, at * l->extent, n, (size_t)n * bytes);
}

static void give(struct block *b, uint64_t id)
{
    b->has_before = 1;
    b->before = id;
}

static void expect(struct block *b, uint64_t id)
{
    b->has_after = 1;
    b->after = id;
}

/* How a total is shared out: the same on all processes. */
static void share(struct stream *s, int n, long total, int *counts)
{
    long left = total;
    int i, uneven = chance(s, 70);
    for (i = 0; i < n; i++) {
        counts[i] = (int)(i == n - 1 ? left : uneven ? (chance(s, 15) ? 0 : below(s, 2 * left / (n - i) + 1)) : total / n);
        left -= counts[i];
    }
}

static void blocks(struct collective *c, const struct family *f, struct reduction *r, struct layout *l, struct stream *s,
                   long n, int in_place, int root_side)
{
    int inter = f->shape == INTERCOMM, there = inter ? !f->side : 0, me = f->rank, here = f->side, i;
    long first = 0, total = n, mine = n;
    int idle = inter && c->kind == REDUCE_ONE && f->side == root_side;
    int at_root = c->kind != REDUCE_ONE || c->root == MPI_ROOT || (!inter && c->root == me);
    r->size = f->size[there];
    if (c->kind == REDUCE_SCATTER_BLOCK) {
        /* Between groups both sides share the same total. */
        total = n * f->size[0] * (inter ? f->size[1] : 1);
        mine = total / f->size[here];
        first = mine * me;
    } else if (c->kind == REDUCE_SCATTER) {
        int counts[2][MAX_RANKS], side;
        for (side = 0; side <= inter; side++)
            share(s, f->size[side], total, counts[side]);
        c->recv_counts = get(sizeof(int) * MAX_RANKS);
        memcpy(c->recv_counts, counts[here], sizeof(int) * f->size[here]);
        mine = counts[here][me];
        for (i = 0; i < me; i++)
            first += counts[here][i];
    }
    c->sends = (int)total;
    c->receives = (int)mine;
    if (in_place && at_root) {
        c->send_buffer = MPI_IN_PLACE;
        give(part(&c->recv, l, 0, total, r->bytes), block_id(GIVEN, 0, me, 0));
        c->recv.block[0].any = 1;
    } else if (!idle) {
        give(part(&c->send, l, 0, total, r->bytes), block_id(GIVEN, here, me, 0));
    }
    if (at_root) {
        struct block *b = part(&c->recv, l, 0, mine, r->bytes);
        if (c->kind == SCAN)
            expect(b, block_id(UP_TO, 0, me, 0));
        else if (c->kind == EXSCAN && me == 0)
            b->any = 1;
        else if (c->kind == EXSCAN)
            expect(b, block_id(UP_TO, 0, me - 1, 0));
        else
            expect(b, block_id(ALL, there, 0, first));
    }
}

void reduce(int step)
{
    static const int integer[] = {SUM, PROD, MAX, MIN, BAND, BOR, BXOR, LAND, LOR, LXOR};
    struct stream s = common(step, 1), after_all = common(step, 2);
    int kind = (int)below(&s, REDUCTIONS), own = may(&s, USER, 30), which = (int)below(&s, 10), number, gaps, root_side, root;
    unsigned shapes = kind < SCAN ? ~0u : 1u << INTRA | 1u << CART | 1u << GRAPH;
    struct family *f = choose_family(&s, shapes);
    enum mode mode = any_mode(&s);
    int in_place = may(&s, IN_PLACE, 30);
    struct collective *c;
    struct reduction *r;
    struct layout *l;
    if (user_sum == 0) {
        MPI_Op_create(call_sum, 1, &user_sum);
        MPI_Op_create(call_affine, 0, &user_affine);
    }
    number = (int)below(&s, AFFINE);
    gaps = (int)below(&s, 3);
    root_side = (int)below(&s, 2);
    if (f == NULL)
        return;
    settle_family(f, step);
    c = new_collective(f, mode, step);
    c->kind = kind;
    c->call = call;
    c->payload = reduced;
    if (f->member) {
        int inter = f->shape == INTERCOMM;
        long n;
        r = get(sizeof *r);
        r->step = step;
        r->number = own ? (which % 3 ? AFFINE : U32) : number;
        r->which = own ? (which % 3 ? CHAIN : OWN) : number == PAIR ? (which % 2 ? MAXLOC : MINLOC)
                   : number >= I32 ? (which % 3 == 0 ? MAX : which % 3 == 1 ? MIN : SUM) : integer[which];
        r->bytes = r->number == AFFINE ? 8 : (size_t)atom_of(type_of(r->number))->size;
        if (r->number == AFFINE) {
            static const struct atom two = {.pieces = 2, .bytes = {4, 4}, .size = 8, .align = 4};
            struct atom atom = two;
            atom.type[0] = atom.type[1] = MPI_UINT32_T;
            l = gaps == 0 ? gap_layout(&atom, 0, 0) : gaps == 1 ? gap_layout(&atom, 4, 0) : gap_layout(&atom, 4, 8);
        } else {
            l = plain_layout(atom_of(type_of(r->number)));
        }
        root = (int)below(&s, f->size[inter ? root_side : 0]);
        c->extra = r;
        c->op = op_of(r->which);
        c->root = !inter ? root : f->side != root_side ? root : f->rank == root ? MPI_ROOT : MPI_PROC_NULL;
        c->send_type = l->type;
        n = any_size(&s, atom_of(type_of(r->number)), 2 * (f->size[0] + f->size[1]));
        if (kind == REDUCE_SCATTER_BLOCK)
            n /= f->size[0] * (inter ? f->size[1] : 1);
        blocks(c, f, r, l, &s, n, in_place && !inter, root_side);
        own_layout(&c->recv, l);
    }
    go(c, &after_all, step, reduction_names[kind]);
}
