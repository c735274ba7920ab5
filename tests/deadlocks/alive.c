/* What must never be taken for a dead-lock: one case for each pair of ranks, all at once. Each waits far longer than
 * mpi_deadlock_s, and goes on then. */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds that something is waited for. */
enum { FOR = 4 };

static MPI_Comm pair;
static int me, byte;

static void rest(int seconds)
{
    struct timespec left = { seconds, 0 };

    while (nanosleep(&left, &left) != 0)
        ;
}

static void ping(void)
{
    MPI_Send(&byte, 1, MPI_INT, !me, 1, pair);
}

static void pong(int source)
{
    MPI_Recv(&byte, 1, MPI_INT, source, 1, pair, MPI_STATUS_IGNORE);
}

static void computes(void)
{
    time_t end = time(NULL) + FOR;

    if (me == 0)
        while (time(NULL) < end)
            ;
    if (me == 0)
        ping();
    else
        pong(0);
}

static void sleeps(void)
{
    if (me == 0) {
        rest(FOR);
        ping();
    } else {
        pong(MPI_ANY_SOURCE);
    }
}

static void polls(void)
{
    int flag = 0;

    if (me == 0) {
        MPI_Request request;
        MPI_Irecv(&byte, 1, MPI_INT, 1, 2, pair, &request);
        for (time_t end = time(NULL) + FOR; time(NULL) < end; usleep(50000))
            MPI_Iprobe(1, 1, pair, &flag, MPI_STATUS_IGNORE);
        ping();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        pong(0);
        MPI_Send(&byte, 1, MPI_INT, 0, 2, pair);
    }
}

static void *receives(void *unused)
{
    pong(!me);
    return unused;
}

/* A thread waits in MPI for what the main threads send in the end. */
static void has_a_thread(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, receives, NULL);
    rest(FOR);
    ping();
    pthread_join(thread, NULL);
}

/* A rank that is stopped, as a debugger does it, while the other one waits for it. */
static void is_stopped(void)
{
    if (me == 0) {
        pid_t own = getpid(), child = fork();
        if (child == 0) {
            usleep(1500000);
            kill(own, SIGSTOP);
            rest(FOR - 2);
            kill(own, SIGCONT);
            _exit(0);
        }
        pong(1);
        ping();
        waitpid(child, NULL, 0);
    } else {
        rest(FOR);
        ping();
        pong(0);
    }
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int nothing(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void *completes(void *request)
{
    rest(FOR);
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static void has_a_request_of_its_own(void)
{
    MPI_Request request;
    pthread_t thread;

    if (me == 0) {
        MPI_Request copy;
        MPI_Grequest_start(query, nothing, cancel, NULL, &request);
        copy = request;
        pthread_create(&thread, NULL, completes, &copy);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
        ping();
    } else {
        pong(0);
    }
}

static void waits_for_a_file(void)
{
    char name[] = "/tmp/alhena.alive.XXXXXX";

    if (me == 0) {
        int file = mkstemp(name);
        pid_t child = fork();
        if (child == 0) {
            int own = open(name, O_RDWR);
            flock(own, LOCK_EX);
            rest(FOR);
            _exit(0);
        }
        usleep(300000);
        flock(file, LOCK_EX);
        ping();
        waitpid(child, NULL, 0);
        unlink(name);
    } else {
        pong(0);
    }
}

static void waits_for_a_pipe(void)
{
    int ends[2];
    char word[4];

    if (me == 0 && pipe(ends) == 0) {
        pid_t child = fork();
        if (child == 0) {
            rest(FOR);
            _exit(write(ends[1], "go", 3) != 3);
        }
        if (read(ends[0], word, 3) == 3)
            ping();
        waitpid(child, NULL, 0);
    } else {
        pong(0);
    }
}

static void comes_late(void)
{
    int all;

    if (me == 0)
        rest(FOR);
    MPI_Barrier(pair);
    MPI_Allreduce(&me, &all, 1, MPI_INT, MPI_SUM, pair);
    if (me == 1)
        rest(FOR - 1);
    MPI_Bcast(&byte, 1, MPI_INT, 1, pair);
}

static void is_alone(void)
{
    MPI_Request request;

    MPI_Irecv(&byte, 0, MPI_BYTE, me, 3, pair, &request);
    MPI_Ssend(&byte, 0, MPI_BYTE, me, 3, pair);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&byte, 1, MPI_INT, MPI_PROC_NULL, 0, pair, MPI_STATUS_IGNORE);
    MPI_Send(&byte, 1, MPI_INT, MPI_PROC_NULL, 0, pair);
}

/* What a nonblocking collective lacks comes whatever its members wait for. */
static void goes_on_meanwhile(void)
{
    static char long_one[1 << 20];
    MPI_Request request;

    if (me == 1)
        rest(FOR);
    MPI_Ibcast(long_one, sizeof long_one, MPI_BYTE, 0, pair, &request);
    if (me == 0)
        pong(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (me == 1)
        ping();
}

static void (*const cases[])(void) = {
    computes, sleeps,           polls,            has_a_thread, is_stopped, has_a_request_of_its_own,
    waits_for_a_file, waits_for_a_pipe, comes_late, is_alone, goes_on_meanwhile,
};
enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv)
{
    int level, rank, size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    MPI_Comm_rank(pair, &me);
    if (rank / 2 < CASES)
        cases[rank / 2]();
    MPI_Comm_free(&pair);
    check_all(size == 2 * CASES, "ranks that wait long are not dead");
    MPI_Finalize();
    return check_failures != 0;
}
