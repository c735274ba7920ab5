/* Seeded random programs of views and accesses against an oracle that knows every byte of the file.
 *
 * All ranks draw the same program. The view of a rank shows bytes of the blocks that are its own: block r, r + p, r + 2p …
 *
 *   file    | rank 0 | rank 1 | rank 2 | rank 0 | rank 1 | …      a block holds the pattern of one item of the filetype
 *   block   |..aa.bbb...c|                                        with holes, which must survive
 *
 * Each rank has an opening of its own beside that of all, by which it writes into holes while all write: in the call's time, if that
 * does not block, else just before. Accesses without a common byte do not conflict.
 *
 * Some programs stage what they write. Others see that after a sync; the process itself sees it at once.
 *
 * usage: random DIR SEED PROGRAMS       PROGRAMS programs, from SEED on */
#include "files.h"

enum { MOST_BYTES = 1 << 16, BLOCK = 48, ITEMS = 6, RANKS = 16, STEPS = 10 };

static unsigned long long word;

static unsigned draw(unsigned below)
{
    word = word * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((word >> 33) % below);
}

/* A datatype and the offsets of its bytes, in order. */
struct pattern {
    MPI_Datatype type;
    int bytes, offset[BLOCK];
    int extent;
};

static void commit(struct pattern *p, MPI_Datatype t, int lb, int extent)
{
    MPI_Type_create_resized(t, lb, extent, &p->type);
    MPI_Type_commit(&p->type);
    MPI_Type_free(&t);
    p->extent = extent;
}

static void run(struct pattern *p, int from, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p->offset[p->bytes++] = from + i;
}

/* A pattern of items of `unit` bytes within a block, ascending; sometimes without any byte. */
static struct pattern in_block(MPI_Datatype unit_type, int unit, int extent)
{
    struct pattern p = { 0 };
    MPI_Datatype t, inner;
    int slots = BLOCK / unit;
    switch (draw(8)) {
    case 0: {
        int lens[8], disps[8], n = 0, at = draw(3);
        while (n < 8 && at < slots) {
            int len = draw(3);
            if (at + len > slots)
                len = slots - at;
            lens[n] = len, disps[n++] = at;
            run(&p, at * unit, len * unit);
            at += len + draw(4);
        }
        MPI_Type_indexed(n, lens, disps, unit_type, &t);
        break;
    }
    case 1: {
        int len = 1 + draw(2), stride = len + draw(3), count = slots / stride;
        for (int i = 0; i < count; i++)
            run(&p, i * stride * unit, len * unit);
        MPI_Type_vector(count, len, stride, unit_type, &t);
        break;
    }
    case 2: {
        int sizes[2] = { 4, slots / 4 }, subs[2], starts[2];
        for (int i = 0; i < 2; i++) {
            subs[i] = 1 + draw(sizes[i]);
            starts[i] = draw(sizes[i] - subs[i] + 1);
        }
        for (int i = 0; i < subs[0]; i++)
            run(&p, ((starts[0] + i) * sizes[1] + starts[1]) * unit, subs[1] * unit);
        MPI_Type_create_subarray(2, sizes, subs, starts, MPI_ORDER_C, unit_type, &t);
        break;
    }
    case 3: /* pairs of vectors */
        MPI_Type_vector(2, 1, 2, unit_type, &inner);
        MPI_Type_create_hvector(2, 1, BLOCK / 2, inner, &t);
        MPI_Type_free(&inner);
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                run(&p, i * BLOCK / 2 + 2 * j * unit, unit);
        break;
    case 4: { /* indexed of subarrays */
        int sizes[1] = { 4 }, subs[1] = { 2 }, starts[1] = { 1 }, lens[3] = { 1, 0, 1 }, disps[3] = { 0, 1, slots / 4 - 1 };
        MPI_Type_create_subarray(1, sizes, subs, starts, MPI_ORDER_C, unit_type, &inner);
        MPI_Type_indexed(3, lens, disps, inner, &t);
        MPI_Type_free(&inner);
        run(&p, unit, 2 * unit);
        if (disps[2] > 0)
            run(&p, (4 * disps[2] + 1) * unit, 2 * unit);
        else
            p.bytes = 0;
        break;
    }
    case 5: { /* a struct */
        int lens[2] = { 1, 2 };
        MPI_Aint places[2] = { 0, (slots - 2) * unit };
        MPI_Datatype types[2] = { unit_type, unit_type };
        MPI_Type_create_struct(2, lens, places, types, &t);
        run(&p, 0, unit);
        run(&p, (slots - 2) * unit, 2 * unit);
        break;
    }
    case 6:
        if (draw(3) == 0) { /* no byte at all */
            MPI_Type_contiguous(0, unit_type, &t);
            break;
        }
        /* fall through */
    default:
        MPI_Type_contiguous(slots, unit_type, &t);
        run(&p, 0, slots * unit);
    }
    if (p.bytes == 0) {
        MPI_Type_free(&t);
        MPI_Type_contiguous(0, unit_type, &t);
    }
    commit(&p, t, 0, extent);
    return p;
}

/* Memory for items of `unit` bytes: one item of the type holds one of them, somewhere within 40 bytes. */
static struct pattern in_memory(int unit)
{
    struct pattern p = { 0 };
    MPI_Datatype t;
    switch (draw(4)) {
    case 0: /* its halves the wrong way round */
        if (unit > 1) {
            int disps[2] = { 16, 2 };
            MPI_Type_create_indexed_block(2, unit / 2, disps, MPI_BYTE, &t);
            run(&p, 16, unit / 2);
            run(&p, 2, unit / 2);
            commit(&p, t, 0, 40);
            return p;
        }
        /* fall through */
    case 1:
        MPI_Type_contiguous(unit, MPI_BYTE, &t);
        run(&p, 0, unit);
        commit(&p, t, -8, 24);
        return p;
    default:
        MPI_Type_contiguous(unit, MPI_BYTE, &t);
        run(&p, 0, unit);
        commit(&p, t, 0, unit);
        return p;
    }
}

struct access {
    int unit, items, first; /* units of `unit` bytes, and the first etype */
    struct pattern view, memory;
    int disp;
};

static unsigned char expected[MOST_BYTES], found[MOST_BYTES], buffer[65536], before[65536];
static long end_of_file;
/* Writes are staged; every rank sees the file up to here, and this rank up to there. */
static int staged;
static long end_for_all, end_for_me;

/* The place in the file of byte `k` of a view. */
static long place(const struct access *a, long k)
{
    return a->disp + k / a->view.bytes * a->view.extent + a->view.offset[k % a->view.bytes];
}

static unsigned char value(int program, int step, int of_rank, long k)
{
    return (unsigned char)(1 + (program * 31 + step * 17 + of_rank * 101 + k * 7) % 255);
}

static unsigned char *slot(const struct access *a, long k)
{
    return buffer + 64 + k / a->unit * a->memory.extent + a->memory.offset[k % a->unit];
}

/* What a rank writes by its own opening into the holes of one of its blocks. */
static MPI_File own_opening;
static struct { int writes, block; } into_holes[RANKS];

static int is_hole(const struct access *a, int offset)
{
    for (int i = 0; i < a->view.bytes; i++)
        if (a->view.offset[i] == offset)
            return 0;
    return 1;
}

static long place_in_block(const struct access *a, int block, int offset)
{
    return a->disp + (long)block * a->view.extent + offset;
}

static unsigned char hole_value(int of_rank, int offset)
{
    return (unsigned char)(1 + (of_rank * 89 + offset * 5 + into_holes[of_rank].block) % 255);
}

static void write_into_holes(const struct access *mine)
{
    if (!into_holes[rank].writes)
        return;
    for (int from = 0, to; from < BLOCK; from = to + 1) {
        unsigned char bytes[BLOCK];
        for (to = from; to < BLOCK && is_hole(mine, to); to++)
            bytes[to - from] = hole_value(rank, to);
        if (to > from)
            MPI_File_write_at(own_opening, place_in_block(mine, into_holes[rank].block, from), bytes, to - from, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

static const struct access *my_access;

static int move(MPI_File f, int writes, int form, int explicit, int first, void *buf, int n, MPI_Datatype t, MPI_Status *s)
{
    MPI_Request r;
    int code;
    if (!explicit)
        MPI_File_seek(f, first, MPI_SEEK_SET);
    if (writes && form != 1 && form != 3 && form != 4)
        write_into_holes(my_access);
    if (writes)
        switch (form) {
        case 0: return explicit ? MPI_File_write_at(f, first, buf, n, t, s) : MPI_File_write(f, buf, n, t, s);
        case 1:
            code = explicit ? MPI_File_iwrite_at(f, first, buf, n, t, &r) : MPI_File_iwrite(f, buf, n, t, &r);
            for (int over = code; !over; MPI_Test(&r, &over, s))
                write_into_holes(my_access);
            return code;
        case 2: return explicit ? MPI_File_write_at_all(f, first, buf, n, t, s) : MPI_File_write_all(f, buf, n, t, s);
        case 3:
            code = explicit ? MPI_File_iwrite_at_all(f, first, buf, n, t, &r) : MPI_File_iwrite_all(f, buf, n, t, &r);
            for (int over = code; !over; MPI_Test(&r, &over, s))
                write_into_holes(my_access);
            return code;
        default:
            code = explicit ? MPI_File_write_at_all_begin(f, first, buf, n, t) : MPI_File_write_all_begin(f, buf, n, t);
            write_into_holes(my_access);
            if (code)
                return code;
            return explicit ? MPI_File_write_at_all_end(f, buf, s) : MPI_File_write_all_end(f, buf, s);
        }
    switch (form) {
    case 0: return explicit ? MPI_File_read_at(f, first, buf, n, t, s) : MPI_File_read(f, buf, n, t, s);
    case 1:
        code = explicit ? MPI_File_iread_at(f, first, buf, n, t, &r) : MPI_File_iread(f, buf, n, t, &r);
        return code ? code : MPI_Wait(&r, s);
    case 2: return explicit ? MPI_File_read_at_all(f, first, buf, n, t, s) : MPI_File_read_all(f, buf, n, t, s);
    case 3:
        code = explicit ? MPI_File_iread_at_all(f, first, buf, n, t, &r) : MPI_File_iread_all(f, buf, n, t, &r);
        return code ? code : MPI_Wait(&r, s);
    default:
        code = explicit ? MPI_File_read_at_all_begin(f, first, buf, n, t) : MPI_File_read_all_begin(f, buf, n, t);
        if (code)
            return code;
        return explicit ? MPI_File_read_at_all_end(f, buf, s) : MPI_File_read_all_end(f, buf, s);
    }
}

static const char *hint_names[] = { "cb_nodes", "cb_buffer_size", "romio_cb_write", "romio_cb_read", "romio_ds_write", "romio_ds_read", "ind_rd_buffer_size", "ind_wr_buffer_size", "cb_block_size", "io_staging" };

static MPI_Info some_hints(char *text)
{
    MPI_Info info;
    char ranks[12];
    snprintf(ranks, sizeof ranks, "%d", size);
    const char *nodes[] = { "1", "2", ranks }, *places[] = { "off", "memory", "/tmp" }, *sizes[] = { "1", "64", "1000", "4194304" }, *choices[] = { "enable", "disable", "automatic" };
    MPI_Info_create(&info);
    *text = 0;
    staged = 0;
    for (int i = 0; i < 10; i++)
        if (draw(2)) {
            const char *chosen = i == 0 ? nodes[draw(3)] : i == 9 ? places[draw(3)] : i == 1 || i > 5 ? sizes[draw(4)] : choices[draw(3)];
            staged |= i == 9 && strcmp(chosen, "off");
            MPI_Info_set(info, hint_names[i], chosen);
            sprintf(text + strlen(text), " %s=%s", hint_names[i], chosen);
        }
    return info;
}

/* The present access. */
static int writes, form, explicit;

static void fail(int program, int step, const char *what, long a, long b, const char *hints)
{
    printf("FAIL random: program %d step %d rank %d: %s of form %d%s: %s (%ld, %ld)%s\n", program, step, rank,
        writes ? "a write" : "a read", form, explicit ? " at an offset" : "", what, a, b, hints);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What is in the file, for a process that does not use MPI. */
static void compare(int program, int step, const char *hints)
{
    FILE *other = fopen(path, "rb");
    long n = fread(found, 1, sizeof found, other);
    fclose(other);
    if (n != end_of_file)
        fail(program, step, "length of the file", n, end_of_file, hints);
    for (long i = 0; i < n; i++)
        if (found[i] != expected[i])
            fail(program, step, "byte of the file", i, found[i], hints);
}

/* All ranks see what all have written. */
static void see_all(MPI_File f)
{
    if (staged) {
        MPI_File_sync(f);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    end_for_all = end_for_me = end_of_file;
}

/* How many of the first `bytes` bytes of an access lie before the end of a file. */
static long before_end(const struct access *a, long bytes, long end)
{
    long k = 0;
    while (k < bytes && place(a, k + (long)a->first * a->unit) < end)
        k++;
    return k;
}

static void one(int program)
{
    char hints[1024];
    word = program * 7919ull + size;
    draw(2);
    memset(expected, 0, sizeof expected);
    end_of_file = draw(3) ? draw(4000) : 0;
    for (long i = 0; i < end_of_file; i++)
        expected[i] = (unsigned char)(i * 3 + 1);
    if (rank == 0) {
        FILE *f = fopen(path, "wb");
        fwrite(expected, 1, end_of_file, f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File f;
    MPI_Info info = some_hints(hints);
    if (MPI_File_open(MPI_COMM_WORLD, path, RW, info, &f))
        fail(program, -1, "open", 0, 0, hints);
    MPI_Info_free(&info);
    if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own_opening))
        fail(program, -1, "open by one rank", 0, 0, hints);
    MPI_File_set_atomicity(f, draw(4) == 0);
    end_for_all = end_for_me = end_of_file;
    struct access all[RANKS];
    for (int step = 0; step < STEPS; step++) {
        if (step % 3 == 0) {
            int unit = 1 << draw(4), skew = draw(100);
            see_all(f); /* blocks change their owners */
            MPI_Datatype etype;
            MPI_Type_contiguous(unit, MPI_BYTE, &etype);
            MPI_Type_commit(&etype);
            for (int r = 0; r < size; r++) {
                if (step)
                    MPI_Type_free(&all[r].view.type);
                all[r].unit = unit;
                all[r].disp = skew + r * BLOCK;
                all[r].view = in_block(etype, unit, BLOCK * size);
            }
            if (MPI_File_set_view(f, all[rank].disp, etype, all[rank].view.type, "native", MPI_INFO_NULL))
                fail(program, step, "set_view", unit, skew, hints);
            MPI_Type_free(&etype);
        }
        writes = draw(2), form = draw(5), explicit = draw(2);
        if (draw(3) == 0)
            see_all(f);
        for (int r = 0; r < size; r++) {
            struct access *a = &all[r];
            a->memory = in_memory(a->unit);
            int per_item = a->view.bytes / a->unit;
            a->items = per_item ? draw(4) ? draw(per_item * ITEMS) : 0 : 0;
            a->first = per_item ? draw(per_item * ITEMS) : 0;
        }
        struct access *mine = &all[rank];
        my_access = mine;
        for (int r = 0; r < size; r++) {
            into_holes[r].writes = draw(2) && writes && !staged;
            into_holes[r].block = draw(ITEMS);
        }
        long bytes = (long)mine->items * mine->unit, there = bytes;
        for (unsigned i = 0; i < sizeof buffer; i++)
            buffer[i] = (unsigned char)(i * 5);
        if (writes)
            for (long k = 0; k < bytes; k++)
                *slot(mine, k) = value(program, step, rank, k);
        memcpy(before, buffer, sizeof buffer);
        MPI_Status status;
        int code = move(f, writes, form, explicit, mine->first, buffer + 64, mine->items, mine->memory.type, &status);
        if (code)
            fail(program, step, "class", class_of(code), writes, hints);
        if (writes) {
            for (int r = 0; r < size; r++)
                for (long k = 0; k < (long)all[r].items * all[r].unit; k++) {
                    long at = place(&all[r], k + (long)all[r].first * all[r].unit);
                    expected[at] = value(program, step, r, k);
                    if (at >= end_of_file)
                        end_of_file = at + 1;
                    if (r == rank && at >= end_for_me)
                        end_for_me = at + 1;
                }
            for (int r = 0; r < size; r++)
                for (int i = 0; into_holes[r].writes && i < BLOCK; i++) {
                    long at = place_in_block(&all[r], into_holes[r].block, i);
                    if (!is_hole(&all[r], i))
                        continue;
                    expected[at] = hole_value(r, i);
                    if (at >= end_of_file)
                        end_of_file = at + 1;
                    end_for_me = end_of_file > end_for_me ? end_of_file : end_for_me;
                }
        } else {
            /* What must have changed, up to the end of the file, and nothing else. Where others have staged data, the end may be
             * nearer. */
            there = before_end(mine, bytes, end_of_file);
            if (staged && bytes_of(&status) < there && bytes_of(&status) >= before_end(mine, bytes, end_for_me))
                there = bytes_of(&status);
            for (long k = 0; k < there; k++)
                before[slot(mine, k) - buffer] = expected[place(mine, k + (long)mine->first * mine->unit)];
        }
        if (bytes_of(&status) != there)
            fail(program, step, "status", bytes_of(&status), there, hints);
        MPI_Offset position;
        MPI_File_get_position(f, &position);
        if (!explicit && position != mine->first + mine->items)
            fail(program, step, "position", position, mine->first + mine->items, hints);
        for (long i = 0; i < (long)sizeof buffer; i++)
            if (buffer[i] != before[i])
                fail(program, step, writes ? "a write changes its buffer" : "byte of the buffer", i, form, hints);
        int looks = writes && (!staged || draw(2));
        if (looks)
            see_all(f);
        MPI_Barrier(MPI_COMM_WORLD);
        if (looks && rank == 0)
            compare(program, step, hints);
        for (int r = 0; r < size; r++)
            MPI_Type_free(&all[r].memory.type);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int r = 0; r < size; r++)
        MPI_Type_free(&all[r].view.type);
    MPI_File_close(&own_opening);
    MPI_File_close(&f);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        compare(program, STEPS, hints);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "random");
    int seed = argc > 2 ? atoi(argv[2]) : 1, programs = argc > 3 ? atoi(argv[3]) : 100;
    for (int i = 0; i < programs; i++)
        one(seed + i);
    if (rank == 0) {
        check(1, "programs give what the oracle says", 0);
        unlink(path);
    }
    return finish();
}
