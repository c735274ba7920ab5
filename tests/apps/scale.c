/* How long a job takes to start, to meet and to stop, and what memory a rank takes. Rank 0 prints a line.
 *
 * usage: scale SECONDS   SECONDS: when the job was started, since 1970
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

static double now(void)
{
    struct timeval time;
    gettimeofday(&time, NULL);
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* Processor time of this process, in ms. */
static double processor(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return 1e3 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void barrier(int rank, int size)
{
    (void)rank, (void)size;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int rank, int size)
{
    int sum;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Elapsed time of a call and processor time of all ranks for it, in ms; connections are made before that. */
static void measure(void (*call)(int, int), int rank, int size, double *elapsed, double *used)
{
    enum { first = 5, rounds = 20 };
    for (int i = 0; i < first; i++)
        call(rank, size);
    double begun = now(), mine = processor();
    for (int i = 0; i < rounds; i++)
        call(rank, size);
    *elapsed = 1e3 * (now() - begun) / rounds;
    mine = (processor() - mine) / rounds;
    MPI_Reduce(&mine, used, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* Memory of this process in KiB; what it shares with others counts in parts. */
static double memory(void)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "Pss:", 4) == 0)
            kib = atof(line + 4);
    if (file)
        fclose(file);
    return kib;
}

int main(int argc, char **argv)
{
    int rank, size;
    double begun = argc > 1 ? atof(argv[1]) : now();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double took = now() - begun, started, kib = memory(), before, after;
    MPI_Reduce(&took, &started, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&kib, &before, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    double meet, meet_used, sum, sum_used;
    measure(barrier, rank, size, &meet, &meet_used);
    measure(allreduce, rank, size, &sum, &sum_used);
    kib = memory();
    MPI_Reduce(&kib, &after, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: started after %.2f s; a barrier %.2f ms (processor time of all ranks %.2f), an allreduce %.2f ms (%.2f); "
               "%.0f KiB a rank after MPI_Init, %.0f at the end; ends at %.3f\n",
               size, started, meet, meet_used, sum, sum_used, before / size, after / size, now());
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
