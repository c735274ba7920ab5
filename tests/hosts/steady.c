/* Two ranks exchange messages of many lengths for some seconds, whatever happens to the network, and check what they get. They
 * print what they fetched and stored over each network of their host.
 * usage: steady SECONDS [LONGEST [FILE]]     (they end before that when there is the file) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static MPI_T_pvar_session session;

/* What goes over a network of this host from now on. */
static MPI_T_pvar_handle watch(const char *name)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index, count;

    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index) == MPI_SUCCESS)
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    return handle;
}

static unsigned long long value(MPI_T_pvar_handle handle)
{
    unsigned long long bytes = 0;

    MPI_T_pvar_read(session, handle, &bytes);
    return bytes;
}

int main(int argc, char **argv)
{
    int rank, provided, wrong = 0, rounds = 0, more = 1, longest = argc > 2 ? atoi(argv[2]) : 300000;
    unsigned char *out = malloc(longest), *in = malloc(longest);
    MPI_T_pvar_handle networks[4];
    double end;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < 4; i++) {
        char name[] = "btl_tcp_network0_bytes";

        name[strlen("btl_tcp_network")] += i;
        networks[i] = watch(name);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 1);
    for (; more; rounds++) {
        int length = 1 + rounds * 7919L % longest;

        memset(out, rounds + rank, length);
        MPI_Sendrecv(out, length, MPI_BYTE, !rank, rounds % 1000, in, longest, MPI_BYTE, !rank, rounds % 1000, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < length; i++)
            wrong += in[i] != (unsigned char)(rounds + !rank);
        more = MPI_Wtime() < end && (argc <= 3 || access(argv[3], F_OK) != 0);
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rank == 1 && rounds == 20) {
            printf("running %d\n", (int)getpid());
            fflush(stdout);
        }
    }
    printf("%s rank %d: %d rounds, %d wrong bytes\n", wrong ? "FAIL" : "ok", rank, rounds, wrong);
    printf("rank %d carried", rank);
    for (int i = 0; i < 4; i++)
        printf(" %llu", value(networks[i]));
    printf("\n");
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    free(out);
    free(in);
    return wrong != 0;
}
