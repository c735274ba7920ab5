/* The tool interface: control variables are the parameters, written before MPI_Init and read afterwards. */
#include <mpi.h>
#include <string.h>

#include "check.h"

static const char *name = "btl_vader_eager_limit";

static void needs_initialization(void)
{
    int num;
    CHECK_EQ(MPI_T_cvar_get_num(&num), MPI_T_ERR_NOT_INITIALIZED, "MPI_T before MPI_T_init_thread");
}

static void describe(int index)
{
    char text[64], description[1024];
    int length = sizeof text, description_length = sizeof description, verbosity = 0, bind = -1, scope = -1;
    MPI_Datatype datatype = MPI_DATATYPE_NULL;
    MPI_T_enum enumtype;
    int code = MPI_T_cvar_get_info(index, text, &length, &verbosity, &datatype, &enumtype, description,
                                   &description_length, &bind, &scope);
    CHECK_EQ(code, MPI_SUCCESS, "MPI_T_cvar_get_info");
    check(strcmp(text, name) == 0, "the variable has the parameter's name", length);
    CHECK_EQ(length, strlen(name) + 1, "the name's length counts the NUL");
    check(datatype == MPI_COUNT, "a size is an MPI_COUNT", 0);
    check(enumtype == MPI_T_ENUM_NULL, "a size has no enumeration", 0);
    CHECK_EQ(bind, MPI_T_BIND_NO_OBJECT, "a parameter is bound to no object");
    length = 4;
    MPI_T_cvar_get_info(index, text, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    check(strcmp(text, "btl") == 0, "a short buffer gets a cut name", length);
    CHECK_EQ(length, strlen(name) + 1, "and the length needed");
}

static MPI_Count read_limit(int index)
{
    MPI_T_cvar_handle handle;
    MPI_Count value = -1;
    int count = 0;
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    CHECK_EQ(count, 1, "a number is one element");
    MPI_T_cvar_read(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    check(handle == MPI_T_CVAR_HANDLE_NULL, "a freed handle is null", 0);
    return value;
}

static int write_limit(int index, MPI_Count value)
{
    MPI_T_cvar_handle handle;
    int count, code;
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    code = MPI_T_cvar_write(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    return code;
}

static void words(void)
{
    MPI_T_enum enumtype = MPI_T_ENUM_NULL;
    char text[64];
    int index, num = 0, value = -1, length = sizeof text;
    CHECK_EQ(MPI_T_cvar_get_index("btl_vader_single_copy_mechanism", &index), MPI_SUCCESS, "a choice is found");
    MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, &enumtype, NULL, NULL, NULL, NULL);
    CHECK_EQ(MPI_T_enum_get_info(enumtype, &num, NULL, NULL), MPI_SUCCESS, "a choice has an enumeration");
    check(num >= 2, "with its words", num);
    CHECK_EQ(MPI_T_enum_get_item(enumtype, 0, &value, text, &length), MPI_SUCCESS, "MPI_T_enum_get_item");
    CHECK_EQ(MPI_T_enum_get_item(enumtype, num, &value, text, &length), MPI_T_ERR_INVALID_ITEM, "no item past the last");
}

static void categories(int index)
{
    int category, indices[64], cvars = 0, i, found = 0;
    CHECK_EQ(MPI_T_category_get_index("btl_vader", &category), MPI_SUCCESS, "a room is a category");
    MPI_T_category_get_info(category, NULL, NULL, NULL, NULL, &cvars, NULL, NULL);
    MPI_T_category_get_cvars(category, 64, indices);
    for (i = 0; i < cvars && i < 64; i++)
        found += indices[i] == index;
    CHECK_EQ(found, 1, "the category holds the variable");
}

static void unknown(void)
{
    int index, num = -1;
    MPI_T_pvar_session session;
    CHECK_EQ(MPI_T_cvar_get_index("no_such_variable", &index), MPI_T_ERR_INVALID_NAME, "an unknown name");
    CHECK_EQ(MPI_T_cvar_get_info(1 << 20, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX, "an unknown index");
    CHECK_EQ(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &index), MPI_T_ERR_INVALID_HANDLE, "the null handle");
    CHECK_EQ(MPI_T_pvar_get_num(&num), MPI_SUCCESS, "MPI_T_pvar_get_num");
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS, "a session of performance variables");
    CHECK_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS, "can be freed");
}

int main(int argc, char **argv)
{
    int provided = -1, index = -1;
    needs_initialization();
    CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS, "MPI_T_init_thread before MPI_Init");
    CHECK_EQ(MPI_T_cvar_get_index(name, &index), MPI_SUCCESS, "MPI_T_cvar_get_index");
    describe(index);
    CHECK_EQ(write_limit(index, 4096), MPI_SUCCESS, "a variable can be written before MPI_Init");
    CHECK_EQ(write_limit(index, -1), MPI_T_ERR_INVALID, "but not to what its declaration refuses");
    MPI_Init(&argc, &argv);
    CHECK_EQ(read_limit(index), 4096, "MPI runs with the value written");
    CHECK_EQ(write_limit(index, 8192), MPI_T_ERR_CVAR_SET_NOT_NOW, "a variable cannot be written after MPI_Init");
    words();
    categories(index);
    unknown();
    MPI_Finalize();
    CHECK_EQ(MPI_T_finalize(), MPI_SUCCESS, "MPI_T_finalize after MPI_Finalize");
    CHECK_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED, "MPI_T_finalize once too often");
    return check_failures != 0;
}
