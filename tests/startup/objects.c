/* What belongs to sessions and to no world: buffers, predefined communicators, attributes, error handlers.
 *
 * usage: mpiexec -n N objects buffer|world|attributes|abort
 */
#include "startup.h"
#include <string.h>

/* A buffer of the session serves all communicators that come from it, and no other. */
static void buffer(void) {
    static char memory[4096];
    MPI_Session session;
    MPI_Comm comm = begin(&session, "buffer", MPI_ERRORS_RETURN), comms[3];
    int rank, size, code;
    void *address = NULL;
    int bytes = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    code = MPI_Bsend(&rank, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
    CHECK(code == MPI_SUCCESS, "MPI_Bsend to MPI_PROC_NULL without a buffer gives class %d", class_of(code));
    code = MPI_Bsend(&rank, 1, MPI_INT, rank, 0, comm);
    CHECK(class_of(code) == MPI_ERR_BUFFER, "MPI_Bsend without a buffer gives class %d", class_of(code));
    MPI_Session_attach_buffer(session, memory, sizeof memory);
    comms[0] = comm;
    MPI_Comm_dup(comm, &comms[1]);
    MPI_Comm_split(comm, 0, rank, &comms[2]);
    for (int i = 0; i < 3; i++) {
        int got = -1;
        code = MPI_Bsend(&rank, 1, MPI_INT, (rank + 1) % size, i, comms[i]);
        CHECK(code == MPI_SUCCESS, "MPI_Bsend on communicator %d gives class %d", i, class_of(code));
        MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, i, comms[i], MPI_STATUS_IGNORE);
        CHECK(got == (rank + size - 1) % size, "communicator %d: %d came", i, got);
    }
    for (int i = 1; i < 3; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Session_flush_buffer(session);
    MPI_Session_detach_buffer(session, &address, &bytes);
    CHECK(address == memory && bytes == (int)sizeof memory, "%d bytes are detached", bytes);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (rank == 0 && !failed)
        puts("ok a session's buffer serves its communicators");
}

/* MPI_COMM_WORLD and MPI_COMM_SELF work with a session alone, across its end, and with MPI_Init after it. */
static void world(void) {
    int rank = -1, size = 0, sum = 0, flag = -1;
    for (int round = 0; round < 3; round++) {
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        if (round == 2)
            MPI_Init(NULL, NULL);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2, "round %d: the sum is %d", round, sum);
        MPI_Barrier(MPI_COMM_SELF);
        MPI_Initialized(&flag);
        CHECK(flag == (round == 2), "MPI_Initialized gives %d", flag);
        if (round == 2)
            MPI_Finalize();
        MPI_Session_finalize(&session);
    }
    if (rank == 0 && !failed)
        puts("ok MPI_COMM_WORLD answers with a session alone");
}

/* Of what describes the environment, a session's communicators have MPI_TAG_UB alone; MPI_COMM_WORLD has it all. */
static void attributes(void) {
    static const struct {
        int keyval;
        const char *name;
    } world_only[] = {{MPI_HOST, "MPI_HOST"},
                      {MPI_IO, "MPI_IO"},
                      {MPI_WTIME_IS_GLOBAL, "MPI_WTIME_IS_GLOBAL"},
                      {MPI_APPNUM, "MPI_APPNUM"},
                      {MPI_UNIVERSE_SIZE, "MPI_UNIVERSE_SIZE"}};
    MPI_Session session;
    MPI_Comm comms[3];
    int *value, flag, rank;
    MPI_Init(NULL, NULL);
    comms[0] = begin(&session, "attributes", MPI_ERRORS_ARE_FATAL);
    MPI_Comm_dup(comms[0], &comms[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(comms[0], rank % 2, 0, &comms[2]);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_get_attr(comms[i], MPI_TAG_UB, &value, &flag);
        CHECK(flag && *value >= 32767, "communicator %d has no MPI_TAG_UB", i);
    }
    for (unsigned k = 0; k < sizeof world_only / sizeof *world_only; k++) {
        for (int i = 0; i < 3; i++) {
            MPI_Comm_get_attr(comms[i], world_only[k].keyval, &value, &flag);
            CHECK(!flag, "communicator %d of a session has %s", i, world_only[k].name);
        }
        MPI_Comm_get_attr(MPI_COMM_WORLD, world_only[k].keyval, &value, &flag);
        CHECK(flag, "MPI_COMM_WORLD lacks %s", world_only[k].name);
    }
    for (int i = 0; i < 3; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Session_finalize(&session);
    MPI_Finalize();
    if (rank == 0 && !failed)
        puts("ok a session's communicators have the bound of tags alone");
}

/* An error on a session that ends the job. */
static void end(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ABORT, &session);
    MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group);
    puts("FAIL the call with a wrong process set returned");
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "buffer") == 0)
        buffer();
    else if (strcmp(what, "world") == 0)
        world();
    else if (strcmp(what, "attributes") == 0)
        attributes();
    else if (strcmp(what, "abort") == 0)
        end();
    else
        return 2;
    return failed;
}
