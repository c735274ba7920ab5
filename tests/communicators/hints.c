/* Hints of communicators and sessions, what the hardware is, and parts of communicators that share it. */
#include <mpi.h>
#include <string.h>

#include "check.h"

static const char *value(MPI_Info info, const char *key)
{
    static char text[256];
    int length = sizeof text, flag = 0;
    MPI_Info_get_string(info, key, &length, text, &flag);
    return flag ? text : "(none)";
}

static void is(MPI_Info info, const char *key, const char *expected, const char *name)
{
    check(strcmp(value(info, key), expected) == 0, name, (long)strlen(value(info, key)));
}

static void communicators(void)
{
    MPI_Info given, used;
    MPI_Comm copy, with;
    MPI_Comm_get_info(MPI_COMM_WORLD, &used);
    is(used, "mpi_assert_no_any_tag", "false", "an assertion that was not made is shown as false");
    is(used, "mpi_memory_alloc_kinds", "system,mpi", "a communicator says which kinds of memory it takes");
    MPI_Info_free(&used);

    MPI_Comm_dup(MPI_COMM_SELF, &copy);
    MPI_Info_create(&given);
    MPI_Info_set(given, "mpi_assert_no_any_source", "true");
    MPI_Info_set(given, "mpi_assert_exact_length", "perhaps");
    MPI_Info_set(given, "mpi_assert_memory_alloc_kinds", "system,mpi:alloc_mem");
    MPI_Info_set(given, "no_hint_of_ours", "1");
    MPI_Comm_set_info(copy, given);
    MPI_Comm_get_info(copy, &used);
    is(used, "mpi_assert_no_any_source", "true", "an assertion that was made is shown");
    is(used, "mpi_assert_exact_length", "false", "one without sense is not");
    is(used, "mpi_assert_memory_alloc_kinds", "system,mpi:alloc_mem", "kinds of memory can be asserted");
    is(used, "no_hint_of_ours", "(none)", "an unknown hint is ignored");
    MPI_Info_free(&used);

    MPI_Comm_dup(copy, &with);
    MPI_Comm_get_info(with, &used);
    is(used, "mpi_assert_no_any_source", "false", "MPI_Comm_dup leaves hints behind");
    MPI_Info_free(&used);
    MPI_Comm_free(&with);
    MPI_Comm_dup_with_info(copy, given, &with);
    MPI_Comm_get_info(with, &used);
    is(used, "mpi_assert_no_any_source", "true", "MPI_Comm_dup_with_info takes its own");
    MPI_Info_free(&used);
    MPI_Comm_free(&with);
    MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, 0, given, &with);
    MPI_Comm_get_info(with, &used);
    is(used, "mpi_assert_no_any_source", "true", "MPI_Comm_split_type takes its own");
    MPI_Info_free(&used);
    MPI_Comm_free(&with);
    MPI_Dist_graph_create_adjacent(copy, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, given, 0, &with);
    MPI_Comm_get_info(with, &used);
    is(used, "mpi_assert_no_any_source", "true", "MPI_Dist_graph_create_adjacent takes its own");
    MPI_Info_free(&used);
    MPI_Comm_free(&with);
    MPI_Comm_free(&copy);
    MPI_Info_free(&given);
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Info given, used;
    MPI_Info_create(&given);
    MPI_Info_set(given, "mpi_memory_alloc_kinds", "mpi:alloc_mem,cuda:device");
    MPI_Session_init(given, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_info(session, &used);
    is(used, "mpi_memory_alloc_kinds", "system,mpi,mpi:alloc_mem", "a session says which kinds of memory it takes");
    MPI_Info_free(&used);
    MPI_Info_free(&given);
    MPI_Session_finalize(&session);
}

static void hardware(void)
{
    MPI_Info info;
    int keys = 0;
    MPI_Get_hw_resource_info(&info);
    MPI_Info_get_nkeys(info, &keys);
    check(keys >= 4, "types of hardware are known", keys);
    is(info, "hwloc://Machine", "true", "a process runs on one machine");
    check(strcmp(value(info, "hwloc://Core"), "(none)") != 0, "cores are among them", 0);
    MPI_Info_free(&info);
}

static void parts(void)
{
    MPI_Comm part;
    MPI_Info info;
    int size = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Machine");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part);
    check(part != MPI_COMM_NULL, "a communicator splits by a type of hardware", 0);
    MPI_Comm_size(part, &size);
    CHECK_EQ(size, 1, "into what shares it");
    MPI_Comm_free(&part);
    MPI_Info_set(info, "mpi_hw_resource_type", "crystal ball");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &part);
    CHECK_EQ(part, MPI_COMM_NULL, "an unknown type gives no communicator");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &part);
    CHECK_EQ(part, MPI_COMM_NULL, "one process cannot be divided");
    MPI_Info_delete(info, "mpi_hw_resource_type");
    MPI_Info_set(info, "mpi_pset_name", "mpi://SELF");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &part);
    check(part != MPI_COMM_NULL, "a communicator splits by process sets", 0);
    MPI_Comm_free(&part);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    communicators();
    sessions();
    hardware();
    parts();
    MPI_Finalize();
    return check_failures != 0;
}
