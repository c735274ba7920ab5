/*
 * One-sided communication by rank 0 on the memory of rank 1, or by all ranks where all take part. What, says --what. Operations of
 * passive targets are measured in one epoch of MPI_Win_lock_all, each with its flush.
 */
#include "kernel.h"

/* The light interface of Alhena; where it is missing, MPI_Put and MPI_Get stand for it. */
#if defined __has_include
#if __has_include(<alhena.h>)
#include <alhena.h>
#define LIGHT
#endif
#endif

static MPI_Win win;
static char *memory;
static MPI_Group neighbours;
/* Memory of rank 1 that all ranks map, for what needs no MPI; NULL where they are on several hosts. */
static char *mapped;

static void put(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        MPI_Put(k.out, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
}

/* One put, while rank 1 computes and makes no call of MPI; its time counts for each iteration. */
static void put_computing(size_t bytes, long iterations)
{
    const double computes = 0.05, begins = 0.001;
    double start = kernel_now();

    while (k.rank == 1 && kernel_now() - start < computes)
        ;
    /* Rank 1 has left the barrier before. */
    while (k.rank == 0 && kernel_now() - start < begins)
        ;
    start = kernel_now();
    put(bytes, 1);
    k.inside = (kernel_now() - start) * (double)iterations;
}

static void get(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        MPI_Get(k.in, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win);
        MPI_Win_flush(1, win);
    }
}

static void accumulate(size_t bytes, long iterations)
{
    int count = (int)(bytes / sizeof(long));
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        MPI_Accumulate(k.out, count, MPI_LONG, 1, 0, count, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(1, win);
    }
}

static void get_accumulate(size_t bytes, long iterations)
{
    int count = (int)(bytes / sizeof(long));
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        MPI_Get_accumulate(k.out, count, MPI_LONG, k.in, count, MPI_LONG, 1, 0, count, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(1, win);
    }
}

/* The next two by all ranks on one word of rank 1: what contention costs. */
static void fetch_and_op(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++) {
        MPI_Fetch_and_op(k.out, k.in, MPI_LONG, 1, 0, MPI_SUM, win);
        MPI_Win_flush(1, win);
    }
}

static void compare_and_swap(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++) {
        MPI_Compare_and_swap(k.out, k.in, k.in + 8, MPI_LONG, 1, 0, win);
        MPI_Win_flush(1, win);
    }
}

#ifdef LIGHT
static void light_put(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        alhena_put(k.out, bytes, 1, 0, win);
        alhena_flush(1, win);
    }
}

static void light_get(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        alhena_get(k.in, bytes, 1, 0, win);
        alhena_flush(1, win);
    }
}
#else
#define light_put put
#define light_get get
#endif

/* Blocks of all ranks to rank 0, into `memory` there, which holds SLOTS of them for the next two functions. */
enum { SLOTS = 4 };

static void gather(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_Gather(k.out, (int)bytes, MPI_BYTE, memory, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

#ifdef LIGHT
/* The same by puts with a notice. Each round has a slot of its own for the data; after every second one rank 0 gives two back. */
static void light_gather(size_t bytes, long iterations)
{
    enum { ARRIVED, GIVEN_BACK };
    static uint64_t rounds;

    for (long i = 0; i < iterations; i++, rounds++) {
        MPI_Aint slot = (MPI_Aint)(rounds % SLOTS) * (MPI_Aint)k.ranks * (MPI_Aint)k.max, place = slot + k.rank * (MPI_Aint)bytes;

        if (k.rank != 0) {
            if (rounds >= SLOTS)
                alhena_notices(GIVEN_BACK, (rounds - SLOTS + 2) / 2, NULL, win);
            alhena_rput(k.out, bytes, 0, place, ARRIVED, win);
            continue;
        }
        memcpy(memory + place, k.out, bytes);
        alhena_notices(ARRIVED, (rounds + 1) * (uint64_t)(k.ranks - 1), NULL, win);
        for (int rank = 1; rank < k.ranks && rounds % 2 == 1; rank++)
            alhena_rput(NULL, 0, rank, 0, GIVEN_BACK, win);
    }
}
#else
#define light_gather gather
#endif

/* What a put or get does, by two-sided messages. */
static void messages(size_t bytes, long iterations)
{
    MPI_Request request;

    for (long i = 0; i < iterations && k.rank < 2; i++) {
        if (k.rank == 0)
            MPI_Isend(k.out, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(k.in, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void lock_put(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(k.out, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win);
        MPI_Win_unlock(1, win);
    }
}

static void fence(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++)
        MPI_Win_fence(0, win);
}

/* What puts and gets cannot be faster than, and what operations on a contended word cannot. */
static void copy_out(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        memcpy(mapped, k.out, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void copy_in(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations && k.rank == 0; i++) {
        memcpy(k.in, mapped, bytes);
        __asm__ volatile("" ::: "memory");
    }
}

static void plain_add(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++)
        *(volatile long *)k.in = __atomic_fetch_add((long *)mapped, *(long *)k.out, __ATOMIC_SEQ_CST);
}

static void plain_swap(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++) {
        long compare = *(volatile long *)k.in;

        __atomic_compare_exchange_n((long *)mapped, &compare, *(long *)k.out, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        *(volatile long *)(k.in + 8) = compare;
    }
}

/* Post, start, complete and wait with the ranks before and after. */
static void groups(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++) {
        MPI_Win_post(neighbours, 0, win);
        MPI_Win_start(neighbours, 0, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
}

static const struct {
    const char *name;
    body *run;
    int passive, sized;
    body *floor; /* NULL: none */
} all[] = {
    {"put", put, 1, 1, copy_out},
    {"put-computing", put_computing, 1, 0, NULL},
    {"get", get, 1, 1, copy_in},
    {"light-put", light_put, 1, 1, copy_out},
    {"light-get", light_get, 1, 1, copy_in},
    {"gather", gather, 0, 1, NULL},
    {"light-gather", light_gather, 0, 1, NULL},
    {"messages", messages, 0, 1, NULL},
    {"accumulate", accumulate, 1, 1, NULL},
    {"get_accumulate", get_accumulate, 1, 1, NULL},
    {"fetch_and_op", fetch_and_op, 1, 0, plain_add},
    {"compare_and_swap", compare_and_swap, 1, 0, plain_swap},
    {"lock-put-unlock", lock_put, 0, 1, NULL},
    {"fence", fence, 0, 0, NULL},
    {"post-start-complete-wait", groups, 0, 0, NULL},
};

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 8, 1 << 20);
    size_t bytes = strstr(k.what, "gather") && k.rank == 0 ? SLOTS * (size_t)k.ranks * k.max : k.max;
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, bytes);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int beside[2] = {(k.rank + 1) % k.ranks, (k.rank + k.ranks - 1) % k.ranks};
    MPI_Group_incl(world, k.ranks > 2 ? 2 : 1, beside, &neighbours);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win shared = MPI_WIN_NULL;
    MPI_Comm node;
    MPI_Aint size;
    int unit, here, found = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    if (here == k.ranks) {
        MPI_Win_allocate_shared((MPI_Aint)k.max, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mapped, &shared);
        memset(mapped, 0, k.max);
        MPI_Win_shared_query(shared, 1, &size, &unit, &mapped);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, k.what) != 0)
            continue;
        found = 1;
        k.floor = mapped ? all[i].floor : NULL;
        k.paced = all[i].run == put_computing;
        /* Ranks that do not wait for each other may end long after rank 0 where they share processors. */
        k.spanned = all[i].passive && !all[i].sized && mapped;
        if (all[i].passive)
            MPI_Win_lock_all(0, win);
        if (all[i].sized)
            kernel_sizes(all[i].run, kernel_microseconds, "us");
        else
            kernel_size(all[i].run, kernel_microseconds, "us", sizeof(long));
        if (all[i].passive)
            MPI_Win_unlock_all(win);
    }
    if (!found)
        kernel_fail("reading options", "--what names nothing that is measured here");
    MPI_Group_free(&world);
    MPI_Group_free(&neighbours);
    if (mapped)
        MPI_Win_free(&shared);
    MPI_Win_free(&win);
    kernel_end();
    return 0;
}
