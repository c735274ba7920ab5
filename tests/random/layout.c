/* Datatypes of a given signature in random layouts, each with the list of its pieces as the standard defines it. */
#include "random.h"

/* WIDEST: bytes over which all instances of a layout may spread; holes within holes could fill the machine's memory. */
enum { ATOMS = 16, MOST_ATOMS = 2048, WIDEST = 64 << 20 };

static struct atom atoms[ATOMS];
static int known;

static void add_atom(int pieces, const MPI_Datatype *type, const int *bytes)
{
    struct atom *atom = &atoms[known++];
    int i;
    atom->pieces = pieces;
    atom->align = 1;
    atom->pair = MPI_DATATYPE_NULL;
    for (i = 0; i < pieces; i++) {
        atom->type[i] = type[i];
        atom->bytes[i] = bytes[i];
        atom->size += bytes[i];
        if (bytes[i] > atom->align)
            atom->align = bytes[i];
    }
}

static void one(MPI_Datatype type, int bytes)
{
    add_atom(1, &type, &bytes);
}

static void two(MPI_Datatype a, int a_bytes, MPI_Datatype b, int b_bytes, MPI_Datatype pair, int second, int extent)
{
    add_atom(2, (MPI_Datatype[]){a, b}, (int[]){a_bytes, b_bytes});
    atoms[known - 1].pair = pair;
    atoms[known - 1].pair_at[1] = second;
    atoms[known - 1].pair_extent = extent;
}

static void know_atoms(void)
{
    if (known)
        return;
    one(MPI_BYTE, 1);
    one(MPI_INT, 4);
    one(MPI_INT, 4);
    one(MPI_DOUBLE, 8);
    one(MPI_CHAR, 1);
    one(MPI_INT16_T, 2);
    one(MPI_INT64_T, 8);
    one(MPI_FLOAT, 4);
    two(MPI_SHORT, 2, MPI_INT, 4, MPI_SHORT_INT, 4, 8);
    two(MPI_DOUBLE, 8, MPI_INT, 4, MPI_DOUBLE_INT, 8, 16);
    two(MPI_INT, 4, MPI_INT, 4, MPI_2INT, 4, 8);
    two(MPI_CHAR, 1, MPI_INT64_T, 8, MPI_DATATYPE_NULL, 0, 0);
    two(MPI_INT, 4, MPI_CHAR, 1, MPI_DATATYPE_NULL, 0, 0);
    add_atom(3, (MPI_Datatype[]){MPI_INT16_T, MPI_CHAR, MPI_INT}, (int[]){2, 1, 4});
}

const struct atom *any_atom(struct stream *s)
{
    int mixed = may(s, MIXED, 20);
    know_atoms();
    return &atoms[mixed ? 8 + below(s, known - 8) : below(s, 8)];
}

const struct atom *atom_of(MPI_Datatype type)
{
    static struct atom found[16];
    static MPI_Datatype types[16];
    static int n;
    int i;
    for (i = 0; i < n; i++)
        if (types[i] == type)
            return &found[i];
    MPI_Type_size(type, &found[n].size);
    found[n].pieces = 1;
    found[n].type[0] = type;
    found[n].bytes[0] = found[n].align = found[n].size;
    if (type == MPI_2INT)
        found[n].align = 4;
    found[n].pair = MPI_DATATYPE_NULL;
    types[n] = type;
    return &found[n++];
}

int divisor(struct stream *s, long n, int most)
{
    int tries, d;
    for (tries = 0; tries < 6; tries++) {
        d = 1 + (int)below(s, n < most ? n : most);
        if (n % d == 0)
            return d;
    }
    return n <= most && chance(s, 50) ? (int)n : 1;
}

void forget_type(struct layout *layout)
{
    if (layout->owned)
        MPI_Type_free(&layout->type);
    layout->owned = 0;
}

void free_layout(struct layout *layout)
{
    forget_type(layout);
    free(layout->piece);
    free(layout);
}

struct layout *empty_layout(void)
{
    struct layout *layout = get(sizeof *layout);
    MPI_Type_contiguous(0, MPI_INT, &layout->type);
    MPI_Type_commit(&layout->type);
    layout->owned = 1;
    layout->piece = get(1);
    return layout;
}

/* The pieces of an atom at chosen places, or the predefined type. */
static struct layout *place_atom(const struct atom *atom, const MPI_Aint *at, int extent, int predefined)
{
    struct layout *layout = get(sizeof *layout);
    int i, lengths[3] = {1, 1, 1};
    layout->pieces = layout->basics = atom->pieces;
    layout->piece = get(sizeof(struct piece) * atom->pieces);
    layout->low = at[0];
    for (i = 0; i < atom->pieces; i++) {
        layout->piece[i] = (struct piece){at[i], atom->bytes[i]};
        if (at[i] < layout->low)
            layout->low = at[i];
        if (at[i] + atom->bytes[i] > layout->high)
            layout->high = at[i] + atom->bytes[i];
    }
    layout->extent = extent;
    layout->size = atom->size;
    layout->atoms = 1;
    if (predefined) {
        layout->type = atom->pieces == 1 ? atom->type[0] : atom->pair;
    } else {
        MPI_Datatype bare;
        MPI_Type_create_struct(atom->pieces, lengths, at, atom->type, &bare);
        MPI_Type_create_resized(bare, 0, extent, &layout->type);
        MPI_Type_free(&bare);
        MPI_Type_commit(&layout->type);
        layout->owned = 1;
    }
    return layout;
}

static MPI_Aint round_up(MPI_Aint n, int to)
{
    return n + ((-n) % to + to) % to;
}

struct layout *plain_layout(const struct atom *atom)
{
    MPI_Aint at[3] = {0, 0, 0}, end = 0;
    int i;
    if (atom->pieces == 1)
        return place_atom(atom, at, atom->size, 1);
    if (atom->pair != MPI_DATATYPE_NULL) {
        at[1] = atom->pair_at[1];
        return place_atom(atom, at, atom->pair_extent, 1);
    }
    for (i = 0; i < atom->pieces; i++) {
        at[i] = round_up(end, atom->bytes[i]);
        end = at[i] + atom->bytes[i];
    }
    return place_atom(atom, at, (int)round_up(end, atom->align), 0);
}

/* The pieces `between` bytes apart, and a gap behind them. */
struct layout *gap_layout(const struct atom *atom, int gap, int between)
{
    MPI_Aint at[3] = {0, 0, 0}, end = 0;
    int i;
    for (i = 0; i < atom->pieces; i++) {
        at[i] = end;
        end += atom->bytes[i] + between;
    }
    return place_atom(atom, at, (int)end - between + gap, 0);
}

static struct layout *atom_layout(struct stream *s, const struct atom *atom)
{
    MPI_Aint at[3] = {0, 0, 0}, end = 0;
    int i, order[3] = {0, 1, 2};
    if (atom->pieces == 1 || chance(s, 30))
        return plain_layout(atom);
    shuffle(s, order, atom->pieces);
    for (i = 0; i < atom->pieces; i++) {
        end = round_up(end + below(s, 9), atom->bytes[order[i]]);
        at[order[i]] = end;
        end += atom->bytes[order[i]];
    }
    return place_atom(atom, at, (int)round_up(end, atom->align), 0);
}

/* `n` copies of a layout at byte displacements, for which MPI has made `type`. The layout is used up. */
static struct layout *copies(struct layout *inner, MPI_Datatype type, int n, const MPI_Aint *at)
{
    struct layout *layout = get(sizeof *layout);
    MPI_Aint least = at[0], most = at[0];
    int i, k;
    layout->type = type;
    layout->owned = 1;
    layout->pieces = n * inner->pieces;
    layout->basics = layout->pieces;
    layout->piece = get(sizeof(struct piece) * layout->pieces + 1);
    for (i = 0; i < n; i++) {
        least = at[i] < least ? at[i] : least;
        most = at[i] > most ? at[i] : most;
        for (k = 0; k < inner->pieces; k++) {
            layout->piece[i * inner->pieces + k].at = at[i] + inner->piece[k].at;
            layout->piece[i * inner->pieces + k].bytes = inner->piece[k].bytes;
        }
    }
    layout->low = least + inner->low;
    layout->high = most + inner->high;
    layout->lb = least + inner->lb;
    layout->extent = most - least + inner->extent;
    layout->size = n * inner->size;
    layout->atoms = n * inner->atoms;
    free_layout(inner);
    return layout;
}

static struct layout *contiguous(struct layout *inner, int n)
{
    MPI_Datatype type;
    MPI_Aint *at = get(sizeof *at * n);
    struct layout *layout;
    int i;
    for (i = 0; i < n; i++)
        at[i] = i * inner->extent;
    MPI_Type_contiguous(n, inner->type, &type);
    layout = copies(inner, type, n, at);
    free(at);
    return layout;
}

/* Blocks of `length` instances, in elements or in bytes, forwards or backwards. */
static struct layout *vector(struct stream *s, struct layout *inner, int n)
{
    int length = divisor(s, n, n), blocks = n / length, sign = chance(s, 30) ? -1 : 1, i;
    long stride = sign * (length + below(s, 4));
    int by_bytes = chance(s, 40);
    MPI_Aint bytes = stride * inner->extent + sign * (by_bytes ? 8 * below(s, 4) : 0), *at = get(sizeof *at * n);
    MPI_Datatype type;
    struct layout *layout;
    for (i = 0; i < n; i++)
        at[i] = i / length * bytes + i % length * inner->extent;
    if (by_bytes)
        MPI_Type_create_hvector(blocks, length, bytes, inner->type, &type);
    else
        MPI_Type_vector(blocks, length, (int)stride, inner->type, &type);
    layout = copies(inner, type, n, at);
    free(at);
    return layout;
}

/* Blocks of different or equal lengths, in any order, back to back or with gaps. */
static struct layout *indexed(struct stream *s, struct layout *inner, int n)
{
    int *length = get(sizeof(int) * (n + 2)), *place = get(sizeof(int) * (n + 2)), *order = get(sizeof(int) * (n + 2));
    MPI_Aint *place_bytes = get(sizeof(MPI_Aint) * (n + 2)), *at = get(sizeof *at * n);
    int same = chance(s, 40) ? divisor(s, n, n) : 0, gaps = chance(s, 50), blocks = 0, left = n, i, k, next;
    int by_bytes = chance(s, 40);
    MPI_Datatype type;
    struct layout *layout;
    while (left > 0) {
        length[blocks] = same ? same : (int)(blocks < n ? below(s, left + 1) : left);
        if (length[blocks] == 0 && blocks + 1 >= n)
            length[blocks] = left;
        left -= length[blocks];
        order[blocks] = blocks;
        blocks++;
    }
    shuffle(s, order, blocks);
    next = gaps ? (int)below(s, 5) - 2 : 0;
    for (i = 0; i < blocks; i++) {
        place[order[i]] = next;
        next += length[order[i]] + (gaps ? (int)below(s, 3) : 0);
    }
    for (i = 0, next = 0; i < blocks; i++) {
        place_bytes[i] = place[i] * inner->extent;
        for (k = 0; k < length[i]; k++)
            at[next++] = place_bytes[i] + k * inner->extent;
    }
    if (same && by_bytes)
        MPI_Type_create_hindexed_block(blocks, same, place_bytes, inner->type, &type);
    else if (same)
        MPI_Type_create_indexed_block(blocks, same, place, inner->type, &type);
    else if (by_bytes)
        MPI_Type_create_hindexed(blocks, length, place_bytes, inner->type, &type);
    else
        MPI_Type_indexed(blocks, length, place, inner->type, &type);
    layout = copies(inner, type, n, at);
    free(length);
    free(place);
    free(order);
    free(place_bytes);
    free(at);
    return layout;
}

static struct layout *subarray(struct stream *s, struct layout *inner, int n)
{
    int dims = 1 + (int)below(s, 3), sizes[3], parts[3], starts[3], left = n, d, i, fortran = chance(s, 40);
    MPI_Aint *at = get(sizeof *at * n), whole = 1;
    MPI_Datatype type;
    struct layout *layout;
    for (d = 0; d < dims; d++) {
        parts[d] = d == dims - 1 ? left : divisor(s, left, left);
        left /= parts[d];
        starts[d] = (int)below(s, 3);
        sizes[d] = starts[d] + parts[d] + (int)below(s, 3);
        whole *= sizes[d];
    }
    for (i = 0; i < n; i++) {
        MPI_Aint index = 0, unit = 1;
        int rest = i, k;
        for (k = 0; k < dims; k++) {
            d = fortran ? k : dims - 1 - k;
            index += (starts[d] + rest % parts[d]) * unit;
            unit *= sizes[d];
            rest /= parts[d];
        }
        at[i] = index * inner->extent;
    }
    MPI_Type_create_subarray(dims, sizes, parts, starts, fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, inner->type, &type);
    whole *= inner->extent;
    layout = copies(inner, type, n, at);
    layout->lb = 0;
    layout->extent = whole;
    free(at);
    return layout;
}

static struct layout *resized(struct layout *inner, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype type;
    MPI_Aint zero = 0;
    struct layout *layout;
    MPI_Type_create_resized(inner->type, lb, extent, &type);
    layout = copies(inner, type, 1, &zero);
    layout->lb = lb;
    layout->extent = extent;
    return layout;
}

static struct layout *build(struct stream *s, const struct atom *atom, int n, int depth);

/* Two layouts side by side, in either order. */
static struct layout *structure(struct stream *s, const struct atom *atom, int n, int depth)
{
    struct layout *a = build(s, atom, 1 + (int)below(s, n - 1), depth), *b, *layout;
    int lengths[2] = {1, 1}, swapped = chance(s, 50), i;
    MPI_Aint at[2], end;
    MPI_Datatype type, types[2];
    b = build(s, atom, n - a->atoms, depth);
    at[swapped] = -(swapped ? b : a)->low + atom->align * below(s, 4);
    end = at[swapped] + (swapped ? b : a)->high;
    at[!swapped] = round_up(end - (swapped ? a : b)->low, 16) + 16 * below(s, 2);
    types[0] = a->type;
    types[1] = b->type;
    MPI_Type_create_struct(2, lengths, at, types, &type);
    layout = get(sizeof *layout);
    layout->pieces = layout->basics = a->pieces + b->pieces;
    layout->piece = get(sizeof(struct piece) * layout->pieces);
    for (i = 0; i < layout->pieces; i++) {
        int second = i >= a->pieces;
        layout->piece[i] = second ? b->piece[i - a->pieces] : a->piece[i];
        layout->piece[i].at += at[second];
    }
    layout->low = at[0] + a->low < at[1] + b->low ? at[0] + a->low : at[1] + b->low;
    layout->high = at[0] + a->high > at[1] + b->high ? at[0] + a->high : at[1] + b->high;
    layout->size = a->size + b->size;
    layout->atoms = n;
    layout->type = type;
    layout->owned = 1;
    free_layout(a);
    free_layout(b);
    end = round_up(layout->high - layout->low, 16);
    return resized(layout, 8 * (below(s, 5) - 2), end + 16 * below(s, 2));
}

static struct layout *build(struct stream *s, const struct atom *atom, int n, int depth)
{
    int d, which = (int)below(s, 9);
    struct layout *inner;
    if (depth == 0) {
        inner = atom_layout(s, atom);
        return n == 1 ? inner : contiguous(inner, n);
    }
    if (which == 6 && n >= 2)
        return structure(s, atom, n, depth - 1);
    if (which == 7) {
        inner = build(s, atom, n, depth - 1);
        return resized(inner, atom->align * (below(s, 7) - 3),
                       round_up(inner->high - inner->low, atom->align) + atom->align * below(s, 3));
    }
    if (which == 8) {
        MPI_Datatype type;
        MPI_Aint zero = 0, lb, extent;
        inner = build(s, atom, n, depth - 1);
        MPI_Type_dup(inner->type, &type);
        lb = inner->lb;
        extent = inner->extent;
        inner = copies(inner, type, 1, &zero);
        inner->lb = lb;
        inner->extent = extent;
        return inner;
    }
    d = divisor(s, n, n);
    inner = build(s, atom, n / d, depth - 1);
    return which < 1 ? contiguous(inner, d) : which < 3 ? vector(s, inner, d) : which < 5 ? indexed(s, inner, d)
                                                                                           : subarray(s, inner, d);
}

/* Parts far apart: instances stand between the parts of others. With size and extent equal it looks like one run. */
static struct layout *interleaved(struct stream *s, const struct atom *atom, int n, long instances)
{
    struct layout *inner = plain_layout(atom);
    MPI_Aint extent = chance(s, 60) ? round_up(n * inner->size, atom->align) : inner->extent, *at = get(sizeof *at * n), stride;
    MPI_Datatype type;
    int i;
    if (extent < inner->extent)
        extent = inner->extent;
    stride = round_up(instances * extent, atom->align) + atom->align * below(s, 3);
    if (chance(s, 20))
        stride = -stride;
    for (i = 0; i < n; i++)
        at[i] = i * stride;
    MPI_Type_create_hvector(n, 1, stride, inner->type, &type);
    inner = copies(inner, type, n, at);
    free(at);
    return resized(inner, 0, extent);
}

/* The library must see the type as the model does. */
static void verify(const struct layout *l)
{
    MPI_Aint lb, extent, low, span;
    int size;
    MPI_Type_get_extent(l->type, &lb, &extent);
    MPI_Type_get_true_extent(l->type, &low, &span);
    MPI_Type_size(l->type, &size);
    if (lb != l->lb || extent != l->extent || low != l->low || span != l->high - l->low || (size_t)size != l->size)
        wrong(current_step, "datatype: lb %td, extent %td, true %td, %td, size %d; not %td, %td, %td, %td, %zu",
              (ptrdiff_t)lb, (ptrdiff_t)extent, (ptrdiff_t)low, (ptrdiff_t)span, size, l->lb, l->extent, l->low,
              l->high - l->low, l->size);
}

/* Bytes from the first to the last of all instances. */
static double reach(const struct layout *l, long instances)
{
    return (double)(l->high - l->low) + (double)instances * (double)(l->extent < 0 ? -l->extent : l->extent);
}

struct layout *make_layout(struct stream *s, const struct atom *atom, int n, long instances)
{
    struct layout *layout;
    int apart = may(s, INTERLEAVED, 15), derived = may(s, DERIVED, 55), depth = 1 + (int)below(s, 3);
    if (!derived) {
        layout = plain_layout(atom);
        return n == 1 ? layout : (layout = contiguous(layout, n), MPI_Type_commit(&layout->type), layout);
    }
    if (apart && n >= 2 && n <= 8 && (double)n * n * instances * atom->size < 4e6)
        layout = interleaved(s, atom, n, instances < 1 ? 1 : instances);
    else
        layout = build(s, atom, n, (long)n * instances > 20000 && depth > 1 ? 1 : depth);
    verify(layout);
    if (reach(layout, instances) > WIDEST) {
        free_layout(layout);
        layout = contiguous(plain_layout(atom), n);
    }
    if (layout->owned)
        MPI_Type_commit(&layout->type);
    return layout;
}

struct layout *divide_layout(struct stream *s, const struct atom *atom, long atoms, long blocks)
{
    int n = atoms == 0 ? 1 + (int)below(s, 4) : chance(s, 40) ? 1 : divisor(s, atoms, MOST_ATOMS);
    if (atoms == 0 && may(s, EMPTY, 30))
        return empty_layout();
    return make_layout(s, atom, n, atoms / n * blocks);
}
