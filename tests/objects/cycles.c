/* Objects made and freed over and over leave no memory behind: resident memory after all cycles is what it was after the
 * first tenth of them. usage: cycles [CYCLES [NAME]] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "process.h"

/* Pages of the allocator and of tables that fill up in the last cycles. */
enum { SLACK_KIB = 512 };

static void group(void)
{
    MPI_Group world, part, none;
    int rank = 0;
    MPI_Comm_group(MPI_COMM_SELF, &world);
    MPI_Group_incl(world, 1, &rank, &part);
    MPI_Group_difference(world, part, &none);
    MPI_Group_free(&part);
    MPI_Group_free(&world);
    if (none != MPI_GROUP_EMPTY)
        MPI_Group_free(&none);
}

static void comm_dup(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_free(&copy);
}

static void comm_idup(void)
{
    MPI_Comm copy;
    MPI_Request request;
    MPI_Comm_idup(MPI_COMM_SELF, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
}

static void comm_split(void)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_SELF, 3, 0, &part);
    MPI_Comm_disconnect(&part);
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void comm_from_group(void)
{
    MPI_Group self;
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Comm_create_from_group(self, "cycles", MPI_INFO_NULL, handler, &comm);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    MPI_Group_free(&self);
}

/* A communicator that has been used: collectives keep what they have planned. */
static void comm_used(void)
{
    MPI_Comm copy;
    int value = 1, sum;
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy);
    MPI_Sendrecv(&value, 1, MPI_INT, 0, 1, &sum, 1, MPI_INT, 0, 1, copy, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
}

static void cartesian(void)
{
    MPI_Comm grid, row;
    int dims[2] = {1, 1}, periods[2] = {1, 0}, keep[2] = {1, 0};
    MPI_Cart_create(MPI_COMM_SELF, 2, dims, periods, 0, &grid);
    MPI_Cart_sub(grid, keep, &row);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
}

static void graph(void)
{
    MPI_Comm graph;
    int neighbour = 0, weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, &neighbour, &weight, 1, &neighbour, &weight, MPI_INFO_NULL, 0,
                                   &graph);
    MPI_Comm_free(&graph);
}

static void datatype(void)
{
    MPI_Datatype vector, indexed, structure, copy, part;
    int lengths[3] = {1, 2, 1}, places[3] = {0, 4, 9}, sizes[2] = {8, 8}, subsizes[2] = {3, 4}, starts[2] = {1, 2};
    MPI_Aint far[2] = {0, 4096};
    MPI_Type_vector(5, 2, 7, MPI_DOUBLE, &vector);
    MPI_Type_indexed(3, lengths, places, vector, &indexed);
    MPI_Datatype both[2] = {indexed, MPI_INT};
    MPI_Type_create_struct(2, lengths, far, both, &structure);
    MPI_Type_dup(structure, &copy);
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&copy);
    MPI_Type_free(&vector);
    MPI_Type_free(&indexed);
    MPI_Type_free(&structure);
    MPI_Type_free(&copy);
    MPI_Type_free(&part);
}

static void datatype_sent(void)
{
    static double out[64], in[64];
    MPI_Datatype vector;
    MPI_Type_vector(5, 2, 7, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    MPI_Sendrecv(out, 1, vector, 0, 1, in, 1, vector, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Type_free(&vector);
}

static void sum(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)len, (void)type;
}

static void operation(void)
{
    MPI_Op op;
    MPI_Op_create(sum, 1, &op);
    MPI_Op_free(&op);
}

static void info(void)
{
    MPI_Info info, copy;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_dup(info, &copy);
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
}

static void errhandler(void)
{
    MPI_Errhandler handler, seen;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &seen);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&seen);
    MPI_Errhandler_free(&handler);
}

static void error_code(void)
{
    int class, code;
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "one of many");
    MPI_Remove_error_string(code);
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(class);
}

static void attribute(void)
{
    int keyval, type_keyval;
    MPI_Comm copy;
    MPI_Datatype type;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &keyval);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
    MPI_Comm_free(&copy);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, type_keyval, &type);
    MPI_Type_free(&type);
    MPI_Comm_free_keyval(&keyval);
    MPI_Type_free_keyval(&type_keyval);
}

static void request(void)
{
    static int out, in;
    MPI_Request requests[2], cancelled;
    MPI_Send_init(&out, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Irecv(&in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &cancelled);
    MPI_Cancel(&cancelled);
    MPI_Wait(&cancelled, MPI_STATUS_IGNORE);
}

static void collective_request(void)
{
    int value = 1, result;
    MPI_Request request;
    MPI_Iallreduce(&value, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void generalized_request(void)
{
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void partitioned_request(void)
{
    static int out[4], in[4];
    MPI_Request requests[2];
    MPI_Psend_init(out, 2, 2, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 2, 2, MPI_INT, 0, 4, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 1, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void message(void)
{
    static int out, in;
    MPI_Request request;
    MPI_Message message;
    MPI_Isend(&out, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &request);
    MPI_Mprobe(0, 5, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

static void buffer(void)
{
    static char memory[4096];
    static int out, in;
    void *back;
    int size;
    MPI_Comm_attach_buffer(MPI_COMM_SELF, memory, sizeof memory);
    MPI_Bsend(&out, 1, MPI_INT, 0, 6, MPI_COMM_SELF);
    MPI_Recv(&in, 1, MPI_INT, 0, 6, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer(MPI_COMM_SELF, &back, &size);
}

static void allocated(void)
{
    void *memory;
    MPI_Alloc_mem(4096, MPI_INFO_NULL, &memory);
    MPI_Free_mem(memory);
}

static void tools(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle variable;
    MPI_T_cvar_handle control;
    MPI_T_event_registration event;
    int count;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, 0, NULL, &variable, &count);
    MPI_T_pvar_session_free(&session);
    MPI_T_cvar_handle_alloc(0, NULL, &control, &count);
    MPI_T_cvar_handle_free(&control);
    MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &event);
    MPI_T_event_handle_free(event, NULL, NULL);
}

static const struct {
    const char *name;
    void (*cycle)(void);
} objects[] = {
    {"groups", group},
    {"communicators by MPI_Comm_dup", comm_dup},
    {"communicators by MPI_Comm_idup", comm_idup},
    {"communicators by MPI_Comm_split", comm_split},
    {"communicators from groups", comm_from_group},
    {"communicators that were used", comm_used},
    {"cartesian communicators", cartesian},
    {"graph communicators", graph},
    {"datatypes", datatype},
    {"datatypes that were used", datatype_sent},
    {"operations", operation},
    {"info objects", info},
    {"error handlers", errhandler},
    {"error codes", error_code},
    {"attributes", attribute},
    {"requests", request},
    {"collective requests", collective_request},
    {"generalized requests", generalized_request},
    {"partitioned requests", partitioned_request},
    {"matched messages", message},
    {"sessions", session},
    {"attached buffers", buffer},
    {"allocated memory", allocated},
    {"handles of the tool interface", tools},
};

int main(int argc, char **argv)
{
    long cycles = argc > 1 ? atol(argv[1]) : 1000000;
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        char name[128];
        if (argc > 2 && strstr(objects[i].name, argv[2]) == NULL)
            continue;
        for (long n = 0; n < cycles / 10; n++)
            objects[i].cycle();
        long before = resident();
        for (long n = cycles / 10; n < cycles; n++)
            objects[i].cycle();
        long growth = resident() - before;
        snprintf(name, sizeof name, "%ld cycles of %s leave memory as it was", cycles, objects[i].name);
        check(growth < SLACK_KIB, name, growth);
    }
    MPI_Finalize();
    MPI_T_finalize();
    return check_failures != 0;
}
