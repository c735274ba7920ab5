/* Processes that leave MPI by the end of their last session, while others stay.
 *
 * usage: mpiexec -n N leave late|buffered|apart|again|gone|early|held|crash
 */
#define _POSIX_C_SOURCE 200809L
#include "process.h"
#include "startup.h"
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* The last rank is stopped while the one before sends it the first message between the two, finalizes its session and ends. */
static void late(int buffered) {
    static char memory[4096];
    MPI_Session session;
    MPI_Comm comm = begin(&session, "late", MPI_ERRORS_ARE_FATAL);
    int rank, size, value = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == size - 2) {
        value = 5;
        pause_ms(200);
        if (buffered) {
            MPI_Comm_attach_buffer(comm, memory, sizeof memory);
            MPI_Bsend(&value, 1, MPI_INT, size - 1, 3, comm);
        } else {
            MPI_Send(&value, 1, MPI_INT, size - 1, 3, comm);
        }
    } else if (rank == size - 1) {
        pid_t own = getpid();
        if (fork() == 0) {
            pause_ms(1000);
            kill(own, SIGCONT);
            _exit(0);
        }
        raise(SIGSTOP);
        MPI_Recv(&value, 1, MPI_INT, size - 2, 3, comm, MPI_STATUS_IGNORE);
        CHECK(value == 5, "the message brought %d", value);
        if (!failed)
            printf("ok a %s message arrives whose sender has left\n", buffered ? "buffered" : "completed");
    }
    /* Not freed: that would wait for the message where a buffer is attached. */
    MPI_Session_finalize(&session);
}

/* Ranks 0 and 1 meet the others, disconnect and end; the others go on, also after the two processes are gone. */
static void apart(void) {
    MPI_Session session;
    MPI_Comm all = begin(&session, "all", MPI_ERRORS_ARE_FATAL), half;
    MPI_Group group, part;
    int rank, size, pids[64], own = (int)getpid(), value = 0, go = 1;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allgather(&own, 1, MPI_INT, pids, 1, MPI_INT, all);
    for (int i = 0; i < size; i++)
        if (i != rank)
            MPI_Sendrecv(&own, 1, MPI_INT, i, 0, &value, 1, MPI_INT, i, 0, all, MPI_STATUS_IGNORE);
    MPI_Comm_group(all, &group);
    int low[1][3] = {{0, 1, 1}}, high[1][3] = {{2, size - 1, 1}};
    MPI_Group_range_incl(group, 1, rank < 2 ? low : high, &part);
    MPI_Comm_disconnect(&all);
    MPI_Comm_create_from_group(part, rank < 2 ? "low" : "high", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &half);
    MPI_Comm_rank(half, &rank);
    if (pids[0] != own && pids[1] != own) {
        int more = 200;
        while (go) {
            MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, half);
            if (rank == 0) {
                more -= !is_there(pids[0]) && !is_there(pids[1]);
                go = more > 0;
                pause_ms(1);
            }
            MPI_Bcast(&go, 1, MPI_INT, 0, half);
        }
        if (rank == 0)
            puts("ok processes go on when others that they are not connected with have left and ended");
    }
    MPI_Comm_disconnect(&half);
    MPI_Group_free(&group);
    MPI_Group_free(&part);
    MPI_Session_finalize(&session);
}

/* Rank 0 comes and goes, the others stay. */
static void again(void) {
    MPI_Session lasting = MPI_SESSION_NULL, session;
    MPI_Group all;
    int rank = -1, size = 0;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &rank);
    MPI_Group_free(&all);
    if (rank != 0)
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &lasting);
    MPI_Session_finalize(&session);
    for (int round = 0; round < 20; round++) {
        char name[32];
        int sum = 0;
        snprintf(name, sizeof name, "round %d", round);
        MPI_Comm comm = begin(&session, name, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2, "round %d: the sum is %d", round, sum);
        /* Rank 0's last act is a send. */
        if (rank == 0)
            for (int to = 1; to < size; to++)
                MPI_Send(&round, 1, MPI_INT, to, 1, comm);
        else
            MPI_Recv(&sum, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        CHECK(rank == 0 || sum == round, "round %d: the message brought %d", round, sum);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    }
    if (lasting != MPI_SESSION_NULL)
        MPI_Session_finalize(&lasting);
    if (rank == 0 && !failed)
        puts("ok a process leaves and comes back, 20 times");
}

/* Rank 2 has given its part of collectives, leaves and ends; rank 1 gives its own much later, and rank 0 waits for it. */
static void early(void) {
    MPI_Session session;
    MPI_Comm comm = begin(&session, "early", MPI_ERRORS_ARE_FATAL);
    MPI_Request request;
    int rank, size, sum = 0, all[8] = {0}, good = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Barrier(comm);
    MPI_Barrier(comm);
    if (rank == 1)
        pause_ms(2500);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
    MPI_Igather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    for (int i = 0; i < size && rank == 0; i++)
        good &= all[i] == i;
    CHECK(rank != 0 || (good && sum == size * (size - 1) / 2), "the sum is %d", sum);
    if (rank == 0 && !failed)
        puts("ok collectives end to which a process has given its part before it left");
}

/* Rank 0 leaves and ends while the others still have a communicator whose errors are fatal. They have nothing to do with it any more. */
static void held(void) {
    MPI_Session session;
    MPI_Comm comm = begin(&session, "held", MPI_ERRORS_ARE_FATAL);
    int rank, size, first = 0, flag, own = (int)getpid();
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int to = 1; to < size && rank == 0; to++)
        MPI_Sendrecv(&own, 1, MPI_INT, to, 0, &flag, 1, MPI_INT, to, 0, comm, MPI_STATUS_IGNORE);
    if (rank != 0)
        MPI_Sendrecv(&own, 1, MPI_INT, 0, 0, &first, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    for (int more = 1000; more > 0 && rank != 0; more -= !is_there(first)) {
        MPI_Iprobe(rank, 1, comm, &flag, MPI_STATUS_IGNORE);
        pause_ms(1);
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (rank == 1 && !failed)
        puts("ok processes go on when one has left and ended that is in a communicator of theirs");
}

/* Rank 1 waits for a message of rank 0, which leaves without sending it: an error of the receive, and of nothing else. */
static void gone(void) {
    MPI_Session session;
    MPI_Comm comm = begin(&session, "gone", MPI_ERRORS_RETURN);
    int rank, size, value = 0, code;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0)
        for (int to = 1; to < size; to++)
            MPI_Send(&value, 1, MPI_INT, to, 0, comm);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
    if (rank == 1) {
        code = MPI_Recv(&value, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        CHECK(class_of(code) == MPI_ERR_PROC_ABORTED, "MPI_Recv gives class %d", class_of(code));
        code = MPI_Send(&value, 1, MPI_INT, 2, 2, comm);
        CHECK(code == MPI_SUCCESS, "MPI_Send to another rank gives class %d", class_of(code));
    } else if (rank == 2) {
        code = MPI_Recv(&value, 1, MPI_INT, 1, 2, comm, MPI_STATUS_IGNORE);
        CHECK(code == MPI_SUCCESS, "MPI_Recv from another rank gives class %d", class_of(code));
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (rank == 1 && !failed)
        puts("ok a receive from a process that has left and ended is an error");
}

/* Rank 0 ends without a word. Rank 1's communicator and session return errors, so it goes on. */
static void crash(void) {
    MPI_Session session;
    MPI_Comm comm = begin(&session, "crash", MPI_ERRORS_RETURN);
    int rank, value = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 0, comm);
        pause_ms(100);
        _exit(0);
    }
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE);
        int code = MPI_Recv(&value, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        CHECK(class_of(code) == MPI_ERR_PROC_ABORTED, "MPI_Recv gives class %d", class_of(code));
        MPI_Session_finalize(&session);
        if (!failed)
            puts("ok MPI_ERRORS_RETURN of the communicator holds for a lost process");
        fflush(stdout);
    }
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "late") == 0)
        late(0);
    else if (strcmp(what, "buffered") == 0)
        late(1);
    else if (strcmp(what, "apart") == 0)
        apart();
    else if (strcmp(what, "again") == 0)
        again();
    else if (strcmp(what, "gone") == 0)
        gone();
    else if (strcmp(what, "early") == 0)
        early();
    else if (strcmp(what, "held") == 0)
        held();
    else if (strcmp(what, "crash") == 0)
        crash();
    else
        return 2;
    return failed;
}
