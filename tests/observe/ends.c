/* Ends whose place mpiexec names: a crash, also in a second thread, a call of MPI that fails; and signals that end nothing. */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int *volatile nowhere;

static void handler(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static __attribute__((noinline)) void store(void)
{
    *nowhere = 1; /* crash */
}

static void *thread(void *unused)
{
    store();
    return unused;
}

static void handled(void)
{
    volatile int caught = 0, i;
    pid_t child;

    signal(SIGSEGV, handler);
    for (i = 0; i < 3; i++)
        if (sigsetjmp(back, 1) == 0)
            store();
        else
            caught++;
    signal(SIGSEGV, SIG_DFL);
    /* A process that is stopped and goes on. */
    child = fork();
    if (child == 0) {
        sleep(1);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    raise(SIGSTOP);
    printf("%s all signals are the program's\n", caught == 3 ? "ok" : "FAIL");
}

int main(int argc, char **argv)
{
    int rank, buffer[4] = {0};
    const char *end = argc > 1 ? argv[1] : "";

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1 && !strcmp(end, "crash"))
        store();
    if (rank == 1 && !strcmp(end, "thread")) {
        pthread_t other;
        pthread_create(&other, NULL, thread, NULL);
        pthread_join(other, NULL);
    }
    if (rank == 1 && !strcmp(end, "handled"))
        handled();
    if (!strcmp(end, "call")) {
        if (rank == 0)
            MPI_Send(buffer, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* call */
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
