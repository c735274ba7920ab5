/* A collective access takes its time for data, not for the distance between the first byte and the last.
 *
 * usage: far DIR */
#include "files.h"
#include <signal.h>

static void late(int signal)
{
    static const char text[] = "FAIL a collective access of a few bytes does not end\n";
    (void)signal;
    _exit(write(1, text, sizeof text - 1) > 0 ? 3 : 4);
}

/* Reads, or writes and reads, two bytes of each rank that lie 2^`log` apart. */
static void access_far(MPI_Info info, int log, int writes, int strided, const char *name)
{
    MPI_File f;
    MPI_Datatype view, memory;
    MPI_Status status;
    MPI_Aint at[2] = { rank, ((MPI_Aint)1 << log) + rank }, in_memory[2] = { 0, strided ? 3 : 1 };
    char text[200], sent[4] = { 'a' + rank, 0, 0, 0 }, got[4] = { 0 };
    sent[in_memory[1]] = 'A' + rank;
    if (rank == 0)
        unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, path, RW, info, &f);
    MPI_Type_create_hindexed_block(2, 1, at, MPI_BYTE, &view);
    MPI_Type_create_hindexed_block(2, 1, in_memory, MPI_BYTE, &memory);
    MPI_Type_commit(&view);
    MPI_Type_commit(&memory);
    MPI_File_set_view(f, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
    snprintf(text, sizeof text, "bytes 2^%d apart, %s%s: read", log, name, strided ? ", from memory with holes" : "");
    if (writes) {
        int code = MPI_File_write_at_all(f, 0, sent, 1, memory, &status);
        text[strlen(text) - 6] = 0;
        all_eq(code == MPI_SUCCESS ? bytes_of(&status) : -class_of(code), 2, text);
        MPI_File_sync(f);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_sync(f);
        strcat(text, ", then read");
    }
    MPI_File_read_at_all(f, 0, got, 1, memory, &status);
    long there = writes ? 2 : 0;
    all_eq(bytes_of(&status), there, text);
    all_eq(writes ? memcmp(sent, got, 4) : 0, 0, "and right");
    MPI_Type_free(&view);
    MPI_Type_free(&memory);
    MPI_File_close(&f);
    if (rank == 0)
        unlink(path);
}

int main(int argc, char **argv)
{
    static const char *hints[][3] = {
        { "as it comes", "cb_nodes", "2" }, { "one aggregator", "cb_nodes", "1" }, { "staged", "io_staging", "memory" },
    };
    start(&argc, &argv, "far");
    signal(SIGALRM, late);
    alarm(60);
    for (int i = 0; i < 3; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_read", "enable");
        MPI_Info_set(info, "romio_cb_write", "enable");
        MPI_Info_set(info, hints[i][1], hints[i][2]);
        for (int strided = 0; strided < 2; strided++) {
            access_far(info, 60, 0, strided, hints[i][0]);
            access_far(info, 42, 1, strided, hints[i][0]);
        }
        MPI_Info_free(&info);
    }
    return finish();
}
