/* What the headers of these libraries have beside the standard's names, and the version of the standard that they know. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#if defined(DIALECT_MPICH)
/* MPIX_C_FLOAT16 */
static const MPI_Datatype half = 0x4c000246;
#else
#include <mpi-ext.h>
/* MPIX_C_FLOAT16, MPIX_SHORT_FLOAT */
extern struct { char bytes[512]; } ompi_mpi_short_float;
static const MPI_Datatype half = (MPI_Datatype)&ompi_mpi_short_float;
#endif

static int rank, wrong;

#define CHECK(what) \
    do { \
        if (!(what)) printf("rank %d, line %d: %s\n", rank, __LINE__, #what), wrong++; \
    } while (0)

/* A type that the library does not have is the null one: it has a name, and no size. */
static void halves(void) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int bytes = 0, length = 0, class = 0;
    CHECK(MPI_Type_get_name(half, name, &length) == MPI_SUCCESS && !strcmp(name, "MPI_DATATYPE_NULL"));
    MPI_Error_class(MPI_Type_size(half, &bytes), &class);
    CHECK(class == MPI_ERR_TYPE);
}

int main(int count, char **arguments) {
    int version = 0, subversion = 0, all = 0;
    MPI_Init(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    halves();
    /* A program that asks for it goes by the constants of that version. */
    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
#ifdef MPIX_FT
    int *works = NULL, found = 0;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &works, &found) == MPI_SUCCESS && found && works && *works == 0);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, MPIX_FT, NULL) != MPI_SUCCESS);
#endif
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all == 0) printf("ok further\n");
    MPI_Finalize();
    return all != 0;
}
