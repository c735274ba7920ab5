/* A long collective access in small windows: what is under way is bounded, so the memory of a network that matches lasts.
 *
 * usage: rounds DIR [MIB] */
#include "files.h"

int main(int argc, char **argv)
{
    MPI_Datatype piece, view, memory_type;
    MPI_File f;
    MPI_Info info;
    MPI_Status status;
    start(&argc, &argv, "rounds");
    long bytes = (argc > 2 ? atol(argv[2]) : 64) << 20, pieces = bytes / size / 1024, wrong = 0;
    char *memory = malloc(pieces * 2048);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "romio_cb_read", "enable");
    MPI_File_open(MPI_COMM_WORLD, path, RW, info, &f);
    MPI_Info_free(&info);
    MPI_Type_contiguous(1024, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, size * 1024, &view);
    MPI_Type_vector(pieces, 1024, 2048, MPI_BYTE, &memory_type);
    MPI_Type_commit(&view);
    MPI_Type_commit(&memory_type);
    MPI_File_set_view(f, rank * 1024, MPI_BYTE, view, "native", MPI_INFO_NULL);
    for (long i = 0; i < pieces; i++)
        memset(memory + 2048 * i, (int)(i * 5 + rank), 1024);
    MPI_File_write_at_all(f, 0, memory, 1, memory_type, &status);
    all_eq(bytes_of(&status), pieces * 1024, "a long write in small windows");
    memset(memory, 0, pieces * 2048);
    MPI_File_read_at_all(f, 0, memory, 1, memory_type, &status);
    all_eq(bytes_of(&status), pieces * 1024, "a long read in small windows");
    for (long i = 0; i < pieces; i++)
        wrong += memory[2048 * i] != (char)(i * 5 + rank) || memory[2048 * i + 1023] != (char)(i * 5 + rank);
    all_eq(wrong, 0, "bring what was written");
    MPI_File_close(&f);
    if (rank == 0)
        unlink(path);
    free(memory);
    MPI_Type_free(&piece);
    MPI_Type_free(&view);
    MPI_Type_free(&memory_type);
    return finish();
}
