/* Misuse that `mpiexec -check` finds, each with its right twin: misuse CASE|all wrong|right. The line that a finding must name has the
   word of the case in a comment. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int rank, other, wrong;
static int a[100], b[100];
/* Numbers of either type. */
static union {
    int of_int[100];
    float of_float[100];
} either, other_one;
static char name[64];

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

static int add_to(MPI_Comm c, int key, void *value, void *state)
{
    (void)c, (void)key, (void)state;
    MPI_Comm_free((MPI_Comm *)value);
    return MPI_SUCCESS;
}

static void sum(void *in, void *out, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)out)[i] += ((int *)in)[i];
}

static void wait_missing(void)
{
    MPI_Request r;
    if (rank == 0)
        MPI_Isend(a, 1, MPI_INT, 1, 0, WORLD, &r); /* wait_missing */
    else
        MPI_Recv(a, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    if (rank == 0 && !wrong)
        MPI_Wait(&r, IGNORE);
}

static void overwritten(void)
{
    MPI_Request r, s;
    if (rank == 0) {
        MPI_Isend(a, 1, MPI_INT, 1, 0, WORLD, &r); /* overwritten */
        MPI_Isend(b, 1, MPI_INT, 1, 0, WORLD, wrong ? &r : &s);
        MPI_Wait(&r, IGNORE);
        if (!wrong)
            MPI_Wait(&s, IGNORE);
    } else {
        MPI_Recv(a, 1, MPI_INT, 0, 0, WORLD, IGNORE);
        MPI_Recv(a, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

static void persistent(void)
{
    MPI_Request r;
    MPI_Send_init(a, 1, MPI_INT, other, 0, WORLD, &r); /* persistent */
    if (!wrong)
        MPI_Request_free(&r);
}

static void started(void)
{
    MPI_Request r;
    MPI_Recv_init(a, 1, MPI_INT, other, 0, WORLD, &r);
    MPI_Start(&r); /* started */
    MPI_Send(b, 1, MPI_INT, other, 0, WORLD);
    if (wrong)
        return;
    MPI_Wait(&r, IGNORE);
    MPI_Request_free(&r);
}

static void communicator(void)
{
    MPI_Comm c;
    MPI_Comm_dup(WORLD, &c); /* communicator */
    if (!wrong)
        MPI_Comm_free(&c);
}

/* Libraries free their communicators in a callback of MPI_COMM_SELF, which MPI_Finalize calls. */
static void in_callback(void)
{
    static MPI_Comm c;
    int key;
    MPI_Comm_dup(WORLD, &c); /* in_callback */
    if (wrong)
        return;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, add_to, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &c);
    MPI_Comm_free_keyval(&key);
}

static void group(void)
{
    MPI_Group g;
    MPI_Comm_group(WORLD, &g); /* group */
    if (!wrong)
        MPI_Group_free(&g);
}

static void datatype(void)
{
    MPI_Datatype t;
    MPI_Type_contiguous(3, MPI_INT, &t); /* datatype */
    MPI_Type_commit(&t);
    if (!wrong)
        MPI_Type_free(&t);
}

static void operation(void)
{
    MPI_Op op;
    MPI_Op_create(sum, 1, &op); /* operation */
    MPI_Allreduce(a, b, 1, MPI_INT, op, WORLD);
    if (!wrong)
        MPI_Op_free(&op);
}

static void info(void)
{
    MPI_Info i;
    MPI_Info_create(&i); /* info */
    if (!wrong)
        MPI_Info_free(&i);
}

static void handler(MPI_Comm *c, int *code, ...) { (void)c, (void)code; }

static void errhandler(void)
{
    MPI_Errhandler h;
    MPI_Comm_create_errhandler(handler, &h); /* errhandler */
    if (!wrong)
        MPI_Errhandler_free(&h);
}

static void window(void)
{
    MPI_Win w;
    MPI_Win_create(a, sizeof a, 4, MPI_INFO_NULL, WORLD, &w); /* window */
    if (!wrong)
        MPI_Win_free(&w);
}

static void file(void)
{
    MPI_File f;
    MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f); /* file */
    if (!wrong)
        MPI_File_close(&f);
}

static void matched(void)
{
    MPI_Message m;
    MPI_Send(a, 1, MPI_INT, rank, 0, WORLD);
    MPI_Mprobe(rank, 0, WORLD, &m, IGNORE); /* matched */
    if (!wrong)
        MPI_Mrecv(b, 1, MPI_INT, &m, IGNORE);
}

static void changed(void)
{
    MPI_Request r;
    if (rank == 0) {
        MPI_Isend(a, 100, MPI_INT, 1, 0, WORLD, &r); /* changed */
        if (wrong)
            a[7]++;
        MPI_Wait(&r, IGNORE);
        a[7]++;
    } else {
        MPI_Recv(a, 100, MPI_INT, 0, 0, WORLD, IGNORE);
    }
}

static void receives(void)
{
    MPI_Request r[2];
    MPI_Irecv(a, 10, MPI_INT, other, 0, WORLD, &r[0]);
    MPI_Irecv(wrong ? a + 5 : b, 10, MPI_INT, other, 1, WORLD, &r[1]); /* receives */
    int c[10] = {0};
    MPI_Send(c, 10, MPI_INT, other, 0, WORLD);
    MPI_Send(c, 10, MPI_INT, other, 1, WORLD);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static void sent_and_received(void)
{
    MPI_Sendrecv(a, 10, MPI_INT, other, 0, wrong ? a + 9 : b, 10, MPI_INT, other, 0, WORLD, IGNORE); /* sent_and_received */
}

static void receive_and_send(void)
{
    MPI_Request r[2];
    MPI_Irecv(a, 10, MPI_INT, other, 0, WORLD, &r[0]);
    MPI_Isend(wrong ? a : b, 10, MPI_INT, other, 0, WORLD, &r[1]); /* receive_and_send */
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

/* Right in both forms: two sends may read one buffer (MPI-2.2), and columns of a matrix lie between each other. */
static void shared(void)
{
    MPI_Request r[4];
    MPI_Datatype column;
    MPI_Type_vector(10, 1, 10, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Irecv(b, 1, column, other, 0, WORLD, &r[0]);
    MPI_Irecv(b + 1, 1, column, other, 1, WORLD, &r[1]);
    MPI_Isend(a, 10, MPI_INT, other, 0, WORLD, &r[2]);
    MPI_Isend(a, 10, MPI_INT, other, 1, WORLD, &r[3]);
    int left = 4, at;
    while (left--)
        MPI_Waitany(4, r, &at, IGNORE);
    MPI_Type_free(&column);
}

static void started_twice(void)
{
    MPI_Request r[2];
    MPI_Recv_init(a, 10, MPI_INT, other, 0, WORLD, &r[0]);
    MPI_Recv_init(wrong ? a : b, 10, MPI_INT, other, 1, WORLD, &r[1]);
    MPI_Startall(2, r); /* started_twice */
    int c[10] = {0};
    MPI_Send(c, 10, MPI_INT, other, 0, WORLD);
    MPI_Send(c, 10, MPI_INT, other, 1, WORLD);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

static void reduction(void)
{
    MPI_Request r;
    int c = 1, d;
    MPI_Iallreduce(&c, &d, 1, MPI_INT, MPI_SUM, WORLD, &r); /* reduction */
    if (wrong)
        c = 2;
    MPI_Wait(&r, IGNORE);
}

static void *send_to_self(void *unused)
{
    MPI_Request r;
    (void)unused;
    MPI_Irecv(a, 1, MPI_INT, rank, 5, WORLD, &r);
    MPI_Send(b, 1, MPI_INT, rank, 5, WORLD); /* funneled */
    MPI_Wait(&r, IGNORE);
    return NULL;
}

static void funneled(void)
{
    pthread_t thread;
    if (wrong) {
        pthread_create(&thread, NULL, send_to_self, NULL);
        pthread_join(thread, NULL);
    } else {
        send_to_self(NULL);
    }
}

/* Found where sends wait for their receive. */
static void head_to_head(void)
{
    if (wrong) {
        MPI_Send(a, 1, MPI_INT, other, 0, WORLD); /* head_to_head */
        MPI_Recv(b, 1, MPI_INT, other, 0, WORLD, IGNORE);
    } else {
        MPI_Sendrecv(a, 1, MPI_INT, other, 0, b, 1, MPI_INT, other, 0, WORLD, IGNORE);
    }
}

static void message_type(void)
{
    if (rank == 0)
        MPI_Send(&either, 4, wrong ? MPI_INT : MPI_FLOAT, 1, 0, WORLD);
    else
        MPI_Recv(&other_one, 10, MPI_FLOAT, 0, 0, WORLD, IGNORE); /* message_type */
}

/* The later of several messages, by a wildcard, whose status is ignored. */
static void message_later(void)
{
    MPI_Request r;
    for (int i = 0; i < 5; i++)
        if (rank == 0) {
            MPI_Isend(a, 4, wrong && i == 3 ? MPI_UNSIGNED : MPI_INT, 1, 7, WORLD, &r);
            MPI_Wait(&r, IGNORE);
        } else {
            MPI_Irecv(b, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &r); /* message_later */
            MPI_Waitall(1, &r, MPI_STATUSES_IGNORE);
        }
}

static MPI_Datatype pair(MPI_Datatype first, MPI_Datatype second)
{
    MPI_Datatype t;
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){first, second}, &t);
    MPI_Type_commit(&t);
    return t;
}

/* A receive may be for more, and have its data elsewhere. */
static void message_struct(void)
{
    MPI_Datatype one = pair(MPI_INT, MPI_DOUBLE), two = wrong ? pair(MPI_DOUBLE, MPI_INT) : pair(MPI_INT, MPI_DOUBLE), both;
    MPI_Type_contiguous(2, two, &both);
    MPI_Type_commit(&both);
    if (rank == 0)
        MPI_Send(a, 4, one, 1, 0, WORLD);
    else
        MPI_Recv(b, 3, both, 0, 0, WORLD, IGNORE); /* message_struct */
    MPI_Type_free(&one);
    MPI_Type_free(&two);
    MPI_Type_free(&both);
}

static void message_lost(void)
{
    if (rank == 0)
        MPI_Send(a, 1, MPI_INT, 1, 3, WORLD); /* message_lost */
    else if (!wrong)
        MPI_Recv(b, 1, MPI_INT, 0, 3, WORLD, IGNORE);
}

/* Right in both forms: bytes fit everything, and of two receives the one that was posted first has the first message, in whatever
   order they are completed. */
static void message_order(void)
{
    MPI_Request r[2];
    if (rank == 0) {
        MPI_Send(a, 4, MPI_INT, 1, 0, WORLD);
        MPI_Send(&either, 4, MPI_FLOAT, 1, 0, WORLD);
        MPI_Send(a, 4, MPI_INT, 1, 0, WORLD);
    } else {
        MPI_Irecv(a, 4, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, &r[0]);
        MPI_Irecv(&other_one, 4, MPI_FLOAT, 0, 0, WORLD, &r[1]);
        MPI_Wait(&r[1], IGNORE);
        MPI_Wait(&r[0], IGNORE);
        MPI_Recv(b, 16, MPI_BYTE, 0, 0, WORLD, IGNORE);
    }
}

/* One window of 100 numbers at each rank. */
static MPI_Win window_of(int *memory)
{
    MPI_Win w;
    MPI_Win_create(memory, 100 * sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &w);
    return w;
}

static void puts_at_once(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    MPI_Put(a, 4, MPI_INT, 0, wrong ? rank : 10 * rank, 4, MPI_INT, w); /* puts_at_once */
    MPI_Win_fence(0, w);
    MPI_Put(a, 4, MPI_INT, 0, 20 + 10 * rank, 4, MPI_INT, w);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

static void get_and_put(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    if (rank == 0)
        MPI_Get(a, 4, MPI_INT, 0, 4, 4, MPI_INT, w);
    if (!wrong)
        MPI_Win_fence(0, w);
    if (rank == 1)
        MPI_Put(a, 2, MPI_INT, 0, 7, 2, MPI_INT, w); /* get_and_put */
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

static void operations(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    MPI_Accumulate(a, 4, MPI_INT, 0, 0, 4, MPI_INT, wrong && rank ? MPI_PROD : MPI_SUM, w); /* operations */
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

static void shared_locks(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_lock(wrong ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, w);
    MPI_Put(a, 4, MPI_INT, 0, 0, 4, MPI_INT, w); /* shared_locks */
    MPI_Win_unlock(0, w);
    MPI_Win_free(&w);
}

static void own_window(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    if (rank == 0) {
        MPI_Send(a, 4, MPI_INT, 1, 0, WORLD);
        MPI_Put(a, 4, MPI_INT, 1, wrong ? 2 : 4, 4, MPI_INT, w);
    } else {
        MPI_Recv(c, 4, MPI_INT, 0, 0, WORLD, IGNORE); /* own_window */
    }
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

static void put_changed(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    MPI_Put(b, 4, MPI_INT, other, 0, 4, MPI_INT, w); /* put_changed */
    if (wrong)
        b[2]++;
    MPI_Win_fence(0, w);
    b[2]++;
    MPI_Win_free(&w);
}

static void get_and_send(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    MPI_Get(a, 4, MPI_INT, other, 0, 4, MPI_INT, w);
    if (!wrong)
        MPI_Win_fence(0, w);
    MPI_Sendrecv(a, 4, MPI_INT, other, 0, b, 4, MPI_INT, other, 0, WORLD, IGNORE); /* get_and_send */
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

/* Right in both forms: accesses by shared locks that a message orders. */
static void ordered(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_lock_all(0, w);
    if (rank == 1)
        MPI_Recv(b, 1, MPI_INT, 0, 0, WORLD, IGNORE);
    MPI_Put(a, 4, MPI_INT, 0, 0, 4, MPI_INT, w);
    MPI_Win_flush(0, w);
    if (rank == 0)
        MPI_Send(a, 1, MPI_INT, 1, 0, WORLD);
    MPI_Win_unlock_all(w);
    MPI_Win_free(&w);
}

/* What the compiler must leave where it is. */
#define LOAD(place) (void)*(volatile int *)&(place)
#define STORE(place, value) *(volatile int *)&(place) = (value)

static void loaded(void)
{
    MPI_Request r;
    MPI_Irecv(b, 4, MPI_INT, other, 0, WORLD, &r); /* loaded */
    MPI_Send(a, 4, MPI_INT, other, 0, WORLD);
    if (wrong)
        LOAD(b[0]);
    MPI_Wait(&r, IGNORE);
    LOAD(b[0]);
}

static void stored(void)
{
    MPI_Request r;
    MPI_Recv_init(b, 4, MPI_INT, other, 0, WORLD, &r);
    MPI_Start(&r); /* stored */
    MPI_Send(a, 4, MPI_INT, other, 0, WORLD);
    if (wrong)
        STORE(b[3], 1);
    MPI_Wait(&r, IGNORE);
    STORE(b[3], 1);
    MPI_Request_free(&r);
}

/* The value stays. */
static void stored_same(void)
{
    MPI_Request r;
    MPI_Isend(a, 4, MPI_INT, other, 0, WORLD, &r); /* stored_same */
    MPI_Recv(b, 4, MPI_INT, other, 0, WORLD, IGNORE);
    LOAD(a[0]);
    if (wrong)
        STORE(a[0], a[0]);
    MPI_Wait(&r, IGNORE);
    STORE(a[0], a[0]);
}

static void gathered(void)
{
    MPI_Request r;
    int all[2];
    MPI_Iallgather(a, 1, MPI_INT, all, 1, MPI_INT, WORLD, &r); /* gathered */
    if (wrong)
        STORE(all[1], 1);
    MPI_Wait(&r, IGNORE);
}

static void got(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    MPI_Get(b, 4, MPI_INT, other, 0, 4, MPI_INT, w); /* got */
    if (wrong)
        LOAD(b[0]);
    MPI_Win_fence(0, w);
    LOAD(b[0]);
    MPI_Win_free(&w);
}

/* A load or store of the target meets an access of another rank. */
static void window_loaded(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w);
    if (rank == 0)
        MPI_Put(a, 10, MPI_INT, 1, 0, 10, MPI_INT, w); /* window_loaded */
    else
        LOAD(c[wrong ? 5 : 15]);
    MPI_Win_unlock(other, w);
    MPI_Win_free(&w);
}

static void window_stored(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    if (rank == 0)
        MPI_Get(a, 10, MPI_INT, 1, 0, 10, MPI_INT, w); /* window_stored */
    else if (wrong)
        STORE(c[5], 7);
    else
        LOAD(c[5]);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

/* Right in both forms: what is known to be complete, and bytes beside those that another rank accesses. */
static void used_later(void)
{
    static int c[100];
    MPI_Request r;
    int flag = 0;
    MPI_Irecv(b, 4, MPI_INT, other, 0, WORLD, &r);
    MPI_Send(a, 4, MPI_INT, other, 0, WORLD);
    while (!flag)
        MPI_Request_get_status(r, &flag, IGNORE);
    LOAD(b[0]);
    MPI_Wait(&r, IGNORE);
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    MPI_Put(a, 1, MPI_INT, other, 0, 1, MPI_INT, w);
    STORE(c[1], 1);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

static void left_open(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(0, w);
    MPI_Put(a, 4, MPI_INT, other, 0, 4, MPI_INT, w); /* left_open */
    if (!wrong)
        MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

static void two_epochs(void)
{
    static int c[100];
    MPI_Win w = window_of(c);
    MPI_Win_fence(wrong ? 0 : MPI_MODE_NOSUCCEED, w);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, w);
    MPI_Put(a, 4, MPI_INT, other, 0, 4, MPI_INT, w); /* two_epochs */
    MPI_Win_unlock(other, w);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
}

/* Nothing waits for the other rank, so that only a comparison finds it. */
static void two_roots(void)
{
    MPI_Bcast(a, 4, MPI_INT, wrong ? rank : 0, WORLD); /* two_roots */
}

static void two_kinds(void)
{
    MPI_Request r;
    int all[4];
    if (wrong && rank)
        MPI_Igather(a, 2, MPI_INT, all, 2, MPI_INT, 0, WORLD, &r); /* two_kinds */
    else
        MPI_Ibcast(a, 2, MPI_INT, 0, WORLD, &r);
    MPI_Wait(&r, IGNORE);
}

static void two_types(void)
{
    int counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Allgatherv(&either, 1, wrong && rank ? MPI_FLOAT : MPI_INT, &other_one, counts, places, wrong && rank ? MPI_FLOAT : MPI_INT, WORLD); /* two_types */
}

/* What variables are, debug information tells. */
static void static_type(void)
{
    static double d[4];
    MPI_Bcast(d, wrong ? 8 : 4, wrong ? MPI_INT : MPI_DOUBLE, 0, WORLD); /* static_type */
}

static void local_type(void)
{
    int one[4] = {rank};
    double two[4] = {0};
    char text[16] = "";
    if (rank == 0)
        MPI_Send(wrong ? (void *)one : (void *)two, 2, MPI_DOUBLE, 1, 0, WORLD); /* local_type */
    else
        MPI_Recv(two, 4, MPI_DOUBLE, 0, 0, WORLD, IGNORE);
    /* Bytes of anything. */
    MPI_Bcast(text, 2, MPI_DOUBLE, 0, WORLD);
    MPI_Bcast(one, 16, MPI_BYTE, 0, WORLD);
}

static void local_length(void)
{
    int few[4] = {rank}, more[6] = {0};
    if (rank == 0)
        MPI_Send(few + 1, wrong ? 4 : 3, MPI_INT, 1, 0, WORLD); /* local_length */
    else
        MPI_Recv(more, 6, MPI_INT, 0, 0, WORLD, IGNORE);
}

/* Found as a dead-lock. */
static void waited(void)
{
    MPI_Request r;
    MPI_Irecv(b, 1, MPI_INT, other, wrong ? 7 : 6, WORLD, &r); /* waited */
    MPI_Send(a, 1, MPI_INT, other, 6, WORLD);
    MPI_Wait(&r, IGNORE);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"wait_missing", wait_missing}, {"overwritten", overwritten}, {"persistent", persistent}, {"started", started},
    {"communicator", communicator}, {"in_callback", in_callback}, {"group", group}, {"datatype", datatype},
    {"operation", operation}, {"info", info}, {"errhandler", errhandler}, {"window", window}, {"file", file},
    {"matched", matched}, {"changed", changed}, {"receives", receives}, {"receive_and_send", receive_and_send},
    {"shared", shared}, {"started_twice", started_twice}, {"reduction", reduction}, {"funneled", funneled},
    {"head_to_head", head_to_head}, {"message_type", message_type}, {"message_later", message_later}, {"message_struct", message_struct},
    {"message_lost", message_lost}, {"message_order", message_order}, {"puts_at_once", puts_at_once},
    {"get_and_put", get_and_put}, {"operations", operations}, {"shared_locks", shared_locks}, {"own_window", own_window},
    {"put_changed", put_changed}, {"get_and_send", get_and_send}, {"ordered", ordered},
    {"loaded", loaded}, {"stored", stored}, {"stored_same", stored_same}, {"gathered", gathered}, {"got", got},
    {"window_loaded", window_loaded}, {"window_stored", window_stored}, {"used_later", used_later}, {"left_open", left_open},
    {"two_epochs", two_epochs}, {"two_roots", two_roots}, {"two_kinds", two_kinds}, {"two_types", two_types},
    {"sent_and_received", sent_and_received}, {"waited", waited},
    {"static_type", static_type}, {"local_type", local_type}, {"local_length", local_length},
};

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(WORLD, &rank);
    other = 1 - rank;
    wrong = !strcmp(argv[2], "wrong");
    snprintf(name, sizeof name, "%s.%d", argc > 3 ? argv[3] : "/tmp/misuse", rank);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(cases[i].name, argv[1]) || !strcmp("all", argv[1]))
            cases[i].run();
    MPI_Finalize();
    return 0;
}
