/* Performance variables of the tool interface: they exist before MPI_Init, count what happens, and every handle starts,
 * stops and resets for itself. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef unsigned long long number;

static int index_of(const char *name, int class)
{
    int index = -1;
    if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS)
        return -1;
    return index;
}

static MPI_T_pvar_handle watch(MPI_T_pvar_session session, const char *name, int class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = 0;
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, index_of(name, class), NULL, &handle, &count), MPI_SUCCESS, name);
    CHECK_EQ(count, 1, "a variable has one element");
    return handle;
}

static number value(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    number seen = 12345678;
    MPI_T_pvar_read(session, handle, &seen);
    return seen;
}

static void describe_all(void)
{
    int num = 0, complete = 1;
    MPI_T_pvar_get_num(&num);
    check(num > 10, "there are performance variables before MPI_Init", num);
    for (int i = 0; i < num; i++) {
        char name[64], description[512];
        int name_length = sizeof name, length = sizeof description, verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype datatype = MPI_DATATYPE_NULL;
        MPI_T_enum enumtype;
        int code = MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &datatype, &enumtype, description,
                                       &length, &bind, &readonly, &continuous, &atomic);
        complete &= code == MPI_SUCCESS && length > 10 && bind == MPI_T_BIND_NO_OBJECT;
        complete &= datatype == (class == MPI_T_PVAR_CLASS_TIMER   ? MPI_DOUBLE
                                 : class == MPI_T_PVAR_CLASS_STATE ? MPI_INT
                                                                   : MPI_UNSIGNED_LONG_LONG);
        complete &= (enumtype != MPI_T_ENUM_NULL) == (class == MPI_T_PVAR_CLASS_STATE);
        complete &= index_of(name, class) == i;
    }
    CHECK_EQ(complete, 1, "every variable is described and found by its name");
    CHECK_EQ(index_of("pml_ob1_gets", MPI_T_PVAR_CLASS_LEVEL), -1, "a name with another class is not found");
}

/* A message to ourselves that waits for its receive. */
static void leave_message(int bytes, char *buffer, MPI_Request *request)
{
    int flag = 0;
    MPI_Isend(buffer, bytes, MPI_CHAR, 0, 7, MPI_COMM_SELF, request);
    while (!flag)
        MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void take_message(int bytes, char *buffer, MPI_Request *request)
{
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void queues(MPI_T_pvar_session session)
{
    static char out[2000], in[2000];
    MPI_T_pvar_handle length = watch(session, "pml_ob1_unexpected_length", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle bytes = watch(session, "pml_ob1_unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle peak = watch(session, "pml_ob1_unexpected_bytes_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    MPI_T_pvar_handle arrivals = watch(session, "pml_ob1_unexpected_arrivals", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle posted = watch(session, "pml_ob1_posted_length", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle moved = watch(session, "btl_self_bytes", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_Request request;

    CHECK_EQ(value(session, length), 0, "no message waits at first");
    leave_message(sizeof out, out, &request);
    CHECK_EQ(value(session, length), 1, "a message that waits for its receive is counted");
    check(value(session, bytes) >= sizeof out, "with its memory", (long)value(session, bytes));
    CHECK_EQ(value(session, arrivals), 1, "and as an arrival");
    take_message(sizeof in, in, &request);
    CHECK_EQ(value(session, length), 0, "a received message waits no more");
    CHECK_EQ(value(session, bytes), 0, "and takes no memory");
    check(value(session, peak) >= sizeof out, "the peak remembers it", (long)value(session, peak));
    CHECK_EQ(value(session, moved), sizeof out, "the loopback moved it");

    MPI_T_pvar_handle late = watch(session, "pml_ob1_unexpected_bytes_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    CHECK_EQ(value(session, late), 0, "a peak begins with its handle");
    check(value(session, peak) >= sizeof out, "which changes no other handle's", (long)value(session, peak));
    CHECK_EQ(MPI_T_pvar_reset(session, peak), MPI_SUCCESS, "a peak can be reset");
    CHECK_EQ(value(session, peak), 0, "to what is kept now");

    MPI_Irecv(in, 1, MPI_CHAR, 0, 8, MPI_COMM_SELF, &request);
    CHECK_EQ(value(session, posted), 1, "a receive that waits for its message is counted");
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(value(session, posted), 0, "a cancelled one is not");
}

static void handles(MPI_T_pvar_session session)
{
    MPI_T_pvar_handle counter = watch(session, "pml_ob1_unexpected_arrivals", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle level = watch(session, "mpi_communicators", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle time = watch(session, "mpi_progress_time", MPI_T_PVAR_CLASS_TIMER);
    MPI_T_pvar_session other;
    MPI_Request request;
    number written = 40, seen = 0;
    double seconds = -1;
    char byte = 0;

    CHECK_EQ(MPI_T_pvar_start(session, counter), MPI_T_ERR_PVAR_NO_STARTSTOP, "a counter runs all the time");
    CHECK_EQ(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE, "a level cannot be reset");
    CHECK_EQ(MPI_T_pvar_write(session, level, &written), MPI_T_ERR_PVAR_NO_WRITE, "nor written");
    CHECK_EQ(MPI_T_pvar_readreset(session, level, &seen), MPI_T_ERR_PVAR_NO_WRITE, "nor read and reset");
    CHECK_EQ(value(session, level), 2, "two communicators exist");
    CHECK_EQ(MPI_T_pvar_write(session, counter, &written), MPI_SUCCESS, "a counter can be written");
    leave_message(1, &byte, &request);
    take_message(1, &byte, &request);
    CHECK_EQ(MPI_T_pvar_readreset(session, counter, &seen), MPI_SUCCESS, "and read and reset");
    CHECK_EQ(seen, 41, "it counts on from what was written");
    CHECK_EQ(value(session, counter), 0, "and from 0 once reset");

    MPI_T_pvar_read(session, time, &seconds);
    check(seconds == 0, "a timer stands still until it is started", (long)(seconds * 1e9));
    CHECK_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "all handles can be started");
    leave_message(1, &byte, &request);
    take_message(1, &byte, &request);
    CHECK_EQ(MPI_T_pvar_stop(session, time), MPI_SUCCESS, "a timer can be stopped");
    MPI_T_pvar_read(session, time, &seconds);
    check(seconds > 0 && seconds < 100, "it measured something", (long)(seconds * 1e9));

    MPI_T_pvar_session_create(&other);
    CHECK_EQ(MPI_T_pvar_read(other, counter, &seen), MPI_T_ERR_INVALID_HANDLE, "a handle belongs to its session");
    CHECK_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &seen), MPI_T_ERR_INVALID_HANDLE,
             "all handles cannot be read at once");
    CHECK_EQ(MPI_T_pvar_session_free(&other), MPI_SUCCESS, "a session can be freed");
    CHECK_EQ(other == MPI_T_PVAR_SESSION_NULL, 1, "and is null then");
    CHECK_EQ(MPI_T_pvar_read(other, counter, &seen), MPI_T_ERR_INVALID_SESSION, "the null session");
    MPI_T_pvar_handle freed = counter;
    CHECK_EQ(MPI_T_pvar_handle_free(session, &counter), MPI_SUCCESS, "a handle can be freed");
    CHECK_EQ(counter == MPI_T_PVAR_HANDLE_NULL, 1, "and is null then");
    CHECK_EQ(MPI_T_pvar_read(session, freed, &seen), MPI_T_ERR_INVALID_HANDLE, "a freed handle");
}

static void categories(void)
{
    int category = -1, pvars = 0, events = 0, found = 0, indices[64];
    CHECK_EQ(MPI_T_category_get_index("pml_ob1", &category), MPI_SUCCESS, "the message layer is a category");
    MPI_T_category_get_info(category, NULL, NULL, NULL, NULL, NULL, &pvars, NULL);
    MPI_T_category_get_pvars(category, 64, indices);
    for (int i = 0; i < pvars && i < 64; i++)
        found += indices[i] == index_of("pml_ob1_gets", MPI_T_PVAR_CLASS_COUNTER);
    CHECK_EQ(found, 1, "with its variables");
    MPI_T_category_get_num_events(category, &events);
    CHECK_EQ(events, 1, "and its event");
    MPI_T_category_get_index("coll", &category);
    MPI_T_category_get_info(category, NULL, NULL, NULL, NULL, NULL, NULL, &found);
    check(found >= 1, "a category may hold another", found);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    describe_all();
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS, "a session before MPI_Init");
    MPI_T_pvar_handle early = watch(session, "pml_ob1_eager_sends", MPI_T_PVAR_CLASS_COUNTER);
    CHECK_EQ(value(session, early), 0, "a variable can be read before MPI_Init");
    MPI_Init(&argc, &argv);
    queues(session);
    handles(session);
    categories();
    check(value(session, early) >= 3, "a handle from before MPI_Init counts on", (long)value(session, early));
    CHECK_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "a session with handles can be freed");
    MPI_Finalize();
    MPI_T_finalize();
    return check_failures != 0;
}
