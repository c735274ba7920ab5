/* Data representations (MPI-5.0 section 14.5): external32, and one of the program, whose integers are twice as long. */
#include "files.h"
#include <stdint.h>

static int converted, read_calls;

/* In the file an int takes 8 bytes: itself, then its complement. */
static int write_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    (void)position;
    MPI_Aint lb, extent;
    int n;
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &n);
    n /= 4;
    /* The items' ints, by packing: whatever the type is. */
    int *ints = malloc(4l * n * count + 1), at = 0, i, bytes = 4 * n * count;
    MPI_Pack(user, count, type, ints, bytes, &at, MPI_COMM_SELF);
    for (i = 0; i < n * count; i++) {
        int both[2] = { ints[i], ~ints[i] };
        memcpy((char *)file + 8l * i, both, 8);
    }
    free(ints);
    converted += *(int *)extra;
    return MPI_SUCCESS;
}

static int read_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra)
{
    (void)position;
    int n, i, at = 0;
    MPI_Type_size(type, &n);
    n /= 4;
    int *ints = malloc(4l * n * count + 1), bad = 0;
    for (i = 0; i < n * count; i++) {
        int both[2];
        memcpy(both, (char *)file + 8l * i, 8);
        bad |= both[0] != ~both[1];
        ints[i] = both[0];
    }
    MPI_Unpack(ints, 4 * n * count, &at, user, count, type, MPI_COMM_SELF);
    free(ints);
    converted += *(int *)extra;
    read_calls++;
    return bad ? MPI_ERR_CONVERSION : MPI_SUCCESS;
}

static int extent_fn(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    int size;
    (void)extra;
    MPI_Type_size(type, &size);
    *extent = 2 * size;
    return MPI_SUCCESS;
}

static int bad_extent_fn(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    (void)type, (void)extent, (void)extra;
    return MPI_ERR_OTHER;
}

static void external(void)
{
    MPI_Status status;
    MPI_Aint extent;
    MPI_Datatype view, pair;
    struct { double d; int i; } mine[4], back[4];
    MPI_File f = opened(RW);
    MPI_File_set_size(f, 0);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
    MPI_File_get_type_extent(f, MPI_LONG, &extent);
    all_eq(extent, 4, "a long has four bytes in external32");
    MPI_File_get_type_extent(f, MPI_DOUBLE_INT, &extent);
    all_eq(extent, 12, "a pair has no hole in external32");
    /* Every size'th int is a rank's own. */
    MPI_Type_vector(100, 1, size, MPI_INT, &view);
    MPI_Type_commit(&view);
    all_eq(MPI_File_set_view(f, 4 * rank, MPI_INT, view, "external32", MPI_INFO_NULL), MPI_SUCCESS, "a view in external32");
    int ints[20], got[30];
    for (int i = 0; i < 20; i++)
        ints[i] = 0x01020304 * (rank + 1) + i;
    MPI_File_write_at_all(f, 0, ints, 20, MPI_INT, &status);
    all_eq(bytes_of(&status), 80, "the status counts bytes of memory");
    MPI_Barrier(MPI_COMM_WORLD);
    long bytes = 0;
    unsigned char *all = whole(path, &bytes);
    int good = bytes == 80 * size;
    for (int i = 0; good && i < 20; i++) {
        unsigned char *at = all + 4 * (i * size + rank);
        good = (uint32_t)ints[i] == ((uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]);
    }
    free(all);
    all_eq(good, 1, "the file is big-endian");
    memset(got, 0, sizeof got);
    MPI_File_read_at_all(f, 5, got, 30, MPI_INT, &status);
    all_eq(bytes_of(&status), 60, "a read across the end counts");
    all_eq(memcmp(got, ints + 5, 60) == 0 && got[15] == 0, 1, "and converts what there is");
    MPI_Type_contiguous(7, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    memset(got, 0, sizeof got);
    MPI_Request request;
    MPI_File_iread_at(f, 10, got, 2, pair, &request);
    MPI_Wait(&request, &status);
    all_eq(bytes_of(&status), 40, "an item that the end cuts in two counts by its elements");
    all_eq(memcmp(got, ints + 10, 40) == 0 && got[10] == 0, 1, "which are converted");
    MPI_Type_free(&pair);
    MPI_Type_free(&view);
    /* Items whose memory has holes. */
    MPI_File_set_view(f, 48 * rank, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL);
    for (int i = 0; i < 4; i++)
        mine[i].d = rank + i / 8.0, mine[i].i = i;
    memset(back, 0, sizeof back);
    MPI_File_write_at(f, 0, mine, 4, MPI_DOUBLE_INT, &status);
    all_eq(bytes_of(&status), 48, "pairs are written");
    MPI_File_iread_at_all(f, 0, back, 4, MPI_DOUBLE_INT, &request);
    MPI_Wait(&request, &status);
    for (int i = 0; i < 4; i++)
        good &= mine[i].d == back[i].d && mine[i].i == back[i].i;
    all_eq(good, 1, "and read");
    MPI_File_close(&f);
}

static void of_the_program(void)
{
    int extra = 1, good = 1;
    MPI_Status status;
    MPI_Request request;
    MPI_Aint extent;
    MPI_Datatype view, holes;
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    all_eq(MPI_Register_datarep("doubled", read_fn, write_fn, extent_fn, &extra), MPI_SUCCESS, "a representation is registered");
    all_eq(class_of(MPI_Register_datarep("doubled", read_fn, write_fn, extent_fn, &extra)), MPI_ERR_DUP_DATAREP, "once");
    all_eq(class_of(MPI_Register_datarep("native", read_fn, write_fn, extent_fn, &extra)), MPI_ERR_DUP_DATAREP, "under a name of its own");
    char longer[200];
    memset(longer, 'n', 199), longer[199] = 0;
    all_eq(class_of(MPI_Register_datarep(longer, read_fn, write_fn, extent_fn, &extra)), MPI_ERR_ARG, "that is not too long");
    MPI_Register_datarep("bad", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, bad_extent_fn, &extra);
    MPI_File f = opened(RW);
    MPI_File_set_size(f, 0);
    all_eq(class_of(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "bad", MPI_INFO_NULL)), MPI_ERR_CONVERSION, "one that fails");
    MPI_Type_vector(64, 1, size, MPI_INT, &view);
    MPI_Type_commit(&view);
    all_eq(MPI_File_set_view(f, 8 * rank, MPI_INT, view, "doubled", MPI_INFO_NULL), MPI_SUCCESS, "a view in it");
    MPI_File_get_view(f, &disp, &etype, &filetype, name);
    all_eq(strcmp(name, "doubled") == 0 && disp == 8 * rank, 1, "tells its name");
    MPI_Type_free(&filetype);
    MPI_File_get_type_extent(f, view, &extent);
    all_eq(extent, 8 * (63 * size + 1), "extents scale");
    int ints[10], got[20];
    for (int i = 0; i < 10; i++)
        ints[i] = 100 * rank + i;
    MPI_File_write_at_all(f, 3, ints, 10, MPI_INT, &status);
    all_eq(bytes_of(&status) == 40 && converted > 0, 1, "a collective write converts");
    MPI_Barrier(MPI_COMM_WORLD);
    memset(got, 0, sizeof got);
    MPI_Type_vector(10, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    MPI_File_read_at(f, 3, got, 1, holes, &status);
    for (int i = 0; i < 10; i++)
        good &= got[2 * i] == ints[i] && got[2 * i + 1] == 0;
    all_eq(good && bytes_of(&status) == 40, 1, "a read converts into memory with holes");
    for (int kind = 0; kind < 3; kind++) {
        memset(got, 0, sizeof got);
        int before = read_calls;
        if (kind == 0)
            MPI_File_iread_at(f, 3, got, 10, MPI_INT, &request);
        else if (kind == 1)
            MPI_File_iread_at_all(f, 3, got, 10, MPI_INT, &request);
        else
            MPI_File_read_at_all_begin(f, 3, got, 10, MPI_INT);
        if (kind < 2)
            MPI_Wait(&request, &status);
        else
            MPI_File_read_at_all_end(f, got, &status);
        all_eq(memcmp(got, ints, 40) == 0 && bytes_of(&status) == 40 && read_calls > before, 1, "so does one that does not block");
    }
    /* The program's function is given a type that it can use, even if the program has freed its own. */
    for (int collective = 0; collective < 2; collective++) {
        MPI_Datatype freed;
        MPI_Type_dup(holes, &freed);
        memset(got, 0, sizeof got);
        if (collective)
            MPI_File_iread_at_all(f, 3, got, 1, freed, &request);
        else
            MPI_File_iread_at(f, 3, got, 1, freed, &request);
        MPI_Type_free(&freed);
        int code = MPI_Wait(&request, &status);
        for (int i = 0; i < 10; i++)
            good &= got[2 * i] == ints[i] && got[2 * i + 1] == 0;
        all_eq(code == MPI_SUCCESS && good && bytes_of(&status) == 40, 1, "a type may be freed before its access is over");
    }
    char *wrong = "0123456789abcdef0123456789abcdef";
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        FILE *other = fopen(path, "r+b");
        fseek(other, 24 * size, SEEK_SET);
        fwrite(wrong, 1, 8, other);
        fclose(other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int class = class_of(MPI_File_read_at_all(f, 3, got, 10, MPI_INT, &status));
    all_eq(class, MPI_ERR_CONVERSION, "an error of the program's function is one everywhere");
    MPI_Type_free(&view);
    MPI_Type_free(&holes);
    MPI_File_close(&f);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "datareps");
    external();
    of_the_program();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    return finish();
}
