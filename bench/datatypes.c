/*
 * Data with holes: ping-pong of derived datatypes between the first and the last rank, and MPI_Pack and MPI_Unpack
 * against loops written by hand. One line per shape and size of payload, all values in MB/s of payload:
 *
 *   shape bytes send pack loop unpack loop
 *
 * --shape NAME measures that shape alone and prints "bytes value unit", as the other programs do. What, says --measure:
 * send (the default, in MB/s), or pack or unpack, in units of a loop's speed.
 */
#include "kernel.h"

#include <math.h>
#include <stddef.h>

enum { SPAN_LIMIT = 64 << 20 };

struct record {
    double value;
    int key;
};

/* The shape at hand: `count` items of `type` hold `n` elements of payload in `span` bytes of memory. */
static struct {
    MPI_Datatype type;
    int count;
    size_t span, n;
    size_t step;       /* vector, column: doubles from one element to the next */
    size_t side, wide; /* face: elements along the two long axes, doubles along the short one */
    int *index;        /* indexed: where each element lies */
    char *memory;      /* the user's data */
    char *packed;      /* the same, packed */
} t;

/* One kind of data: builds the type for a payload, and the two loops. */
struct shape {
    const char *name;
    void (*build)(size_t doubles);
    void (*pack)(void);
    void (*unpack)(void);
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- every STEPth double; a column of a matrix is the same with a step that is not known when compiling ---- */

static void build_vector(size_t doubles, size_t step)
{
    t.step = step;
    t.span = doubles * step * sizeof(double);
    MPI_Type_vector((int)doubles, 1, (int)step, MPI_DOUBLE, &t.type);
}

static void build_vector2(size_t doubles)
{
    build_vector(doubles, 2);
}

static void build_vector16(size_t doubles)
{
    build_vector(doubles, 16);
}

static void build_column(size_t doubles)
{
    build_vector(doubles, smaller(1000, SPAN_LIMIT / sizeof(double) / doubles));
}

static void pack_vector2(void)
{
    const double *memory = (const double *)t.memory;
    double *packed = (double *)t.packed;
    for (size_t i = 0; i < t.n; i++)
        packed[i] = memory[2 * i];
}

static void unpack_vector2(void)
{
    double *memory = (double *)t.memory;
    const double *packed = (const double *)t.packed;
    for (size_t i = 0; i < t.n; i++)
        memory[2 * i] = packed[i];
}

static void pack_vector(void)
{
    const double *memory = (const double *)t.memory;
    double *packed = (double *)t.packed;
    for (size_t i = 0; i < t.n; i++)
        packed[i] = memory[t.step * i];
}

static void unpack_vector(void)
{
    double *memory = (double *)t.memory;
    const double *packed = (const double *)t.packed;
    for (size_t i = 0; i < t.n; i++)
        memory[t.step * i] = packed[i];
}

/* ---- the inner face across the fastest axis of a block with a border of one cell ---- */

static void build_face(size_t doubles)
{
    t.side = (size_t)sqrt((double)doubles);
    t.n = t.side * t.side;
    t.wide = smaller(t.side, SPAN_LIMIT / sizeof(double) / ((t.side + 2) * (t.side + 2)) - 2) + 2;
    t.span = (t.side + 2) * (t.side + 2) * t.wide * sizeof(double);
    int sizes[3] = {(int)t.side + 2, (int)t.side + 2, (int)t.wide};
    int face[3] = {(int)t.side, (int)t.side, 1};
    int starts[3] = {1, 1, 1};
    MPI_Type_create_subarray(3, sizes, face, starts, MPI_ORDER_C, MPI_DOUBLE, &t.type);
}

static void pack_face(void)
{
    const double *memory = (const double *)t.memory;
    double *packed = (double *)t.packed;
    for (size_t i = 1; i <= t.side; i++)
        for (size_t j = 1; j <= t.side; j++)
            *packed++ = memory[(i * (t.side + 2) + j) * t.wide + 1];
}

static void unpack_face(void)
{
    double *memory = (double *)t.memory;
    const double *packed = (const double *)t.packed;
    for (size_t i = 1; i <= t.side; i++)
        for (size_t j = 1; j <= t.side; j++)
            memory[(i * (t.side + 2) + j) * t.wide + 1] = *packed++;
}

/* ---- an array of structures with a hole at the end ---- */

static void build_struct(size_t doubles)
{
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(struct record, value), offsetof(struct record, key)};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_INT};
    t.n = doubles * sizeof(double) / (sizeof(double) + sizeof(int));
    t.count = (int)t.n;
    t.span = t.n * sizeof(struct record);
    MPI_Type_create_struct(2, lengths, places, types, &t.type);
}

static void pack_struct(void)
{
    const struct record *memory = (const struct record *)t.memory;
    char *packed = t.packed;
    for (size_t i = 0; i < t.n; i++) {
        memcpy(packed, &memory[i].value, sizeof(double));
        memcpy(packed + sizeof(double), &memory[i].key, sizeof(int));
        packed += sizeof(double) + sizeof(int);
    }
}

static void unpack_struct(void)
{
    struct record *memory = (struct record *)t.memory;
    const char *packed = t.packed;
    for (size_t i = 0; i < t.n; i++) {
        memcpy(&memory[i].value, packed, sizeof(double));
        memcpy(&memory[i].key, packed + sizeof(double), sizeof(int));
        packed += sizeof(double) + sizeof(int);
    }
}

/* ---- a quarter of the doubles of an array, in random order ---- */

static void build_indexed(size_t doubles)
{
    size_t all = 4 * doubles;
    unsigned long long state = 88172645463325252ull;
    t.span = all * sizeof(double);
    t.index = malloc(all * sizeof(int));
    if (t.index == NULL)
        kernel_fail("listing random places", "no memory; lower --max");
    for (size_t i = 0; i < all; i++)
        t.index[i] = (int)i;
    for (size_t i = all - 1; i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t j = state % (i + 1);
        int held = t.index[i];
        t.index[i] = t.index[j];
        t.index[j] = held;
    }
    MPI_Type_create_indexed_block((int)doubles, 1, t.index, MPI_DOUBLE, &t.type);
}

static void pack_indexed(void)
{
    const double *memory = (const double *)t.memory;
    double *packed = (double *)t.packed;
    for (size_t i = 0; i < t.n; i++)
        packed[i] = memory[t.index[i]];
}

static void unpack_indexed(void)
{
    double *memory = (double *)t.memory;
    const double *packed = (const double *)t.packed;
    for (size_t i = 0; i < t.n; i++)
        memory[t.index[i]] = packed[i];
}

/* ---- the left quarter of a matrix: runs of 4 KiB ---- */

enum { RUN = 512 };

static void build_rows(size_t doubles)
{
    size_t rows = doubles / RUN;
    t.n = rows * RUN;
    t.step = 4 * RUN;
    t.span = rows * t.step * sizeof(double);
    MPI_Type_vector((int)rows, RUN, (int)t.step, MPI_DOUBLE, &t.type);
}

static void pack_rows(void)
{
    const double *memory = (const double *)t.memory;
    double *packed = (double *)t.packed;
    for (size_t row = 0; row < t.n / RUN; row++)
        memcpy(packed + row * RUN, memory + row * t.step, RUN * sizeof(double));
}

static void unpack_rows(void)
{
    double *memory = (double *)t.memory;
    const double *packed = (const double *)t.packed;
    for (size_t row = 0; row < t.n / RUN; row++)
        memcpy(memory + row * t.step, packed + row * RUN, RUN * sizeof(double));
}

static const struct shape shapes[] = {
    {"vector-2", build_vector2, pack_vector2, unpack_vector2},
    {"vector-16", build_vector16, pack_vector, unpack_vector},
    {"column", build_column, pack_vector, unpack_vector},
    {"face", build_face, pack_face, unpack_face},
    {"struct", build_struct, pack_struct, unpack_struct},
    {"indexed", build_indexed, pack_indexed, unpack_indexed},
    {"rows", build_rows, pack_rows, unpack_rows},
};

static const struct shape *now;

/* ---- what is measured ---- */

static void send(size_t bytes, long iterations)
{
    int last = k.ranks - 1;
    (void)bytes;
    for (long i = 0; i < iterations; i++) {
        if (k.rank == 0) {
            MPI_Send(t.memory, t.count, t.type, last, TAG, MPI_COMM_WORLD);
            MPI_Recv(t.memory, t.count, t.type, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (k.rank == last) {
            MPI_Recv(t.memory, t.count, t.type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(t.memory, t.count, t.type, 0, TAG, MPI_COMM_WORLD);
        }
    }
}

static void pack(size_t bytes, long iterations)
{
    for (long i = 0; k.rank == 0 && i < iterations; i++) {
        int position = 0;
        MPI_Pack(t.memory, t.count, t.type, t.packed, (int)bytes, &position, MPI_COMM_WORLD);
    }
}

static void unpack(size_t bytes, long iterations)
{
    for (long i = 0; k.rank == 0 && i < iterations; i++) {
        int position = 0;
        MPI_Unpack(t.packed, (int)bytes, &position, t.memory, t.count, t.type, MPI_COMM_WORLD);
    }
}

static void pack_by_hand(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; k.rank == 0 && i < iterations; i++)
        now->pack();
}

static void unpack_by_hand(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; k.rank == 0 && i < iterations; i++)
        now->unpack();
}

/* The data arrive: the first rank's pattern comes back from the last one, and MPI_Pack agrees with the loop. */
static void check(size_t bytes)
{
    kernel_fill(t.packed, bytes);
    if (k.rank == 0)
        now->unpack();
    send(bytes, 1);
    memset(t.packed, 0, bytes);
    now->pack();
    if (k.rank == 0 || k.rank == k.ranks - 1)
        kernel_check(t.packed, bytes);
    memset(t.packed, 0, bytes);
    pack(bytes, 1);
    if (k.rank == 0)
        kernel_check(t.packed, bytes);
}

static double megabytes(body *run, size_t bytes)
{
    return bytes / kernel_best(run, bytes) / 1e6;
}

static double sent(size_t bytes)
{
    return 2 * megabytes(send, bytes);
}

/* Seconds of one iteration of two ways to do the same. */
struct rivals {
    double call, loop;
};

static struct rivals compared(body *call, body *loop, size_t bytes)
{
    double best[2];
    kernel_bests((body *const[]){call, loop}, 2, bytes, best);
    return (struct rivals){best[0], best[1]};
}

static double packed(size_t bytes)
{
    struct rivals best = compared(pack, pack_by_hand, bytes);
    return best.loop / best.call;
}

static double unpacked(size_t bytes)
{
    struct rivals best = compared(unpack, unpack_by_hand, bytes);
    return best.loop / best.call;
}

/* What --measure chooses from. */
static const struct figure_of {
    const char *name, *unit;
    double (*value)(size_t bytes);
} figures[] = {{"send", "MB/s", sent}, {"pack", "loops", packed}, {"unpack", "loops", unpacked}};

static void print_all(size_t bytes)
{
    double send_rate = sent(bytes);
    struct rivals packs = compared(pack, pack_by_hand, bytes), unpacks = compared(unpack, unpack_by_hand, bytes);
    if (k.rank == 0)
        printf("%s %zu %.0f %.0f %.0f %.0f %.0f\n", now->name, bytes, send_rate, bytes / packs.call / 1e6,
               bytes / packs.loop / 1e6, bytes / unpacks.call / 1e6, bytes / unpacks.loop / 1e6);
}

/* `payload` is rounded down to whole elements of the shape; one figure is printed, or without one all. */
static void measure(size_t payload, const struct figure_of *figure)
{
    int bytes;
    t.count = 1;
    t.n = payload / sizeof(double);
    now->build(t.n);
    MPI_Type_commit(&t.type);
    MPI_Type_size(t.type, &bytes);
    bytes *= t.count;
    t.memory = kernel_buffer(t.span);
    t.packed = kernel_buffer((size_t)bytes);
    check((size_t)bytes);
    if (figure == NULL) {
        print_all((size_t)bytes);
    } else {
        double value = figure->value((size_t)bytes);
        if (k.rank == 0)
            printf("%d %.9g %s\n", bytes, value, figure->unit);
    }
    fflush(stdout);
    free(t.memory);
    free(t.packed);
    free(t.index);
    t.index = NULL;
    MPI_Type_free(&t.type);
}

/* Takes an option of this program, with its value, out of the arguments. */
static const char *take(const char *option, int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i += 2) {
        if (strcmp(argv[i], option) == 0) {
            const char *value = argv[i + 1];
            *argc -= 2;
            memmove(argv + i, argv + i + 2, (size_t)(*argc - i + 1) * sizeof *argv);
            return value;
        }
    }
    return NULL;
}

static const struct figure_of *figure_named(const char *name)
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(figures[i].name, name) == 0)
            return &figures[i];
    kernel_fail("choosing what to measure; known are send pack unpack", name);
    return NULL;
}

int main(int argc, char **argv)
{
    int known = 0;
    const char *name = take("--measure", &argc, argv);
    const char *alone = take("--shape", &argc, argv);
    kernel_begin(argc, argv, 2, 4 << 10, 4 << 20);
    const struct figure_of *figure = name || alone ? figure_named(name ? name : "send") : NULL;
    if (k.rank == 0 && figure == NULL)
        printf("# MB/s: shape bytes send pack loop unpack loop\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        now = &shapes[i];
        if (alone != NULL && strcmp(alone, now->name) != 0)
            continue;
        known = 1;
        for (size_t payload = 4 << 10; payload <= k.max; payload *= 4)
            if (payload >= k.min)
                measure(payload, figure);
    }
    if (!known)
        kernel_fail("choosing a shape; known are vector-2 vector-16 column face struct indexed rows", alone);
    kernel_end();
    return 0;
}
