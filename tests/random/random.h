/* What the parts of the random tester share: numbers that depend on seed and step alone, options, layouts of data,
 * buffers with guards, communicators with their model, operations under way. */
#ifndef RANDOM_H
#define RANDOM_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 32, SLOTS = 9, MAX_EDGES = 64 };

/* What a step may be; see kind_names. */
enum kind { MESSAGES, SHIFT, PARTITIONED, CANCEL, MOVE, REDUCE, NEIGHBOURS, BARRIER, MAKE, FREE, COMPLETE, AGAIN, KINDS };

/* What a step may use; see feature_names. */
enum feature {
    DERIVED, INTERLEAVED, MIXED, EMPTY, LARGE, WILD, PROBE, BUFFERED, READY, SYNCHRONOUS, BLOCKING, PERSISTENT, DEFER,
    IN_PLACE, USER, NONBLOCKING, INTER, IDUP, ORPHAN, TOPOLOGY, SELF, SENDS, STATUS, FOLDED, NODE, FEATURES
};

struct options {
    uint64_t seed;
    int steps, first;
    size_t largest;
    int verbose, alarm;
    unsigned char no_kind[KINDS], no_feature[FEATURES];
};
extern struct options options;

/* Where this process is: for reports. */
extern int world_rank, world_size, current_step;
extern const char *current_what;

/* Ends the job with a message that names seed, step and rank. */
void wrong(int step, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void *get(size_t bytes);

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t hash(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return mix(mix(mix(mix(options.seed ^ 0x5eed) + a) + b) + c) ^ mix(d + 77);
}

struct stream {
    uint64_t state;
};

/* The same on all ranks; `local` is the rank's own. Neither depends on what came before the step. */
static inline struct stream common(int step, int what)
{
    return (struct stream){hash(step, what, 0, 1)};
}

static inline struct stream local(int step, int what)
{
    return (struct stream){hash(step, what, world_rank, 2)};
}

static inline uint64_t draw(struct stream *s)
{
    return mix(s->state++);
}

static inline long below(struct stream *s, long n)
{
    return n > 0 ? (long)(draw(s) % (uint64_t)n) : 0;
}

static inline int chance(struct stream *s, int percent)
{
    return below(s, 100) < percent;
}

/* A choice that the options may forbid; it takes one number either way. */
static inline int may(struct stream *s, enum feature feature, int percent)
{
    return chance(s, percent) & !options.no_feature[feature];
}

void shuffle(struct stream *s, int *items, int n);

/* Layouts (layout.c) */

/* The unit of a signature: up to three basic types in a row. */
struct atom {
    int pieces;
    MPI_Datatype type[3];
    int bytes[3], size, align;
    MPI_Datatype pair; /* the predefined type of this signature, or MPI_DATATYPE_NULL */
    int pair_at[2], pair_extent;
};

const struct atom *any_atom(struct stream *s);
const struct atom *atom_of(MPI_Datatype type);

struct piece {
    ptrdiff_t at;
    int bytes;
};

/* A datatype with its type map: all offsets in bytes. */
struct layout {
    MPI_Datatype type;
    int owned;
    int pieces, basics;
    struct piece *piece;
    ptrdiff_t lb, extent, low, high;
    size_t size;
    int atoms;
};

/* A layout of `atoms` atoms, up to `instances` of which may stand in one buffer without overlap. */
struct layout *make_layout(struct stream *s, const struct atom *atom, int atoms, long instances);
/* A layout for blocks of a multiple of `atoms` atoms: it holds a divisor of them. */
struct layout *divide_layout(struct stream *s, const struct atom *atom, long atoms, long blocks);
struct layout *plain_layout(const struct atom *atom);
struct layout *empty_layout(void);
struct layout *gap_layout(const struct atom *atom, int gap, int between);
void forget_type(struct layout *layout);
void free_layout(struct layout *layout);
int divisor(struct stream *s, long n, int most);

/* Buffers (area.c) */

typedef void payload(const void *context, uint64_t id, unsigned char *out, size_t bytes);
void reduced(const void *context, uint64_t id, unsigned char *out, size_t bytes);
void bytes_of(const void *context, uint64_t id, unsigned char *out, size_t bytes);

/* `count` instances of a layout at an offset; `bytes` of payload are in it before and after. */
struct block {
    struct layout *layout;
    ptrdiff_t at;
    long count;
    size_t bytes;
    uint64_t before, after;
    char has_before, has_after, any;
};

struct area {
    unsigned char *mem, *base;
    size_t length;
    struct block *block;
    int n;
    struct layout **layout;
    int layouts;
};

struct layout *own_layout(struct area *area, struct layout *layout);
struct block *add_block(struct area *area, struct layout *layout, ptrdiff_t at, long count, size_t bytes);
void place_area(struct area *area, struct stream *s);
void fill_area(struct area *area, payload *payload, const void *context);
void check_area(struct area *area, payload *payload, const void *context, int step, const char *what);
void forget_types(struct area *area);
void free_area(struct area *area);

/* Communicators (families.c) */

enum shape { INTRA, INTERCOMM, CART, GRAPH };

/* A slot of the table: communicators made by one step, of which this process is in one at most. Whether a slot is
 * used and its shape are known to all processes. */
struct family {
    int used, member;
    enum shape shape;
    MPI_Comm comm;
    MPI_Request made; /* of MPI_Comm_idup */
    int side, rank, size[2], world[2][MAX_RANKS];
    int dimensions, dims[3], periods[3];
    int in_degree, out_degree, in[MAX_EDGES], out[MAX_EDGES], in_label[MAX_EDGES], out_label[MAX_EDGES];
};
extern struct family families[SLOTS];

void first_families(void);
void last_families(void);
void make_family(int step);
void free_family(int step);
void settle_family(struct family *family, int step);
/* The family of a slot, or the next that has the shapes wanted; NULL if there is none. */
struct family *choose_family(struct stream *s, unsigned shapes);

/* Operations under way (jobs.c) */

struct job {
    int step;
    const char *what;
    int n;
    MPI_Request *requests;
    MPI_Status *statuses;
    void (*end)(struct job *job);
    struct job *next;
};

/* Adds requests that have been started; they are completed now, or at a later step. */
void post(struct job *job, int now);
void complete_some(int step);
void complete_all(int step);
void complete_one(struct job *job, int step);
int is_pending(const struct job *job);

/* Steps */
void messages(int step);
void shift(int step);
void partitioned(int step);
void cancel(int step);
void move(int step);
void neighbours(int step);
void reduce(int step);
void barrier(int step);
void again(int step);
void drop_kept(void);
void drop_kept_of(const struct family *family, int step);
void attach(void);
void detach(void);
long any_size(struct stream *s, const struct atom *atom, long blocks);

/* Collectives (collectives.c) */

enum mode { NOW, LATER, KEPT };

struct collective {
    struct job job;
    enum mode mode;
    int kind, alone;
    MPI_Comm comm;
    const struct family *family;
    MPI_Request request;
    int salt;
    struct area send, recv;
    void *send_buffer;
    int sends, receives, root;
    MPI_Datatype send_type, recv_type;
    int *send_counts, *recv_counts, *send_places, *recv_places;
    MPI_Aint *send_ats, *recv_ats;
    MPI_Datatype *send_types, *recv_types;
    MPI_Op op;
    payload *payload;
    const void *context;
    void *extra;
    void (*call)(struct collective *c);
    int kept;
};

/* Fills the buffers, makes the call and posts what it started. */
void go(struct collective *c, struct stream *s, int step, const char *what);
enum mode any_mode(struct stream *s);
struct collective *new_collective(const struct family *f, enum mode mode, int step);

/* A call in the three modes: blocking, nonblocking, persistent. */
#define CALL(c, Upper, lower, ...)                                                 \
    do {                                                                           \
        if ((c)->mode == NOW)                                                      \
            MPI_##Upper(__VA_ARGS__);                                              \
        else if ((c)->mode == LATER)                                               \
            MPI_I##lower(__VA_ARGS__, &(c)->request);                              \
        else                                                                       \
            MPI_##Upper##_init(__VA_ARGS__, MPI_INFO_NULL, &(c)->request);         \
    } while (0)

#endif
