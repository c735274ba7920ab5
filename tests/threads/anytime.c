/* Functions that any thread may call at any time (MPI-5.0 section 11.4.1), while the one thread that communicates is inside
 * MPI at a level below MPI_THREAD_MULTIPLE.
 *
 * usage: anytime single|funneled|serialized ROUNDS
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int over;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *ask(void *unused)
{
    (void)unused;
    for (int round = 0; !atomic_load(&over); round++) {
        int flag, level, length, class, count;
        char text[MPI_MAX_ERROR_STRING], value[16];
        MPI_Info info;
        MPI_Session session;
        MPI_Errhandler handler = MPI_ERRORS_RETURN;
        if (MPI_Initialized(&flag) != MPI_SUCCESS || !flag)
            fail("MPI_Initialized");
        if (MPI_Finalized(&flag) != MPI_SUCCESS || flag)
            fail("MPI_Finalized");
        MPI_Query_thread(&level);
        MPI_Is_thread_main(&flag);
        if (flag)
            fail("MPI_Is_thread_main is true on another thread");
        MPI_Error_class(MPI_ERR_TRUNCATE, &class);
        MPI_Error_string(MPI_ERR_RANK, text, &length);
        MPI_Info_create(&info);
        MPI_Info_set(info, "key", "value");
        length = sizeof value;
        MPI_Info_get_string(info, "key", &length, value, &flag);
        if (!flag || strcmp(value, "value") != 0)
            fail("an info object lost its value");
        MPI_Info_free(&info);
        MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level);
        MPI_T_cvar_get_num(&count);
        MPI_T_pvar_get_num(&count);
        MPI_T_finalize();
        sched_yield();
        if (round % 64 == 0) {
            MPI_Info_create(&info);
            MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
            if (MPI_Session_init(info, handler, &session) != MPI_SUCCESS)
                fail("MPI_Session_init");
            MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
            MPI_Session_finalize(&session);
            MPI_Info_free(&info);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct { const char *name; int level; } levels[] = {
        {"single", MPI_THREAD_SINGLE}, {"funneled", MPI_THREAD_FUNNELED}, {"serialized", MPI_THREAD_SERIALIZED},
    };
    int rank, size, provided, level = MPI_THREAD_SINGLE;
    pthread_t other;
    for (size_t i = 0; argc > 1 && i < sizeof levels / sizeof *levels; i++)
        if (strcmp(argv[1], levels[i].name) == 0)
            level = levels[i].level;
    MPI_Init_thread(&argc, &argv, level, &provided);
    if (provided != level)
        fail("another level was provided");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pthread_create(&other, NULL, ask, NULL);
    for (int round = 0; round < atoi(argv[2]); round++) {
        int sum, value = round, next = (rank + 1) % size, before = (rank + size - 1) % size;
        char block[3000];
        MPI_Request request;
        memset(block, round, sizeof block);
        MPI_Irecv(&value, 1, MPI_INT, before, 1, MPI_COMM_WORLD, &request);
        MPI_Send(&round, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (value != round)
            fail("a message of another round");
        MPI_Sendrecv_replace(block, sizeof block, MPI_CHAR, next, 2, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (sum != round * size)
            fail("a sum is wrong");
    }
    atomic_store(&over, 1);
    pthread_join(other, NULL);
    MPI_Query_thread(&provided);
    if (provided != level)
        fail("the level has changed");
    MPI_Finalize();
    if (rank == 0)
        puts("ok");
    return 0;
}
