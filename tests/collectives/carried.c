/* Collectives of one node go through its shared memory whatever transport carries messages: that transport sends nothing. The
 * environment variable TRANSPORT names it (ugni). */
#include "collectives.h"

enum { CALLS = 100, LONG = 1 << 16 };

static unsigned long long sent(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long long bytes;
    MPI_T_pvar_read(session, handle, &bytes);
    return bytes;
}

int main(int argc, char **argv)
{
    const char *transport = getenv("TRANSPORT");
    char name[64];
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int provided, index, count, good = 1;
    unsigned long long before, after;
    double *data = calloc(LONG, sizeof *data);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    snprintf(name, sizeof name, "btl_%s_bytes", transport ? transport : "ugni");
    MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    /* The first blocking call asks by message who reads whose memory. */
    MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    before = sent(session, handle);
    for (int call = 0; call < CALLS; call++) {
        int word = rank == call % size ? call : -1, sum;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&word, 1, MPI_INT, call % size, MPI_COMM_WORLD);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        good &= word == call && sum == size * (size - 1) / 2;
        data[call] = 1;
        MPI_Allreduce(MPI_IN_PLACE, data, LONG / 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        good &= data[call] == 1 && data[CALLS] == 0;
    }
    after = sent(session, handle);
    verdict(good, "collectives without messages are right");
    verdict(before == after, "and no transport carried them");
    free(data);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return failed;
}
