/* Ways to make a communicator of the same processes. */
#ifndef MAKING_H
#define MAKING_H

#include "failures.h"

enum { DUP, SPLIT, CREATE, GROUP, SHARED, IDUP };

/* Their functions. */
static const char *const making[] = {"MPI_Comm_dup",          "MPI_Comm_split",      "MPI_Comm_create",
                                     "MPI_Comm_create_group", "MPI_Comm_split_type", "MPI_Comm_idup"};

static inline int make(int kind, MPI_Comm parent, MPI_Comm *comm) {
    MPI_Group group;
    MPI_Request request;
    int code;
    switch (kind) {
    case DUP:
        return MPI_Comm_dup(parent, comm);
    case IDUP:
        code = MPI_Comm_idup(parent, comm, &request);
        return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    case SPLIT:
        return MPI_Comm_split(parent, 0, me, comm);
    case SHARED:
        return MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, comm);
    default:
        MPI_Comm_group(parent, &group);
        code = kind == GROUP ? MPI_Comm_create_group(parent, group, 3, comm) : MPI_Comm_create(parent, group, comm);
        MPI_Group_free(&group);
        return code;
    }
}

#endif
