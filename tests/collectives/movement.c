/* Collectives that move blocks of one size, against what every rank can compute alone. */
#include <time.h>
#include <unistd.h>
#include "collectives.h"

static const int counts[] = {0, 1, 7, 1000, 40000};
static int mode, count, stride;
static MPI_Datatype type;

static int test_bcast(int root)
{
    int *buffer = blank(1, count, stride), good;
    RUN(mode, (erase(buffer, 1, count, stride), rank == root ? put(buffer, count, stride, root, 0) : (void)0), Bcast,
        bcast, buffer, count, type, root, MPI_COMM_WORLD);
    good = holds(buffer, count, stride, root, 0);
    free(buffer);
    return good;
}

static int test_gather(int root, int in_place)
{
    int *mine = blank(1, count, stride), *all = blank(size, count, stride), good = 1, r;
    put(mine, count, stride, rank, 0);
    in_place = in_place && rank == root;
    RUN(mode,
        (erase(all, size, count, stride),
         in_place ? put(all + rank * count * stride, count, stride, rank, 0) : (void)0),
        Gather, gather, in_place ? MPI_IN_PLACE : mine, count, type, all, count, type, root, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        good &= rank == root ? holds(all + r * count * stride, count, stride, r, 0)
                             : untouched(all + r * count * stride, count, stride);
    free(mine);
    free(all);
    return good;
}

static int test_scatter(int root, int in_place)
{
    int *mine = blank(1, count, stride), *all = blank(size, count, stride), good, r;
    for (r = 0; r < size; r++)
        put(all + r * count * stride, count, stride, root, r);
    in_place = in_place && rank == root;
    RUN(mode, erase(mine, 1, count, stride), Scatter, scatter, all, count, type, in_place ? MPI_IN_PLACE : mine, count,
        type, root, MPI_COMM_WORLD);
    good = in_place ? untouched(mine, count, stride) : holds(mine, count, stride, root, rank);
    free(mine);
    free(all);
    return good;
}

static int test_allgather(int in_place)
{
    int *mine = blank(1, count, stride), *all = blank(size, count, stride), good = 1, r;
    put(mine, count, stride, rank, 0);
    RUN(mode,
        (erase(all, size, count, stride),
         in_place ? put(all + rank * count * stride, count, stride, rank, 0) : (void)0),
        Allgather, allgather, in_place ? MPI_IN_PLACE : mine, in_place ? 0 : count, type, all, count, type,
        MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        good &= holds(all + r * count * stride, count, stride, r, 0);
    free(mine);
    free(all);
    return good;
}

static void put_all(int *blocks)
{
    int r;
    for (r = 0; r < size; r++)
        put(blocks + r * count * stride, count, stride, rank, r);
}

static int test_alltoall(int in_place)
{
    int *out = blank(size, count, stride), *in = blank(size, count, stride), good = 1, r;
    put_all(out);
    RUN(mode, (erase(in, size, count, stride), in_place ? put_all(in) : (void)0), Alltoall, alltoall,
        in_place ? MPI_IN_PLACE : out, count, type, in, count, type, MPI_COMM_WORLD);
    for (r = 0; r < size; r++)
        good &= holds(in + r * count * stride, count, stride, r, rank);
    free(out);
    free(in);
    return good;
}

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec * 1e-9;
}

/* No rank leaves before every rank has entered: one rank in turn is late. The ranks share one clock, since hosts of tests are
 * namespaces of one machine; a message that is sent before may arrive after, as it may take another way than the barrier. */
static int test_barrier(void)
{
    double entered[2], left, other[2];
    int round = 0, rounds = mode == PERSISTENT ? 2 : 1, late, to, good = 1;
    for (late = 0; late < size; late++) {
        round = 0;
        RUN(mode, (rank == late ? usleep(2000) : 0, entered[round++] = now()), Barrier, barrier, MPI_COMM_WORLD);
        left = now();
        for (to = 0; to < size; to++) {
            MPI_Sendrecv(entered, 2, MPI_DOUBLE, to, 5, other, 2, MPI_DOUBLE, to, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            good &= left >= other[rounds - 1] && (rounds == 1 || entered[1] >= other[0]);
        }
    }
    return good;
}

/* Several collectives on their way at once complete in any order. */
static int test_overlap(void)
{
    int sum[8], one = rank + 1, all[64], i, r, good = 1, token[8];
    MPI_Request requests[25];
    for (i = 0; i < 8; i++) {
        token[i] = rank == i % size ? 100 + i : -1;
        MPI_Iallreduce(&one, &sum[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3 * i]);
        MPI_Ibcast(&token[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, &requests[3 * i + 1]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[3 * i + 2]);
    }
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[24]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(25, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 8; i++)
        good &= sum[i] == size * (size + 1) / 2 && token[i] == 100 + i;
    for (r = 0; r < size; r++)
        good &= all[r] == r;
    return good;
}

/* Persistent collectives may be started in a different order on each rank. */
static int test_start_order(void)
{
    MPI_Request requests[3];
    int sums[3], ones[3], i, good = 1, round;
    for (i = 0; i < 3; i++)
        MPI_Allreduce_init(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    for (round = 1; round <= 3; round++) {
        for (i = 0; i < 3; i++)
            ones[i] = (i + 1) * round;
        for (i = 0; i < 3; i++)
            MPI_Start(&requests[(i + rank) % 3]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (i = 0; i < 3; i++)
            good &= sums[i] == size * (i + 1) * round;
    }
    for (i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
    return good;
}

int main(int argc, char **argv)
{
    struct kind kinds[2];
    unsigned c, k;
    int good[6], root, place;
    char name[128];
    static const char *const calls[] = {"bcast", "gather", "scatter", "allgather", "alltoall", "barrier"};
    start(&argc, &argv);
    make_kinds(kinds);
    for (mode = 0; mode < MODES; mode++) {
        for (k = 0; k < 6; k++)
            good[k] = 1;
        for (k = 0; k < 2; k++) {
            type = kinds[k].type;
            stride = kinds[k].stride;
            for (c = 0; c < sizeof counts / sizeof *counts; c++) {
                count = counts[c];
                for (root = 0; root < size; root++) {
                    TEST(good[0], calls[0], test_bcast(root));
                    for (place = 0; place < 2; place++) {
                        TEST(good[1], calls[1], test_gather(root, place));
                        TEST(good[2], calls[2], test_scatter(root, place));
                    }
                }
                for (place = 0; place < 2; place++) {
                    TEST(good[3], calls[3], test_allgather(place));
                    TEST(good[4], calls[4], test_alltoall(place));
                }
            }
        }
        TEST(good[5], calls[5], test_barrier());
        for (k = 0; k < 6; k++) {
            if (!wanted(calls[k]))
                continue;
            snprintf(name, sizeof name, "%s, %s, %d ranks", calls[k], mode_names[mode], size);
            verdict(good[k], name);
        }
    }
    verdict(test_overlap(), "25 nonblocking collectives at once");
    verdict(test_start_order(), "persistent collectives started in different orders");
    MPI_Type_free(&kinds[1].type);
    return finish();
}
