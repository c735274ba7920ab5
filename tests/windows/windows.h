/* What the programs with windows share. */
#ifndef WINDOWS_H
#define WINDOWS_H

#include "check.h"

/* Whether all processes are on one node, so that they can have a shared window. */
static inline int share_memory(void)
{
    MPI_Comm node;
    int here, all;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    MPI_Comm_free(&node);
    return here == all;
}

#endif
