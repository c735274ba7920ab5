/* Communicators made by several threads at once (MPI-5.0 sections 7.4.2 and 11.6.2): of groups, with tags of their own;
 * duplicates, blocking and not, splits and inter-communicators, each on a communicator of the thread's own; and of groups
 * alone, with string tags of their own. Each is summed on and freed. usage: create CASE [THREADS [ROUNDS]] */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16 };
static int rank, size, threads = 6, rounds = 200, wrong[MOST];
static MPI_Comm own[MOST], half[MOST];
static MPI_Group everyone;
static const char *what;

static void sums(int t, int round, MPI_Comm comm)
{
    int one = 1 + t, sum = 0, n;
    MPI_Comm_size(comm, &n);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != n * one && !wrong[t]++)
        fprintf(stderr, "FAIL %s: thread %d of rank %d, round %d: the sum is %d and not %d\n", what, t, rank, round, sum, n * one);
}

static void sums_and_frees(int t, int round, MPI_Comm comm)
{
    sums(t, round, comm);
    MPI_Comm_free(&comm);
}

/* Tags next to each other, and such as differ in their highest bits alone. */
static int tag(int t)
{
    return t % 2 ? t / 2 : t / 2 + (1 << 28) * (1 + t % 7);
}

static void of_group(int t, int round)
{
    MPI_Comm comm;
    MPI_Comm_create_group(MPI_COMM_WORLD, everyone, tag(t), &comm);
    sums_and_frees(t, round, comm);
}

static void duplicate(int t, int round)
{
    MPI_Comm comm;
    MPI_Comm_dup(own[t], &comm);
    sums_and_frees(t, round, comm);
}

static void iduplicate(int t, int round)
{
    MPI_Comm comms[3];
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++)
        MPI_Comm_idup(own[t], &comms[i], &requests[i]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        sums_and_frees(t, round, comms[i]);
}

static void split(int t, int round)
{
    MPI_Comm comm;
    MPI_Comm_split(own[t], rank % 2, 0, &comm);
    sums_and_frees(t, round, comm);
}

static void inter(int t, int round)
{
    MPI_Comm between, all;
    if (size < 2)
        return;
    MPI_Intercomm_create(half[t], 0, own[t], 1 - rank % 2, 3, &between);
    MPI_Intercomm_merge(between, rank % 2, &all);
    MPI_Comm_free(&between);
    sums_and_frees(t, round, all);
}

/* Of pairs of neighbours, by tags on one communicator: each thread finds the thread of its tag. Threads begin in opposite orders, and
 * the tags of four differ in their two highest bits alone. */
static int tag_of_leaders(int t)
{
    int *ub, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
    return *ub - t / 4 - (int)((unsigned)(t % 4) << 29);
}

static void leaders(int t, int round)
{
    int other = rank ^ 1, mine = 1000 * round + t, theirs = -1;
    struct timespec pause = {0, 1000000L * (rank % 2 ? t : threads - 1 - t)};
    MPI_Comm between;
    if (other >= size)
        return;
    if (round == 0)
        nanosleep(&pause, NULL);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other, tag_of_leaders(t), &between);
    MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &theirs, 1, MPI_INT, 0, 0, between, MPI_STATUS_IGNORE);
    if (theirs != mine && !wrong[t]++)
        fprintf(stderr, "FAIL %s: thread %d of rank %d, round %d: met %d and not %d\n", what, t, rank, round, theirs, mine);
    MPI_Comm_free(&between);
}

static void from_group(int t, int round)
{
    char name[40];
    MPI_Comm comm;
    snprintf(name, sizeof name, "org.alhena.test.%d", t);
    MPI_Comm_create_from_group(everyone, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    sums_and_frees(t, round, comm);
}

static void (*const makes[])(int, int) = {of_group, duplicate, iduplicate, split, inter, leaders, from_group};
static const char *const names[] = {"of_group", "dup", "idup", "split", "inter", "leaders", "from_group", "mixed"};
enum { CASES = sizeof makes / sizeof *makes };
static int chosen;

static void *work(void *argument)
{
    int t = (int)(long)argument;
    static int data[MOST][20000];
    for (int round = 0; round < rounds; round++) {
        makes[chosen < CASES ? chosen : (t + round) % CASES](t, round);
        /* Something else on the way now and then. */
        if (round % 8 == t % 8)
            MPI_Bcast(data[t], round % 3 ? 10 : 20000, MPI_INT, round % size, own[t]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, all = 0, mine = 0;
    pthread_t handles[MOST];
    what = argc > 1 ? argv[1] : "mixed";
    threads = argc > 2 ? atoi(argv[2]) : threads;
    rounds = argc > 3 ? atoi(argv[3]) : rounds;
    while (chosen <= CASES && strcmp(names[chosen], what))
        chosen++;
    if (chosen > CASES || threads < 1 || threads > MOST)
        return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &everyone);
    for (int t = 0; t < threads; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
        MPI_Comm_split(own[t], rank % 2, 0, &half[t]);
    }
    for (long t = 0; t < threads; t++)
        pthread_create(&handles[t], NULL, work, (void *)t);
    for (int t = 0; t < threads; t++) {
        pthread_join(handles[t], NULL);
        mine += wrong[t];
    }
    for (int t = 0; t < threads; t++) {
        MPI_Comm_free(&half[t]);
        MPI_Comm_free(&own[t]);
    }
    MPI_Group_free(&everyone);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0)
        printf("ok\n");
    MPI_Finalize();
    return all != 0;
}
