/* Algorithms that parameters force. Environment variables say what to expect:
 *
 *   FORCED    "COLLECTIVE=ALGORITHM …": one call of each runs that, as the performance variables coll_*_algorithm show
 *   CHOSEN    the same for what the table chooses for long reductions, where nothing is forced
 *   FALLBACK  a call that cannot use what is forced goes by the table
 *   REFUSED   the call of that name cannot use what is forced: an error on every rank, while others, the library's own among
 *             them, work all the same
 *   FATAL     that error ends the job */
#include "collectives.h"

enum { LONG = 1 << 16 };

static MPI_T_pvar_session session;

/* The name of the algorithm that the latest call of a collective ran. */
static const char *ran(const char *collective)
{
    static char word[64];
    char name[64], own[64], text[256];
    int index, count, value = -1, own_length = sizeof own, length = sizeof text, word_length = sizeof word;
    int verbosity, class, bind, readonly, continuous, atomic, item;
    MPI_Datatype type;
    MPI_T_enum words;
    MPI_T_pvar_handle handle;

    snprintf(name, sizeof name, "coll_%s_algorithm", collective);
    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_STATE, &index) != MPI_SUCCESS)
        return "no variable";
    MPI_T_pvar_get_info(index, own, &own_length, &verbosity, &class, &type, &words, text, &length, &bind, &readonly,
                        &continuous, &atomic);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_handle_free(session, &handle);
    if (MPI_T_enum_get_item(words, value, &item, word, &word_length) != MPI_SUCCESS || item != value)
        return "no item";
    return word;
}

static void call_all(void)
{
    double in[64] = {1}, out[64];
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(in, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Scatter(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allgather(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoall(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Reduce(in, out, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_long(void)
{
    static double in[LONG], out[LONG];
    MPI_Reduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(in, out, LONG, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void last(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

/* The call that cannot use what is forced. */
static int call(const char *what)
{
    static double in[LONG], out[LONG];
    int code;
    if (!strcmp(what, "barrier"))
        return MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(what, "long"))
        return MPI_Bcast(in, LONG, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "sum"))
        return MPI_Allreduce(in, out, 8, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!strcmp(what, "persistent")) {
        MPI_Request request;
        return MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    }
    MPI_Op op;
    MPI_Datatype type;
    MPI_Op_create(last, strcmp(what, "order") != 0, &op);
    MPI_Type_create_resized(MPI_INT, 0, 12, &type);
    MPI_Type_commit(&type);
    code = MPI_Allreduce(in, out, 8, strcmp(what, "holes") ? MPI_INT : type, op, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
    return code;
}

static void refused(const char *what)
{
    char text[64];
    int code, class = MPI_SUCCESS, sum = 0;
    MPI_Comm copy, half, between;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = call(what);
    MPI_Error_class(code, &class);
    verdict(class == MPI_ERR_UNSUPPORTED_OPERATION, "every rank gets the error");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);

    /* The library's own calls go by the table, as do those between groups and of one rank. */
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(copy, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, copy, rank > 0 ? 0 : 1, 5, &between);
    MPI_Barrier(between);
    MPI_Bcast(text, sizeof text, MPI_CHAR, rank ? 0 : MPI_ROOT, between);
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    verdict(sum == rank, "calls that nothing is forced for work");
    if (getenv("FATAL"))
        call(what);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    char *forced = getenv("FORCED"), *chosen = getenv("CHOSEN"), *what = getenv("REFUSED"), *pair;
    int provided;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    if (what) {
        refused(what);
    } else {
        /* The first call asks who reads whose memory. */
        for (int round = 0; round < 3; round++)
            chosen ? reduce_long() : call_all();
        for (pair = strtok(chosen ? chosen : forced, " "); pair; pair = strtok(NULL, " ")) {
            char name[128], *algorithm = strchr(pair, '=');
            *algorithm++ = 0;
            snprintf(name, sizeof name, "%s runs %s", pair, algorithm);
            verdict(!strcmp(ran(pair), algorithm), name);
        }
        if (getenv("FALLBACK")) {
            static double data[LONG];
            MPI_Bcast(data, LONG, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            verdict(strcmp(ran("bcast"), "slots_flat") != 0, "a long one falls back if that is allowed");
        }
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return failed;
}
