/* What calls say of objects: contents of types, pairs of value and index, errors of generalized requests, the order of
 * attributes, hints of communicators, edges of graphs. On any number of ranks. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "process.h"

static int rank, size;

/* Types whose contents are predefined ones without name (MPI-5.0 sections 5.1.13 and 19.1.5). */
static void contents(void)
{
    MPI_Datatype types[4], of[4], again, made;
    int integers[4], blocks[4] = {1, 1, 1, 1}, i, good = 1;
    MPI_Aint addresses[4] = {0, 16, 48, 96};
    MPI_Type_create_f90_integer(4, &types[0]);
    MPI_Type_create_f90_real(10, 100, &types[1]);
    MPI_Type_create_f90_complex(5, MPI_UNDEFINED, &types[2]);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT64_T, &types[3]);
    for (i = 0; i < 4; i++) {
        MPI_Type_dup(types[i], &made);
        MPI_Type_get_contents(made, 0, 0, 1, NULL, NULL, of);
        good &= of[0] == types[i];
        again = of[0];
        good &= class_of(MPI_Type_free(&again)) == MPI_ERR_TYPE;
        MPI_Type_free(&made);
    }
    check(good, "contents that are predefined types without name are these themselves", 0);
    MPI_Type_create_struct(4, blocks, addresses, types, &made);
    int numbers[5];
    MPI_Aint places[4];
    MPI_Type_get_contents(made, 5, 4, 4, numbers, places, of);
    check(!memcmp(types, of, sizeof types), "those of a structure, too", 0);
    MPI_Type_free(&made);
    MPI_Type_vector(3, 1, 2, MPI_INT, &again);
    MPI_Type_contiguous(2, again, &made);
    MPI_Type_get_contents(made, 1, 0, 1, integers, addresses, of);
    check(of[0] != again && MPI_Type_free(&of[0]) == MPI_SUCCESS, "those that are derived are to be freed", 0);
    MPI_Type_free(&again);
    MPI_Type_free(&made);
}

/* MPI_MINLOC and MPI_MAXLOC take every pair that MPI_Type_get_value_index gives (MPI-5.0 section 6.9.4). */
#define PAIR(value_type, value_handle, index_type, index_handle)                                                          \
    static int pair_##value_type##_##index_type(void)                                                                     \
    {                                                                                                                     \
        struct {                                                                                                          \
            value_type value;                                                                                             \
            index_type index;                                                                                             \
        } in[3], out[3];                                                                                                  \
        MPI_Datatype pair;                                                                                                \
        MPI_Aint lb, extent;                                                                                              \
        int i, good;                                                                                                      \
        MPI_Win win;                                                                                                      \
        MPI_Type_get_value_index(value_handle, index_handle, &pair);                                                      \
        if (pair == MPI_DATATYPE_NULL)                                                                                    \
            return 0;                                                                                                     \
        MPI_Type_get_extent(pair, &lb, &extent);                                                                          \
        good = lb == 0 && extent == sizeof in[0];                                                                         \
        for (i = 0; i < 3; i++) {                                                                                         \
            in[i].value = (value_type)(i == 2 ? 5 : (rank + i) % size);                                                   \
            in[i].index = (index_type)(100 - rank);                                                                       \
        }                                                                                                                 \
        good &= MPI_Allreduce(in, out, 3, pair, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS;                               \
        for (i = 0; i < 2; i++)                                                                                           \
            good &= out[i].value == (value_type)(size - 1) &&                                                             \
                    out[i].index == (index_type)(100 - (size - 1 - i + size) % size);                                     \
        good &= out[2].value == (value_type)5 && out[2].index == (index_type)(100 - (size - 1));                          \
        good &= MPI_Allreduce(in, out, 3, pair, MPI_MINLOC, MPI_COMM_WORLD) == MPI_SUCCESS;                               \
        for (i = 0; i < 2; i++)                                                                                           \
            good &= out[i].value == (value_type)0 && out[i].index == (index_type)(100 - (size - i) % size);               \
        good &= class_of(MPI_Allreduce(in, out, 3, pair, MPI_SUM, MPI_COMM_WORLD)) == MPI_ERR_OP;                         \
        for (i = 0; i < 3; i++) {                                                                                         \
            out[i].value = (value_type)i;                                                                                 \
            out[i].index = 120;                                                                                           \
        }                                                                                                                 \
        MPI_Win_create(out, sizeof out, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);                                          \
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);                                                                   \
        MPI_Win_fence(0, win);                                                                                            \
        in[0].value = in[1].value = in[2].value = 1;                                                                      \
        good &= MPI_Accumulate(in, 3, pair, (rank + 1) % size, 0, 3, pair, MPI_MAXLOC, win) == MPI_SUCCESS;               \
        MPI_Win_fence(0, win);                                                                                            \
        MPI_Win_free(&win);                                                                                               \
        good &= out[0].value == 1 && out[0].index == (index_type)(100 - (rank + size - 1) % size) && out[2].value == 2 && \
                out[2].index == 120 && out[1].index == out[0].index;                                                      \
        return good;                                                                                                      \
    }

typedef long double long_double;
PAIR(double, MPI_DOUBLE, int64_t, MPI_INT64_T)
PAIR(float, MPI_FLOAT, uint64_t, MPI_UINT64_T)
PAIR(int64_t, MPI_INT64_T, int64_t, MPI_INT64_T)
PAIR(uint8_t, MPI_UINT8_T, int16_t, MPI_INT16_T)
PAIR(int8_t, MPI_INT8_T, int64_t, MPI_INT64_T)
PAIR(long_double, MPI_LONG_DOUBLE, int8_t, MPI_INT8_T)
PAIR(double, MPI_DOUBLE, int, MPI_INT)
PAIR(uint32_t, MPI_UINT32_T, uint32_t, MPI_UINT32_T)

static void pairs(void)
{
    MPI_Datatype none;
    check(pair_double_int64_t(), "MPI_MINLOC on double and int64_t", 0);
    check(pair_float_uint64_t(), "MPI_MINLOC on float and uint64_t", 0);
    check(pair_int64_t_int64_t(), "MPI_MINLOC on two int64_t", 0);
    check(pair_uint8_t_int16_t(), "MPI_MINLOC on uint8_t and int16_t", 0);
    check(pair_int8_t_int64_t(), "MPI_MINLOC on int8_t and int64_t", 0);
    check(pair_long_double_int8_t(), "MPI_MINLOC on long double and int8_t", 0);
    check(pair_double_int(), "MPI_MINLOC on double and int", 0);
    check(pair_uint32_t_uint32_t(), "MPI_MINLOC on two uint32_t", 0);
    MPI_Type_get_value_index(MPI_C_DOUBLE_COMPLEX, MPI_INT, &none);
    check(none == MPI_DATATYPE_NULL, "complex numbers have no least one", 0);
}

/* Errors of a generalized request's functions are those of the calls that come to them (MPI-5.0 section 13.2). */
struct generalized {
    int query_error, free_error, queried, freed;
    MPI_Request request;
};

static int query(void *extra, MPI_Status *status)
{
    struct generalized *g = extra;
    g->queried++;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return g->query_error;
}

static int release(void *extra)
{
    struct generalized *g = extra;
    g->freed++;
    return g->free_error;
}

static int cancelled(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static struct generalized *start(int query_error, int free_error)
{
    struct generalized *g = calloc(1, sizeof *g);
    g->query_error = query_error;
    g->free_error = free_error;
    MPI_Grequest_start(query, release, cancelled, g, &g->request);
    return g;
}

static void generalized(void)
{
    struct generalized *g = start(0, MPI_ERR_OTHER), *h;
    MPI_Request requests[3], kept;
    MPI_Status status, statuses[3];
    int flag, n, indices[3], result;
    MPI_Grequest_complete(g->request);
    CHECK_EQ(class_of(MPI_Wait(&g->request, MPI_STATUS_IGNORE)), MPI_ERR_OTHER, "MPI_Wait returns the error of free_fn");
    CHECK_EQ(g->freed, 1, "which was called once");
    g = start(MPI_ERR_ARG, 0);
    MPI_Grequest_complete(g->request);
    CHECK_EQ(class_of(MPI_Test(&g->request, &flag, &status)), MPI_ERR_ARG, "MPI_Test returns the error of query_fn");
    g = start(MPI_ERR_ARG, MPI_ERR_OTHER);
    MPI_Grequest_complete(g->request);
    CHECK_EQ(class_of(MPI_Waitany(1, &g->request, &n, &status)), MPI_ERR_OTHER, "of two errors that of free_fn");
    g = start(0, MPI_ERR_OTHER);
    MPI_Grequest_complete(g->request);
    CHECK_EQ(class_of(MPI_Request_free(&g->request)), MPI_ERR_OTHER, "MPI_Request_free returns the error of free_fn");
    check(g->freed == 1 && g->request == MPI_REQUEST_NULL, "and the request is gone", g->freed);
    g = start(0, MPI_ERR_OTHER);
    kept = g->request;
    CHECK_EQ(class_of(MPI_Request_free(&g->request)), MPI_SUCCESS, "a request is freed before it is complete");
    CHECK_EQ(class_of(MPI_Grequest_complete(kept)), MPI_ERR_OTHER, "MPI_Grequest_complete calls free_fn then");
    CHECK_EQ(g->freed, 1, "once");
    g = start(MPI_ERR_ARG, 0);
    MPI_Grequest_complete(g->request);
    CHECK_EQ(class_of(MPI_Request_get_status(g->request, &flag, &status)), MPI_ERR_ARG, "MPI_Request_get_status returns that of query_fn");
    check(flag && !g->freed, "and leaves the request", flag);
    h = start(0, 0);
    MPI_Grequest_complete(h->request);
    requests[0] = h->request;
    requests[1] = g->request;
    requests[2] = MPI_REQUEST_NULL;
    CHECK_EQ(class_of(MPI_Request_get_status_any(2, requests + 1, &n, &flag, &status)), MPI_ERR_ARG, "so does MPI_Request_get_status_any");
    result = class_of(MPI_Request_get_status_all(3, requests, &flag, statuses));
    check(result == MPI_ERR_IN_STATUS && class_of(statuses[1].MPI_ERROR) == MPI_ERR_ARG && !class_of(statuses[0].MPI_ERROR),
          "MPI_Request_get_status_all names it in its status", result);
    result = class_of(MPI_Request_get_status_some(3, requests, &n, indices, statuses));
    check(result == MPI_ERR_IN_STATUS && n == 2, "and MPI_Request_get_status_some", result);
    result = class_of(MPI_Waitall(2, requests, statuses));
    check(result == MPI_ERR_IN_STATUS && class_of(statuses[1].MPI_ERROR) == MPI_ERR_ARG, "and MPI_Waitall", result);
}

/* Attributes go in the reverse order of their setting (MPI-5.0 section 11.2.4); to set one anew is to set it. */
static char order[8];

static int gone(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    strncat(order, value, 1);
    return MPI_SUCCESS;
}

static void attributes(void)
{
    MPI_Comm comm;
    int keys[3], i;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (i = 0; i < 3; i++)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &keys[i], NULL);
    MPI_Comm_set_attr(comm, keys[0], "a");
    MPI_Comm_set_attr(comm, keys[1], "b");
    MPI_Comm_set_attr(comm, keys[2], "c");
    MPI_Comm_set_attr(comm, keys[0], "A");
    check(!strcmp(order, "a"), "to set an attribute anew deletes the old value", 0);
    MPI_Comm_free(&comm);
    check(!strcmp(order, "aAcb"), "attributes go in the reverse order of their setting", 0);
    for (i = 0; i < 3; i++)
        MPI_Comm_free_keyval(&keys[i]);
}

static int has(MPI_Comm comm, const char *key)
{
    MPI_Info info;
    int length = 0, flag;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, key, &length, NULL, &flag);
    MPI_Info_free(&info);
    return flag;
}

static int is_true(MPI_Comm comm, const char *key)
{
    MPI_Info info;
    char value[20] = "";
    int length = sizeof value, flag;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, key, &length, value, &flag);
    MPI_Info_free(&info);
    return flag && !strcmp(value, "true");
}

static void hints(void)
{
    MPI_Info info;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Group world, mine, theirs;
    int range[2][3] = {{0, size - 2, 2}, {1, size - 1, 2}};
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "no_hint_of_ours", "1");
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(is_true(comm, "mpi_assert_no_any_tag") && !has(comm, "no_hint_of_ours"), "MPI_Comm_idup_with_info takes the hints that it knows", 0);
    MPI_Comm_free(&comm);
    if (size > 1) {
        range[0][1] = (size - 1) / 2 * 2;
        range[1][1] = (size - 2) / 2 * 2 + 1;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_range_incl(world, 1, &range[rank % 2], &mine);
        MPI_Group_range_incl(world, 1, &range[1 - rank % 2], &theirs);
        MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "hints", info, MPI_ERRORS_RETURN, &comm);
        check(is_true(comm, "mpi_assert_no_any_tag") && !has(comm, "no_hint_of_ours"),
              "MPI_Intercomm_create_from_groups takes hints", 0);
        MPI_Comm_free(&comm);
        MPI_Group_free(&mine);
        MPI_Group_free(&theirs);
        MPI_Group_free(&world);
    }
    MPI_Info_free(&info);
}

/* A process holds the edges that it gives and gets, not those of all others. */
static void large_graph(void)
{
    enum { EDGES = 300000 };
    int *targets = calloc(EDGES, sizeof(int)), source = 0, degree = EDGES, giver = rank == 0;
    int *weights = calloc(EDGES, sizeof(int));
    long before = peak();
    MPI_Comm graph;
    MPI_Dist_graph_create(MPI_COMM_WORLD, giver, &source, &degree, targets, weights, MPI_INFO_NULL, 0, &graph);
    check(giver || peak() - before < 4096, "a process that has no edge of a large graph takes no memory for it", peak() - before);
    MPI_Comm_free(&graph);
    free(targets);
    free(weights);
}

/* One rank gives all edges, or each gives those of the next one: each rank learns its own, in the order of the givers. */
static void graphs(void)
{
    enum { MOST = 64 };
    int sources[MOST], degrees[MOST], targets[2 * MOST], weights[2 * MOST], in[2 * MOST], out[2 * MOST], w[2 * MOST], v[2 * MOST];
    int n = 0, edges = 0, i, good = 1, incoming, outgoing, weighted, all;
    MPI_Comm graph;
    if (size > MOST)
        return;
    for (all = 0; all < 2; all++) {
        n = edges = 0;
        for (i = 0; i < size; i++)
            if (all ? rank == size - 1 : i == (rank + 1) % size) {
                sources[n] = i;
                degrees[n++] = 2;
                targets[edges] = (i + 1) % size;
                weights[edges++] = 10 * i + 1;
                targets[edges] = i == 0 ? MPI_PROC_NULL : 0;
                weights[edges++] = 10 * i + 2;
            }
        MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, targets, weights, MPI_INFO_NULL, 0, &graph);
        MPI_Dist_graph_neighbors_count(graph, &incoming, &outgoing, &weighted);
        good &= outgoing == 2 && weighted && incoming == (rank == 0 ? size : 1);
        MPI_Dist_graph_neighbors(graph, 2 * MOST, in, w, 2 * MOST, out, v);
        good &= out[0] == (rank + 1) % size && v[0] == 10 * rank + 1 && out[1] == (rank == 0 ? MPI_PROC_NULL : 0) && v[1] == 10 * rank + 2;
        for (i = 0; i < incoming; i++)
            good &= w[i] == 10 * in[i] + (in[i] == (rank + size - 1) % size && w[i] % 10 == 1 ? 1 : 2);
        MPI_Comm_free(&graph);
    }
    check(good, "ranks learn the edges of a graph that others give", 0);
    n = rank == 0;
    sources[0] = 0;
    degrees[0] = 1;
    targets[0] = size - 1;
    MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &incoming, &outgoing, &weighted);
    check(outgoing == (rank == 0) && incoming == (rank == size - 1) && !weighted, "and one of one edge", incoming);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    contents();
    pairs();
    generalized();
    attributes();
    hints();
    graphs();
    large_graph();
    MPI_Finalize();
    return check_failures != 0;
}
