/* The header alone, for every language standard. */
#include <mpi.h>

int size_of_status(void);
int size_of_status(void)
{
    return (int)sizeof(MPI_Status);
}
