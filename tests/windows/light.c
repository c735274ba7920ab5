/* The light interface (alhena.h): puts, gets, notices, atomic operations, active messages, and what goes wrong. */
#include <alhena.h>
#include <stdlib.h>
#include <string.h>
#include "windows.h"

enum { BYTES = 1 << 16 };

static int rank, size, next, before;

static void moves(MPI_Win win, unsigned char *mine)
{
    static unsigned char out[BYTES], in[BYTES];
    size_t lengths[] = {0, 1, 7, 8, 9, 4096, BYTES - 3}, i, j;
    int wrong = 0;

    for (i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t bytes = lengths[i];

        for (j = 0; j < bytes; j++)
            out[j] = (unsigned char)(j * 7 + (size_t)rank + i);
        MPI_Barrier(MPI_COMM_WORLD);
        wrong += alhena_put(out, bytes, next, 3, win) != MPI_SUCCESS;
        wrong += alhena_flush(next, win) != MPI_SUCCESS;
        MPI_Barrier(MPI_COMM_WORLD);
        for (j = 0; j < bytes; j++)
            wrong += mine[j + 3] != (unsigned char)(j * 7 + (size_t)before + i);
        memset(in, 0, sizeof in);
        wrong += alhena_get(in, bytes, next, 3, win) != MPI_SUCCESS;
        wrong += alhena_flush(ALHENA_ALL, win) != MPI_SUCCESS;
        wrong += memcmp(in, out, bytes) != 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(wrong == 0, "puts and gets: %d wrong", wrong);
}

/* Data is there when its notice is, and once the reader's notice is there it may be written again. */
static void notices(MPI_Win win, unsigned char *mine, int rounds)
{
    int i, wrong = 0;
    uint64_t value, seen, count;

    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 1; i <= rounds; i++) {
        value = (uint64_t)i * 1000 + (uint64_t)rank;
        wrong += alhena_rput(&value, sizeof value, next, 64, 5, win) != MPI_SUCCESS;
        wrong += alhena_notices(5, (uint64_t)i, &count, win) != MPI_SUCCESS || count != (uint64_t)i;
        memcpy(&seen, mine + 64, sizeof seen);
        wrong += seen != (uint64_t)i * 1000 + (uint64_t)before;
        wrong += alhena_rget(&seen, sizeof seen, before, 128, 6, win) != MPI_SUCCESS;
        wrong += alhena_notices(6, (uint64_t)i, NULL, win) != MPI_SUCCESS;
    }
    alhena_flush(ALHENA_ALL, win);
    wrong += alhena_notices(15, 0, &count, win) != MPI_SUCCESS || count != 0;
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(wrong == 0, "notices: %d wrong", wrong);
}

static void atomics(MPI_Win win, unsigned char *mine, int rounds)
{
    uint64_t sum, old, one = 1, all = 0;
    int i, wrong = 0;

    memset(mine, 0, 64);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (i = 0; i < rounds; i++) {
        wrong += alhena_add(1, 0, 8, win) != MPI_SUCCESS;
        wrong += alhena_fetch_add(1, &old, 0, 8, win) != MPI_SUCCESS;
        wrong += MPI_Accumulate(&one, 1, MPI_UINT64_T, 0, 8, 1, MPI_UINT64_T, MPI_SUM, win) != MPI_SUCCESS;
        do {
            alhena_get(&old, sizeof old, 0, 8, win);
            alhena_flush(0, win);
            sum = old;
            wrong += alhena_compare_swap(sum + 1, sum, &old, 0, 8, win) != MPI_SUCCESS;
            alhena_flush(0, win);
        } while (old != sum);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    alhena_swap(7, &all, rank, 24, win);
    alhena_flush(rank, win);
    wrong += all != 0;
    alhena_get(&all, sizeof all, 0, 8, win);
    alhena_flush(0, win);
    wrong += all != (uint64_t)rounds * 4 * (uint64_t)size;
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(wrong == 0, "atomic operations, beside those of MPI: %d wrong", wrong);
}

static struct {
    uint64_t words, bytes, errors, last[64];
    MPI_Win win;
} got;

static void on_words(MPI_Win win, int source, const void *payload, size_t bytes, void *context)
{
    uint64_t words[2];

    memcpy(words, payload, sizeof words);
    got.errors += win != got.win || bytes != ALHENA_WORDS_BYTES || context != &got || words[1] != (uint64_t)source;
    /* In the order in which they were sent. */
    got.errors += words[0] != got.last[source] + 1;
    got.last[source] = words[0];
    got.words++;
}

static void on_bytes(MPI_Win win, int source, const void *payload, size_t bytes, void *context)
{
    const unsigned char *all = payload;
    size_t i;

    for (i = 0; i < bytes; i++)
        got.errors += all[i] != (unsigned char)((int)i + source);
    got.bytes += bytes;
    /* A handler may send. */
    got.errors += alhena_send_words(9, bytes, (uint64_t)source, source, win) != MPI_SUCCESS;
    (void)context;
}

static uint64_t answered;

static void on_answer(MPI_Win win, int source, const void *payload, size_t bytes, void *context)
{
    uint64_t words[2];

    memcpy(words, payload, sizeof words);
    answered += words[0];
    (void)win, (void)source, (void)bytes, (void)context;
}

static void messages(MPI_Win win, int rounds)
{
    size_t limit, bytes;
    unsigned char *out;
    uint64_t sent = 0;
    int i, to, wrong = 0;

    got.win = win;
    wrong += alhena_set_handler(3, on_words, &got) != MPI_SUCCESS || alhena_set_handler(255, on_bytes, NULL) != MPI_SUCCESS;
    wrong += alhena_set_handler(9, on_answer, NULL) != MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = 1; i <= rounds; i++)
        for (to = 0; to < size; to++)
            wrong += alhena_send_words(3, (uint64_t)i, (uint64_t)rank, to, win) != MPI_SUCCESS;
    wrong += alhena_message_limit(next, &limit, win) != MPI_SUCCESS || limit < 256;
    out = malloc(limit + 1);
    for (bytes = 0; bytes <= limit; bytes++)
        out[bytes] = (unsigned char)((int)bytes + rank);
    for (i = 0; i < rounds; i++) {
        bytes = (size_t)i * 37 % (limit + 1);
        wrong += alhena_send(255, out, bytes, next, win) != MPI_SUCCESS;
        sent += bytes;
    }
    wrong += alhena_send(255, out, limit + 1, next, win) != MPI_ERR_COUNT;
    wrong += alhena_flush(ALHENA_ALL, win) != MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    /* All handlers of others have returned; what they have sent may be under way. */
    wrong += got.words != (uint64_t)rounds * (uint64_t)size || got.errors != 0;
    while (answered != sent)
        alhena_progress();
    MPI_Barrier(MPI_COMM_WORLD);
    wrong += alhena_send_words(77, 0, 0, next, win) != MPI_SUCCESS;
    wrong += alhena_flush(next, win) != MPI_ERR_ARG;
    wrong += alhena_flush(next, win) != MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    free(out);
    check_all(wrong == 0, "active messages: %d wrong", wrong);
}

static void errors(MPI_Win win)
{
    char byte = 0;
    uint64_t word;
    int wrong = 0;

    wrong += alhena_put(&byte, 1, size, 0, win) != MPI_ERR_RANK;
    wrong += alhena_put(&byte, 1, next, -1, win) != MPI_ERR_DISP;
    wrong += alhena_put(&byte, 1, next, BYTES, win) != MPI_ERR_RMA_RANGE;
    wrong += alhena_get(&byte, 2, next, BYTES - 1, win) != MPI_ERR_RMA_RANGE;
    wrong += alhena_rput(&byte, 1, next, 0, ALHENA_NOTICES, win) != MPI_ERR_ARG;
    wrong += alhena_notices(-1, 0, &word, win) != MPI_ERR_ARG;
    wrong += alhena_fetch_add(1, &word, next, BYTES, win) != MPI_ERR_RMA_RANGE;
    wrong += alhena_send_words(ALHENA_HANDLERS, 0, 0, next, win) != MPI_ERR_ARG;
    wrong += alhena_set_handler(-1, on_words, NULL) != MPI_ERR_ARG;
    wrong += alhena_put(&byte, 1, next, 0, MPI_WIN_NULL) != MPI_ERR_WIN;
    wrong += alhena_flush(size, win) != MPI_ERR_RANK;
    check_all(wrong == 0, "errors: %d wrong", wrong);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200, made;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    for (made = 0; made < 2; made++) {
        unsigned char *mine, *own = NULL;
        MPI_Win win;

        if (made == 0)
            MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
        else
            MPI_Win_create(own = mine = aligned_alloc(64, BYTES), BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        memset(mine, 0, BYTES);
        memset(&got, 0, sizeof got);
        answered = 0;
        moves(win, mine);
        notices(win, mine, rounds);
        atomics(win, mine, rounds);
        messages(win, rounds);
        errors(win);
        MPI_Win_free(&win);
        free(own);
    }
    return finish();
}
