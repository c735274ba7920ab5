/* What MPI-3.0 removed and ROMIO's programs still use, by what replaced it. */
#ifndef ROMIO_H
#define ROMIO_H

#include <mpi.h>

#define MPIO_Request MPI_Request
#define MPIO_Wait MPI_Wait
#define MPIO_Test MPI_Test
#define MPI_LB ((MPI_Datatype)1)
#define MPI_UB ((MPI_Datatype)2)

static inline int with_marks(int n, int *lengths, MPI_Aint *places, MPI_Datatype *types, MPI_Datatype *type)
{
    int kept = 0, marks = 0, some[16];
    MPI_Aint where[16], lb = 0, ub = 0;
    MPI_Datatype what[16], body;
    for (int i = 0; i < n; i++)
        if (types[i] == MPI_LB)
            lb = places[i], marks = 1;
        else if (types[i] == MPI_UB)
            ub = places[i], marks = 1;
        else
            some[kept] = lengths[i], where[kept] = places[i], what[kept++] = types[i];
    if (!marks)
        return MPI_Type_create_struct(n, lengths, places, types, type);
    MPI_Type_create_struct(kept, some, where, what, &body);
    return MPI_Type_create_resized(body, lb, ub - lb, type);
}

#define MPI_Type_struct with_marks
#define MPI_Type_create_struct with_marks

#endif
