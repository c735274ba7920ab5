/* Every kind of window under every kind of epoch: data arrives, attributes and names are right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "windows.h"

static int rank, size;

/* Each rank puts its number into its place at all others, and gets all places of all others. */
static void exchange(MPI_Win win, int *mine, const char *what, void (*begin)(MPI_Win), void (*end)(MPI_Win),
                     MPI_Aint (*where)(int target, int place))
{
    int number = 1000 + rank, i, wrong = 0;
    int *all = calloc((size_t)size, sizeof *all);

    for (i = 0; i < size; i++)
        mine[i] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    begin(win);
    for (i = 0; i < size; i++)
        MPI_Put(&number, 1, MPI_INT, i, where(i, rank), 1, MPI_INT, win);
    end(win);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 0; i < size; i++)
        wrong += mine[i] != 1000 + i;
    MPI_Barrier(MPI_COMM_WORLD);
    begin(win);
    for (i = 0; i < size; i++)
        MPI_Get(&all[i], 1, MPI_INT, i, where(i, (rank + i) % size), 1, MPI_INT, win);
    end(win);
    for (i = 0; i < size; i++)
        wrong += all[i] != 1000 + (rank + i) % size;
    check_all(wrong == 0, "%s: %d wrong", what, wrong);
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Group others;

static void fence_begin(MPI_Win win) { MPI_Win_fence(0, win); }
static void fence_end(MPI_Win win) { MPI_Win_fence(MPI_MODE_NOSUCCEED, win); }
static void all_begin(MPI_Win win) { MPI_Win_lock_all(0, win); }
static void all_end(MPI_Win win) { MPI_Win_flush_all(win); MPI_Win_unlock_all(win); }
static void lock_begin(MPI_Win win)
{
    int i;

    for (i = 0; i < size; i++)
        MPI_Win_lock(MPI_LOCK_SHARED, i, 0, win);
}
static void lock_end(MPI_Win win)
{
    int i;

    for (i = 0; i < size; i++)
        MPI_Win_unlock(i, win);
}
static void group_begin(MPI_Win win) { MPI_Win_post(others, 0, win); MPI_Win_start(others, 0, win); }
static void group_end(MPI_Win win) { MPI_Win_complete(win); MPI_Win_wait(win); }

static MPI_Aint by_place(int target, int place) { (void)target; return place; }
static MPI_Aint *addresses;
static MPI_Aint by_address(int target, int place) { return addresses[target] + place * (MPI_Aint)sizeof(int); }

static void all_epochs(MPI_Win win, int *mine, const char *kind, MPI_Aint (*where)(int, int))
{
    char what[100];

    snprintf(what, sizeof what, "%s, fence", kind);
    exchange(win, mine, what, fence_begin, fence_end, where);
    snprintf(what, sizeof what, "%s, lock_all", kind);
    exchange(win, mine, what, all_begin, all_end, where);
    snprintf(what, sizeof what, "%s, locks", kind);
    exchange(win, mine, what, lock_begin, lock_end, where);
    snprintf(what, sizeof what, "%s, post and start", kind);
    exchange(win, mine, what, group_begin, group_end, where);
}

static void attributes(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    void *value;
    int flag = 0, i, wrong = 0;
    static const int keys[] = {MPI_WIN_BASE, MPI_WIN_SIZE, MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR, MPI_WIN_MODEL};

    for (i = 0; i < 5; i++) {
        flag = 0;
        MPI_Win_get_attr(win, keys[i], &value, &flag);
        if (!flag)
            wrong++;
        else if (i == 0)
            wrong += value != base;
        else if (i == 1)
            wrong += *(MPI_Aint *)value != bytes;
        else
            wrong += *(int *)value != (i == 2 ? unit : i == 3 ? flavor : MPI_WIN_UNIFIED);
    }
    check_all(wrong == 0, "attributes of flavor %d: %d wrong", flavor, wrong);
}

/* Loads and stores reach the memory of exactly the ranks of this node, and each rank has its own at one address. `apart`: the
 * library was configured to use messages on a node as well. */
static void places(MPI_Win win, int *mine, int apart)
{
    MPI_Comm node;
    MPI_Group near;
    int i, unit, local, wrong = 0, number = 100 + rank, *ranks = malloc((size_t)size * sizeof *ranks);
    MPI_Aint bytes, address, least, most;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_group(node, &near);
    for (i = 0; i < size; i++)
        ranks[i] = i;
    MPI_Win_fence(0, win);
    MPI_Put(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (i = 0; i < size; i++) {
        int *base;

        MPI_Group_translate_ranks(others, 1, &ranks[i], near, &local);
        MPI_Win_shared_query(win, i, &bytes, &unit, &base);
        if (i == rank || (local != MPI_UNDEFINED && !apart))
            wrong += bytes != size * (MPI_Aint)sizeof(int) || *base != 100 + i;
        else
            wrong += bytes != 0;
    }
    MPI_Win_fence(0, win);
    check_all(wrong == 0, "loads reach the memory of the ranks of a node: %d wrong", wrong);
    MPI_Get_address(mine, &address);
    MPI_Allreduce(&address, &least, 1, MPI_AINT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&address, &most, 1, MPI_AINT, MPI_MAX, MPI_COMM_WORLD);
    check_all(least == most, "the memory of an allocated window has one address");
    MPI_Group_free(&near);
    MPI_Comm_free(&node);
    free(ranks);
}

int main(int argc, char **argv)
{
    MPI_Win win, *kept;
    int *mine, length, i, handles, least, most, same;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Group group;
    MPI_Comm pair;
    MPI_Aint address;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &others);

    MPI_Win_allocate(size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    all_epochs(win, mine, "allocated", by_place);
    places(win, mine, argc > 1 && strcmp(argv[1], "apart") == 0);
    attributes(win, mine, size * (MPI_Aint)sizeof(int), sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
    MPI_Win_set_name(win, "a window");
    MPI_Win_get_name(win, name, &length);
    check_all(strcmp(name, "a window") == 0 && length == 8, "name %s", name);
    MPI_Win_get_group(win, &group);
    MPI_Group_compare(group, others, &same);
    check_all(same == MPI_IDENT, "group of the window");
    MPI_Group_free(&group);
    MPI_Win_free(&win);
    check_all(win == MPI_WIN_NULL, "the handle is null after the window was freed");

    if (share_memory()) {
        MPI_Win_allocate_shared(size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        all_epochs(win, mine, "shared", by_place);
        attributes(win, mine, size * (MPI_Aint)sizeof(int), sizeof(int), MPI_WIN_FLAVOR_SHARED);
        MPI_Win_free(&win);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        i = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        check_all(class_of(i) == MPI_ERR_RMA_SHARED, "a shared window over several nodes is an error");
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    }

    mine = malloc((size_t)size * sizeof(int));
    MPI_Win_create(mine, size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    all_epochs(win, mine, "created", by_place);
    attributes(win, mine, size * (MPI_Aint)sizeof(int), sizeof(int), MPI_WIN_FLAVOR_CREATE);
    MPI_Win_free(&win);

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, mine, size * (MPI_Aint)sizeof(int));
    addresses = calloc((size_t)size, sizeof *addresses);
    MPI_Get_address(mine, &address);
    MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
    all_epochs(win, mine, "dynamic", by_address);
    attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_detach(win, mine);
    MPI_Win_free(&win);
    free(mine);

    /* Uneven use of windows before: the handle of a common one is the same number everywhere. */
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    kept = malloc((size_t)(rank / 2 + 1) * sizeof *kept);
    for (i = 0; i < rank / 2 + 1; i++) {
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, pair, &mine, &win);
        MPI_Win_free(&win);
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, pair, &mine, &kept[i]);
    }
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    handles = MPI_Win_c2f(win);
    MPI_Allreduce(&handles, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&handles, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    check_all(least == most && MPI_Win_f2c(handles) == win, "the handle's number is %d to %d", least, most);
    MPI_Win_free(&win);
    for (i = 0; i < rank / 2 + 1; i++)
        MPI_Win_free(&kept[i]);
    free(kept);
    MPI_Comm_free(&pair);
    MPI_Group_free(&others);
    free(addresses);
    return finish();
}
