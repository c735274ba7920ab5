/* Memory of MPI_Alloc_mem (MPI-5.0 section 9.2): its alignment, shortage, what stays behind; and windows created of it, which the other
 * processes of the node reach by loads and stores, where they share memory. "apart": they do not. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "process.h"
#include "windows.h"

static int rank, size, together, apart;

static int64_t *part(size_t cells, MPI_Info info)
{
    int64_t *memory = NULL;

    MPI_Alloc_mem((MPI_Aint)(cells * sizeof *memory), info, &memory);
    return memory;
}

static void parts(int rounds)
{
    enum { LIVE = 500 };
    static unsigned char *live[LIVE];
    static size_t bytes[LIVE];
    int i, wrong = 0, fds, maps;
    size_t k;
    long before, after;
    MPI_Info info;
    void *one;

    MPI_Info_create(&info);
    for (i = 64; i <= 1 << 20; i *= 4) {
        char text[32];

        snprintf(text, sizeof text, "%d", i);
        MPI_Info_set(info, "mpi_minimum_memory_alignment", text);
        MPI_Alloc_mem(100, info, &one);
        wrong += (uintptr_t)one % (unsigned)i != 0;
        memset(one, 1, 100);
        MPI_Free_mem(one);
    }
    MPI_Info_free(&info);
    check_all(wrong == 0, "alignments: %d wrong", wrong);

    fds = descriptors();
    before = resident();
    maps = mappings();
    for (i = 0; i < rounds; i++) {
        int at = (int)((unsigned)i * 7919u % LIVE);

        if (live[at]) {
            for (k = 0; k < bytes[at]; k += 61)
                wrong += live[at][k] != (unsigned char)at;
            MPI_Free_mem(live[at]);
        }
        bytes[at] = (size_t)((unsigned)i * 104729u % 3000);
        MPI_Alloc_mem((MPI_Aint)bytes[at], MPI_INFO_NULL, &live[at]);
        memset(live[at], at, bytes[at]);
    }
    check_all(wrong == 0, "%d parts hold what was put there", rounds);
    check_all(descriptors() <= fds + 24 && mappings() <= maps + 40, "descriptors and mappings with %d parts: %d and %d, before %d and %d", LIVE,
          descriptors(), mappings(), fds, maps);
    for (i = 0; i < LIVE; i++)
        if (live[i])
            MPI_Free_mem(live[i]);
    after = resident();
    check_all(descriptors() <= fds + 1 && mappings() <= maps + 2, "descriptors and mappings after %d parts", rounds);
    check_all(after - before < 8192, "memory after %d parts", rounds);
}

/* Connections are descriptors, too: all are there before any are counted. */
static void connect_all(void)
{
    int i;

    for (i = 1; i < size; i++)
        MPI_Sendrecv(NULL, 0, MPI_INT, (rank + i) % size, 0, NULL, 0, MPI_INT, (rank + size - i) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What the address space is limited to: the system's shared memory has no limit of its own here that a container could set. */
static void limited(void)
{
    enum { MIB = 1 << 20 };
    struct rlimit usual, tight;
    MPI_Win win = MPI_WIN_NULL;
    void *none = NULL;
    int good = 1;

    getrlimit(RLIMIT_AS, &usual);
    tight = usual;
    tight.rlim_cur = ((rlim_t)mapped() << 10) + 48 * MIB;
    MPI_Barrier(MPI_COMM_WORLD);
    setrlimit(RLIMIT_AS, &tight);
    good &= class_of(MPI_Alloc_mem(64 * MIB, MPI_INFO_NULL, &none)) == MPI_ERR_NO_MEM;
    good &= class_of(MPI_Win_allocate(64 * MIB, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &none, &win)) == MPI_ERR_NO_MEM;
    setrlimit(RLIMIT_AS, &usual);
    good &= MPI_Alloc_mem(64 * MIB, MPI_INFO_NULL, &none) == MPI_SUCCESS;
    MPI_Free_mem(none);
    check_all(good, "a limit of the address space is a shortage");
}

static void shortage(void)
{
    void *none = NULL;
    int code, good;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    code = MPI_Alloc_mem((MPI_Aint)1 << 46, MPI_INFO_NULL, &none);
    good = class_of(code) == MPI_ERR_NO_MEM;
    good &= class_of(MPI_Free_mem(&good)) == MPI_ERR_BASE;
    limited();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    check_all(good, "a shortage is an error");
}

/* The program's memory is there in a child, as any other memory is. */
static void children(void)
{
    int64_t *memory = part(4, MPI_INFO_NULL);
    int status = -1;
    pid_t child;

    memory[3] = 4711;
    child = fork();
    if (child == 0)
        _exit(memory[3] == 4711 ? 0 : 1);
    waitpid(child, &status, 0);
    check_all(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child has the memory");
    MPI_Free_mem(memory);
}

/* A window of which each rank gives `cells` cells from cell `from` of its memory on; those of `heap` give ordinary memory. */
static void window(const char *what, size_t cells, size_t from, int (*heap)(int))
{
    enum { ROUNDS = 200 };
    size_t all = from + cells + 5;
    int own = heap(rank), next = (rank + 1) % size, previous = (rank + size - 1) % size, i, wrong = 0, unit;
    int64_t *memory = own ? malloc(all * sizeof *memory) : part(all, MPI_INFO_NULL), *theirs, number, seen, one = 1;
    MPI_Aint bytes;
    MPI_Win win;

    memset(memory, 0, all * sizeof *memory);
    MPI_Win_create(memory + from, (MPI_Aint)(cells * sizeof *memory), sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_shared_query(win, next, &bytes, &unit, &theirs);
    wrong += unit != sizeof *memory || (bytes != 0 && bytes != (MPI_Aint)(cells * sizeof *memory));
    if (next == rank || (together && !heap(next)))
        wrong += bytes == 0;
    else if (apart || heap(next))
        wrong += bytes != 0;
    MPI_Win_lock_all(0, win);
    number = 1000 + rank;
    /* By a store where that goes, else by a put. */
    if (bytes > 0)
        theirs[1] = number;
    else
        MPI_Put(&number, 1, MPI_INT64_T, next, 1, 1, MPI_INT64_T, win);
    MPI_Win_flush_all(win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    wrong += memory[from + 1] != 1000 + previous;
    MPI_Get(&seen, 1, MPI_INT64_T, next, 1, 1, MPI_INT64_T, win);
    MPI_Win_flush(next, win);
    wrong += seen != number;
    /* All ranks, the target among them, by three kinds of accumulates on one word, and on one of 4 bytes. */
    for (i = 0; i < ROUNDS; i++) {
        int32_t half = 1;

        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, 0, 0, MPI_SUM, win);
        MPI_Get_accumulate(&one, 1, MPI_INT64_T, &seen, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Accumulate(&half, 1, MPI_INT32_T, 0, 2, 1, MPI_INT32_T, MPI_SUM, win);
    }
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    if (rank == 0)
        wrong += memory[from] != 3 * ROUNDS * size || *(int32_t *)(memory + from + 2) != ROUNDS * size;
    for (i = 0; i < (int)from; i++)
        wrong += memory[i] != 0;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    wrong += class_of(MPI_Put(&one, 1, MPI_INT64_T, next, (MPI_Aint)cells, 1, MPI_INT64_T, win)) != MPI_ERR_RMA_RANGE;
    MPI_Win_unlock(next, win);
    MPI_Win_free(&win);
    if (own)
        free(memory);
    else
        MPI_Free_mem(memory);
    check_all(wrong == 0, "a window of %s: %d wrong", what, wrong);
}

static int nobody(int who) { return who < 0; }
static int odd(int who) { return who % 2; }
static int all_but_last(int who) { return who != size - 1; }

/* The lowest rank that has memory is who MPI_PROC_NULL means. */
static void lowest(void)
{
    int64_t *memory = part(4, MPI_INFO_NULL), *base;
    int first = size > 1 ? 1 : 0, unit, good;
    MPI_Aint bytes;
    MPI_Win win;

    MPI_Win_create(memory, rank < first ? 0 : (MPI_Aint)(8 * (rank + 1)), 1 + rank, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base);
    good = unit == 1 + first && (bytes == 0 || bytes == 8 * (first + 1)) && (bytes != 0 || !(together || rank == first));
    good &= rank != first || base == memory;
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    check_all(good, "the lowest rank that has memory in a created window");
}

/* Windows that come and go over parts of one block, and over one part. */
static void many(int rounds)
{
    enum { OPEN = 50 };
    MPI_Win wins[OPEN];
    int64_t *memory = part(OPEN * 16, MPI_INFO_NULL);
    int i, round, wrong = 0, fds = 0, maps = 0;

    for (round = 0; round < rounds; round++) {
        for (i = 0; i < OPEN; i++)
            MPI_Win_create(memory + 8 * i, 16 * sizeof *memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i]);
        for (i = 0; i < OPEN; i++) {
            int64_t number = 100 * round + i;

            MPI_Win_fence(0, wins[i]);
            MPI_Put(&number, 1, MPI_INT64_T, (rank + 1) % size, 0, 1, MPI_INT64_T, wins[i]);
            MPI_Win_fence(0, wins[i]);
            wrong += memory[8 * i] != number;
        }
        for (i = 0; i < OPEN; i++)
            MPI_Win_free(&wins[i]);
        if (round == 0)
            fds = descriptors(), maps = mappings();
    }
    MPI_Free_mem(memory);
    check_all(wrong == 0, "windows over parts of one block: %d wrong", wrong);
    check_all(descriptors() <= fds && mappings() <= maps + 4 + size, "what is left of them: %d and %d, before %d and %d", descriptors(),
          mappings(), fds, maps);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    apart = argc > 2 && strcmp(argv[2], "apart") == 0;
    together = share_memory() && !apart;
    connect_all();
    parts(argc > 1 ? atoi(argv[1]) : 100000);
    shortage();
    children();
    window("a whole part", 8, 0, nobody);
    window("cells in the midst of a part", 100, 3, nobody);
    window("long memory", 1 << 18, 1, nobody);
    window("such memory and other", 8, 2, odd);
    window("such memory of one rank", 8, 2, all_but_last);
    lowest();
    many(3);
    return finish();
}
