/* What inline functions of Open MPI's mpi.h for C++ leave in programs: classes with one handle, and operations in C++. */
#include <cstdio>
#include <mpi.h>

extern "C" void ompi_mpi_cxx_op_intercept(void *, void *, int *, MPI_Datatype *, MPI_User_function *);
extern "C" void ompi_op_set_cxx_callback(MPI_Op, MPI_User_function *);

namespace MPI {
class Comm_Null {
public:
    Comm_Null() : mpi_comm(MPI_COMM_SELF) {}
    virtual ~Comm_Null() {}
    MPI_Comm mpi_comm;
};
class Comm : public Comm_Null {
public:
    Comm();
    virtual int kind() const = 0;
};
class Intracomm : public Comm {
public:
    int kind() const { return 7; }
};
class Datatype {
public:
    Datatype(MPI_Datatype type) : mpi_datatype(type) {}
    virtual ~Datatype() {}
    virtual bool is(MPI_Datatype type) const;
    virtual void Free();
    MPI_Datatype mpi_datatype;
};
/* As in mpi.h: the first function is inline, but is not declared so in the class, which brings the table of functions here. */
inline bool Datatype::is(MPI_Datatype type) const { return mpi_datatype == type; }
class Win {
public:
    Win(MPI_Win win) : mpi_win(win) {}
    virtual ~Win() {}
    virtual bool is(MPI_Win win) const;
    virtual void Free();
    MPI_Win mpi_win;
};
inline bool Win::is(MPI_Win win) const { return mpi_win == win; }
} // namespace MPI

static int wrong;

static void add(const void *in, void *inout, int n, const MPI::Datatype &type) {
    for (int i = 0; i < n; i++) ((int *)inout)[i] += ((const int *)in)[i];
    wrong += !type.is(MPI_INT);
}

#define CHECK(what) \
    if (!(what)) { std::printf("line %d: %s\n", __LINE__, #what); MPI_Abort(MPI_COMM_WORLD, 1); }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI::Intracomm comm;
    CHECK(comm.mpi_comm == MPI_COMM_NULL);
    MPI::Comm *general = &comm;
    CHECK(general->kind() == 7);

    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI::Datatype type(pair);
    type.Free();
    CHECK(type.mpi_datatype == MPI_DATATYPE_NULL);

    int cell = 0;
    MPI_Win window;
    MPI_Win_create(&cell, sizeof cell, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI::Win win(window);
    win.Free();
    CHECK(win.mpi_win == MPI_WIN_NULL);

    MPI_Op op;
    MPI_Op_create((MPI_User_function *)ompi_mpi_cxx_op_intercept, 1, &op);
    ompi_op_set_cxx_callback(op, (MPI_User_function *)add);
    int mine[3] = {rank, 1, -rank}, all[3];
    MPI_Allreduce(mine, all, 3, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(all[0] == size * (size - 1) / 2 && all[1] == size && all[2] == -all[0]);
    CHECK(!wrong);
    MPI_Op_free(&op);
    MPI_Finalize();
    if (rank == 0) std::puts("ok cxx");
}
