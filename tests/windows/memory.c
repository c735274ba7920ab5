/* The memory of windows: sizes and units that differ, shared memory in rank order, large windows, regions that move, many windows
 * (MPI-5.0 section 12.2). */
#include <dirent.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "process.h"
#include "windows.h"

static int rank, size;

static void shared(int apart)
{
    MPI_Win win;
    MPI_Info info;
    char *mine, *base, *first;
    MPI_Aint bytes, own = rank % 3 == 0 ? 0 : 3 + 2 * rank;
    int unit, i, wrong = 0, lowest = -1;

    MPI_Info_create(&info);
    if (apart)
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate_shared(own, 1 + rank, info, MPI_COMM_WORLD, &mine, &win);
    MPI_Info_free(&info);
    memset(mine, 'a' + rank, (size_t)own);
    MPI_Win_fence(0, win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
    for (i = 0; i < size; i++) {
        MPI_Aint expected = i % 3 == 0 ? 0 : 3 + 2 * i, j;

        MPI_Win_shared_query(win, i, &bytes, &unit, &base);
        wrong += bytes != expected || unit != 1 + i;
        if (!apart)
            wrong += base != first;
        for (j = 0; j < expected; j++)
            wrong += base[j] != 'a' + i;
        first = base + bytes;
        if (bytes > 0 && lowest < 0)
            lowest = i;
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base);
    wrong += bytes != (lowest < 0 ? 0 : 3 + 2 * lowest);
    MPI_Win_fence(0, win);
    check_all(wrong == 0, "shared memory %s: %d wrong", apart ? "apart" : "in rank order", wrong);
    MPI_Win_free(&win);
}

static void units(void)
{
    MPI_Win win;
    int64_t *mine;
    int64_t number = 4711 + rank, seen = 0;
    int unit = 1 << (rank % 4), next = (rank + 1) % size, their = 1 << (next % 4);

    MPI_Win_allocate(16 * sizeof *mine, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&number, 1, MPI_INT64_T, next, 64 / their, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    MPI_Get(&seen, 1, MPI_INT64_T, next, 64 / their, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    check_all(mine[8] == 4711 + (rank + size - 1) % size && seen == number, "units that differ");
    MPI_Win_free(&win);
}

/* Displacements and counts beyond 32 bits, of a window that one process has made of memory that it never touches elsewhere. */
static void large(void)
{
    MPI_Win win;
    char *base = NULL;
    MPI_Aint bytes = rank == 0 ? ((MPI_Aint)5 << 30) : 0;
    char number = 7, seen = 0;

    if (rank == 0)
        base = malloc((size_t)bytes);
    MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    if (rank == size - 1) {
        MPI_Put_c(&number, 1, MPI_CHAR, 0, ((MPI_Aint)5 << 30) - 1, 1, MPI_CHAR, win);
        MPI_Win_flush(0, win);
        MPI_Get_c(&seen, 1, MPI_CHAR, 0, ((MPI_Aint)5 << 30) - 1, 1, MPI_CHAR, win);
    }
    MPI_Win_unlock(0, win);
    check_all(rank != size - 1 || seen == 7, "a window above 4 GiB");
    MPI_Win_free(&win);
    free(base);
}

/* More items than 31 bits count: some 6 GiB of memory. */
static void long_counts(void)
{
    const MPI_Count count = ((MPI_Count)1 << 31) + 4097;
    MPI_Win win;
    char *mine, *origin = NULL;
    MPI_Count i, wrong = 0;

    MPI_Win_allocate_c(rank == 0 ? count : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_lock_all(0, win);
    if (rank == size - 1) {
        origin = malloc((size_t)count);
        for (i = 0; i < count; i++)
            origin[i] = (char)(i * 7 >> 12);
        MPI_Put_c(origin, count, MPI_CHAR, 0, 0, count, MPI_CHAR, win);
        MPI_Win_flush(0, win);
        memset(origin, 0, (size_t)count);
        MPI_Get_c(origin, count, MPI_CHAR, 0, 0, count, MPI_CHAR, win);
        MPI_Win_flush(0, win);
        for (i = 0; i < count; i++)
            wrong += origin[i] != (char)(i * 7 >> 12);
        free(origin);
    }
    MPI_Win_unlock_all(win);
    check_all(wrong == 0, "counts above 31 bits: %lld wrong", (long long)wrong);
    MPI_Win_free(&win);
}

static void dynamic(void)
{
    MPI_Win win;
    int *memory = NULL, i, wrong = 0, seen, next = (rank + 1) % size;
    MPI_Aint mine, theirs;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (i = 0; i < 20; i++) {
        int *old = memory, number = 100 * i + rank, code;

        memory = malloc(64 * sizeof(int));
        if (old)
            MPI_Win_detach(win, old);
        MPI_Win_attach(win, memory, 16 * sizeof(int));
        MPI_Get_address(memory, &mine);
        MPI_Sendrecv(&mine, 1, MPI_AINT, (rank + size - 1) % size, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Put(&number, 1, MPI_INT, next, MPI_Aint_add(theirs, 15 * sizeof(int)), 1, MPI_INT, win);
        MPI_Win_flush(next, win);
        MPI_Get(&seen, 1, MPI_INT, next, MPI_Aint_add(theirs, 15 * sizeof(int)), 1, MPI_INT, win);
        wrong += MPI_Win_flush(next, win) != MPI_SUCCESS || seen != number;
        code = MPI_Put(&number, 1, MPI_INT, next, MPI_Aint_add(theirs, 15 * sizeof(int) + 1), 1, MPI_INT, win);
        /* By messages it is the target that sees it, and the next flush that reports it. */
        if (code == MPI_SUCCESS)
            code = MPI_Win_flush(next, win);
        wrong += class_of(code) != MPI_ERR_RMA_RANGE;
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        free(old);
    }
    MPI_Win_detach(win, memory);
    MPI_Win_attach(win, memory, 16 * sizeof(int));
    MPI_Win_attach(win, memory + 16, 16 * sizeof(int));
    MPI_Get_address(memory, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, (rank + size - 1) % size, 0, &theirs, 1, MPI_AINT, next, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    {
        int numbers[32];

        memset(numbers, 0, sizeof numbers);
        wrong += MPI_Put(numbers, 32, MPI_INT, next, theirs, 32, MPI_INT, win) != MPI_SUCCESS;
    }
    MPI_Win_unlock(next, win);
    check_all(wrong == 0, "regions that move: %d wrong", wrong);
    MPI_Win_free(&win);
    free(memory);
}

/* The name of a thread, empty if it has ended. */
static void name_of(const char *thread, char name[32])
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
    file = fopen(path, "r");
    if (!file || !fgets(name, 32, file))
        name[0] = 0;
    if (file)
        fclose(file);
}

/* Threads that may be the one that makes progress while the program computes: until a new thread has run it has the name of the first. */
static int helpers(void)
{
    char first[32], name[32];
    int there = 0;
    DIR *all = opendir("/proc/self/task");
    struct dirent *one;

    snprintf(name, sizeof name, "%d", (int)getpid());
    name_of(name, first);
    while (all && (one = readdir(all))) {
        if (one->d_name[0] == '.' || atoi(one->d_name) == (int)getpid())
            continue;
        name_of(one->d_name, name);
        there += strcmp(name, first) == 0 || strncmp(name, "alhena-help", 11) == 0;
    }
    if (all)
        closedir(all);
    return there;
}

/* Those before MPI_Init: an emulator has threads of its own. */
static int emulators;

/* The helper ends after the last window that needs it. A window that is made before it is quite gone starts another, with a stack and a
 * heap of its own: four mappings that stay for the next one, so waited for here. */
static void without_helper(void)
{
    int flag;

    while (helpers() > emulators)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void many(int open, int rounds)
{
    MPI_Win *wins = malloc((size_t)open * sizeof *wins), win;
    int **memory = malloc((size_t)open * sizeof *memory), i, wrong = 0, number, fds, maps;
    void *base;
    long before, after;

    for (i = 0; i < open; i++)
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &wins[i]);
    for (i = 0; i < open; i++) {
        number = i;
        MPI_Win_fence(0, wins[i]);
        if (rank == i % size)
            MPI_Put(&number, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, wins[i]);
        MPI_Win_fence(0, wins[i]);
        wrong += rank == (i + 1) % size && *memory[i] != i;
    }
    check_all(wrong == 0, "%d windows open at once", open);
    for (i = 0; i < open; i++)
        MPI_Win_free(&wins[i]);
    free(wins);
    free(memory);
    without_helper();
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_free(&win);
    fds = descriptors();
    maps = mappings();
    before = resident();
    for (i = 0; i < rounds; i++) {
        without_helper();
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Win_free(&win);
    }
    after = resident();
    check_all(descriptors() == fds, "descriptors after %d windows", rounds);
    check_all(mappings() <= maps + 2, "mappings after %d windows: %d, before %d", rounds, mappings(), maps);
    check_all(after - before < 4096, "memory after %d windows grew by less than 4 MiB", rounds);
}

/* 65,536 requests at once, and those of windows with those of messages in one Waitall; a type that is freed at once; a lower bound
 * that is not 0, negative displacements, nothing at all. */
static void requests(void)
{
    enum { COUNT = 65536 };
    MPI_Request *all = malloc((COUNT + 2) * sizeof *all);
    MPI_Win win;
    int *mine, *numbers = malloc(COUNT * sizeof *numbers), i, wrong = 0, next = (rank + 1) % size, got = -1;
    int lengths[2] = {1, 1}, places[2] = {2, -1}, data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int fetched[6] = {-1, -1, -1, -1, -1, -1};
    MPI_Datatype type, holes;

    MPI_Win_allocate(COUNT * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_lock_all(0, win);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &all[COUNT]);
    MPI_Isend(&rank, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &all[COUNT + 1]);
    for (i = 0; i < COUNT; i++) {
        numbers[i] = i ^ rank;
        MPI_Rput(&numbers[i], 1, MPI_INT, next, i, 1, MPI_INT, win, &all[i]);
    }
    MPI_Win_flush(next, win);
    MPI_Waitall(COUNT + 2, all, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < COUNT; i++)
        wrong += mine[i] != (i ^ ((rank + size - 1) % size));
    check_all(wrong == 0 && got == (rank + size - 1) % size, "65536 requests and those of messages: %d wrong", wrong);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Put(&data[3], 1, type, next, 10, 1, type, win);
    /* A get of the same place has no order to it otherwise. */
    MPI_Win_flush(next, win);
    MPI_Rget(&data[0], 1, MPI_INT, next, 12, 1, MPI_INT, win, &all[0]);
    /* Waited for after the flush, into places two apart. */
    MPI_Type_vector(3, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    MPI_Rget(fetched, 1, holes, next, 20, 1, holes, win, &all[1]);
    MPI_Type_free(&holes);
    MPI_Type_free(&type);
    MPI_Put(NULL, 0, MPI_INT, next, 0, 0, MPI_INT, win);
    MPI_Win_flush(next, win);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
    for (i = 0; i < 6; i++)
        wrong += fetched[i] != (i == 5 || i % 2 ? -1 : ((20 + i) ^ rank));
    check_all(wrong == 0, "a request of data with holes is waited for after the flush: %d wrong", wrong);
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(mine[12] == 5 && mine[9] == 2 && data[0] == 5, "a type with negative displacements, freed at once");
    MPI_Win_free(&win);
    free(all);
    free(numbers);
}

/* Assertions that nothing is checked, groups that change, test that is true once, no rank to wait for. */
static void groups(void)
{
    MPI_Win win;
    MPI_Group world, left, right;
    int *mine, i, wrong = 0, flag, before = (rank + size - 1) % size, after = (rank + 1) % size;

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    for (i = 0; i < 200; i++) {
        int number = i;

        before = (rank + size - 1 - i % size) % size;
        after = (rank + 1 + i % size) % size;
        MPI_Group_incl(world, 1, &before, &left);
        MPI_Group_incl(world, 1, &after, &right);
        MPI_Win_post(left, i % 2 ? MPI_MODE_NOCHECK : 0, win);
        if (i % 2)
            MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_start(right, i % 2 ? MPI_MODE_NOCHECK : 0, win);
        MPI_Put(&number, 1, MPI_INT, after, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (i % 3) {
            MPI_Win_wait(win);
        } else {
            do
                MPI_Win_test(win, &flag);
            while (!flag);
        }
        wrong += *mine != i;
        MPI_Group_free(&left);
        MPI_Group_free(&right);
    }
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_complete(win);
    MPI_Win_test(win, &flag);
    check_all(wrong == 0 && flag, "groups that change: %d wrong", wrong);
    MPI_Win_free(&win);
    MPI_Group_free(&world);
}

static void info(void)
{
    MPI_Win win;
    MPI_Info given, used;
    char *base, value[64];
    int flag, length, wrong = 0, i;
    static const char *const keys[] = {"no_locks", "accumulate_ordering", "accumulate_ops", "same_size", "same_disp_unit",
                                       "mpi_accumulate_granularity", "alloc_shared_noncontig"};

    MPI_Info_create(&given);
    MPI_Info_set(given, "accumulate_ordering", "none");
    MPI_Info_set(given, "mpi_minimum_memory_alignment", "256");
    MPI_Win_allocate(10, 1, given, MPI_COMM_WORLD, &base, &win);
    wrong += (uintptr_t)base % 256 != 0;
    MPI_Win_get_info(win, &used);
    for (i = 0; i < 7; i++) {
        length = sizeof value;
        MPI_Info_get_string(used, keys[i], &length, value, &flag);
        wrong += !flag;
        if (i == 1)
            wrong += strcmp(value, "none") != 0;
    }
    MPI_Info_free(&used);
    MPI_Info_set(given, "accumulate_ordering", "now and then");
    MPI_Win_set_info(win, given);
    MPI_Win_get_info(win, &used);
    length = sizeof value;
    MPI_Info_get_string(used, "accumulate_ordering", &length, value, &flag);
    check_all(wrong == 0 && flag && strcmp(value, "none") == 0, "hints: %d wrong", wrong);
    MPI_Info_free(&used);
    MPI_Info_free(&given);
    MPI_Win_free(&win);
}

/* The alignment that MPI_Win_get_info reports is right, for the memory of all ranks. */
static void alignments(int flavor, int noncontiguous, const char *asked)
{
    MPI_Win win;
    MPI_Info given, used;
    char *base, value[64] = "";
    int flag, length = sizeof value, unit, i, wrong = 0, counted = 0;
    long said;
    MPI_Aint bytes;

    MPI_Info_create(&given);
    if (noncontiguous)
        MPI_Info_set(given, "alloc_shared_noncontig", "true");
    if (asked)
        MPI_Info_set(given, "mpi_minimum_memory_alignment", asked);
    if (flavor == MPI_WIN_FLAVOR_SHARED)
        MPI_Win_allocate_shared(rank % 3 == 1 ? 0 : 24 + 4 * rank, 1, given, MPI_COMM_WORLD, &base, &win);
    else
        MPI_Win_allocate(24 + 4 * rank, 1, given, MPI_COMM_WORLD, &base, &win);
    MPI_Win_get_info(win, &used);
    MPI_Info_get_string(used, "mpi_minimum_memory_alignment", &length, value, &flag);
    said = flag ? atol(value) : 0;
    wrong += !flag || said < 1 || (asked && noncontiguous && said < atol(asked));
    for (i = 0; i < size; i++) {
        MPI_Win_shared_query(win, i, &bytes, &unit, &base);
        if (bytes > 0 && said > 0) {
            wrong += (uintptr_t)base % (uintptr_t)said != 0;
            counted++;
        }
    }
    check_all(wrong == 0 && counted > 0, "the alignment that is said of %s memory%s%s: %ld", flavor == MPI_WIN_FLAVOR_SHARED ? "shared" : "allocated",
          noncontiguous ? ", not contiguous" : "", asked ? ", asked for" : "", said);
    MPI_Info_free(&used);
    MPI_Info_free(&given);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1000, open = argc > 2 ? atoi(argv[2]) : 1000;

    emulators = helpers();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    alignments(MPI_WIN_FLAVOR_ALLOCATE, 0, NULL);
    alignments(MPI_WIN_FLAVOR_ALLOCATE, 0, "64");
    if (share_memory()) {
        alignments(MPI_WIN_FLAVOR_SHARED, 0, NULL);
        alignments(MPI_WIN_FLAVOR_SHARED, 0, "256");
        alignments(MPI_WIN_FLAVOR_SHARED, 1, NULL);
        alignments(MPI_WIN_FLAVOR_SHARED, 1, "256");
    }
    if (share_memory()) {
        shared(0);
        shared(1);
    }
    units();
    large();
    if (rounds >= 100000)
        long_counts();
    dynamic();
    requests();
    groups();
    info();
    many(open, rounds);
    return finish();
}
