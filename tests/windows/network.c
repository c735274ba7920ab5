/* Puts, gets and accumulates that a network may do by itself: any length at any address, origins that are used again as soon as that
 * is allowed, orders of accumulates some of which go another way, memory that is mapped anew, more windows than registrations. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if __has_include(<alhena.h>)
#include <alhena.h>
#endif
#include "windows.h"

enum { LONGEST = 1 << 20, SLACK = 64, SIZE = LONGEST + SLACK };

static int rank, size, right_of, left_of;

static unsigned char byte_of(int owner, int round, long index)
{
    uint64_t mixed = ((uint64_t)owner << 40 ^ (uint64_t)round << 32 ^ (uint64_t)index) * 0x9e3779b97f4a7c15u;
    return (unsigned char)(mixed >> 56);
}

static void fill(unsigned char *bytes, long count, int owner, int round)
{
    for (long i = 0; i < count; i++)
        bytes[i] = byte_of(owner, round, i);
}

static int holds(const unsigned char *bytes, long count, int owner, int round)
{
    for (long i = 0; i < count; i++)
        if (bytes[i] != byte_of(owner, round, i))
            return 0;
    return 1;
}

static int all_are(const unsigned char *bytes, long count, int value)
{
    for (long i = 0; i < count; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

/* Each rank writes to its right neighbour and reads back what it wrote, at addresses of all remainders. */
static void lengths(MPI_Win win, unsigned char *memory, const char *kind)
{
    static const int counts[] = {1, 2, 3, 5, 8, 63, 1000, 4096, 4097, 8191, 65537, 300001, LONGEST};
    static unsigned char from[SIZE], into[SIZE];
    int put_good = 1, get_good = 1, round = 0;

    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int there = 0; there < 8; there += 3)
            for (int here = 0; here < 8; here += there == 0 ? 1 : 3, round++) {
                int count = counts[i];
                if (count > 65536 && here > 4)
                    continue;
                memset(memory, 7, SIZE);
                memset(into, 9, SIZE);
                fill(from + here, count, rank, round);
                MPI_Barrier(MPI_COMM_WORLD);
                MPI_Win_lock(MPI_LOCK_SHARED, right_of, 0, win);
                MPI_Put(from + here, count, MPI_BYTE, right_of, there, count, MPI_BYTE, win);
                MPI_Win_flush(right_of, win);
                MPI_Get(into + here, count, MPI_BYTE, right_of, there, count, MPI_BYTE, win);
                MPI_Win_unlock(right_of, win);
                get_good &= holds(into + here, count, rank, round) && all_are(into, here, 9) &&
                            all_are(into + here + count, SIZE - here - count, 9);
                MPI_Barrier(MPI_COMM_WORLD);
                put_good &= holds(memory + there, count, left_of, round) && all_are(memory, there, 7) &&
                            all_are(memory + there + count, SIZE - there - count, 7);
                MPI_Barrier(MPI_COMM_WORLD);
            }
    check_all(put_good, "%s: puts of every length to every place", kind);
    check_all(get_good, "%s: gets of every length into every place", kind);
}

/* Data in long runs, in short ones, and with holes at the origin, too. */
static void runs(MPI_Win win, unsigned char *memory, const char *kind)
{
    static const int lengths[] = {24, 2000, 4096};
    static unsigned char from[SIZE], into[SIZE];
    int good = 1;

    for (int round = 0; round < 6; round++) {
        int run = lengths[round % 3], count = 50, step = run + 40, i;
        MPI_Datatype holed;
        MPI_Type_vector(count, run, step, MPI_BYTE, &holed);
        MPI_Type_commit(&holed);
        memset(memory, 7, SIZE);
        memset(into, 9, SIZE);
        fill(from, (long)count * step, rank, round);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        if (round < 3)
            MPI_Put(from, count * run, MPI_BYTE, right_of, 4, 1, holed, win);
        else
            MPI_Put(from, 1, holed, right_of, 4, 1, holed, win);
        MPI_Win_flush(right_of, win);
        if (round < 3)
            MPI_Get(into, count * run, MPI_BYTE, right_of, 4, 1, holed, win);
        else
            MPI_Get(into, 1, holed, right_of, 4, 1, holed, win);
        MPI_Type_free(&holed);
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (i = 0; i < count; i++) {
            long packed = round < 3 ? (long)i * run : (long)i * step;
            for (int j = 0; j < run; j++)
                good &= memory[4 + (long)i * step + j] == byte_of(left_of, round, packed + j) &&
                        into[packed + j] == byte_of(rank, round, packed + j);
            if (i + 1 < count)
                good &= all_are(memory + 4 + (long)i * step + run, 40, 7);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check_all(good, "%s: puts and gets of data in runs", kind);
}

/* An origin is written again as soon as its request is complete. */
static void requests(MPI_Win win, unsigned char *memory, const char *kind)
{
    enum { MANY = 40, EACH = 20000 };
    static unsigned char from[LONGEST];
    MPI_Request all[MANY];
    int good = 1;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < MANY; i++) {
        fill(from + i * EACH, EACH, rank, i);
        MPI_Rput(from + i * EACH, EACH, MPI_BYTE, right_of, i * EACH, EACH, MPI_BYTE, win, &all[i]);
    }
    MPI_Waitall(MANY, all, MPI_STATUSES_IGNORE);
    memset(from, 1, sizeof from);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++)
        good &= holds(memory + i * EACH, EACH, left_of, i);
    for (int i = 0; i < MANY; i++)
        MPI_Rget(from + i * EACH, EACH, MPI_BYTE, right_of, i * EACH, EACH, MPI_BYTE, win, &all[i]);
    MPI_Waitall(MANY, all, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        good &= holds(from + i * EACH, EACH, rank, i);
    MPI_Win_unlock_all(win);
    check_all(good, "%s: requests are complete when their data is used no more", kind);
}

#ifdef ALHENA_H
/* The origin of the light interface is free at once, and a notice comes behind the data. */
static void light(MPI_Win win, unsigned char *memory)
{
    static const int counts[] = {8, 1000, 70000, 500000};
    static unsigned char from[LONGEST];
    int good = 1;

    for (int i = 0; i < 4; i++)
        for (int round = 0; round < 5; round++) {
            fill(from, counts[i], rank, round);
            MPI_Barrier(MPI_COMM_WORLD);
            good &= alhena_rput(from, counts[i], right_of, 3, 1, win) == MPI_SUCCESS;
            memset(from, 5, counts[i]);
            alhena_notices(1, (uint64_t)(i * 5 + round + 1), NULL, win);
            good &= holds(memory + 3, counts[i], left_of, round);
            alhena_flush(ALHENA_ALL, win);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    check_all(good, "notices come behind the data of puts, whose origin is free");
}
#endif

/* Accumulates to one location are done in their order, whichever way each of them goes. */
static void orders(MPI_Win win, int64_t *memory)
{
    MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_PROD, MPI_BXOR, MPI_MAX, MPI_BAND, MPI_BOR};
    enum { ROUNDS = 60 };
    static int64_t values[ROUNDS], seen[ROUNDS], before[ROUNDS];
    uint64_t drawn = 12345 + (uint64_t)rank;
    int good = 1;

    /* A word at a multiple of 16, and one that is not. */
    for (int word = 2; word < 4; word++) {
        int64_t expected = memory[word] = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_of, 0, win);
        for (int i = 0; i < ROUNDS; i++) {
            drawn = drawn * 6364136223846793005u + 1442695040888963407u;
            int op = (int)(drawn >> 33) % 7, fetches = (int)(drawn >> 40) % 2;
            values[i] = (int64_t)(drawn >> 44) - 500000;
            before[i] = seen[i] = 0;
            if (fetches) {
                before[i] = expected;
                MPI_Fetch_and_op(&values[i], &seen[i], MPI_INT64_T, right_of, 8 * word, ops[op], win);
            } else {
                MPI_Accumulate(&values[i], 1, MPI_INT64_T, right_of, 8 * word, 1, MPI_INT64_T, ops[op], win);
            }
            switch (op) {
            case 0: expected = (int64_t)((uint64_t)expected + (uint64_t)values[i]); break;
            case 1: expected = values[i]; break;
            case 2: expected = (int64_t)((uint64_t)expected * (uint64_t)values[i]); break;
            case 3: expected ^= values[i]; break;
            case 4: expected = expected > values[i] ? expected : values[i]; break;
            case 5: expected &= values[i]; break;
            case 6: expected |= values[i]; break;
            }
        }
        MPI_Win_unlock(right_of, win);
        good &= memcmp(seen, before, sizeof seen) == 0;
        MPI_Win_lock(MPI_LOCK_SHARED, right_of, 0, win);
        MPI_Get(&seen[0], 1, MPI_INT64_T, right_of, 8 * word, 1, MPI_INT64_T, win);
        MPI_Win_unlock(right_of, win);
        good &= seen[0] == expected;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check_all(good, "accumulates of all kinds to one location keep their order");
}

/* All ranks change the words of rank 0, which does so, too; long accumulates beside single ones. */
static void totals(MPI_Win win, int64_t *memory)
{
    enum { ROUNDS = 200, LONG = 64 };
    int64_t ones[LONG], before, one = 1, good = 1;

    for (int i = 0; i < LONG; i++)
        ones[i] = 1, memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 8 * (i % 4), 1, MPI_INT64_T, MPI_SUM, win);
        if (i % 8 == 0)
            MPI_Accumulate(ones, LONG, MPI_INT64_T, 0, 0, LONG, MPI_INT64_T, MPI_SUM, win);
        if (i % 5 == 0) {
            MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 8 * (i % 4), MPI_SUM, win);
            MPI_Win_flush(0, win);
        }
    }
    MPI_Win_flush_all(win);
    /* An addition by compare and swap. */
    for (int i = 0; i < 20; i++) {
        int64_t seen = 0, expected;
        do {
            int64_t next = seen + 1;
            expected = seen;
            MPI_Compare_and_swap(&next, &expected, &seen, MPI_INT64_T, 0, 8 * 5, win);
            MPI_Win_flush(0, win);
        } while (seen != expected);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int64_t single = ROUNDS / 4 + ROUNDS / 20, many = ROUNDS / 8;
        for (int i = 0; i < LONG; i++)
            good &= memory[i] == size * (many + (i < 4 ? single : 0) + (i == 5 ? 20 : 0));
    }
    check_all((int)good, "no addition is lost, whichever way it goes");
}

/* Memory is mapped anew at the same address, again and again, and a window made of it. */
static void remapped(void)
{
    enum { PAGES = 8 * 4096 };
    unsigned char *memory = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char from[3000];
    int good = memory != MAP_FAILED;

    for (int round = 0; round < 20 && good; round++) {
        MPI_Win win;
        memory = mmap(memory, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        MPI_Win_create(memory + 101, PAGES - 101, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        fill(from, sizeof from, rank, round);
        MPI_Win_fence(0, win);
        MPI_Put(from, sizeof from, MPI_BYTE, right_of, 5000, sizeof from, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        good &= holds(memory + 5101, sizeof from, left_of, round) && all_are(memory, 5101, 0);
        MPI_Win_free(&win);
    }
    munmap(memory, PAGES);
    check_all(good, "memory that is mapped anew is what windows of it mean");
}

/* More windows than the network registers: the others go by messages. */
static void many(int count)
{
    MPI_Win *wins = malloc(count * sizeof *wins);
    int64_t **memory = malloc(count * sizeof *memory);
    int good = 1;

    for (int i = 0; i < count; i++)
        MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory[i], &wins[i]);
    for (int i = 0; i < count; i++) {
        int64_t value = 1000 * i + rank;
        MPI_Win_fence(0, wins[i]);
        MPI_Put(&value, 1, MPI_INT64_T, right_of, 8, 1, MPI_INT64_T, wins[i]);
        MPI_Accumulate(&value, 1, MPI_INT64_T, right_of, 16, 1, MPI_INT64_T, MPI_REPLACE, wins[i]);
        MPI_Win_fence(0, wins[i]);
        good &= memory[i][1] == 1000 * i + left_of && memory[i][2] == memory[i][1];
    }
    for (int i = 0; i < count; i++)
        MPI_Win_free(&wins[i]);
    free(wins);
    free(memory);
    check_all(good, "%d windows", count);
}

int main(int argc, char **argv)
{
    unsigned char *memory, *own = malloc(SIZE + 3);
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right_of = (rank + 1) % size;
    left_of = (rank + size - 1) % size;
    MPI_Win_allocate(SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    lengths(win, memory, "allocated");
    runs(win, memory, "allocated");
    requests(win, memory, "allocated");
#ifdef ALHENA_H
    light(win, memory);
#endif
    orders(win, (int64_t *)memory);
    totals(win, (int64_t *)memory);
    MPI_Win_free(&win);
    MPI_Win_create(own + 3, SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    lengths(win, own + 3, "created");
    runs(win, own + 3, "created");
    requests(win, own + 3, "created");
    MPI_Win_free(&win);
    free(own);
    remapped();
    many(argc > 1 ? atoi(argv[1]) : 20);
    return finish();
}
