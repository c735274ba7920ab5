/* Functions that MPI-3.0 removed and old programs still call. */
#include <mpi.h>
#include <stddef.h>

#include "check.h"

struct element {
    int number;
    double value;
};

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled = class_of(*code);
}

static MPI_Aint bound(int (*of)(MPI_Datatype, MPI_Aint *), MPI_Datatype type)
{
    MPI_Aint bytes = -1;

    of(type, &bytes);
    return bytes;
}

/* A structure goes to this process itself and back, by addresses. */
static void structures(void)
{
    struct element from = {7, 1.5}, to = {0, 0};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, type;
    MPI_Aint places[2], start;
    int lengths[2] = {1, 1};

    MPI_Address(&from, &start);
    MPI_Address(&from.number, &places[0]);
    MPI_Address(&from.value, &places[1]);
    places[0] -= start;
    places[1] -= start;
    CHECK_EQ(places[1], offsetof(struct element, value), "MPI_Address");
    CHECK_EQ(MPI_Type_struct(2, lengths, places, types, &type), MPI_SUCCESS, "MPI_Type_struct");
    MPI_Type_commit(&type);
    MPI_Sendrecv(&from, 1, type, 0, 0, &to, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    check(to.number == 7 && to.value == 1.5, "what it describes is sent", to.number);
    MPI_Type_free(&type);
}

/* Two elements, 3 units apart, the first one 8 bytes behind the start. */
static void bounds(void)
{
    MPI_Aint places[2] = {8, 20};
    MPI_Datatype vector, indexed;
    int lengths[2] = {1, 1}, size;

    CHECK_EQ(MPI_Type_hvector(2, 1, 12, MPI_INT, &vector), MPI_SUCCESS, "MPI_Type_hvector");
    CHECK_EQ(bound(MPI_Type_extent, vector), 16, "MPI_Type_extent");
    CHECK_EQ(MPI_Type_hindexed(2, lengths, places, MPI_INT, &indexed), MPI_SUCCESS, "MPI_Type_hindexed");
    CHECK_EQ(bound(MPI_Type_lb, indexed), 8, "MPI_Type_lb");
    CHECK_EQ(bound(MPI_Type_ub, indexed), 24, "MPI_Type_ub");
    CHECK_EQ(bound(PMPI_Type_extent, indexed), 16, "PMPI_Type_extent");
    MPI_Type_size(indexed, &size);
    CHECK_EQ(size, 8, "the size of both elements");
    MPI_Type_free(&vector);
    MPI_Type_free(&indexed);
}

static void handlers(void)
{
    MPI_Handler_function *function = handler;
    MPI_Errhandler mine, found;

    CHECK_EQ(MPI_Errhandler_create(function, &mine), MPI_SUCCESS, "MPI_Errhandler_create");
    CHECK_EQ(MPI_Errhandler_set(MPI_COMM_SELF, mine), MPI_SUCCESS, "MPI_Errhandler_set");
    MPI_Errhandler_get(MPI_COMM_SELF, &found);
    check(found == mine, "MPI_Errhandler_get", 0);
    MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_SELF);
    CHECK_EQ(handled, MPI_ERR_COUNT, "the handler is called");
    handled = 0;
    MPI_Type_extent(MPI_DATATYPE_NULL, &(MPI_Aint){0});
    CHECK_EQ(handled, MPI_ERR_TYPE, "for errors of the removed functions as well");
    MPI_Errhandler_free(&mine);
    MPI_Errhandler_free(&found);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    structures();
    bounds();
    handlers();
    MPI_Finalize();
    return check_failures != 0;
}
