/* Times of dynamic processes and of what goes on after failures: a line "NAME MICROSECONDS" each, of rank 0.
 *
 * usage: speed-dynamic spawn COUNT ROUNDS     on 1 rank: spawns COUNT copies of itself, and parts from them
 *        speed-dynamic connect ROUNDS         on 2 ranks: rank 1 connects to a port of rank 0, and they part
 *        speed-dynamic failures ROUNDS        agreement and shrinking of all ranks; the last one is killed, and rank 0 notices
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_FAILURES
#include <mpi-ext.h>
#endif

enum { MOST = 1000 };
static double each[2][MOST];

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print(const char *name, double *times, int rounds)
{
    qsort(times, (size_t)rounds, sizeof *times, ascending);
    printf("%s %.1f\n", name, times[rounds / 2] * 1e6);
}

static void spawn(char *program, int count, int rounds)
{
    char *arguments[] = {"child", NULL}, name[32];
    int i;

    for (i = 0; i < rounds; i++) {
        MPI_Comm child;
        double start = MPI_Wtime();

        MPI_Comm_spawn(program, arguments, count, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
        each[0][i] = MPI_Wtime() - start;
        start = MPI_Wtime();
        MPI_Comm_disconnect(&child);
        each[1][i] = MPI_Wtime() - start;
    }
    snprintf(name, sizeof name, "spawn-%d", count);
    print(name, each[0], rounds);
}

static void connect_and_part(int rank, int rounds)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int i;

    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (i = 0; i < rounds; i++) {
        MPI_Comm other;
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        if (rank == 0)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        each[0][i] = MPI_Wtime() - start;
        start = MPI_Wtime();
        MPI_Comm_disconnect(&other);
        each[1][i] = MPI_Wtime() - start;
    }
    if (rank)
        return;
    MPI_Close_port(port);
    print("connect", each[0], rounds);
    print("disconnect", each[1], rounds);
}

#ifdef WITH_FAILURES
static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static void failures(int rank, int size, int rounds)
{
    double killed = 0, end;
    char byte;
    int i, flag = 1;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (i = 0; i < rounds; i++) {
        MPI_Comm smaller;
        double start;

        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
        each[0][i] = MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        MPIX_Comm_shrink(MPI_COMM_WORLD, &smaller);
        each[1][i] = MPI_Wtime() - start;
        MPI_Comm_free(&smaller);
    }
    if (rank == 0) {
        print("agree", each[0], rounds);
        print("shrink", each[1], rounds);
        MPI_Recv(&killed, 1, MPI_DOUBLE, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&byte, 1, MPI_CHAR, size - 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        end = now();
        printf("detect %.1f\n", (end - killed) * 1e6);
    } else if (rank == size - 1) {
        killed = now();
        MPI_Send(&killed, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        kill(getpid(), SIGKILL);
    }
}
#endif

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        MPI_Comm_disconnect(&parent);
    else if (argc > 3 && strcmp(argv[1], "spawn") == 0)
        spawn(argv[0], atoi(argv[2]), atoi(argv[3]));
    else if (argc > 2 && strcmp(argv[1], "connect") == 0)
        connect_and_part(rank, atoi(argv[2]));
#ifdef WITH_FAILURES
    else if (argc > 2 && strcmp(argv[1], "failures") == 0)
        failures(rank, size, atoi(argv[2]));
#endif
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
