/*
 * What the measuring programs share: options, the list of sizes, and how one size is timed.
 *
 * Each program measures one thing between the ranks of MPI_COMM_WORLD and prints one line per size,
 * "bytes value unit", "bytes value unit processor-microseconds" or "bytes value unit over floor"; lines that start with '#' are for people. Any mpicc builds them: mpicc -O2 pingpong.c.
 *
 * How one size is timed (NetPIPE's way): the number of iterations that takes long enough is found once; then that many
 * are timed in several blocks, and the best block counts, as everything that disturbs a block makes it slower.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 7, TAG = 1, PAGE = 4096 };

/* One size: does `iterations` of whatever is measured. Called by all ranks. */
typedef void body(size_t bytes, long iterations);

static struct {
    size_t min, max; /* sizes in bytes: powers of two from min to max; min 0 means 0 first, then 1, 2, … */
    size_t factor;   /* from each size to the next; 2 unless told */
    size_t perturb;  /* also measure this many bytes below and above each size */
    double seconds;  /* time spent on one size, all blocks together */
    const char *what; /* what to measure, for programs that can measure several things */
    const char *where; /* in which folder, for programs that use files */
    int rank, ranks; /* of MPI_COMM_WORLD */
    int level;       /* of thread support; MPI_THREAD_SINGLE unless told before kernel_begin */
    int paced;       /* whether the measured function times itself and leaves the seconds in `inside` */
    double inside;
    int spanned;     /* whether time runs from the first rank's start to the last one's end; they are on one host */
    body *floor;     /* what the measured function is compared with, block by block; NULL: nothing */
    long messages;   /* of all ranks in one iteration; 0: processor time of a message is not printed */
    double processor; /* seconds of processor time of this rank in what was measured */
    int receives;    /* whether `in` holds the peer's `out` after the measured exchange on this rank */
    char *out, *in;  /* buffers of max + perturb bytes, on pages of their own */
} k;

static inline void kernel_fail(const char *step, const char *seen)
{
    fprintf(stderr, "%s: %s\n", step, seen);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline char *kernel_buffer(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, PAGE, bytes + PAGE) != 0)
        kernel_fail("allocating a buffer", "no memory; lower --max");
    memset(memory, 0, bytes + PAGE); /* touched now, not while timing */
    return memory;
}

/* The byte at `index` of a message of this size: what `kernel_fill` writes and `kernel_check` expects. */
static inline char kernel_pattern(size_t bytes, size_t index)
{
    return (char)(index * 7 + bytes + 1);
}

static inline void kernel_fill(char *buffer, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = kernel_pattern(bytes, i);
}

static inline void kernel_check(const char *buffer, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (buffer[i] != kernel_pattern(bytes, i))
            kernel_fail("checking received data", "a byte differs from what was sent");
}

/* Starts MPI and reads --min --max --factor --perturb --seconds --paced --what --where; the arguments give their defaults. */
static inline void kernel_begin(int argc, char **argv, int least_ranks, size_t min, size_t max)
{
    k.min = min;
    k.max = max;
    k.factor = 2;
    k.seconds = 0.05;
    k.what = k.where = "";
    int provided;
    MPI_Init_thread(&argc, &argv, k.level, &provided);
    if (provided < k.level)
        kernel_fail("starting", "this MPI does not provide the level of thread support");
    MPI_Comm_rank(MPI_COMM_WORLD, &k.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &k.ranks);
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--min") == 0)
            k.min = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--max") == 0)
            k.max = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--factor") == 0)
            k.factor = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--what") == 0)
            k.what = argv[i + 1];
        else if (strcmp(argv[i], "--where") == 0)
            k.where = argv[i + 1];
        else if (strcmp(argv[i], "--perturb") == 0)
            k.perturb = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--paced") == 0)
            k.paced = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seconds") == 0)
            k.seconds = atof(argv[i + 1]);
        else
            kernel_fail("reading options", argv[i]);
    }
    if (k.factor < 2)
        kernel_fail("reading options", "--factor must be at least 2");
    if (k.ranks < least_ranks)
        kernel_fail("starting", "too few ranks (mpiexec -n 2 at least)");
    k.out = kernel_buffer(k.max + k.perturb);
    k.in = kernel_buffer(k.max + k.perturb);
}

static inline void kernel_end(void)
{
    free(k.out);
    free(k.in);
    MPI_Finalize();
}

/* Seconds of processor time of all threads of this process. */
static inline double kernel_processor(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of a clock that all processes of a host share; that of MPI_Wtime may begin anew in each. */
static inline double kernel_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* On rank 0: seconds from the first rank's start until now, on the last one. Where ranks share processors, others may have
 * done their work before rank 0 runs. */
static inline double kernel_span(double start)
{
    double own[2] = {-start, kernel_now()}, all[2] = {0};
    MPI_Reduce(own, all, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return all[0] + all[1];
}

/* Seconds that all ranks need for this many iterations, seen from rank 0. */
static inline double kernel_time(body *run, size_t bytes, long iterations)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double processor = kernel_processor(), start = kernel_now();
    run(bytes, iterations);
    double elapsed = k.paced ? k.inside : k.spanned ? kernel_span(start) : kernel_now() - start;
    k.processor += kernel_processor() - processor;
    return elapsed;
}

/* Iterations that fill one block; the same on all ranks. */
static inline long kernel_iterations(body *run, size_t bytes)
{
    double block = k.seconds / BLOCKS;
    long iterations = 1;
    for (;;) {
        double elapsed = kernel_time(run, bytes, iterations);
        long next = iterations;
        if (elapsed < block)
            next = elapsed < block / 16 ? iterations * 8 : (long)(iterations * block / elapsed) + 1;
        if (next > 100000000)
            next = iterations;
        /* Close enough to a full block ends the search. */
        int done = next == iterations || elapsed > 0.7 * block;
        long decision[2] = {next, done};
        MPI_Bcast(decision, 2, MPI_LONG, 0, MPI_COMM_WORLD);
        iterations = decision[0];
        if (decision[1])
            return iterations;
    }
}

/* Seconds of one iteration in the best block, for each of these; their blocks alternate, so that what disturbs one disturbs the
 * others as well. */
static inline void kernel_bests(body *const run[], int bodies, size_t bytes, double best[])
{
    long iterations[2] = {0};
    for (int i = 0; i < bodies; i++)
        iterations[i] = kernel_iterations(run[i], bytes);
    k.processor = 0;
    for (int block = 0; block < BLOCKS; block++)
        for (int i = 0; i < bodies; i++) {
            double elapsed = kernel_time(run[i], bytes, iterations[i]) / iterations[i];
            if (block == 0 || elapsed < best[i])
                best[i] = elapsed;
        }
    if (k.messages > 0) {
        double own = k.processor / (double)(BLOCKS * iterations[0] * k.messages);
        MPI_Reduce(&own, &k.processor, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    }
}

static inline double kernel_best(body *run, size_t bytes)
{
    double best;
    kernel_bests(&run, 1, bytes, &best);
    return best;
}

/* Turns the seconds of one iteration into the value that is printed. */
typedef double figure(size_t bytes, double seconds);

static inline double kernel_microseconds(size_t bytes, double seconds)
{
    (void)bytes;
    return seconds * 1e6;
}

static inline double kernel_half_microseconds(size_t bytes, double seconds)
{
    return kernel_microseconds(bytes, seconds) / 2;
}

/* Two exchanges that count for nothing: they make connections, and show that the data arrive. */
static inline void kernel_first_contact(body *run, size_t bytes)
{
    kernel_fill(k.out, bytes);
    memset(k.in, 0, bytes);
    run(bytes, 2);
    if (k.receives)
        kernel_check(k.in, bytes);
}

static inline void kernel_size(body *run, figure *of, const char *unit, size_t bytes)
{
    body *const both[2] = {run, k.floor};
    int bodies = k.floor != NULL ? 2 : 1;
    double seconds[2];
    for (int i = 0; i < bodies; i++)
        kernel_first_contact(both[i], bytes);
    kernel_bests(both, bodies, bytes, seconds);
    if (k.rank == 0) {
        printf("%zu %.9g %s", bytes, of(bytes, seconds[0]), unit);
        if (k.floor != NULL)
            printf(" over %.9g", of(bytes, seconds[1]));
        if (k.messages > 0)
            printf(" %.6g", 1e6 * k.processor);
        printf("\n");
        fflush(stdout);
    }
}

/* The smallest power of two that is at least `bytes`. */
static inline size_t kernel_power(size_t bytes)
{
    size_t power = 1;
    while (power < bytes)
        power *= 2;
    return power;
}

/* Measures every size and prints its line. */
static inline void kernel_sizes(body *run, figure *of, const char *unit)
{
    if (k.min == 0)
        kernel_size(run, of, unit, 0);
    for (size_t bytes = k.min > 0 ? kernel_power(k.min) : 1; bytes <= k.max; bytes *= k.factor) {
        int perturbed = k.perturb > 0 && bytes > 2 * k.perturb;
        if (perturbed)
            kernel_size(run, of, unit, bytes - k.perturb);
        kernel_size(run, of, unit, bytes);
        if (perturbed)
            kernel_size(run, of, unit, bytes + k.perturb);
    }
}

#endif
