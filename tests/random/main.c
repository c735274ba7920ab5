/* A seeded legal program of many steps: communicators, datatypes of equal signature and different layout, messages in
 * all modes, blocking, nonblocking and persistent collectives, many under way at once. Every byte that arrives, and
 * every byte that must stay, is known to the program. What a step does depends on the seed and its number alone.
 *
 * usage: random [seed=N] [steps=N] [first=N] [largest=BYTES] [without=KIND,FEATURE…] [alarm=SECONDS] [verbose=1]
 *
 * Ends with "ok" from rank 0, or with a message that names seed and step, and a status that is not 0. */
#include "random.h"
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

struct options options = {.seed = 1, .steps = 200, .largest = 1 << 20};
int world_rank, world_size, current_step;
const char *current_what = "start";

static const char *const kind_names[KINDS] = {
    "messages", "shift", "partitioned", "cancel", "move", "reduce", "neighbours", "barrier", "make", "free", "complete",
    "again",
};
static const char *const feature_names[FEATURES] = {
    "derived", "interleaved", "mixed", "empty", "large", "wild", "probe", "buffered", "ready", "synchronous", "blocking",
    "persistent", "defer", "in_place", "user", "nonblocking", "inter", "idup", "orphan", "topology", "self", "sends",
    "status", "folded", "node",
};
/* How often, out of 100. */
static const int weights[KINDS] = {24, 5, 3, 3, 20, 12, 10, 3, 9, 3, 4, 4};

void wrong(int step, const char *format, ...)
{
    va_list arguments;
    char text[500];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "FAIL seed %llu, step %d, rank %d of %d: %s (in step %d, %s)\n", (unsigned long long)options.seed, step,
            world_rank, world_size, text, current_step, current_what);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

void *get(size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);
    if (memory == NULL)
        wrong(current_step, "no memory for %zu bytes", bytes);
    return memory;
}

void shuffle(struct stream *s, int *items, int n)
{
    int i;
    for (i = n - 1; i > 0; i--) {
        int k = (int)below(s, i + 1), item = items[i];
        items[i] = items[k];
        items[k] = item;
    }
}

/* Mostly small; rarely up to the largest, which the blocks of a call share. */
long any_size(struct stream *s, const struct atom *atom, long blocks)
{
    static const long grains[] = {1, 1, 2, 3, 4, 6, 8, 12, 16, 30};
    long grain = grains[below(s, 10)], bytes, dice = below(s, 100), large = draw(s) % 1000, part = below(s, 1000) + 1;
    if (dice < 8)
        return 0;
    bytes = dice < 60 ? 64 : dice < 85 ? 3000 : dice < 95 ? 40000 : (long)options.largest;
    if (options.no_feature[LARGE] && bytes > 3000)
        bytes = 3000;
    if (bytes > 40000 && large > 300)
        bytes = 40000;
    if (bytes * blocks > (long)options.largest)
        bytes = (long)options.largest / blocks;
    bytes = bytes * part / 1000;
    bytes = bytes / (grain * atom->size);
    return (bytes ? bytes : 1) * grain;
}

static void on_alarm(int signal)
{
    char line[200];
    int n = snprintf(line, sizeof line, "rank %d is in step %d, %s\n", world_rank, current_step, current_what);
    (void)signal;
    if (write(2, line, n) < 0)
        return;
}

static void forbid(const char *list)
{
    char name[40];
    int length, i;
    while (sscanf(list, "%39[a-z_]%n", name, &length) == 1) {
        for (i = 0; i < KINDS; i++)
            options.no_kind[i] |= strcmp(name, kind_names[i]) == 0;
        for (i = 0; i < FEATURES; i++)
            options.no_feature[i] |= strcmp(name, feature_names[i]) == 0;
        list += length;
        list += *list == ',';
    }
}

/* skip=A-B,C-D…: steps left out. */
static const char *skipped = "";

static int is_skipped(int step)
{
    const char *at = skipped;
    int from, to, length;
    while (sscanf(at, "%d-%d%n", &from, &to, &length) == 2) {
        if (step >= from && step <= to)
            return 1;
        at += length;
        at += *at == ',';
    }
    return 0;
}

static void read_options(int argc, char **argv)
{
    int i;
    for (i = 1; i < argc; i++) {
        unsigned long long n;
        if (sscanf(argv[i], "seed=%llu", &n) == 1)
            options.seed = n;
        else if (sscanf(argv[i], "steps=%llu", &n) == 1)
            options.steps = (int)n;
        else if (sscanf(argv[i], "first=%llu", &n) == 1)
            options.first = (int)n;
        else if (sscanf(argv[i], "largest=%llu", &n) == 1)
            options.largest = n;
        else if (sscanf(argv[i], "alarm=%llu", &n) == 1)
            options.alarm = (int)n;
        else if (sscanf(argv[i], "verbose=%llu", &n) == 1)
            options.verbose = (int)n;
        else if (strncmp(argv[i], "without=", 8) == 0)
            forbid(argv[i] + 8);
        else if (strncmp(argv[i], "skip=", 5) == 0)
            skipped = argv[i] + 5;
        else
            wrong(0, "unknown option %s", argv[i]);
    }
}

static enum kind choose_kind(int step)
{
    struct stream s = common(step, 0);
    long at = below(&s, 100);
    int kind = 0;
    while (kind < KINDS - 1 && at >= weights[kind])
        at -= weights[kind++];
    return kind;
}

int main(int argc, char **argv)
{
    static void (*const steps[KINDS])(int) = {
        messages, shift, partitioned, cancel, move, reduce, neighbours, barrier, make_family, free_family, complete_some,
        again,
    };
    struct stream s;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    read_options(argc, argv);
    if (world_size > MAX_RANKS)
        wrong(0, "more than %d processes", MAX_RANKS);
    signal(SIGALRM, on_alarm);
    alarm(options.alarm);
    first_families();
    attach();
    for (current_step = options.first; current_step < options.first + options.steps; current_step++) {
        enum kind kind = choose_kind(current_step);
        if (options.no_kind[kind] || is_skipped(current_step))
            continue;
        current_what = kind_names[kind];
        if (options.verbose > 1 || (options.verbose && world_rank == 0))
            fprintf(stderr, "rank %d: step %d: %s\n", world_rank, current_step, current_what);
        steps[kind](current_step);
        s = local(current_step, 99);
        if (may(&s, DEFER, 80) ? chance(&s, 20) : 1)
            complete_some(current_step);
    }
    current_what = "end";
    complete_all(current_step);
    drop_kept();
    last_families();
    detach();
    MPI_Finalize();
    if (world_rank == 0)
        puts("ok");
    return 0;
}
