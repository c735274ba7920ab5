/* Processes of one node that may open nothing of each other: users and namespaces of their own, a program that its user may not read.
 * They share the node's memory all the same: every kind of window and the shared file pointer work, and the ranks of MPI_COMM_TYPE_SHARED
 * can have a shared window. The first argument is a folder for a file. "full": the room that the node's memory file has is used up
 * first, and what ranks make from then on is not to be shared: all else works by messages. "poor": then the first rank cannot make
 * memory either, so the others share it without that rank. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "windows.h"

enum { CELLS = 100000 };

static int rank, size, next, before, full, poor;

/* One epoch of each kind of operation on a window whose cells begin at `base` of every rank; whether all of it arrived. */
static int used(MPI_Win win, MPI_Aint base, const int64_t *mine)
{
    static int64_t data[CELLS], back[CELLS];
    int64_t one = 1, was = -1;
    int i, wrong = 0;

    for (i = 0; i < CELLS; i++)
        data[i] = 1000 * (rank + 1) + i % 1000;
    MPI_Win_lock_all(0, win);
    MPI_Put(data, CELLS - 1, MPI_INT64_T, next, base, CELLS - 1, MPI_INT64_T, win);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(back, CELLS - 1, MPI_INT64_T, next, base, CELLS - 1, MPI_INT64_T, win);
    MPI_Fetch_and_op(&one, &was, MPI_INT64_T, 0, base + 8 * (CELLS - 1), MPI_SUM, win);
    MPI_Win_flush_all(win);
    wrong += memcmp(back, data, sizeof data - 8) != 0 || was < 0 || was >= size;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    for (i = 0; i < CELLS - 1; i++)
        wrong += mine[i] != 1000 * (before + 1) + i % 1000;
    wrong += mine[CELLS - 1] != (rank == 0 ? size : 0);
    return wrong == 0;
}

static void windows(void)
{
    int64_t *mine = calloc(CELLS, sizeof *mine), *lent;
    MPI_Aint base, zero = 0;
    MPI_Win win;
    int good;

    MPI_Win_create(mine, 8 * CELLS, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    good = used(win, 0, mine);
    MPI_Win_free(&win);
    check_all(good, "a window of the program's memory");

    MPI_Alloc_mem(8 * CELLS, MPI_INFO_NULL, &lent);
    memset(lent, 0, 8 * CELLS);
    MPI_Win_create(lent, 8 * CELLS, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    good = used(win, 0, lent);
    MPI_Win_free(&win);
    MPI_Free_mem(lent);
    check_all(good, "a window of memory that was allocated before");

    memset(mine, 0, 8 * CELLS);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, mine, 8 * CELLS);
    MPI_Get_address(mine, &base);
    MPI_Win_lock_all(0, win);
    {
        MPI_Aint *bases = malloc((size_t)size * sizeof *bases);
        int64_t out = 77 + rank, in = -1;

        MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD);
        MPI_Put(&out, 1, MPI_INT64_T, next, bases[next], 1, MPI_INT64_T, win);
        MPI_Win_flush(next, win);
        MPI_Get(&in, 1, MPI_INT64_T, next, bases[next], 1, MPI_INT64_T, win);
        MPI_Win_flush(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        good = in == out && mine[0] == 77 + before;
        free(bases);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, mine);
    MPI_Win_free(&win);
    check_all(good, "a dynamic window");
    free(mine);

    MPI_Win_allocate(8 * CELLS, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    memset(mine, 0, 8 * CELLS);
    MPI_Barrier(MPI_COMM_WORLD);
    good = used(win, zero, mine);
    MPI_Win_free(&win);
    check_all(good, "an allocated window");
}

/* The longest file that this process may make, in bytes; no more than it may make at all. */
static void limit(rlim_t bytes)
{
    struct rlimit now;

    getrlimit(RLIMIT_FSIZE, &now);
    now.rlim_cur = bytes < now.rlim_max ? bytes : now.rlim_max;
    setrlimit(RLIMIT_FSIZE, &now);
}

static void shared(void)
{
    int64_t *mine, *others;
    int here, place, unit, wrong = 0, i, sharing = full ? 1 : poor && rank > 0 ? size - 1 : poor ? 1 : size;
    MPI_Aint bytes;
    MPI_Comm node;
    MPI_Win win;

    if (poor && rank == 0)
        limit(4096);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_rank(node, &place);
    check_all(here == sharing, "ranks that can share memory are together: %d of %d", here, size);
    limit(RLIM_INFINITY);
    MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    *mine = 500 + place;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (i = 0; i < here; i++) {
        MPI_Win_shared_query(win, i, &bytes, &unit, &others);
        wrong += *others != 500 + i;
    }
    MPI_Barrier(node);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    check_all(wrong == 0, "a shared window");
}

/* Of an inter-communicator, both groups of a part share memory: the last rank faces all others. */
static void facing(void)
{
    int here = 0, there = 0, alone = full || (poor && rank == 0), others = rank == size - 1;
    MPI_Comm own, both, part;

    if (poor && rank == 0)
        limit(4096);
    MPI_Comm_split(MPI_COMM_WORLD, others, 0, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, others ? 0 : size - 1, 7, &both);
    MPI_Comm_split_type(both, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    if (part != MPI_COMM_NULL) {
        MPI_Comm_size(part, &here);
        MPI_Comm_remote_size(part, &there);
        MPI_Comm_free(&part);
    }
    limit(RLIM_INFINITY);
    MPI_Comm_free(&both);
    MPI_Comm_free(&own);
    check_all(alone ? here == 0 : here + there == (poor ? size - 1 : size) && (others ? here : there) == 1,
              "groups that can share memory face each other: %d and %d", here, there);
}

static void file(const char *folder)
{
    char name[300];
    MPI_File fh;
    MPI_Offset end = -1;
    int code;

    snprintf(name, sizeof name, "%s/shared", folder);
    MPI_Barrier(MPI_COMM_WORLD);
    code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    if (code == MPI_SUCCESS) {
        code = MPI_File_write_shared(fh, name, 10, MPI_CHAR, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_get_position_shared(fh, &end);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_close(&fh);
    }
    check_all(code == MPI_SUCCESS && end == 10 * size, "a shared file pointer: %d, at %lld", class_of(code), (long long)end);
}

/* Memory of windows goes back, one window after the other. */
static void many(void)
{
    int64_t *mine;
    MPI_Win win;
    int i;

    for (i = 0; i < 40; i++) {
        MPI_Win_allocate(8 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        mine[i] = i;
        MPI_Win_free(&win);
    }
    /* However small, each takes a place of its own. */
    for (i = 0; i < 80 && (full || poor); i++) {
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        MPI_Win_free(&win);
    }
    check_all(1, "forty windows of 8 MiB");
}

int main(int argc, char **argv)
{
    static char out[4 << 20], in[4 << 20];

    umask(0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    memset(out, rank + 1, sizeof out);
    MPI_Sendrecv(out, sizeof out, MPI_CHAR, next, 0, in, sizeof in, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_all(in[0] == before + 1 && in[sizeof in - 1] == before + 1, "a long message");
    full = argc > 2 && strcmp(argv[2], "full") == 0;
    poor = argc > 2 && strcmp(argv[2], "poor") == 0;
    signal(SIGXFSZ, SIG_IGN);
    if (full || poor)
        many();
    windows();
    shared();
    facing();
    file(argv[1]);
    if (!full && !poor)
        many();
    return finish();
}
