/* What the tests of collectives share: verdicts that do not need collectives, data that shows its origin, and one
 * macro that runs a collective blocking, nonblocking and persistent. */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKING, NONBLOCKING, PERSISTENT, MODES };
static const char *const mode_names[] = {"blocking", "nonblocking", "persistent"};

static int rank, size, failed, chosen;

/* Every rank reports whether it is content; rank 0 prints one line. Point-to-point only. */
static inline void verdict(int content, const char *name)
{
    int all = content, one, from;
    if (rank) {
        MPI_Send(&content, 1, MPI_INT, 0, 999, MPI_COMM_WORLD);
        return;
    }
    for (from = 1; from < size; from++) {
        MPI_Recv(&one, 1, MPI_INT, from, 999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        all &= one;
    }
    failed |= !all;
    printf("%s %s\n", all ? "ok" : "FAIL", name);
}

/* Runs `setup` and a collective in one of its modes; a persistent one twice, each time after `setup`. */
#define RUN(mode, setup, Upper, lower, ...)                                                      \
    do {                                                                                         \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                 \
        int round_;                                                                              \
        if ((mode) == BLOCKING) {                                                                \
            setup;                                                                               \
            MPI_##Upper(__VA_ARGS__);                                                            \
        } else if ((mode) == NONBLOCKING) {                                                      \
            setup;                                                                               \
            MPI_I##lower(__VA_ARGS__, &request_);                                                \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                                              \
        } else {                                                                                 \
            MPI_##Upper##_init(__VA_ARGS__, MPI_INFO_NULL, &request_);                           \
            for (round_ = 0; round_ < 2; round_++) {                                             \
                setup;                                                                           \
                MPI_Start(&request_);                                                            \
                MPI_Wait(&request_, MPI_STATUS_IGNORE);                                          \
            }                                                                                    \
            MPI_Request_free(&request_);                                                         \
        }                                                                                        \
    } while (0)

/* Elements are ints, `stride` of them apart; what lies between must never be touched. */
struct kind {
    const char *name;
    MPI_Datatype type;
    int stride;
};

#define HOLE (-77)

/* Element `i` of what `from` has for `to`. */
static inline int value(int from, int to, int i)
{
    return (from + 1) * 1000003 + (to + 1) * 10007 + i * 31;
}

/* `blocks` blocks of `count` elements, all holes. */
static inline int *blank(int blocks, int count, int stride)
{
    int n = blocks * count * stride, i;
    int *buffer = malloc(((size_t)n + 1) * sizeof *buffer);
    for (i = 0; i < n; i++)
        buffer[i] = HOLE;
    return buffer;
}

static inline void erase(int *buffer, int blocks, int count, int stride)
{
    int n = blocks * count * stride, i;
    for (i = 0; i < n; i++)
        buffer[i] = HOLE;
}

/* Fills a block with what `from` has for `to`. */
static inline void put(int *block, int count, int stride, int from, int to)
{
    int i;
    for (i = 0; i < count; i++)
        block[i * stride] = value(from, to, i);
}

/* Whether a block holds what `from` has for `to`, and nothing else. */
static inline int holds(const int *block, int count, int stride, int from, int to)
{
    int i, j;
    for (i = 0; i < count; i++) {
        if (block[i * stride] != value(from, to, i))
            return 0;
        for (j = 1; j < stride; j++)
            if (block[i * stride + j] != HOLE)
                return 0;
    }
    return 1;
}

/* Whether a block was left alone. */
static inline int untouched(const int *block, int count, int stride)
{
    int i;
    for (i = 0; i < count * stride; i++)
        if (block[i] != HOLE)
            return 0;
    return 1;
}

/* Whether to test a collective: ONLY, where it is set, names the one whose algorithm is forced. */
static inline int wanted(const char *call)
{
    const char *only = getenv("ONLY");
    chosen |= only && !strcmp(only, call);
    return !only || !strcmp(only, call);
}

/* Runs and counts a test of a collective, where it is wanted. */
#define TEST(good, call, test)            \
    do {                                  \
        if (wanted(call))                 \
            (good) &= (test);             \
    } while (0)

static inline void start(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int finish(void)
{
    if (getenv("ONLY"))
        verdict(chosen, "ONLY names a collective of this program");
    MPI_Finalize();
    return failed;
}

/* Ints back to back, and ints with a hole behind each. */
static inline void make_kinds(struct kind kinds[2])
{
    kinds[0] = (struct kind){"int", MPI_INT, 1};
    kinds[1] = (struct kind){"int with holes", MPI_DATATYPE_NULL, 2};
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &kinds[1].type);
    MPI_Type_commit(&kinds[1].type);
}

#endif
