/* Shapes of dead-locks, each with its right twin: shapes SHAPE wrong|right. The wrong one never ends by itself. */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 1 << 20 };

static int me, size, is_right;
static char *out, *in;
static MPI_Comm world = MPI_COMM_WORLD;

static void send_to(int rank, int bytes, int tag)
{
    MPI_Send(out, bytes, MPI_BYTE, rank, tag, world);
}

static void recv_from(int rank, int bytes, int tag)
{
    MPI_Recv(in, bytes, MPI_BYTE, rank, tag, world, MPI_STATUS_IGNORE);
}

static void heads(void)
{
    if (is_right && me == 1) {
        recv_from(0, LONG, 0);
        send_to(0, LONG, 0);
    } else {
        send_to(!me, LONG, 0);
        recv_from(!me, LONG, 0);
    }
}

static void synchronous(void)
{
    if (is_right && me == 1)
        recv_from(0, 8, 0);
    MPI_Ssend(out, 8, MPI_BYTE, !me, 0, world);
    if (!is_right || me == 0)
        recv_from(!me, 8, 0);
}

static void ring(void)
{
    int left = (me + size - 1) % size, right = (me + 1) % size;

    if (is_right && me == 0)
        send_to(right, 8, 0);
    recv_from(left, 8, 0);
    if (!is_right || me != 0)
        send_to(right, 8, 0);
}

/* Rank 1 has overtaken: its only message is gone when it is asked for. */
static void starve(void)
{
    if (me == 0) {
        if (is_right)
            recv_from(1, 8, 0);
        recv_from(MPI_ANY_SOURCE, 8, 0);
        if (!is_right)
            recv_from(1, 8, 0);
    } else if (me == 1) {
        send_to(0, 8, 0);
        send_to(2, 8, 1);
    } else {
        recv_from(1, 8, 1);
        if (is_right)
            send_to(0, 8, 0);
    }
}

static void wildcards(void)
{
    if (is_right && me == 0)
        for (int rank = 1; rank < size; rank++)
            send_to(rank, 8, 0);
    else
        recv_from(MPI_ANY_SOURCE, 8, MPI_ANY_TAG);
}

static void waitany(void)
{
    MPI_Request requests[2];
    int index;

    if (me == 0) {
        for (int tag = 0; tag < 2; tag++)
            MPI_Irecv(in + tag, 1, MPI_BYTE, 1, tag, world, &requests[tag]);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        MPI_Cancel(&requests[!index]);
        MPI_Wait(&requests[!index], MPI_STATUS_IGNORE);
    } else if (me == 1 && is_right) {
        send_to(0, 1, 1);
    }
    MPI_Barrier(world);
}

static void lost_tag(void)
{
    MPI_Request requests[2];

    if (me == 0) {
        for (int tag = 1; tag <= 2; tag++)
            MPI_Irecv(in + tag, 1, MPI_BYTE, 1, tag, world, &requests[tag - 1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (me == 1) {
        send_to(0, 1, 1);
        send_to(0, 1, is_right ? 2 : 1);
    }
}

static void persistent(void)
{
    MPI_Request request;

    MPI_Recv_init(in, 8, MPI_BYTE, !me, 3, world, &request);
    MPI_Start(&request);
    if (is_right)
        send_to(!me, 8, 3);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void probe(void)
{
    if (is_right)
        send_to(!me, 8, 4);
    MPI_Probe(!me, 4, world, MPI_STATUS_IGNORE);
    recv_from(!me, 8, 4);
}

/* One rank leaves the collective call out: its MPI_Finalize is taken for it, and the others miss it in theirs. */
static void left_out(void)
{
    MPI_Barrier(world);
    if (is_right || me != size - 1)
        MPI_Barrier(world);
}

static void sums(void)
{
    int one = 1, all;

    if (me == size - 1 && !is_right)
        recv_from(0, 8, 6);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, world);
    if (me == 0)
        send_to(size - 1, 8, 6);
    if (me == size - 1 && is_right)
        recv_from(0, 8, 6);
}

static void broadcast(void)
{
    if (me == 0 && !is_right)
        recv_from(size - 1, 8, 5);
    MPI_Bcast(out, LONG, MPI_BYTE, 0, world);
    if (me == size - 1)
        send_to(0, 8, 5);
    if (me == 0 && is_right)
        recv_from(size - 1, 8, 5);
}

static void two_comms(void)
{
    MPI_Comm comms[2];

    MPI_Comm_dup(world, &comms[0]);
    MPI_Comm_dup(world, &comms[1]);
    MPI_Barrier(comms[!is_right && me == 1]);
    MPI_Barrier(comms[is_right || me != 1]);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

static void complete(MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
}

/* Each waits for a collective that the other one begins later, on another communicator. */
static void crosswise(void (*begin)(int which, MPI_Comm comm, MPI_Request *request))
{
    MPI_Comm comms[2];
    MPI_Request request;

    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(world, &comms[i]);
    for (int i = 0; i < 2; i++) {
        int which = is_right || me == 0 ? i : !i;
        begin(which, comms[which], &request);
        complete(&request);
    }
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&comms[i]);
}

static void ibarrier_on(int which, MPI_Comm comm, MPI_Request *request)
{
    (void)which;
    MPI_Ibarrier(comm, request);
}

static void two_ibarriers(void)
{
    crosswise(ibarrier_on);
}

static void ibcast_on(int which, MPI_Comm comm, MPI_Request *request)
{
    MPI_Ibcast(in, LONG, MPI_BYTE, !which, comm, request);
}

/* With calls of which one may end before the other rank begins it: only the rank that needs data waits for them. */
static void two_ibcasts(void)
{
    crosswise(ibcast_on);
}

/* The last rank begins the collective after a message that the first one sends after it; the others have begun it. */
static void begin_late(MPI_Request *request, void (*begin)(MPI_Request *))
{
    if (me == size - 1 && !is_right)
        recv_from(0, 8, 6);
    begin(request);
    if (me == 1)
        recv_from(0, 8, 7);
    complete(request);
    if (me == 0)
        send_to(1, 8, 7), send_to(size - 1, 8, 6);
    if (me == size - 1 && is_right)
        recv_from(0, 8, 6);
}

static void iallreduce(MPI_Request *request)
{
    MPI_Iallreduce(MPI_IN_PLACE, in, LONG, MPI_BYTE, MPI_BOR, world, request);
}

static void long_sum(void)
{
    MPI_Request request;

    begin_late(&request, iallreduce);
}

static void start_it(MPI_Request *request)
{
    MPI_Start(request);
}

static void rounds(void)
{
    static int one = 1, all;
    MPI_Request request;

    MPI_Allreduce_init(&one, &all, 1, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    begin_late(&request, start_it);
}

static MPI_Comm circle;

static void ineighbour(MPI_Request *request)
{
    MPI_Ineighbor_allgather(out, 8, MPI_BYTE, in, 8, MPI_BYTE, circle, request);
}

static void neighbours(void)
{
    int periodic = 1;
    MPI_Request request;

    MPI_Cart_create(world, 1, &size, &periodic, 0, &circle);
    begin_late(&request, ineighbour);
    MPI_Comm_free(&circle);
}

/* A blocking collective comes after the one that has begun, whose end is one rank short. */
static void in_turn(void)
{
    MPI_Request request;

    MPI_Barrier(world);
    if (me == size - 1 && !is_right)
        recv_from(0, 8, 6);
    MPI_Ibarrier(world, &request);
    MPI_Barrier(world);
    complete(&request);
    if (me == 0)
        send_to(size - 1, 8, 6);
    if (me == size - 1 && is_right)
        recv_from(0, 8, 6);
}

/* Two ranks are dead-locked while the others compute. */
static void subset(void)
{
    time_t end = time(NULL) + (is_right ? 1 : 60);

    if (me < 2)
        while (time(NULL) < end)
            ;
    else if (is_right)
        MPI_Sendrecv(out, 8, MPI_BYTE, me ^ 1, 0, in, 8, MPI_BYTE, me ^ 1, 0, world, MPI_STATUS_IGNORE);
    else
        recv_from(me ^ 1, 8, 0);
}

static MPI_Win window(void)
{
    MPI_Win win;

    MPI_Win_create(in, LONG, 1, MPI_INFO_NULL, world, &win);
    return win;
}

static void fence(void)
{
    MPI_Win win = window();

    MPI_Win_fence(0, win);
    if (me == size - 1 && !is_right)
        recv_from(0, 8, 6);
    MPI_Win_fence(0, win);
    if (me == 0)
        send_to(size - 1, 8, 6);
    if (me == size - 1 && is_right)
        recv_from(0, 8, 6);
    MPI_Win_free(&win);
}

/* The ranks 0 and 1 of the window, each for the other. */
static MPI_Group other(void)
{
    MPI_Group all, one;
    int rank = !me;

    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &rank, &one);
    MPI_Group_free(&all);
    return one;
}

/* Rank 0 accesses before rank 1 exposes; what the latter waits for comes afterwards. */
static void start(void)
{
    MPI_Win win = window();
    MPI_Group group = other();

    if (me == 0) {
        MPI_Win_start(group, 0, win);
        MPI_Win_complete(win);
        send_to(1, 8, 6);
    } else {
        if (!is_right)
            recv_from(0, 8, 6);
        MPI_Win_post(group, 0, win);
        MPI_Win_wait(win);
        if (is_right)
            recv_from(0, 8, 6);
    }
    MPI_Group_free(&group);
    MPI_Win_free(&win);
}

/* Rank 1 waits for the end of an access that rank 0 does not make. */
static void exposure(void)
{
    MPI_Win win = window();
    MPI_Group group = other();

    if (me == 0) {
        if (is_right) {
            MPI_Win_start(group, 0, win);
            MPI_Win_complete(win);
        }
        recv_from(1, 8, 6);
    } else {
        MPI_Win_post(group, 0, win);
        MPI_Win_wait(win);
        send_to(0, 8, 6);
    }
    MPI_Group_free(&group);
    MPI_Win_free(&win);
}

/* Each holds its own memory and wants the other's. */
static void locks(void)
{
    MPI_Win win = window();
    int first = is_right ? 0 : me;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, win);
    if (!is_right)
        MPI_Barrier(world);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, !first, 0, win);
    MPI_Win_unlock(!first, win);
    MPI_Win_unlock(first, win);
    MPI_Win_free(&win);
}

/* The buffer is given back when the messages in it have left. */
static void detached(void)
{
    void *buffer = malloc(LONG + MPI_BSEND_OVERHEAD);
    int bytes = LONG + MPI_BSEND_OVERHEAD;

    MPI_Buffer_attach(buffer, bytes);
    MPI_Bsend(out, LONG, MPI_BYTE, !me, 2, world);
    if (is_right)
        recv_from(!me, LONG, 2);
    MPI_Buffer_detach(&buffer, &bytes);
    if (!is_right)
        recv_from(!me, LONG, 2);
    free(buffer);
}

/* A collective access to a file that one rank comes to too late. */
static void file(void)
{
    char name[] = "/tmp/alhena-deadlock-XXXXXX";
    MPI_File file;

    if (me == 0)
        close(mkstemp(name));
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, world);
    MPI_File_open(world, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    if (me == size - 1 && !is_right)
        recv_from(0, 8, 6);
    MPI_File_write_at_all(file, me, out, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    if (me == 0)
        send_to(size - 1, 8, 6);
    if (me == size - 1 && is_right)
        recv_from(0, 8, 6);
    MPI_File_close(&file);
}

/* One of the parts is never ready. */
static void partitions(void)
{
    MPI_Request request;

    if (me == 0) {
        MPI_Psend_init(out, 2, 4, MPI_BYTE, 1, 8, world, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready(0, request);
        if (is_right)
            MPI_Pready(1, request);
        recv_from(1, 8, 6);
    } else {
        MPI_Precv_init(in, 2, 4, MPI_BYTE, 0, 8, world, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    if (me == 1) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        send_to(0, 8, 6);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void *receive(void *tag)
{
    char byte;

    MPI_Recv(&byte, 1, MPI_BYTE, !me, *(int *)tag, world, MPI_STATUS_IGNORE);
    return NULL;
}

/* All threads of both ranks wait, and the threads that made them for those. */
static void threads(void)
{
    pthread_t thread[3];
    int tags[3] = { 1, 2, 3 };

    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, receive, &tags[i]);
    for (int i = 0; i < 3 && is_right; i++)
        send_to(!me, 1, tags[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} shapes[] = {
    { "heads", heads },           { "synchronous", synchronous }, { "ring", ring },
    { "starve", starve },         { "wildcards", wildcards },     { "waitany", waitany },
    { "lost_tag", lost_tag },     { "persistent", persistent },   { "probe", probe },
    { "left_out", left_out },     { "sums", sums },               { "broadcast", broadcast },
    { "two_comms", two_comms },   { "subset", subset },           { "threads", threads },
    { "fence", fence },           { "start", start },           { "exposure", exposure },
    { "locks", locks },           { "detached", detached },     { "file", file },
    { "partitions", partitions }, { "two_ibarriers", two_ibarriers },
    { "two_ibcasts", two_ibcasts }, { "long_sum", long_sum },   { "rounds", rounds },
    { "neighbours", neighbours }, { "in_turn", in_turn },
};

int main(int argc, char **argv)
{
    int level, found = 0;

    MPI_Init_thread(&argc, &argv, argc > 1 && !strcmp(argv[1], "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &size);
    is_right = argc > 2 && !strcmp(argv[2], "right");
    out = calloc(1, LONG);
    in = calloc(1, LONG);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (argc > 1 && !strcmp(argv[1], shapes[i].name)) {
            found = 1;
            shapes[i].run();
        }
    if (is_right)
        check_all(found, "%s ends", argv[1]);
    MPI_Finalize();
    return check_failures != 0 || !found;
}
