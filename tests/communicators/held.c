/* Requests whose communicator is freed before they are over (MPI-5.0 section 7.4.3): duplicates on their way, persistent and
 * partitioned operations; and context ids that come to nothing, which must not stay behind. */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

/* The sum of all ranks plus one, if every rank of a communicator takes part. */
static int works(MPI_Comm comm)
{
    int one = 1, sum = 0, expected;
    MPI_Comm_size(comm, &expected);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return sum == expected;
}

static MPI_Comm fresh(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
}

static void duplicates(void)
{
    MPI_Comm parent = fresh(), copies[3], local, inter, of_inter;
    MPI_Request requests[3], request;
    int i, good = 1, one = 1, sum = 0, remote;
    for (i = 0; i < 3; i++)
        MPI_Comm_idup(parent, &copies[i], &requests[i]);
    MPI_Comm_free(&parent);
    check(parent == MPI_COMM_NULL, "the handle of a freed communicator is null", 0);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (i = 0; i < 3; i++) {
        good &= works(copies[i]);
        MPI_Comm_free(&copies[i]);
    }
    check(good, "duplicates of a communicator that was freed meanwhile", 0);
    if (size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    MPI_Comm_idup(inter, &of_inter, &request);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, of_inter);
    MPI_Comm_remote_size(of_inter, &remote);
    check(sum == remote, "a duplicate of an inter-communicator that was freed meanwhile", 0);
    MPI_Comm_free(&of_inter);
}

/* Duplicates of an inter-communicator on their way while calls on it use the communicator of its local group: whatever the
 * duplicates ask meanwhile, they ask in the group's own context. */
static void duplicates_beside_calls(void)
{
    MPI_Comm local, inter, copy, merged;
    MPI_Request request;
    int round, remote, good = 1;
    if (size < 3)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    MPI_Comm_remote_size(inter, &remote);
    for (round = 0; round < 100; round++) {
        int one = 1, sum = 0;
        if (round % size == rank)
            usleep(500);
        MPI_Comm_idup(inter, &copy, &request);
        MPI_Intercomm_merge(inter, rank % 2, &merged);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy);
        good &= sum == remote && works(merged);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&merged);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    check(good, "duplicates of an inter-communicator beside calls on it", 0);
}

static void persistent(void)
{
    MPI_Comm comm = fresh(), stale = comm;
    MPI_Request requests[2], all[3];
    int out, in, round, good = 1, sum = 0, ranks, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Send_init(&out, 1, MPI_INT, next, 7, comm, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, before, 7, comm, &requests[1]);
    MPI_Allreduce_init(&out, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &all[0]);
    MPI_Psend_init(&out, 1, 1, MPI_INT, next, 8, comm, MPI_INFO_NULL, &all[1]);
    MPI_Precv_init(&in, 1, 1, MPI_INT, before, 8, comm, MPI_INFO_NULL, &all[2]);
    MPI_Comm_free(&comm);
    check(MPI_Comm_size(stale, &ranks) == MPI_ERR_COMM, "the handle of a freed communicator names nothing", 0);
    for (round = 0; round < 5; round++) {
        MPI_Comm other = fresh();
        out = 100 * round + rank;
        in = -1;
        good &= MPI_Startall(2, requests) == MPI_SUCCESS;
        good &= MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS && in == 100 * round + before;
        good &= MPI_Start(&all[0]) == MPI_SUCCESS && MPI_Wait(&all[0], MPI_STATUS_IGNORE) == MPI_SUCCESS;
        good &= sum == 100 * round * size + size * (size - 1) / 2;
        in = -1;
        good &= MPI_Startall(2, all + 1) == MPI_SUCCESS && MPI_Pready(0, all[1]) == MPI_SUCCESS;
        good &= MPI_Waitall(2, all + 1, MPI_STATUSES_IGNORE) == MPI_SUCCESS && in == 100 * round + before;
        good &= works(other);
        MPI_Comm_free(&other);
    }
    check(good, "persistent operations whose communicator was freed before they start", 0);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    for (round = 0; round < 3; round++)
        MPI_Request_free(&all[round]);
}

/* Bytes that the process has allocated and not freed. */
static long allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
}

static int fails(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)value, (void)copy, (void)flag;
    return MPI_ERR_OTHER;
}

static MPI_Comm inter, unlucky;

static void leaves_out(void)
{
    MPI_Comm part;
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &part);
}

static void includes(void)
{
    MPI_Comm part;
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &part);
    MPI_Group_free(&group);
    MPI_Comm_free(&part);
}

static void splits_off(void)
{
    MPI_Comm part;
    MPI_Comm_split(inter, MPI_UNDEFINED, 0, &part);
}

static void fails_to_copy(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(unlucky, &copy);
}

static void holds(void)
{
    MPI_Comm comm = fresh();
    MPI_Request request;
    int datum = 0;
    MPI_Send_init(&datum, 1, MPI_INT, rank, 0, comm, &request);
    MPI_Comm_free(&comm);
    MPI_Request_free(&request);
}

/* What is left behind by making communicators in one way, many times: the table of ids in use takes some 20 bytes for one that
 * stays; buffers of a transport may grow by some KiB meanwhile, where another rank is slow. */
static void leaves_nothing(void (*make)(void), const char *name)
{
    enum { WARM = 500, ROUNDS = 2000, BYTES = 12 };
    long before = 0;
    int i;
    for (i = 0; i < WARM + ROUNDS; i++) {
        if (i == WARM)
            before = allocated();
        make();
    }
    check(allocated() - before < BYTES * ROUNDS, name, allocated() - before);
}

int main(int argc, char **argv)
{
    MPI_Comm local;
    int key;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    duplicates();
    duplicates_beside_calls();
    persistent();
    leaves_nothing(leaves_out, "a group without members leaves no context id behind");
    leaves_nothing(includes, "a subset leaves no context id behind");
    leaves_nothing(holds, "a communicator that was held goes");
    unlucky = fresh();
    MPI_Comm_create_keyval(fails, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(unlucky, key, &key);
    leaves_nothing(fails_to_copy, "an attribute that cannot be copied leaves no context id behind");
    MPI_Comm_free(&unlucky);
    MPI_Comm_free_keyval(&key);
    if (size > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
        leaves_nothing(splits_off, "a split of an inter-communicator leaves no context id behind");
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
    MPI_Finalize();
    return check_failures != 0;
}
