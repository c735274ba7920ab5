/* The datatype calls: what they report of a derived type, its contents, and a message of one. */
#include <mpi.h>
#include <stddef.h>
#include <string.h>

#include "check.h"

struct particle {
    char tag;
    double x[3];
    int id;
};

static MPI_Datatype particle_type(void)
{
    int lengths[] = {1, 3, 1};
    MPI_Aint places[] = {offsetof(struct particle, tag), offsetof(struct particle, x), offsetof(struct particle, id)};
    MPI_Datatype kinds[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, packed, type;
    MPI_Type_create_struct(3, lengths, places, kinds, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct particle), &type);
    MPI_Type_free(&packed);
    CHECK_EQ(packed, MPI_DATATYPE_NULL, "a freed type is null");
    MPI_Type_commit(&type);
    return type;
}

static void sizes(void)
{
    MPI_Datatype type = particle_type();
    MPI_Aint lb = -1, extent = -1;
    MPI_Count count = -1;
    int size = -1;
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 1 + 3 * sizeof(double) + sizeof(int), "size of a struct type");
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK_EQ(extent, sizeof(struct particle), "extent of a struct type");
    MPI_Type_size_c(type, &count);
    CHECK_EQ(count, size, "MPI_Type_size_c says the same");
    MPI_Type_free(&type);
}

static void large(void)
{
    MPI_Datatype type;
    MPI_Count count = -1;
    int size = 0, integers, addresses, types, combiner;
    CHECK_EQ(MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_INT, &type), MPI_SUCCESS, "MPI_Type_contiguous_c");
    MPI_Type_size(type, &size);
    CHECK_EQ(size, MPI_UNDEFINED, "a size beyond int is MPI_UNDEFINED");
    MPI_Type_size_c(type, &count);
    CHECK_EQ(count, (MPI_Count)1 << 35, "the large-count function tells it");
    CHECK_EQ(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner), MPI_ERR_TYPE,
             "the envelope of a large-count type needs the large-count function");
    MPI_Type_free(&type);
}

static void contents(void)
{
    MPI_Datatype type, old = MPI_DATATYPE_NULL;
    int integers = -1, addresses = -1, types = -1, combiner = -1, values[3] = {0};
    MPI_Type_vector(4, 2, 5, MPI_FLOAT, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK_EQ(combiner, MPI_COMBINER_VECTOR, "combiner of a vector");
    CHECK_EQ(integers * 100 + addresses * 10 + types, 301, "envelope of a vector");
    MPI_Type_get_contents(type, 3, 0, 1, values, NULL, &old);
    check(values[0] == 4 && values[1] == 2 && values[2] == 5, "integers of a vector", values[0]);
    check(old == MPI_FLOAT, "old type of a vector", 0);
    CHECK_EQ(MPI_Type_get_contents(type, 2, 0, 1, values, NULL, &old), MPI_ERR_ARG, "contents into a short array");
    CHECK_EQ(MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL), MPI_ERR_TYPE, "contents of a named type");
    MPI_Type_free(&type);
}

static void message(void)
{
    MPI_Datatype type = particle_type();
    struct particle out[2], in[2];
    MPI_Status status;
    int count = -1, elements = -1;
    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    out[1].tag = 'b', out[1].x[2] = 2.5, out[1].id = 7;
    MPI_Sendrecv(out, 2, type, 0, 3, in, 2, type, 0, 3, MPI_COMM_WORLD, &status);
    check(in[1].tag == 'b' && in[1].x[2] == 2.5 && in[1].id == 7, "a struct type arrives", in[1].id);
    MPI_Get_count(&status, type, &count);
    CHECK_EQ(count, 2, "MPI_Get_count in items");
    MPI_Get_elements(&status, type, &elements);
    CHECK_EQ(elements, 10, "MPI_Get_elements in basic elements");
    MPI_Type_free(&type);
}

static void packing(void)
{
    MPI_Datatype type;
    int out[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, in[9] = {0}, extra = 42, got = 0, size = -1, position = 0;
    char buffer[64];
    MPI_Type_vector(3, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Pack_size(1, type, MPI_COMM_WORLD, &size);
    check(size >= 12, "MPI_Pack_size", size);
    MPI_Pack(out, 1, type, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(&extra, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    CHECK_EQ(position, 16, "MPI_Pack moves the position");
    CHECK_EQ(MPI_Pack(out, 9, MPI_INT, buffer, 17, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE,
             "MPI_Pack into too little room");
    position = 0;
    MPI_Unpack(buffer, sizeof buffer, &position, in, 1, type, MPI_COMM_WORLD);
    MPI_Unpack(buffer, sizeof buffer, &position, &got, 1, MPI_INT, MPI_COMM_WORLD);
    check(in[0] == 0 && in[3] == 3 && in[6] == 6 && in[1] == 0, "a vector is unpacked where it belongs", in[3]);
    CHECK_EQ(got, 42, "and what was packed after it");
    MPI_Type_free(&type);
}

static void external32(void)
{
    int out[2] = {1, -2}, in[2] = {0};
    unsigned char buffer[8] = {0};
    MPI_Aint size = -1, position = 0;
    MPI_Pack_external_size("external32", 2, MPI_INT, &size);
    CHECK_EQ(size, 8, "MPI_Pack_external_size");
    MPI_Pack_external("external32", out, 2, MPI_INT, buffer, sizeof buffer, &position);
    check(position == 8 && buffer[3] == 1 && buffer[4] == 0xff, "external32 is big-endian", buffer[3]);
    position = 0;
    MPI_Unpack_external("external32", buffer, sizeof buffer, &position, in, 2, MPI_INT);
    check(in[0] == 1 && in[1] == -2, "MPI_Unpack_external", in[1]);
    CHECK_EQ(MPI_Pack_external_size("native", 2, MPI_INT, &size), MPI_ERR_ARG, "only external32 is known");
}

static void memory(void)
{
    int *block = NULL, *aligned = NULL, local;
    MPI_Info info;
    CHECK_EQ(MPI_Alloc_mem(1000 * sizeof(int), MPI_INFO_NULL, &block), MPI_SUCCESS, "MPI_Alloc_mem");
    memset(block, 1, 1000 * sizeof(int));
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    MPI_Alloc_mem(1, info, &aligned);
    CHECK_EQ((long)aligned % 4096, 0, "MPI_Alloc_mem aligns as asked");
    MPI_Info_free(&info);
    CHECK_EQ(MPI_Free_mem(block), MPI_SUCCESS, "MPI_Free_mem");
    CHECK_EQ(MPI_Free_mem(aligned), MPI_SUCCESS, "MPI_Free_mem of aligned memory");
    CHECK_EQ(MPI_Free_mem(&local), MPI_ERR_BASE, "MPI_Free_mem of other memory");
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Datatype pair, again;
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    check(strcmp(name, "MPI_DOUBLE") == 0, "a predefined type has its name", length);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &pair);
    MPI_Type_create_f90_real(6, MPI_UNDEFINED, &again);
    check(pair == again, "a Fortran kind is one type", 0);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    check(pair == MPI_DOUBLE_INT, "MPI_Type_get_value_index", 0);
}

int main(int argc, char **argv)
{
    MPI_Datatype null = MPI_DATATYPE_NULL, named = MPI_INT, type;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    sizes();
    large();
    contents();
    message();
    packing();
    external32();
    memory();
    names();
    CHECK_EQ(MPI_Type_free(&named), MPI_ERR_TYPE, "a predefined type cannot be freed");
    CHECK_EQ(MPI_Type_commit(&null), MPI_ERR_TYPE, "MPI_DATATYPE_NULL cannot be committed");
    CHECK_EQ(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, "a negative count");
    MPI_Finalize();
    return check_failures != 0;
}
