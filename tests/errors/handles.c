/* Every call on an object with every kind of wrong handle: null, freed, made up, of another kind of object. Each answers with
 * the class of its kind. */
#include <mpi.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

/* All handles of the standard ABI are pointers. */
typedef void *handle;

static int n, m, flag, keyval, pair[2], ones[2] = {1, 1}, zeros[2];
static int in[4], out[4], *value;
static char text[MPI_MAX_OBJECT_NAME];
static MPI_Aint aint, aints[2];
static MPI_Count count;
static MPI_Comm comm;
static MPI_Group group;
static MPI_Datatype type;
static MPI_Info info;
static MPI_Errhandler errhandler;
static MPI_Request request;
static MPI_Message message;
static MPI_Status status;

/* A wrong call must make nothing; what it made all the same would only cost memory here. */
#define CALL(name, expression) \
    static int name(handle h) { return expression; }

static MPI_Comm c(handle h) { return (MPI_Comm)h; }
static MPI_Group g(handle h) { return (MPI_Group)h; }
static MPI_Datatype t(handle h) { return (MPI_Datatype)h; }

CALL(comm_size, MPI_Comm_size(c(h), &n))
CALL(comm_rank, MPI_Comm_rank(c(h), &n))
CALL(comm_compare, MPI_Comm_compare(MPI_COMM_SELF, c(h), &n))
CALL(comm_dup, MPI_Comm_dup(c(h), &comm))
CALL(comm_dup_with_info, MPI_Comm_dup_with_info(c(h), MPI_INFO_NULL, &comm))
CALL(comm_idup, MPI_Comm_idup(c(h), &comm, &request))
CALL(comm_create, MPI_Comm_create(c(h), MPI_GROUP_EMPTY, &comm))
CALL(comm_create_group, MPI_Comm_create_group(c(h), MPI_GROUP_EMPTY, 0, &comm))
CALL(comm_split, MPI_Comm_split(c(h), 0, 0, &comm))
CALL(comm_split_type, MPI_Comm_split_type(c(h), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm))
CALL(comm_free, MPI_Comm_free((MPI_Comm *)&h))
CALL(comm_disconnect, MPI_Comm_disconnect((MPI_Comm *)&h))
CALL(comm_group, MPI_Comm_group(c(h), &group))
CALL(comm_remote_group, MPI_Comm_remote_group(c(h), &group))
CALL(comm_remote_size, MPI_Comm_remote_size(c(h), &n))
CALL(comm_test_inter, MPI_Comm_test_inter(c(h), &flag))
CALL(comm_set_name, MPI_Comm_set_name(c(h), "x"))
CALL(comm_get_info, MPI_Comm_get_info(c(h), &info))
CALL(comm_set_info, MPI_Comm_set_info(c(h), MPI_INFO_NULL))
CALL(comm_get_errhandler, MPI_Comm_get_errhandler(c(h), &errhandler))
CALL(comm_set_errhandler, MPI_Comm_set_errhandler(c(h), MPI_ERRORS_RETURN))
CALL(comm_call_errhandler, MPI_Comm_call_errhandler(c(h), MPI_ERR_OTHER))
CALL(comm_get_attr, MPI_Comm_get_attr(c(h), MPI_TAG_UB, &value, &flag))
CALL(comm_set_attr, MPI_Comm_set_attr(c(h), keyval, NULL))
CALL(comm_delete_attr, MPI_Comm_delete_attr(c(h), keyval))
CALL(intercomm_create, MPI_Intercomm_create(c(h), 0, MPI_COMM_SELF, 0, 0, &comm))
CALL(intercomm_merge, MPI_Intercomm_merge(c(h), 0, &comm))
CALL(cart_create, MPI_Cart_create(c(h), 1, ones, zeros, 0, &comm))
CALL(cart_get, MPI_Cart_get(c(h), 1, pair, pair, pair))
CALL(cart_rank, MPI_Cart_rank(c(h), zeros, &n))
CALL(cart_coords, MPI_Cart_coords(c(h), 0, 1, pair))
CALL(cart_shift, MPI_Cart_shift(c(h), 0, 1, &n, &m))
CALL(cart_sub, MPI_Cart_sub(c(h), ones, &comm))
CALL(cart_map, MPI_Cart_map(c(h), 1, ones, zeros, &n))
CALL(cartdim_get, MPI_Cartdim_get(c(h), &n))
CALL(graph_create, MPI_Graph_create(c(h), 0, ones, zeros, 0, &comm))
CALL(graphdims_get, MPI_Graphdims_get(c(h), &n, &m))
CALL(graph_neighbors_count, MPI_Graph_neighbors_count(c(h), 0, &n))
CALL(dist_graph_create, MPI_Dist_graph_create_adjacent(c(h), 0, zeros, ones, 0, zeros, ones, MPI_INFO_NULL, 0, &comm))
CALL(dist_graph_neighbors_count, MPI_Dist_graph_neighbors_count(c(h), &n, &m, &flag))
CALL(topo_test, MPI_Topo_test(c(h), &n))
CALL(barrier, MPI_Barrier(c(h)))
CALL(bcast, MPI_Bcast(in, 1, MPI_INT, 0, c(h)))
CALL(ibarrier, MPI_Ibarrier(c(h), &request))
CALL(barrier_init, MPI_Barrier_init(c(h), MPI_INFO_NULL, &request))
CALL(allreduce, MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, c(h)))
CALL(neighbor_alltoall, MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, c(h)))
CALL(comm_attach_buffer, MPI_Comm_attach_buffer(c(h), in, sizeof in))
CALL(comm_flush_buffer, MPI_Comm_flush_buffer(c(h)))
CALL(psend_init, MPI_Psend_init(in, 1, 1, MPI_INT, 0, 0, c(h), MPI_INFO_NULL, &request))
CALL(precv_init, MPI_Precv_init(in, 1, 1, MPI_INT, 0, 0, c(h), MPI_INFO_NULL, &request))
CALL(pack_comm, MPI_Pack_size(1, MPI_INT, c(h), &n))

CALL(group_size, MPI_Group_size(g(h), &n))
CALL(group_rank, MPI_Group_rank(g(h), &n))
CALL(group_compare, MPI_Group_compare(g(h), MPI_GROUP_EMPTY, &n))
CALL(group_union, MPI_Group_union(MPI_GROUP_EMPTY, g(h), &group))
CALL(group_intersection, MPI_Group_intersection(g(h), MPI_GROUP_EMPTY, &group))
CALL(group_difference, MPI_Group_difference(g(h), MPI_GROUP_EMPTY, &group))
CALL(group_incl, MPI_Group_incl(g(h), 0, zeros, &group))
CALL(group_excl, MPI_Group_excl(g(h), 0, zeros, &group))
CALL(group_range_incl, MPI_Group_range_incl(g(h), 0, NULL, &group))
CALL(group_translate, MPI_Group_translate_ranks(g(h), 0, zeros, MPI_GROUP_EMPTY, pair))
CALL(group_free, MPI_Group_free((MPI_Group *)&h))
CALL(create_with_group, MPI_Comm_create(MPI_COMM_SELF, g(h), &comm))
CALL(create_from_group, MPI_Comm_create_from_group(g(h), "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm))

CALL(type_size, MPI_Type_size(t(h), &n))
CALL(type_size_c, MPI_Type_size_c(t(h), &count))
CALL(type_extent, MPI_Type_get_extent(t(h), &aint, &aint))
CALL(type_true_extent, MPI_Type_get_true_extent(t(h), &aint, &aint))
CALL(type_commit, MPI_Type_commit((MPI_Datatype *)&h))
CALL(type_free, MPI_Type_free((MPI_Datatype *)&h))
CALL(type_dup, MPI_Type_dup(t(h), &type))
CALL(type_contiguous, MPI_Type_contiguous(2, t(h), &type))
CALL(type_vector, MPI_Type_vector(2, 1, 2, t(h), &type))
CALL(type_indexed, MPI_Type_indexed(2, ones, zeros, t(h), &type))
CALL(type_resized, MPI_Type_create_resized(t(h), 0, 8, &type))
CALL(type_subarray, MPI_Type_create_subarray(1, ones, ones, zeros, MPI_ORDER_C, t(h), &type))
CALL(type_envelope, MPI_Type_get_envelope(t(h), &n, &n, &n, &n))
CALL(type_set_name, MPI_Type_set_name(t(h), "x"))
CALL(type_get_attr, MPI_Type_get_attr(t(h), keyval, &value, &flag))
CALL(get_count, MPI_Get_count(&status, t(h), &n))
CALL(get_elements, MPI_Get_elements(&status, t(h), &n))
CALL(set_elements, MPI_Status_set_elements(&status, t(h), 0))
CALL(pack_type, MPI_Pack_size(1, t(h), MPI_COMM_SELF, &n))
CALL(pack_external, MPI_Pack_external_size("external32", 1, t(h), &aint))
CALL(bcast_type, MPI_Bcast(in, 1, t(h), 0, MPI_COMM_SELF))
CALL(reduce_type, MPI_Allreduce(in, out, 1, t(h), MPI_SUM, MPI_COMM_SELF))

static int type_struct(handle h)
{
    MPI_Datatype types[2] = {MPI_INT, t(h)};
    return MPI_Type_create_struct(2, ones, aints, types, &type);
}

CALL(op_free, MPI_Op_free((MPI_Op *)&h))
CALL(op_commutative, MPI_Op_commutative((MPI_Op)h, &flag))
CALL(op_allreduce, MPI_Allreduce(in, out, 1, MPI_INT, (MPI_Op)h, MPI_COMM_SELF))
CALL(op_reduce_local, MPI_Reduce_local(in, out, 1, MPI_INT, (MPI_Op)h))
CALL(op_scan, MPI_Scan(in, out, 1, MPI_INT, (MPI_Op)h, MPI_COMM_SELF))

CALL(info_set, MPI_Info_set((MPI_Info)h, "key", "value"))
CALL(info_delete, MPI_Info_delete((MPI_Info)h, "key"))
CALL(info_get, MPI_Info_get_string((MPI_Info)h, "key", &zeros[1], text, &flag))
CALL(info_nkeys, MPI_Info_get_nkeys((MPI_Info)h, &n))
CALL(info_nthkey, MPI_Info_get_nthkey((MPI_Info)h, 0, text))
CALL(info_dup, MPI_Info_dup((MPI_Info)h, &info))
CALL(info_free, MPI_Info_free((MPI_Info *)&h))
CALL(hints_dup, MPI_Comm_dup_with_info(MPI_COMM_SELF, (MPI_Info)h, &comm))
CALL(hints_set, MPI_Comm_set_info(MPI_COMM_SELF, (MPI_Info)h))

CALL(errhandler_free, MPI_Errhandler_free((MPI_Errhandler *)&h))
CALL(errhandler_set, MPI_Comm_set_errhandler(MPI_COMM_SELF, (MPI_Errhandler)h))

CALL(session_info, MPI_Session_get_info((MPI_Session)h, &info))
CALL(session_psets, MPI_Session_get_num_psets((MPI_Session)h, MPI_INFO_NULL, &n))
CALL(session_nth, MPI_Session_get_nth_pset((MPI_Session)h, MPI_INFO_NULL, 0, &zeros[1], text))
CALL(session_group, MPI_Group_from_session_pset((MPI_Session)h, "mpi://SELF", &group))
CALL(session_errhandler, MPI_Session_get_errhandler((MPI_Session)h, &errhandler))
CALL(session_finalize, MPI_Session_finalize((MPI_Session *)&h))

CALL(mrecv, MPI_Mrecv(in, 1, MPI_INT, (MPI_Message *)&h, &status))
CALL(imrecv, MPI_Imrecv(in, 1, MPI_INT, (MPI_Message *)&h, &request))

enum kind { COMM, GROUP, TYPE, OP, INFO, ERRHANDLER, SESSION, MESSAGE, KINDS };

static struct {
    const char *name;
    int class;
    handle null, live, freed;
} kinds[KINDS] = {
    [COMM] = {"communicator", MPI_ERR_COMM, MPI_COMM_NULL, NULL, NULL},
    [GROUP] = {"group", MPI_ERR_GROUP, MPI_GROUP_NULL, NULL, NULL},
    [TYPE] = {"datatype", MPI_ERR_TYPE, MPI_DATATYPE_NULL, NULL, NULL},
    [OP] = {"operation", MPI_ERR_OP, MPI_OP_NULL, NULL, NULL},
    [INFO] = {"info object", MPI_ERR_INFO, MPI_INFO_NULL, NULL, NULL},
    [ERRHANDLER] = {"error handler", MPI_ERR_ERRHANDLER, MPI_ERRHANDLER_NULL, NULL, NULL},
    [SESSION] = {"session", MPI_ERR_SESSION, MPI_SESSION_NULL, NULL, NULL},
    [MESSAGE] = {"message", MPI_ERR_REQUEST, MPI_MESSAGE_NULL, NULL, NULL},
};

/* NULL_TOO: the null handle is an argument like any other. */
enum { NULL_TOO = 1 };

static const struct {
    const char *name;
    enum kind kind;
    int (*call)(handle);
    int null_too;
} calls[] = {
    {"MPI_Comm_size", COMM, comm_size, 0},
    {"MPI_Comm_rank", COMM, comm_rank, 0},
    {"MPI_Comm_compare", COMM, comm_compare, 0},
    {"MPI_Comm_dup", COMM, comm_dup, 0},
    {"MPI_Comm_dup_with_info", COMM, comm_dup_with_info, 0},
    {"MPI_Comm_idup", COMM, comm_idup, 0},
    {"MPI_Comm_create", COMM, comm_create, 0},
    {"MPI_Comm_create_group", COMM, comm_create_group, 0},
    {"MPI_Comm_split", COMM, comm_split, 0},
    {"MPI_Comm_split_type", COMM, comm_split_type, 0},
    {"MPI_Comm_free", COMM, comm_free, 0},
    {"MPI_Comm_disconnect", COMM, comm_disconnect, 0},
    {"MPI_Comm_group", COMM, comm_group, 0},
    {"MPI_Comm_remote_group", COMM, comm_remote_group, 0},
    {"MPI_Comm_remote_size", COMM, comm_remote_size, 0},
    {"MPI_Comm_test_inter", COMM, comm_test_inter, 0},
    {"MPI_Comm_set_name", COMM, comm_set_name, 0},
    {"MPI_Comm_get_info", COMM, comm_get_info, 0},
    {"MPI_Comm_set_info", COMM, comm_set_info, 0},
    {"MPI_Comm_get_errhandler", COMM, comm_get_errhandler, 0},
    {"MPI_Comm_set_errhandler", COMM, comm_set_errhandler, 0},
    {"MPI_Comm_call_errhandler", COMM, comm_call_errhandler, 0},
    {"MPI_Comm_get_attr", COMM, comm_get_attr, 0},
    {"MPI_Comm_set_attr", COMM, comm_set_attr, 0},
    {"MPI_Comm_delete_attr", COMM, comm_delete_attr, 0},
    {"MPI_Intercomm_create", COMM, intercomm_create, 0},
    {"MPI_Intercomm_merge", COMM, intercomm_merge, 0},
    {"MPI_Cart_create", COMM, cart_create, 0},
    {"MPI_Cart_get", COMM, cart_get, 0},
    {"MPI_Cart_rank", COMM, cart_rank, 0},
    {"MPI_Cart_coords", COMM, cart_coords, 0},
    {"MPI_Cart_shift", COMM, cart_shift, 0},
    {"MPI_Cart_sub", COMM, cart_sub, 0},
    {"MPI_Cart_map", COMM, cart_map, 0},
    {"MPI_Cartdim_get", COMM, cartdim_get, 0},
    {"MPI_Graph_create", COMM, graph_create, 0},
    {"MPI_Graphdims_get", COMM, graphdims_get, 0},
    {"MPI_Graph_neighbors_count", COMM, graph_neighbors_count, 0},
    {"MPI_Dist_graph_create_adjacent", COMM, dist_graph_create, 0},
    {"MPI_Dist_graph_neighbors_count", COMM, dist_graph_neighbors_count, 0},
    {"MPI_Topo_test", COMM, topo_test, 0},
    {"MPI_Barrier", COMM, barrier, 0},
    {"MPI_Bcast", COMM, bcast, 0},
    {"MPI_Ibarrier", COMM, ibarrier, 0},
    {"MPI_Barrier_init", COMM, barrier_init, 0},
    {"MPI_Allreduce", COMM, allreduce, 0},
    {"MPI_Neighbor_alltoall", COMM, neighbor_alltoall, 0},
    {"MPI_Comm_attach_buffer", COMM, comm_attach_buffer, 0},
    {"MPI_Comm_flush_buffer", COMM, comm_flush_buffer, 0},
    {"MPI_Psend_init", COMM, psend_init, 0},
    {"MPI_Precv_init", COMM, precv_init, 0},
    {"MPI_Pack_size", COMM, pack_comm, 0},
    {"MPI_Group_size", GROUP, group_size, 0},
    {"MPI_Group_rank", GROUP, group_rank, 0},
    {"MPI_Group_compare", GROUP, group_compare, 0},
    {"MPI_Group_union", GROUP, group_union, 0},
    {"MPI_Group_intersection", GROUP, group_intersection, 0},
    {"MPI_Group_difference", GROUP, group_difference, 0},
    {"MPI_Group_incl", GROUP, group_incl, 0},
    {"MPI_Group_excl", GROUP, group_excl, 0},
    {"MPI_Group_range_incl", GROUP, group_range_incl, 0},
    {"MPI_Group_translate_ranks", GROUP, group_translate, 0},
    {"MPI_Group_free", GROUP, group_free, 0},
    {"MPI_Comm_create", GROUP, create_with_group, 0},
    {"MPI_Comm_create_from_group", GROUP, create_from_group, 0},
    {"MPI_Type_size", TYPE, type_size, 0},
    {"MPI_Type_size_c", TYPE, type_size_c, 0},
    {"MPI_Type_get_extent", TYPE, type_extent, 0},
    {"MPI_Type_get_true_extent", TYPE, type_true_extent, 0},
    {"MPI_Type_commit", TYPE, type_commit, 0},
    {"MPI_Type_free", TYPE, type_free, 0},
    {"MPI_Type_dup", TYPE, type_dup, 0},
    {"MPI_Type_contiguous", TYPE, type_contiguous, 0},
    {"MPI_Type_vector", TYPE, type_vector, 0},
    {"MPI_Type_indexed", TYPE, type_indexed, 0},
    {"MPI_Type_create_struct", TYPE, type_struct, 0},
    {"MPI_Type_create_resized", TYPE, type_resized, 0},
    {"MPI_Type_create_subarray", TYPE, type_subarray, 0},
    {"MPI_Type_get_envelope", TYPE, type_envelope, 0},
    {"MPI_Type_set_name", TYPE, type_set_name, 0},
    {"MPI_Type_get_attr", TYPE, type_get_attr, 0},
    {"MPI_Get_count", TYPE, get_count, 0},
    {"MPI_Get_elements", TYPE, get_elements, 0},
    {"MPI_Status_set_elements", TYPE, set_elements, 0},
    {"MPI_Pack_size", TYPE, pack_type, 0},
    {"MPI_Pack_external_size", TYPE, pack_external, 0},
    {"MPI_Bcast", TYPE, bcast_type, 0},
    {"MPI_Allreduce", TYPE, reduce_type, 0},
    {"MPI_Op_free", OP, op_free, 0},
    {"MPI_Op_commutative", OP, op_commutative, 0},
    {"MPI_Allreduce", OP, op_allreduce, 0},
    {"MPI_Reduce_local", OP, op_reduce_local, 0},
    {"MPI_Scan", OP, op_scan, 0},
    {"MPI_Info_set", INFO, info_set, 0},
    {"MPI_Info_delete", INFO, info_delete, 0},
    {"MPI_Info_get_string", INFO, info_get, 0},
    {"MPI_Info_get_nkeys", INFO, info_nkeys, 0},
    {"MPI_Info_get_nthkey", INFO, info_nthkey, 0},
    {"MPI_Info_dup", INFO, info_dup, 0},
    {"MPI_Info_free", INFO, info_free, 0},
    {"MPI_Comm_dup_with_info", INFO, hints_dup, NULL_TOO},
    {"MPI_Comm_set_info", INFO, hints_set, NULL_TOO},
    {"MPI_Errhandler_free", ERRHANDLER, errhandler_free, 0},
    {"MPI_Comm_set_errhandler", ERRHANDLER, errhandler_set, 0},
    {"MPI_Session_get_info", SESSION, session_info, 0},
    {"MPI_Session_get_num_psets", SESSION, session_psets, 0},
    {"MPI_Session_get_nth_pset", SESSION, session_nth, 0},
    {"MPI_Group_from_session_pset", SESSION, session_group, 0},
    {"MPI_Session_get_errhandler", SESSION, session_errhandler, 0},
    {"MPI_Session_finalize", SESSION, session_finalize, 0},
    {"MPI_Mrecv", MESSAGE, mrecv, 0},
    {"MPI_Imrecv", MESSAGE, imrecv, 0},
};

static void sum(void *a, void *b, int *len, MPI_Datatype *of)
{
    (void)a, (void)b, (void)len, (void)of;
}

static void on_error(MPI_Comm *of, int *code, ...)
{
    (void)of, (void)code;
}

static MPI_Message matched(void)
{
    MPI_Isend(in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Mprobe(0, 1, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    return message;
}

static void make_all(void)
{
    MPI_Comm_dup(MPI_COMM_SELF, (MPI_Comm *)&kinds[COMM].live);
    MPI_Comm_group(MPI_COMM_SELF, (MPI_Group *)&kinds[GROUP].live);
    MPI_Type_contiguous(2, MPI_INT, (MPI_Datatype *)&kinds[TYPE].live);
    MPI_Op_create(sum, 1, (MPI_Op *)&kinds[OP].live);
    MPI_Info_create((MPI_Info *)&kinds[INFO].live);
    MPI_Comm_create_errhandler(on_error, (MPI_Errhandler *)&kinds[ERRHANDLER].live);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, (MPI_Session *)&kinds[SESSION].live);
    kinds[MESSAGE].live = matched();
}

/* Frees the second set, whose handles are stale from then on. */
static void free_all(void)
{
    handle h[KINDS];
    for (int kind = 0; kind < KINDS; kind++)
        kinds[kind].freed = h[kind] = kinds[kind].live;
    MPI_Comm_free((MPI_Comm *)&h[COMM]);
    MPI_Group_free((MPI_Group *)&h[GROUP]);
    MPI_Type_free((MPI_Datatype *)&h[TYPE]);
    MPI_Op_free((MPI_Op *)&h[OP]);
    MPI_Info_free((MPI_Info *)&h[INFO]);
    MPI_Errhandler_free((MPI_Errhandler *)&h[ERRHANDLER]);
    MPI_Session_finalize((MPI_Session *)&h[SESSION]);
    MPI_Mrecv(out, 1, MPI_INT, (MPI_Message *)&h[MESSAGE], MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* One line for each call: the first wrong handle that is not answered as it should be. */
static void try(size_t i)
{
    enum kind kind = calls[i].kind;
    struct {
        const char *what;
        handle h;
    } wrong[KINDS + 4] = {{"NULL", NULL}, {"a made up handle", (handle)(intptr_t)0x7eadbee0}};
    int tries = 2, bad = 0, seen = MPI_SUCCESS;
    const char *what = "";
    char name[128];
    wrong[tries].what = "a freed handle", wrong[tries++].h = kinds[kind].freed;
    if (!calls[i].null_too)
        wrong[tries].what = "the null handle", wrong[tries++].h = kinds[kind].null;
    for (int other = 0; other < KINDS; other++)
        if (other != (int)kind)
            wrong[tries].what = kinds[other].name, wrong[tries++].h = kinds[other].live;
    for (int n_try = 0; n_try < tries && !bad; n_try++) {
        seen = class_of(calls[i].call(wrong[n_try].h));
        bad = seen != kinds[kind].class;
        what = wrong[n_try].what;
    }
    snprintf(name, sizeof name, "%s refuses what is no %s%s%s", calls[i].name, kinds[kind].name, bad ? ": " : "",
             bad ? what : "");
    check(!bad, name, seen);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    make_all();
    free_all();
    make_all();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        try(i);
    /* Nothing was harmed: what is alive still is. */
    for (int kind = 0; kind < KINDS; kind++)
        kinds[kind].freed = NULL;
    free_all();
    CHECK_EQ(MPI_Comm_compare(MPI_COMM_SELF, MPI_COMM_WORLD, &n), MPI_SUCCESS, "MPI goes on after all that");
    MPI_Finalize();
    return check_failures != 0;
}
