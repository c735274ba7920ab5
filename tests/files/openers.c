/* Several openings of one file that share no byte do not conflict (MPI-5.0 section 14.6.1): what one writes between the pieces of
 * the others stays, whatever ways they write.
 *
 *   ranks 0 … p - 2, together   |aaaa|bbbb|    |    |aaaa|bbbb|    |    |
 *   rank p - 1, its own opening |    |    |  w |    |    |    |  w |    |      writes a number, reads it back, the next time again
 *
 * usage: openers DIR [ROUNDS] */
#include "files.h"

enum { PIECES = 60, PIECE = 1000 };

static char data[2 * PIECES * PIECE];

/* How the ranks write together. */
struct way {
    const char *name, *hint, *value;
    int atomic, nonblocking, independent, strided;
};

/* What the last rank writes is there when it looks again, as long as the others are at it. */
static long lost_words(MPI_File f, int stride)
{
    long lost = 0, wrote[PIECES] = { 0 };
    int over = 0;
    MPI_Request end;
    MPI_Irecv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, &end);
    for (long v = 1; !over || v < PIECES; v++) {
        int place = v % PIECES;
        long seen = 0;
        MPI_Offset at = (MPI_Offset)place * stride + (stride - PIECE / 2);
        if (wrote[place]) {
            MPI_File_read_at(f, at, &seen, 1, MPI_LONG, MPI_STATUS_IGNORE);
            lost += seen != wrote[place];
        }
        wrote[place] = v;
        MPI_File_write_at(f, at, &v, 1, MPI_LONG, MPI_STATUS_IGNORE);
        MPI_Test(&end, &over, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&end, MPI_STATUS_IGNORE);
    return lost;
}

/* So many rounds, or fewer where the ranks have little of a processor. */
static void write_together(MPI_File f, MPI_Comm together, const struct way *way, int rounds)
{
    double end = MPI_Wtime() + 1.5;
    int go = 1;
    MPI_Datatype wide;
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &wide);
    MPI_Type_commit(&wide);
    for (int i = 0; i < rounds && go; i++) {
        MPI_Request r;
        MPI_Datatype t = way->strided ? wide : MPI_BYTE;
        if (way->independent)
            MPI_File_write_at(f, 0, data, PIECES * PIECE, t, MPI_STATUS_IGNORE);
        else if (way->nonblocking) {
            MPI_File_iwrite_at_all(f, 0, data, PIECES * PIECE, t, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        } else
            MPI_File_write_at_all(f, 0, data, PIECES * PIECE, t, MPI_STATUS_IGNORE);
        go = MPI_Wtime() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, together);
    }
    MPI_Type_free(&wide);
}

static void one(const struct way *way, int rounds)
{
    int writers = size - 1, stride = (writers + 1) * PIECE;
    char name[200];
    MPI_Comm together;
    MPI_File f;
    MPI_Info info;
    long lost = 0;
    if (rank == 0)
        unlink(path);
    MPI_Comm_split(MPI_COMM_WORLD, rank == writers, rank, &together);
    MPI_Info_create(&info);
    if (way->hint && rank < writers)
        MPI_Info_set(info, way->hint, way->value);
    MPI_File_open(together, path, RW, info, &f);
    MPI_Info_free(&info);
    if (rank < writers) {
        MPI_Datatype piece, item;
        MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
        MPI_Type_create_resized(piece, 0, stride, &item);
        MPI_Type_commit(&item);
        MPI_File_set_view(f, (MPI_Offset)rank * PIECE, MPI_BYTE, item, "native", MPI_INFO_NULL);
        MPI_File_set_atomicity(f, way->atomic);
        MPI_Type_free(&piece);
        MPI_Type_free(&item);
    } else
        MPI_File_set_size(f, (MPI_Offset)PIECES * stride);
    memset(data, 'a' + rank, sizeof data);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < writers) {
        write_together(f, together, way, rounds);
        MPI_Barrier(together);
        if (rank == 0)
            MPI_Send(NULL, 0, MPI_INT, writers, 1, MPI_COMM_WORLD);
    } else
        lost = lost_words(f, stride);
    MPI_File_close(&f);
    MPI_Comm_free(&together);
    snprintf(name, sizeof name, "words of another opening between the pieces stay: %s", way->name);
    all_eq(lost, 0, name);
    /* And the pieces are there. */
    long wrong = 0;
    if (rank == 0) {
        long bytes;
        unsigned char *all = whole(path, &bytes);
        for (int i = 0; i < PIECES; i++)
            for (int r = 0; r < writers; r++)
                for (int k = 0; k < PIECE; k++)
                    wrong += all[(long)i * stride + r * PIECE + k] != 'a' + r;
        free(all);
        unlink(path);
    }
    all_eq(wrong, 0, "and so do the pieces");
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        { "a collective write", NULL, NULL, 0, 0, 0, 0 },
        { "a collective write from memory with holes", NULL, NULL, 0, 0, 0, 1 },
        { "with aggregators, in small windows", "cb_buffer_size", "5000", 0, 0, 0, 0 },
        { "by aggregators, from memory with holes", "romio_cb_write", "enable", 0, 0, 0, 1 },
        { "a nonblocking collective write", NULL, NULL, 0, 1, 0, 0 },
        { "a nonblocking one in atomic mode", NULL, NULL, 1, 1, 0, 0 },
        { "a collective write in atomic mode", NULL, NULL, 1, 0, 0, 0 },
        { "a staged one", "io_staging", "memory", 0, 0, 0, 0 },
        { "an independent write for which sieving was asked for", "romio_ds_write", "enable", 0, 0, 1, 0 },
    };
    start(&argc, &argv, "openers");
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        one(&ways[i], argc > 2 ? atoi(argv[2]) : 1000);
    return finish();
}
