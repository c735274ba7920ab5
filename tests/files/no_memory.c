/* A process without memory for its part of a collective access: the call fails on all ranks, none waits for ever, and the next
 * call finds none of the messages of this one.
 *
 * usage: no_memory DIR */
#include "files.h"
#include "process.h"
#include <signal.h>
#include <malloc.h>
#include <sys/resource.h>

enum { PIECE = 1 << 20, PIECES = 40 };

static char *memory;

static void late(int signal)
{
    static const char text[] = "FAIL a collective access without memory does not end\n";
    (void)signal;
    _exit(write(1, text, sizeof text - 1) > 0 ? 3 : 4);
}

/* Lets this process have 12 MiB more than it has, or as much as it likes. */
static void limit(int on)
{
    struct rlimit all;
    rlim_t now = (rlim_t)mapped() << 10;
    malloc_trim(0);
    getrlimit(RLIMIT_AS, &all);
    all.rlim_cur = on ? now + (12 << 20) : all.rlim_max;
    setrlimit(RLIMIT_AS, &all);
}

/* Every other piece of memory. */
static void fill(int with)
{
    for (long i = 0; i < PIECES; i++)
        memset(memory + 2 * i * PIECE, (int)(with + 7 * rank + i), PIECE);
}

static long wrong(int with)
{
    long count = 0;
    for (long i = 0; i < PIECES; i++)
        for (long k = 0; k < PIECE; k += 997)
            count += memory[2 * i * PIECE + k] != (char)(with + 7 * rank + i);
    return count;
}

static void one(int poor, const char *name)
{
    char text[200];
    MPI_Datatype pieces, piece, view;
    MPI_File f;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "cb_buffer_size", "200000000");
    MPI_File_open(MPI_COMM_WORLD, path, RW, info, &f);
    MPI_Info_free(&info);
    MPI_Type_vector(PIECES, PIECE, 2 * PIECE, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)size * PIECE, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(f, (MPI_Offset)rank * PIECE, MPI_BYTE, view, "native", MPI_INFO_NULL);
    fill(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == poor)
        limit(1);
    int written = MPI_File_write_at_all(f, 0, memory, 1, pieces, MPI_STATUS_IGNORE);
    int read = MPI_File_read_at_all(f, 0, memory, 1, pieces, MPI_STATUS_IGNORE);
    if (rank == poor)
        limit(0);
    snprintf(text, sizeof text, "%s has no memory to write: an error on all ranks", name);
    all_eq(written != MPI_SUCCESS, 1, text);
    snprintf(text, sizeof text, "%s has none to read: an error on all ranks", name);
    all_eq(read != MPI_SUCCESS, 1, text);
    fill(2);
    all_eq(class_of(MPI_File_write_at_all(f, 0, memory, 1, pieces, MPI_STATUS_IGNORE)), MPI_SUCCESS, "the next write goes well");
    fill(3);
    all_eq(class_of(MPI_File_read_at_all(f, 0, memory, 1, pieces, MPI_STATUS_IGNORE)), MPI_SUCCESS, "so does the next read");
    all_eq(wrong(2), 0, "and brings what was written");
    MPI_Type_free(&piece);
    MPI_Type_free(&pieces);
    MPI_Type_free(&view);
    MPI_File_close(&f);
    if (rank == 0)
        unlink(path);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "no_memory");
    memory = malloc(2l * PIECES * PIECE);
    signal(SIGALRM, late);
    alarm(90);
    one(0, "the aggregator");
    one(1, "another rank");
    free(memory);
    return finish();
}
