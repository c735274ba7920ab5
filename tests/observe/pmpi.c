/* Fifty lines of PMPI that count by themselves: what a profile says must be the same. Linked into the program; at the end each
   rank prints "RANK CALL COUNT BYTES". */
#include <mpi.h>
#include <stdio.h>

static long calls[8], bytes[8];
static const char *const names[] = {"Send", "Recv", "Allreduce", "Barrier", "Put", "File_write_at", "Wait", "Start"};

static long size_of(MPI_Count count, MPI_Datatype type)
{
    int size;
    PMPI_Type_size(type, &size);
    return count * size;
}

static int counted(int which, long more, int code)
{
    calls[which]++;
    bytes[which] += more;
    return code;
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
    return counted(0, size_of(n, t), PMPI_Send(b, n, t, to, tag, c));
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
    return counted(1, 0, PMPI_Recv(b, n, t, from, tag, c, s));
}

int MPI_Allreduce(const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
    return counted(2, size_of(n, t), PMPI_Allreduce(a, b, n, t, op, c));
}

int MPI_Barrier(MPI_Comm c) { return counted(3, 0, PMPI_Barrier(c)); }

int MPI_Put(const void *a, int n, MPI_Datatype t, int to, MPI_Aint at, int m, MPI_Datatype u, MPI_Win w)
{
    return counted(4, size_of(n, t), PMPI_Put(a, n, t, to, at, m, u, w));
}

int MPI_File_write_at(MPI_File f, MPI_Offset at, const void *b, int n, MPI_Datatype t, MPI_Status *s)
{
    return counted(5, size_of(n, t), PMPI_File_write_at(f, at, b, n, t, s));
}

int MPI_Wait(MPI_Request *r, MPI_Status *s) { return counted(6, 0, PMPI_Wait(r, s)); }
int MPI_Start(MPI_Request *r) { return counted(7, 0, PMPI_Start(r)); }

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 8; i++)
        if (calls[i])
            printf("%d %s %ld %ld\n", rank, names[i], calls[i], bytes[i]);
    fflush(stdout);
    return PMPI_Finalize();
}
