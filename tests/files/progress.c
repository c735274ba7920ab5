/* Nonblocking accesses go on while the program computes and calls nothing: it reads the file by the system's own calls. */
#include "files.h"
#include <time.h>

enum { MUCH = 24 << 20, PIECE = 1000 };

static char *mine;

/* Whether the end of what all ranks have written is in the file; waits for it outside MPI, up to a minute. */
static int arrives(long bytes)
{
    time_t limit = time(NULL) + 60;
    char last[PIECE];
    while (time(NULL) < limit) {
        FILE *f = fopen(path, "rb");
        if (f != NULL) {
            int there = fseek(f, bytes - PIECE, SEEK_SET) == 0 && fread(last, 1, PIECE, f) == PIECE;
            for (int i = 0; i < PIECE; i++)
                there &= last[i] > 0 && last[i] <= size;
            fclose(f);
            if (there)
                return 1;
        }
        for (volatile int work = 0; work < 1000000; work++)
            ;
    }
    return 0;
}

static MPI_File fresh(void)
{
    MPI_File f;
    if (rank == 0)
        unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, path, RW, MPI_INFO_NULL, &f);
    return f;
}

static void by_itself(int typed)
{
    MPI_File f = fresh();
    MPI_Request request;
    MPI_Status status;
    MPI_Datatype halves;
    MPI_Type_vector(MUCH / 2 / PIECE, PIECE, 2 * PIECE, MPI_BYTE, &halves);
    MPI_Type_commit(&halves);
    long bytes = typed ? MUCH / 2 / PIECE * PIECE : MUCH;
    MPI_File_iwrite_at(f, rank * bytes, mine, typed ? 1 : MUCH, typed ? halves : MPI_BYTE, &request);
    int seen = arrives(size * bytes);
    MPI_Wait(&request, &status);
    all_eq(seen, 1, typed ? "data with holes arrive while the program computes" : "data arrive while the program computes");
    all_eq(bytes_of(&status), bytes, "the status counts them");
    MPI_Barrier(MPI_COMM_WORLD);
    /* Freed requests are carried out, too. */
    char *back = malloc(bytes);
    MPI_File_iread_at(f, (rank + 1) % size * bytes, back, bytes, MPI_BYTE, &request);
    MPI_Wait(&request, &status);
    long wrong = 0;
    for (long i = 0; i < bytes; i++)
        wrong += back[i] != (rank + 1) % size + 1;
    all_eq(wrong, 0, "and are read back");
    MPI_File_iwrite_at(f, (size + rank) * bytes, mine, typed ? 1 : MUCH, typed ? halves : MPI_BYTE, &request);
    MPI_Request_free(&request);
    all_eq(arrives(2 * size * bytes), 1, "those of a freed request arrive");
    MPI_File_close(&f);
    MPI_Type_free(&halves);
    free(back);
}

static void together(int split)
{
    MPI_File f = fresh();
    MPI_Request request;
    MPI_Status status;
    MPI_Datatype piece, view;
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, size * PIECE, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(f, rank * PIECE, MPI_BYTE, view, "native", MPI_INFO_NULL);
    long bytes = MUCH / 4 / PIECE * PIECE;
    if (split)
        MPI_File_write_all_begin(f, mine, bytes, MPI_BYTE);
    else
        MPI_File_iwrite_all(f, mine, bytes, MPI_BYTE, &request);
    int seen = arrives(size * bytes);
    if (split)
        MPI_File_write_all_end(f, mine, &status);
    else
        MPI_Wait(&request, &status);
    all_eq(seen, 1, split ? "a split access goes on while the program computes" : "a collective access goes on while the program computes");
    all_eq(bytes_of(&status), bytes, "its status counts its bytes");
    MPI_File_close(&f);
    MPI_Type_free(&piece);
    MPI_Type_free(&view);
}

/* The view is set anew while an access by the one before is under way. */
static void other_view(void)
{
    enum { EACH = 7, ITEMS = 50 };
    MPI_File f = fresh();
    MPI_Request requests[2];
    MPI_Datatype piece, view;
    MPI_Type_contiguous(EACH, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, size * EACH, &view);
    MPI_Type_commit(&view);
    long half = (long)size * EACH * ITEMS, bytes = 0, wrong = 0;
    for (int i = 0; i < 2; i++) {
        MPI_File_set_view(f, i * half + rank * EACH, MPI_BYTE, view, "native", MPI_INFO_NULL);
        MPI_File_iwrite_all(f, mine, EACH * ITEMS, MPI_BYTE, &requests[i]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_File_close(&f);
    unsigned char *all = whole(path, &bytes);
    for (long i = 0; i < bytes; i++)
        wrong += all[i] != i / EACH % size + 1;
    all_eq(wrong + (bytes != 2 * half), 0, "each access goes by the view that it was started with");
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&piece);
    MPI_Type_free(&view);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "progress");
    mine = malloc(MUCH);
    memset(mine, rank + 1, MUCH);
    by_itself(0);
    by_itself(1);
    together(0);
    together(1);
    other_view();
    free(mine);
    if (rank == 0)
        unlink(path);
    return finish();
}
