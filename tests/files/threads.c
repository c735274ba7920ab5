/* Threads that use one file at once (MPI-5.0 section 11.6): pieces of one are never mixed with those of another in atomic mode, and
 * what each writes, by its own offsets or by the shared pointer, is there. */
#include "files.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 40, PIECES = 256, RECORD = 64 };

static MPI_File file;
static int torn, lost;

static void *overlapping(void *number)
{
    unsigned char mine[16 * PIECES], back[16 * PIECES];
    for (int round = 0; round < ROUNDS; round++) {
        memset(mine, 1 + THREADS * rank + (int)(long)number, sizeof mine);
        MPI_File_write_at(file, 0, mine, sizeof mine, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, 0, back, sizeof back, MPI_BYTE, MPI_STATUS_IGNORE);
        for (unsigned i = 1; i < sizeof back; i++)
            if (back[i] != back[0])
                torn = 1;
    }
    return NULL;
}

static void *apart(void *number)
{
    int writer = THREADS * rank + (int)(long)number;
    unsigned char mine[RECORD], back[RECORD];
    MPI_Request request;
    MPI_Status status;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Offset at = (1 << 20) + (MPI_Offset)(writer * ROUNDS + round) * RECORD;
        memset(mine, 1 + writer, RECORD);
        MPI_File_write_shared(file, mine, RECORD, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_iwrite_at(file, at, mine, RECORD, MPI_BYTE, &request);
        MPI_Wait(&request, &status);
        MPI_File_read_at(file, at, back, RECORD, MPI_BYTE, &status);
        if (bytes_of(&status) != RECORD || memcmp(mine, back, RECORD))
            lost = 1;
    }
    return NULL;
}

static void by_all(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    named(argc, argv, "threads");
    MPI_Datatype pieces;
    file = opened(RW | MPI_MODE_DELETE_ON_CLOSE);
    by_all(apart);
    all_eq(lost, 0, "what threads write is there");
    long bytes = 0, records = (long)THREADS * size * ROUNDS;
    int seen[256] = { 0 };
    unsigned char *all = whole(path, &bytes);
    for (long i = 0; i < records; i++) {
        for (int k = 1; k < RECORD; k++)
            lost |= all[i * RECORD + k] != all[i * RECORD];
        seen[all[i * RECORD]]++;
    }
    for (int i = 1; i <= THREADS * size; i++)
        lost |= seen[i] != ROUNDS;
    free(all);
    all_eq(lost, 0, "by the shared pointer each of them, once");
    MPI_Type_vector(PIECES, 16, 40, MPI_BYTE, &pieces);
    MPI_Type_commit(&pieces);
    MPI_File_set_view(file, 0, MPI_BYTE, pieces, "native", MPI_INFO_NULL);
    MPI_File_set_atomicity(file, 1);
    by_all(overlapping);
    all_eq(torn, 0, "in atomic mode pieces of two threads are never mixed");
    MPI_Type_free(&pieces);
    MPI_File_close(&file);
    return finish();
}
