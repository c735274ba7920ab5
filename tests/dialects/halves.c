/* The C half of halves.f. */
#include <mpi.h>
#include <stdint.h>

#define SAME(kind, integer, handle) \
    if (MPI_##kind##_f2c(*integer) != handle || MPI_##kind##_c2f(handle) != *integer) return __LINE__

int c_same_(int *world, int *self, int *no_comm, int *integer, int *real, int *no_type, int *sum, int *no_op, int *no_request,
            int *empty, int *no_info, int *errors, int *no_win, int *no_file) {
    SAME(Comm, world, MPI_COMM_WORLD);
    SAME(Comm, self, MPI_COMM_SELF);
    SAME(Comm, no_comm, MPI_COMM_NULL);
    SAME(Type, integer, MPI_INTEGER);
    SAME(Type, real, MPI_DOUBLE_PRECISION);
    SAME(Type, no_type, MPI_DATATYPE_NULL);
    SAME(Op, sum, MPI_SUM);
    SAME(Op, no_op, MPI_OP_NULL);
    SAME(Request, no_request, MPI_REQUEST_NULL);
    SAME(Group, empty, MPI_GROUP_EMPTY);
    SAME(Info, no_info, MPI_INFO_NULL);
    SAME(Errhandler, errors, MPI_ERRORS_RETURN);
    SAME(Win, no_win, MPI_WIN_NULL);
    SAME(File, no_file, MPI_FILE_NULL);
    return 0;
}

void c_made_(int *comm, int *dup, int *type) {
    MPI_Comm new;
    MPI_Datatype three;
    MPI_Comm_dup(MPI_Comm_f2c(*comm), &new);
    MPI_Type_contiguous(3, MPI_INTEGER, &three);
    MPI_Type_commit(&three);
    *dup = MPI_Comm_c2f(new);
    *type = MPI_Type_c2f(three);
}

int c_status_(MPI_Fint *theirs, int *source, int *tag) {
    MPI_Status status;
    int count;
    MPI_Status_f2c(theirs, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    return status.MPI_SOURCE != *source || status.MPI_TAG != *tag || count != 1;
}

/* What Fortran has set reads as the address of an integer. */
int c_attribute_(int *comm, int *key, int *value) {
    MPI_Aint *found;
    int flag;
    MPI_Comm_get_attr(MPI_Comm_f2c(*comm), *key, &found, &flag);
    return !flag || *found != *value;
}

/* What C has set reads as an address. */
void c_attribute_set_(int *comm, int *key, MPI_Aint *address) {
    static int place;
    MPI_Comm_set_attr(MPI_Comm_f2c(*comm), *key, &place);
    *address = (MPI_Aint)(intptr_t)&place;
}
