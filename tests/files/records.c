/* Collective writes of long records of all ranks in turn, over a file with other bytes, against a byte-by-byte oracle: without and with
 * holes between the rows, from memory with and without holes, on each rank as many records as it likes. */
#include "files.h"

enum { ROWS = 30, BEFORE = 11, FILLER = 0xEE };

static unsigned char byte_of(int of_rank, long position)
{
    return (unsigned char)(position * 7 + position / 251 + of_rank * 31);
}

/* Bytes that a rank writes: whole records, and a part of one. */
static long written_by(int of_rank, int record)
{
    return (long)record * (ROWS - of_rank % 3) - of_rank % 2 * (record / 3);
}

static void fill(const char *name, long bytes)
{
    FILE *f = fopen(name, "wb");
    for (long i = 0; i < bytes; i++)
        fputc(FILLER, f);
    fclose(f);
}

/* The first byte that differs from what it should be; -1: none. */
static long wrong(int record, long row, long bytes)
{
    long seen_bytes = 0, at = -1;
    unsigned char *seen = whole(path, &seen_bytes), *expected = malloc(bytes);
    memset(expected, FILLER, bytes);
    for (int r = 0; r < size; r++)
        for (long i = 0; i < written_by(r, record); i++)
            expected[BEFORE + i / record * row + (long)r * record + i % record] = byte_of(r, i);
    if (!seen || seen_bytes != bytes)
        at = bytes;
    for (long i = 0; i < bytes && at < 0; i++)
        at = seen[i] != expected[i] ? i : -1;
    free(seen);
    free(expected);
    return at;
}

static void written(int record, long hole, int spread)
{
    long row = (long)record * size + hole, bytes = BEFORE + row * ROWS, own = written_by(rank, record);
    unsigned char *memory = malloc(own * (1 + spread));
    for (long i = 0; i < own; i++)
        memory[i * (1 + spread)] = byte_of(rank, i);
    if (rank == 0)
        fill(path, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Datatype block, item, bytewise;
    MPI_Type_contiguous(record, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, row, &item);
    MPI_Type_create_resized(MPI_BYTE, 0, 1 + spread, &bytewise);
    MPI_Type_commit(&item);
    MPI_Type_commit(&bytewise);
    MPI_File f = opened(RW);
    MPI_File_set_view(f, BEFORE + (MPI_Offset)rank * record, MPI_BYTE, item, "native", MPI_INFO_NULL);
    MPI_Status status;
    int code = MPI_File_write_at_all(f, 0, memory, (int)own, bytewise, &status);
    MPI_File_close(&f);
    char name[120];
    snprintf(name, sizeof name, "records of %d bytes, %ld between rows, %d in memory", record, hole, spread);
    all_eq(code != MPI_SUCCESS || bytes_of(&status) != own ? -2 : rank == 0 ? wrong(record, row, bytes) : -1, -1, name);
    MPI_Type_free(&block);
    MPI_Type_free(&item);
    MPI_Type_free(&bytewise);
    free(memory);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "records");
    int records[] = { 1000, 3000, 4096, 8000 };
    for (int i = 0; i < 4; i++)
        for (int spread = 0; spread < 2; spread++) {
            written(records[i], 0, spread);
            written(records[i], 100, spread);
        }
    if (rank == 0)
        unlink(path);
    return finish();
}
