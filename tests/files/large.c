/* Accesses of 2 GiB and more in one call (sparse, where the file system has it), by views that repeat a small buffer. */
#include "files.h"
#include <limits.h>

enum { PIECE = 1 << 20 };

/* One buffer of a mebibyte stands for all data: the memory type repeats it by an extent of 0. */
static void one(long bytes, const char *name)
{
    static unsigned char piece[PIECE + 16];
    MPI_Datatype block, again, rest, all;
    MPI_Status status;
    MPI_Request request;
    long whole = bytes / PIECE, left = bytes % PIECE;
    MPI_Type_contiguous(PIECE, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, 0, &again);
    MPI_Type_contiguous_c(whole, again, &rest);
    MPI_Datatype types[2] = { rest, MPI_BYTE };
    MPI_Count lengths[2] = { 1, left }, places[2] = { 0, 0 };
    MPI_Type_create_struct_c(2, lengths, places, types, &all);
    MPI_Type_commit(&all);
    for (int i = 0; i < PIECE; i++)
        piece[i] = (unsigned char)(i % 251);
    MPI_File f = opened(RW);
    int code = MPI_File_write_at(f, 0, piece, 1, all, &status);
    all_eq(class_of(code), MPI_SUCCESS, name);
    all_eq(bytes_of(&status), bytes, "all bytes are written");
    memset(piece, 0, PIECE);
    MPI_File_iread_at(f, 0, piece, 1, all, &request);
    MPI_Wait(&request, &status);
    all_eq(bytes_of(&status), bytes, "and read");
    int good = 1;
    for (int i = left; i < PIECE; i++)
        good &= piece[i] == i % 251;
    all_eq(good, 1, "as they were");
    MPI_File_close(&f);
    MPI_Type_free(&block), MPI_Type_free(&again), MPI_Type_free(&rest), MPI_Type_free(&all);
}

/* A count that no int holds, of a byte that all data is. */
static void counted(void)
{
    enum { MORE = 2 };
    MPI_Datatype again;
    MPI_Status status;
    MPI_Count bytes = (MPI_Count)INT_MAX + MORE;
    unsigned char byte = 77, last[8] = { 0 };
    MPI_Type_create_resized(MPI_BYTE, 0, 0, &again);
    MPI_Type_commit(&again);
    MPI_File f = opened(RW);
    all_eq(class_of(MPI_File_write_at_c(f, 0, &byte, bytes, again, &status)), MPI_SUCCESS, "INT_MAX + 2 items by MPI_File_write_at_c");
    all_eq(bytes_of(&status), bytes, "all are written");
    MPI_File_read_at(f, bytes - 4, last, 8, MPI_BYTE, &status);
    all_eq(bytes_of(&status) == 4 && last[0] == 77 && last[3] == 77, 1, "up to the last one");
    MPI_File_close(&f);
    MPI_Type_free(&again);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "large");
    one((2l << 30) - 1, "2 GiB - 1");
    one(2l << 30, "2 GiB");
    one((4l << 30) + 1, "4 GiB + 1");
    unlink(path);
    counted();
    unlink(path);
    return finish();
}
