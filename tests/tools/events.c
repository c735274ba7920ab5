/* Events of the tool interface: described before MPI_Init, reported to callbacks, read field by field. */
#include <mpi.h>
#include <string.h>

#include "check.h"

static struct {
    int calls, source, tag, freed, safety;
    MPI_Count bytes, time;
    char copy[64];
    void *data;
} seen;

static void on_message(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                       void *data)
{
    int source_index = -1;
    (void)registration;
    seen.calls++;
    seen.safety = safety;
    seen.data = data;
    MPI_T_event_read(instance, 0, &seen.source);
    MPI_T_event_read(instance, 1, &seen.tag);
    MPI_T_event_read(instance, 2, &seen.bytes);
    MPI_T_event_copy(instance, seen.copy);
    MPI_T_event_get_timestamp(instance, &seen.time);
    CHECK_EQ(MPI_T_event_get_source(instance, &source_index), MPI_SUCCESS, "an event has a source");
    CHECK_EQ(source_index, 0, "which is the library");
    CHECK_EQ(MPI_T_event_read(instance, 3, &source_index), MPI_T_ERR_INVALID_INDEX, "an event has no fourth field");
    /* A callback may call MPI. */
    MPI_Comm_size(MPI_COMM_WORLD, &source_index);
}

static void on_communicator(MPI_T_event_instance instance, MPI_T_event_registration registration,
                            MPI_T_cb_safety safety, void *data)
{
    (void)instance, (void)registration, (void)safety;
    ++*(int *)data;
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety;
    *(int *)data = 1;
}

static int event_named(const char *name)
{
    int index = -1;
    MPI_T_event_get_index(name, &index);
    return index;
}

static void describe(int index)
{
    char name[64], description[256];
    int name_length = sizeof name, length = sizeof description, verbosity, elements = 8, bind;
    MPI_Datatype types[8];
    MPI_Aint places[8];
    MPI_T_enum enumtype;
    MPI_Info info;
    int code = MPI_T_event_get_info(index, name, &name_length, &verbosity, types, places, &elements, &enumtype, &info,
                                    description, &length, &bind);
    CHECK_EQ(code, MPI_SUCCESS, "MPI_T_event_get_info before MPI_Init");
    CHECK_EQ(elements, 3, "an unexpected message has three fields");
    CHECK_EQ(types[0] == MPI_INT && types[1] == MPI_INT && types[2] == MPI_COUNT, 1, "with their types");
    CHECK_EQ(places[0] == 0 && places[1] == 4 && places[2] == 8, 1, "and places");
    MPI_Info_free(&info);
    CHECK_EQ(MPI_T_event_get_info(100, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX, "an unknown event");
}

static void source(void)
{
    char name[64];
    int length = sizeof name, num = 0, ordering = 0;
    MPI_Count ticks = 0, most = 0, before = 0, after = 0;
    MPI_T_source_get_num(&num);
    CHECK_EQ(num, 1, "there is one source");
    MPI_T_source_get_info(0, name, &length, NULL, NULL, (MPI_T_source_order *)&ordering, &ticks, &most, NULL);
    CHECK_EQ(ordering, MPI_T_SOURCE_ORDERED, "its events come in order");
    CHECK_EQ(ticks, 1000000000, "it counts nanoseconds");
    MPI_T_source_get_timestamp(0, &before);
    MPI_T_source_get_timestamp(0, &after);
    check(before > 0 && after >= before, "its clock goes forward", (long)(after - before));
}

static void message(int bytes)
{
    static char out[4096], in[4096];
    int flag = 0;
    MPI_Request request;
    MPI_Isend(out, bytes, MPI_CHAR, 0, 77, MPI_COMM_SELF, &request);
    while (!flag)
        MPI_Iprobe(0, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(in, bytes, MPI_CHAR, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void messages(MPI_T_event_registration registration)
{
    int data = 0, tag;
    CHECK_EQ(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &data, on_message),
             MPI_SUCCESS, "MPI_T_event_register_callback");
    message(100);
    CHECK_EQ(seen.calls, 1, "an unexpected message is reported");
    CHECK_EQ(seen.source == 0 && seen.tag == 77 && seen.bytes == 100, 1, "with source, tag and length");
    memcpy(&tag, seen.copy + 4, sizeof tag);
    CHECK_EQ(tag, 77, "a copy has all fields");
    CHECK_EQ(seen.data == &data, 1, "the callback gets its data");
    check(seen.time > 0, "and the time", (long)seen.time);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, NULL);
    message(100);
    CHECK_EQ(seen.calls, 1, "without its callback nothing is reported");
}

static void communicators(void)
{
    MPI_T_event_registration created, freed;
    MPI_Comm copy;
    int made = 0, gone = 0;
    MPI_T_event_handle_alloc(event_named("mpi_communicator_created"), NULL, MPI_INFO_NULL, &created);
    MPI_T_event_handle_alloc(event_named("mpi_communicator_freed"), NULL, MPI_INFO_NULL, &freed);
    MPI_T_event_register_callback(created, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &made, on_communicator);
    MPI_T_event_register_callback(freed, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &gone, on_communicator);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Comm_free(&copy);
    MPI_Barrier(MPI_COMM_WORLD);
    message(1);
    CHECK_EQ(made, 1, "a communicator that is made is reported");
    CHECK_EQ(gone, 1, "and one that is freed");
    MPI_T_event_handle_free(created, NULL, NULL);
    MPI_T_event_handle_free(freed, NULL, NULL);
}

int main(int argc, char **argv)
{
    int provided, num = 0, released = 0;
    MPI_T_event_registration registration;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_event_get_num(&num);
    check(num >= 3, "there are events before MPI_Init", num);
    describe(event_named("pml_ob1_unexpected_message"));
    source();
    CHECK_EQ(MPI_T_event_handle_alloc(event_named("pml_ob1_unexpected_message"), NULL, MPI_INFO_NULL, &registration),
             MPI_SUCCESS, "a registration before MPI_Init");
    MPI_Init(&argc, &argv);
    messages(registration);
    communicators();
    CHECK_EQ(MPI_T_event_handle_free(registration, &released, on_free), MPI_SUCCESS, "MPI_T_event_handle_free");
    CHECK_EQ(released, 1, "a freed registration is reported");
    CHECK_EQ(MPI_T_event_handle_free(registration, NULL, NULL), MPI_T_ERR_INVALID_HANDLE, "it cannot be freed twice");
    MPI_Finalize();
    MPI_T_finalize();
    return check_failures != 0;
}
