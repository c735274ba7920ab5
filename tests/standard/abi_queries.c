/* Questions about the ABI, and what a program sets for Fortran. */
#include <mpi.h>
#include <string.h>

#include "check.h"

static void sizes(void)
{
    MPI_Info info;
    char value[16];
    int flag = 0, length = sizeof value;
    CHECK_EQ(MPI_Abi_get_info(&info), MPI_SUCCESS, "MPI_Abi_get_info");
    MPI_Info_get_string(info, "mpi_count_size", &length, value, &flag);
    check(flag && strcmp(value, "8") == 0, "MPI_Count has 8 bytes", flag);
    MPI_Info_free(&info);
}

static void booleans(void)
{
    int yes = 1, no = 0, got_yes = -1, got_no = -1, is_set = -1;
    MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set);
    CHECK_EQ(is_set, 0, "no Fortran booleans are known at first");
    CHECK_EQ(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_SUCCESS, "MPI_Abi_set_fortran_booleans");
    MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set);
    check(is_set && got_yes == 1 && got_no == 0, "they are told back", got_yes);
    MPI_Abi_get_fortran_booleans(8, &got_yes, &got_no, &is_set);
    CHECK_EQ(is_set, 0, "those of another size are not known");
    CHECK_EQ(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI, "they can be set once");
    CHECK_EQ(MPI_Abi_set_fortran_booleans(3, &yes, &no), MPI_ERR_ARG, "no LOGICAL has three bytes");
}

static void fortran(void)
{
    MPI_Info info;
    MPI_Abi_get_fortran_info(&info);
    check(info == MPI_INFO_NULL, "no Fortran compiler is known at first", 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_integer_size", "4");
    CHECK_EQ(MPI_Abi_set_fortran_info(info), MPI_SUCCESS, "MPI_Abi_set_fortran_info");
    CHECK_EQ(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI, "it can be set once");
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_info(&info);
    check(info != MPI_INFO_NULL, "it comes back", 0);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int major = -1, minor = -1;
    CHECK_EQ(MPI_Abi_get_version(&major, &minor), MPI_SUCCESS, "MPI_Abi_get_version before MPI_Init");
    CHECK_EQ(major * 10 + minor, 10, "the ABI is version 1.0");
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    sizes();
    booleans();
    fortran();
    MPI_Finalize();
    return check_failures != 0;
}
