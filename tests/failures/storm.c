/* One or two processes die at a random moment, while all make calls of one kind; none of the others hangs, and those that live go on with
 * right data.
 *
 * usage: mpiexec -with-ft ulfm -n N storm KIND SEED [FILE]     KIND: agree, shrink, collectives, window, spawn, meet, file
 */
#include "failures.h"

static const char *program, *path;
static int at;

static int agree(MPI_Comm comm) {
    int flag = ~(1 << at % 8), code = MPIX_Comm_agree(comm, &flag);
    return code;
}

static int shrink(MPI_Comm comm) {
    MPI_Comm small;
    int code = MPIX_Comm_shrink(comm, &small), sum = 0, count, one = 1;
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(small, MPI_ERRORS_RETURN);
    MPI_Comm_size(small, &count);
    code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, small);
    if (code == MPI_SUCCESS && sum != count)
        check(0, "a sum over those that live", sum);
    if (code != MPI_SUCCESS)
        MPIX_Comm_revoke(small);
    MPI_Comm_free(&small);
    return code;
}

static int collectives(MPI_Comm comm) {
    static int out[20000], in[20000];
    int rank, count, length = at % 2 ? 20000 : 3, code;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    for (int i = 0; i < length; i++)
        out[i] = rank + i;
    code = MPI_Allreduce(out, in, length, MPI_INT, MPI_SUM, comm);
    for (int i = 0; code == MPI_SUCCESS && i < length; i++)
        if (in[i] != count * (count - 1) / 2 + count * i) {
            check(0, "a sum", in[i]);
            break;
        }
    if (code == MPI_SUCCESS)
        code = MPI_Ibcast(in, length, MPI_INT, at % count, comm, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

static int window(MPI_Comm comm) {
    MPI_Win win;
    int rank, count, *memory, code, one = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    code = MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    *memory = 0;
    code = MPI_Win_fence(0, win);
    if (code == MPI_SUCCESS)
        code = MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < 3 && code == MPI_SUCCESS; i++) {
        code = MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, (rank + i) % count, 0, win);
        if (code == MPI_SUCCESS) {
            int put = MPI_Accumulate(&one, 1, MPI_INT, (rank + i) % count, 0, 1, MPI_INT, MPI_SUM, win);
            code = MPI_Win_unlock((rank + i) % count, win);
            code = put != MPI_SUCCESS ? put : code;
        }
    }
    if (code == MPI_SUCCESS) {
        code = MPI_Barrier(comm);
        if (code == MPI_SUCCESS && *memory != 3)
            check(0, "what all have added", *memory);
    }
    int freed = MPI_Win_free(&win);
    return code != MPI_SUCCESS ? code : freed;
}

static int spawn(MPI_Comm comm) {
    MPI_Comm inter;
    char *arguments[] = {"child", NULL};
    int code = MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, comm, &inter, MPI_ERRCODES_IGNORE);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    code = MPI_Barrier(inter);
    if (code != MPI_SUCCESS)
        MPIX_Comm_revoke(inter);
    int parted = code == MPI_SUCCESS ? MPI_Comm_disconnect(&inter) : MPI_Comm_free(&inter);
    return code != MPI_SUCCESS ? code : parted;
}

/* Both halves meet. Ranks of each are waiting for the other half, of which they hear by the range of errors. */
static int meet(MPI_Comm comm) {
    MPI_Comm half, inter;
    MPI_Info info;
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, count, code, far = -1, parted;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    if (count == 1)
        return MPI_SUCCESS;
    int first = rank < count / 2, is_leader = rank == 0 || rank == count / 2;
    code = MPI_Comm_split(comm, first, rank, &half);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_error_range", "universe");
    MPI_Comm_set_info(half, info);
    MPI_Info_free(&info);
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    code = MPI_Bcast(port, sizeof port, MPI_CHAR, 0, comm);
    if (code == MPI_SUCCESS && first)
        code = MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter);
    else if (code == MPI_SUCCESS)
        code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter);
    if (rank == 0)
        MPI_Close_port(port);
    if (code != MPI_SUCCESS)
        MPIX_Comm_revoke(half);
    MPI_Comm_free(&half);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    if (is_leader)
        code = MPI_Sendrecv(&rank, 1, MPI_INT, 0, 3, &far, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
    if (is_leader && code == MPI_SUCCESS && far != (first ? count / 2 : 0))
        check(0, "a message of the other leader", far);
    if (code == MPI_SUCCESS)
        code = MPI_Barrier(inter);
    if (code != MPI_SUCCESS)
        MPIX_Comm_revoke(inter);
    parted = code == MPI_SUCCESS ? MPI_Comm_disconnect(&inter) : MPI_Comm_free(&inter);
    return code != MPI_SUCCESS ? code : parted;
}

/* Ranks write pieces one after the other and read them, by two-phase access. */
static int file(MPI_Comm comm) {
    enum { LENGTH = 4096, PIECE = 64 };
    static int out[LENGTH], in[LENGTH];
    MPI_File file;
    MPI_Datatype strided;
    MPI_Info info;
    MPI_Request request;
    int rank, count, code, freed;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &count);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    code = MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_free(&info);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Type_vector(LENGTH / PIECE, PIECE, PIECE * count, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    code = MPI_File_set_view(file, (MPI_Offset)rank * PIECE * (MPI_Offset)sizeof(int), MPI_INT, strided, "native", MPI_INFO_NULL);
    MPI_Type_free(&strided);
    for (int round = 0; round < 3 && code == MPI_SUCCESS; round++) {
        for (int i = 0; i < LENGTH; i++)
            out[i] = rank + round + i, in[i] = -1;
        code = round == 1 ? MPI_File_iwrite_at_all(file, 0, out, LENGTH, MPI_INT, &request)
                          : MPI_File_write_at_all(file, 0, out, LENGTH, MPI_INT, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && round == 1)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS)
            code = MPI_File_read_at_all(file, 0, in, LENGTH, MPI_INT, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS && memcmp(in, out, sizeof in) != 0)
            check(0, "what a file has", round);
    }
    freed = MPI_File_close(&file);
    return code != MPI_SUCCESS ? code : freed;
}

static const struct {
    const char *name;
    int (*call)(MPI_Comm);
} KINDS[] = {{"agree", agree}, {"shrink", shrink}, {"collectives", collectives}, {"window", window}, {"spawn", spawn},
             {"meet", meet}, {"file", file}};

/* One that was spawned. */
static int child(MPI_Comm parent) {
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    if (MPI_Barrier(parent) == MPI_SUCCESS)
        MPI_Comm_disconnect(&parent);
    else
        MPIX_Comm_revoke(parent);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv) {
    MPI_Comm comm, alive, parent;
    int (*call)(MPI_Comm) = NULL;
    begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return child(parent);
    program = argv[0];
    path = argc > 3 ? argv[3] : "storm-file";
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, random = seed * 6364136223846793005UL + 1442695040888963407UL;
    for (size_t i = 0; argc > 1 && i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(argv[1], KINDS[i].name) == 0)
            call = KINDS[i].call;
    if (!call)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    /* All choose alike. */
    int deaths = 1 + (int)(random >> 33) % 2, doomed = 0;
    for (int i = 0; i < deaths; i++) {
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        int who = (int)(random >> 33) % size;
        long moment = (long)(random >> 40) % 20000;
        if (doomed & 1 << who)
            continue;
        doomed |= 1 << who;
        if (who != me)
            continue;
        die_after(moment);
    }
    deaths = __builtin_popcount((unsigned)doomed);
    int count = size, rounds = 0;
    while (count > size - deaths) {
        int code = call(comm);
        int class = class_of(code);
        at++, rounds++;
        if (code != MPI_SUCCESS) {
            if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED && class != MPI_ERR_SPAWN && class != MPI_ERR_PORT)
                check(0, "the class of an error", class);
            MPIX_Comm_revoke(comm);
        }
        int good = code == MPI_SUCCESS;
        code = MPIX_Comm_agree(comm, &good);
        if (good && code == MPI_SUCCESS)
            continue;
        if (MPIX_Comm_shrink(comm, &alive) != MPI_SUCCESS) {
            check(0, "a shrink", 0);
            break;
        }
        MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
        MPI_Comm_free(&comm);
        comm = alive;
        MPI_Comm_size(comm, &count);
        at = 0;
    }
    /* No more dies, and none has that was not to. */
    int code = call(comm), rank;
    if (count != size - deaths)
        check(0, "those that live", count);
    MPI_Comm_rank(comm, &rank);
    all_good(comm, code == MPI_SUCCESS, argc > 1 ? argv[1] : "");
    MPI_Comm_free(&comm);
    return finish();
}
