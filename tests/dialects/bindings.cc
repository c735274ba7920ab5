/* What a C++ program asks of the library of MPI's C++ bindings: objects, virtual functions, callbacks, exceptions. The classes
 * are those that the library was compiled with, which have the layout and the virtual functions of the other library's. */
#include "bindings.h"

#include <cstdio>
#include <cstring>

namespace MPI {
extern Intracomm COMM_WORLD;
#ifdef DIALECT_MPICH
extern Datatype INT, LB, UB;
#else
extern const Datatype INT, LB, UB;
#endif
extern const Op SUM;
extern const Errhandler ERRORS_THROW_EXCEPTIONS, ERRORS_RETURN;
} // namespace MPI

static int wrong;

#define CHECK(what) \
    if (!(what)) std::printf("line %d: %s\n", __LINE__, #what), wrong++

static void add(const void *in, void *in_out, int count, const MPI::Datatype &type) {
    CHECK(type.handle == MPI_INT && type.Get_size() == 4);
    for (int at = 0; at < count; at++) static_cast<int *>(in_out)[at] += static_cast<const int *>(in)[at];
}

static int copies, deletes, handled;

static int copy(const MPI::Comm &comm, int, void *own, void *in, void *out, bool &flag) {
    CHECK(comm.Get_size() > 0 && *static_cast<int *>(own) == 5);
    *static_cast<void **>(out) = in;
    flag = true;
    return copies++, MPI_SUCCESS;
}

static int remove(MPI::Comm &comm, int, void *, void *own) {
    CHECK(comm.Get_size() > 0 && *static_cast<int *>(own) == 5);
    return deletes++, MPI_SUCCESS;
}

static void handler(MPI::Comm &comm, int *code, ...) {
    int error = MPI_SUCCESS;
    MPI_Error_class(*code, &error);
    CHECK(comm.Get_size() > 0 && error == MPI_ERR_RANK);
    handled++;
}

static int key_of(int *own) {
    int key = MPI_KEYVAL_INVALID;
#ifdef DIALECT_MPICH
    key = MPI::Comm::Create_keyval(copy, remove, own);
#else
    MPI::Comm::do_create_keyval(nullptr, nullptr, copy, remove, own, key);
#endif
    return key;
}

static void messages(MPI::Comm &comm) {
    int rank = comm.Get_rank(), size = comm.Get_size(), from = (rank + size - 1) % size, got = -1, sum = 0;
    MPI::Request request = comm.Irecv(&got, 1, MPI::INT, from, 3);
    comm.Send(&rank, 1, MPI::INT, (rank + 1) % size, 3);
    MPI::Status status;
    request.Wait(status);
    CHECK(got == from && request.handle == MPI_REQUEST_NULL);
    CHECK(status.handle.MPI_SOURCE == from && status.handle.MPI_TAG == 3 && status.Get_count(MPI::INT) == 1);
    comm.Allreduce(&rank, &sum, 1, MPI::INT, MPI::SUM);
    CHECK(sum == size * (size - 1) / 2);
    MPI::Op own;
    own.Init(add, true);
    sum = 0;
    comm.Allreduce(&rank, &sum, 1, MPI::INT, own);
    CHECK(sum == size * (size - 1) / 2);
    own.Free();
}

static void attributes() {
    int five = 5, value = 0, key = key_of(&five);
    void *found = nullptr;
    MPI::Intracomm &first = MPI::COMM_WORLD.Clone();
    first.Set_attr(key, &value);
    MPI::Intracomm &second = first.Clone();
    CHECK(copies == 1 && second.Get_attr(key, &found) && found == &value);
    first.Free();
    second.Free();
    CHECK(deletes == 2);
    delete &first;
    delete &second;
}

static void topologies() {
    int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size(), sizes[1] = {size}, at[1], from, to;
    bool periodic[1] = {true};
    MPI::Cartcomm ring = MPI::COMM_WORLD.Create_cart(1, sizes, periodic, false);
    periodic[0] = false;
    ring.Get_topo(1, sizes, periodic, at);
    ring.Shift(0, 1, from, to);
    CHECK(periodic[0] && sizes[0] == size && to == (rank + 1) % size);
    ring.Free();
}

/* MPI-1's markers of bounds. */
static void bounds() {
    int lengths[] = {1, 1, 1};
    MPI_Aint places[] = {-3, 0, 9}, lower, extent;
    MPI_Datatype types[] = {MPI::LB.handle, MPI_INT, MPI::UB.handle}, made, three, one;
    MPI_Type_create_struct(3, lengths, places, types, &made);
    MPI_Type_get_extent(made, &lower, &extent);
    CHECK(lower == -3 && extent == 12);
    MPI_Type_contiguous(3, made, &three);
    MPI_Type_get_extent(three, &lower, &extent);
    CHECK(lower == -3 && extent == 36);
    /* The lower alone: the upper stays where the data ends. */
    MPI_Type_create_struct(2, lengths, places, types, &one);
    MPI_Type_get_extent(one, &lower, &extent);
    CHECK(lower == -3 && extent == 7);
    MPI_Datatype parts[3];
    MPI_Aint back[3];
    int numbers[4];
    MPI_Type_get_contents(made, 4, 3, 3, numbers, back, parts);
    CHECK(parts[0] == types[0] && parts[1] == MPI_INT && parts[2] == types[2] && back[2] == 9);
    int size = -1;
    MPI_Type_size(MPI::UB.handle, &size);
    CHECK(size == 0);
    MPI_Type_free(&made);
    MPI_Type_free(&three);
    MPI_Type_free(&one);
}

static int thrown(MPI::Comm &comm) {
    int data = 0;
    try {
        comm.Send(&data, 1, MPI::INT, comm.Get_size() + 5, 0);
    } catch (MPI::Exception &) {
        return 1;
    }
    return 0;
}

/* What a C function refuses reaches it. */
static int refused() {
    int sizes[1] = {1}, times = 0;
    bool periodic[1] = {true};
    try {
        MPI::COMM_WORLD.Create_cart(-1, sizes, periodic, false);
    } catch (MPI::Exception &) {
        times++;
    }
    try {
        MPI::COMM_WORLD.Create_cart(1, sizes, nullptr, false);
    } catch (MPI::Exception &) {
        times++;
    }
    return times;
}

static void errors() {
    MPI::Comm &world = MPI::COMM_WORLD;
    world.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    MPI::Errhandler current = world.Get_errhandler();
    CHECK(current.handle == MPI::ERRORS_THROW_EXCEPTIONS.handle);
    current.Free();
    CHECK(thrown(world) == 1 && refused() == 2);
    MPI::Errhandler own = MPI::Comm::Create_errhandler(handler);
    world.Set_errhandler(own);
    own.Free();
    CHECK(thrown(world) == 0 && handled == 1);
    world.Set_errhandler(MPI::ERRORS_RETURN);
    CHECK(thrown(world) == 0 && handled == 1);
    /* Errors without an object are those of MPI_COMM_SELF. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Errhandler_free(nullptr) != MPI_SUCCESS);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    messages(MPI::COMM_WORLD);
    attributes();
    topologies();
    bounds();
    errors();
    int all = 0, rank = MPI::COMM_WORLD.Get_rank();
    MPI::COMM_WORLD.Allreduce(&wrong, &all, 1, MPI::INT, MPI::SUM);
    MPI_Finalize();
    if (rank == 0 && all == 0) std::puts("ok bindings");
    return all != 0;
}
