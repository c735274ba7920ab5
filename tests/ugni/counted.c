/* Performance variables tell how many bytes went over the Gemini transport, and by which way: in messages from the
   sender, or straight between the memory of the two ranks. */
#include <mpi.h>
#include <stdlib.h>
#include "check.h"

typedef unsigned long long number;

enum { SHORT = 100, MIDDLE = 5000, LONG = 1 << 20, REPEATS = 10 };

static MPI_T_pvar_session session;

static MPI_T_pvar_handle watch(const char *name)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index = -1, count = 0;
    CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index), MPI_SUCCESS, name);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    return handle;
}

static number value(MPI_T_pvar_handle handle)
{
    number seen = 0;
    MPI_T_pvar_read(session, handle, &seen);
    return seen;
}

/* Rank 0 sends as many messages of this length; returns by how much a variable, summed over both ranks, grew. */
static number grown(MPI_T_pvar_handle handle, char *buffer, int length, int rank)
{
    number before = value(handle), here, both;
    for (int n = 0; n < REPEATS; n++) {
        if (rank == 0)
            MPI_Ssend(buffer, length, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, length, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    here = value(handle) - before;
    MPI_Allreduce(&here, &both, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return both;
}

int main(int argc, char **argv)
{
    int rank, provided;
    char *buffer = calloc(LONG, 1);

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_T_pvar_handle sent = watch("btl_ugni_bytes"), moved = watch("btl_ugni_moved_bytes");
    MPI_T_pvar_handle shared = watch("btl_vader_bytes");

    CHECK_EQ(grown(sent, buffer, SHORT, rank), REPEATS * SHORT, "short messages are counted by their sender");
    CHECK_EQ(grown(sent, buffer, MIDDLE, rank), REPEATS * MIDDLE, "so are those that the receiver fetches from a buffer");
    CHECK_EQ(grown(moved, buffer, MIDDLE, rank), 0, "which go through that buffer");
    CHECK_EQ(grown(moved, buffer, LONG, rank), REPEATS * LONG, "long ones go from memory to memory");
    CHECK_EQ(grown(sent, buffer, LONG, rank), 0, "and not in messages");
    CHECK_EQ(value(shared), 0, "nothing went another way");
    free(buffer);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return check_failures != 0;
}
