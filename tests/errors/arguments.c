/* Every point-to-point call with every kind of wrong argument: the right error class, and no harm done. */
#include <mpi.h>
#include <stdint.h>

#include "check.h"

/* The arguments that point-to-point calls share; each case makes one of them wrong. */
struct arguments {
    void *buf;
    int count;
    MPI_Datatype type;
    int rank;
    int tag;
    MPI_Comm comm;
};

static int value[4], other[4], flag;
static MPI_Request request = MPI_REQUEST_NULL;
static MPI_Message message;
static MPI_Status status;

/* A wrong call must not make a request; one that was made all the same is given back. */
static int request_of(int code)
{
    if (code == MPI_SUCCESS && request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    request = MPI_REQUEST_NULL;
    return code;
}

#define CALL(name, expression) \
    static int name(const struct arguments *a) { return expression; }
#define DATA a->buf, a->count, a->type
#define MESSAGE DATA, a->rank, a->tag, a->comm
#define NOTHING_IN other, 4, MPI_INT, MPI_PROC_NULL, 0
#define NOTHING_OUT NOTHING_IN

CALL(send, MPI_Send(MESSAGE))
CALL(send_c, MPI_Send_c(MESSAGE))
CALL(bsend, MPI_Bsend(MESSAGE))
CALL(ssend, MPI_Ssend(MESSAGE))
CALL(rsend, MPI_Rsend(MESSAGE))
CALL(isend, request_of(MPI_Isend(MESSAGE, &request)))
CALL(ibsend, request_of(MPI_Ibsend(MESSAGE, &request)))
CALL(issend, request_of(MPI_Issend(MESSAGE, &request)))
CALL(irsend, request_of(MPI_Irsend(MESSAGE, &request)))
CALL(send_init, request_of(MPI_Send_init(MESSAGE, &request)))
CALL(bsend_init, request_of(MPI_Bsend_init(MESSAGE, &request)))
CALL(ssend_init, request_of(MPI_Ssend_init(MESSAGE, &request)))
CALL(rsend_init, request_of(MPI_Rsend_init(MESSAGE, &request)))
CALL(sendrecv_out, MPI_Sendrecv(DATA, a->rank, a->tag, NOTHING_IN, a->comm, &status))
CALL(isendrecv_out, request_of(MPI_Isendrecv(DATA, a->rank, a->tag, NOTHING_IN, a->comm, &request)))
CALL(replace_out, MPI_Sendrecv_replace(DATA, a->rank, a->tag, MPI_PROC_NULL, 0, a->comm, &status))
CALL(ireplace_out, request_of(MPI_Isendrecv_replace(DATA, a->rank, a->tag, MPI_PROC_NULL, 0, a->comm, &request)))

CALL(recv, MPI_Recv(MESSAGE, &status))
CALL(recv_c, MPI_Recv_c(MESSAGE, &status))
CALL(irecv, request_of(MPI_Irecv(MESSAGE, &request)))
CALL(recv_init, request_of(MPI_Recv_init(MESSAGE, &request)))
CALL(sendrecv_in, MPI_Sendrecv(NOTHING_OUT, DATA, a->rank, a->tag, a->comm, &status))
CALL(isendrecv_in, request_of(MPI_Isendrecv(NOTHING_OUT, DATA, a->rank, a->tag, a->comm, &request)))
CALL(replace_in, MPI_Sendrecv_replace(DATA, MPI_PROC_NULL, 0, a->rank, a->tag, a->comm, &status))
CALL(ireplace_in, request_of(MPI_Isendrecv_replace(DATA, MPI_PROC_NULL, 0, a->rank, a->tag, a->comm, &request)))

CALL(probe, MPI_Probe(a->rank, a->tag, a->comm, &status))
CALL(iprobe, MPI_Iprobe(a->rank, a->tag, a->comm, &flag, &status))
CALL(mprobe, MPI_Mprobe(a->rank, a->tag, a->comm, &message, &status))
CALL(improbe, MPI_Improbe(a->rank, a->tag, a->comm, &flag, &message, &status))

static const struct call {
    const char *name;
    int (*call)(const struct arguments *);
    enum { SENDS, RECEIVES, PROBES } kind;
} calls[] = {
    {"MPI_Send", send, SENDS},
    {"MPI_Send_c", send_c, SENDS},
    {"MPI_Bsend", bsend, SENDS},
    {"MPI_Ssend", ssend, SENDS},
    {"MPI_Rsend", rsend, SENDS},
    {"MPI_Isend", isend, SENDS},
    {"MPI_Ibsend", ibsend, SENDS},
    {"MPI_Issend", issend, SENDS},
    {"MPI_Irsend", irsend, SENDS},
    {"MPI_Send_init", send_init, SENDS},
    {"MPI_Bsend_init", bsend_init, SENDS},
    {"MPI_Ssend_init", ssend_init, SENDS},
    {"MPI_Rsend_init", rsend_init, SENDS},
    {"MPI_Sendrecv (send)", sendrecv_out, SENDS},
    {"MPI_Isendrecv (send)", isendrecv_out, SENDS},
    {"MPI_Sendrecv_replace (send)", replace_out, SENDS},
    {"MPI_Isendrecv_replace (send)", ireplace_out, SENDS},
    {"MPI_Recv", recv, RECEIVES},
    {"MPI_Recv_c", recv_c, RECEIVES},
    {"MPI_Irecv", irecv, RECEIVES},
    {"MPI_Recv_init", recv_init, RECEIVES},
    {"MPI_Sendrecv (receive)", sendrecv_in, RECEIVES},
    {"MPI_Isendrecv (receive)", isendrecv_in, RECEIVES},
    {"MPI_Sendrecv_replace (receive)", replace_in, RECEIVES},
    {"MPI_Isendrecv_replace (receive)", ireplace_in, RECEIVES},
    {"MPI_Probe", probe, PROBES},
    {"MPI_Iprobe", iprobe, PROBES},
    {"MPI_Mprobe", mprobe, PROBES},
    {"MPI_Improbe", improbe, PROBES},
};

/* Makes the call with one argument wrong and expects an error class. */
static void expect(const struct call *c, struct arguments a, int class, const char *what)
{
    char name[128];
    int code = c->call(&a), seen = -1;
    MPI_Error_class(code, &seen);
    snprintf(name, sizeof name, "%s with %s", c->name, what);
    check(seen == class, name, seen);
}

static void handles_and_buffers(const struct call *c, struct arguments good, MPI_Comm freed, MPI_Datatype raw)
{
    struct arguments a = good;
    a.comm = MPI_COMM_NULL;
    expect(c, a, MPI_ERR_COMM, "MPI_COMM_NULL");
    a.comm = freed;
    expect(c, a, MPI_ERR_COMM, "a freed communicator");
    a.comm = (MPI_Comm)(intptr_t)0x7eadbeef;
    expect(c, a, MPI_ERR_COMM, "a foreign communicator handle");
    if (c->kind == PROBES)
        return;
    a = good, a.count = -1;
    expect(c, a, MPI_ERR_COUNT, "a negative count");
    a = good, a.type = MPI_DATATYPE_NULL;
    expect(c, a, MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    a.type = (MPI_Datatype)(intptr_t)0x7eadbeef;
    expect(c, a, MPI_ERR_TYPE, "a foreign datatype handle");
    a.type = raw;
    expect(c, a, MPI_ERR_TYPE, "a datatype that is not committed");
    a = good, a.buf = NULL;
    expect(c, a, MPI_ERR_BUFFER, "a NULL buffer");
}

static void ranks_and_tags(const struct call *c, struct arguments good)
{
    struct arguments a = good;
    a.rank = 1000000;
    expect(c, a, MPI_ERR_RANK, "a rank past the last");
    a.rank = -17;
    expect(c, a, MPI_ERR_RANK, "a negative rank");
    a.rank = MPI_ROOT;
    expect(c, a, MPI_ERR_RANK, "MPI_ROOT as a rank");
    a = good, a.tag = -17;
    expect(c, a, MPI_ERR_TAG, "a negative tag");
    if (c->kind != SENDS)
        return;
    a = good, a.tag = MPI_ANY_TAG;
    expect(c, a, MPI_ERR_TAG, "MPI_ANY_TAG");
    a = good, a.rank = MPI_ANY_SOURCE;
    expect(c, a, MPI_ERR_RANK, "MPI_ANY_SOURCE");
}

/* After all those errors a message still goes through. */
static void still_works(void)
{
    int out = 4711, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 5, &in, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &status);
    CHECK_EQ(in, 4711, "a message goes through afterwards");
}

int main(int argc, char **argv)
{
    MPI_Comm freed, copy;
    MPI_Datatype raw;
    struct arguments good = {value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD};
    unsigned i;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    copy = freed;
    MPI_Comm_free(&freed);
    MPI_Type_contiguous(2, MPI_INT, &raw);
    for (i = 0; i < sizeof calls / sizeof *calls; i++) {
        handles_and_buffers(&calls[i], good, copy, raw);
        ranks_and_tags(&calls[i], good);
    }
    MPI_Type_free(&raw);
    still_works();
    MPI_Finalize();
    return check_failures != 0;
}
