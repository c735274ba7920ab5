// Functions of the program that the library calls: they take objects where functions in C take handles.
#include "bindings.h"

#include <map>
#include <mutex>

namespace MPI {
namespace {

template <class Object> using HandleOf = decltype(Object::handle);

// Calls with an object of the handle.
template <class Object> struct With {
    template <class Call> static int call(HandleOf<Object> handle, Call call) {
        Object object(handle);
        return call(object);
    }
};

// A communicator's object has the class of its kind.
template <> struct With<Comm> {
    template <class Call> static int call(MPI_Comm comm, Call call) {
        int inter = 0, topology = MPI_UNDEFINED;
        if (comm != MPI_COMM_NULL) {
            PMPI_Comm_test_inter(comm, &inter);
            PMPI_Topo_test(comm, &topology);
        }
        if (inter) return With<Intercomm>::call(comm, call);
        if (topology == MPI_CART) return With<Cartcomm>::call(comm, call);
        if (topology == MPI_GRAPH) return With<Graphcomm>::call(comm, call);
        return With<Intracomm>::call(comm, call);
    }
};

// What a key was made with. Attributes outlive their key, so this stays.
template <class Object> struct Key {
    int (*copy_c)(HandleOf<Object>, int, void *, void *, void *, int *);
    int (*delete_c)(HandleOf<Object>, int, void *, void *);
    typename Object::Copy_attr_function *copy;
    typename Object::Delete_attr_function *remove;
    void *own;
};

template <class Object> int copied(HandleOf<Object> old, int key, void *own, void *in, void *out, int *flag) {
    Key<Object> *of = static_cast<Key<Object> *>(own);
    if (!of->copy) return of->copy_c(old, key, of->own, in, out, flag);
    return With<Object>::call(old, [=](Object &object) {
        bool copies = false;
        int code = of->copy(object, key, of->own, in, out, copies);
        *flag = copies;
        return code;
    });
}

template <class Object> int deleted(HandleOf<Object> old, int key, void *value, void *own) {
    Key<Object> *of = static_cast<Key<Object> *>(own);
    if (!of->remove) return of->delete_c(old, key, value, of->own);
    return With<Object>::call(old, [=](Object &object) { return of->remove(object, key, value, of->own); });
}

// Error handlers in C++ by their handle: one in C gets no more than the object, which knows its handler.
template <class Function> struct Handlers {
    std::mutex lock;
    std::map<MPI_Errhandler, Function *> all;

    Errhandler add(MPI_Errhandler handler, Function *function) {
        std::lock_guard<std::mutex> guard(lock);
        all[handler] = function;
        return Errhandler(handler);
    }

    Function *of(MPI_Errhandler handler) {
        std::lock_guard<std::mutex> guard(lock);
        typename std::map<MPI_Errhandler, Function *>::iterator found = all.find(handler);
        PMPI_Errhandler_free(&handler);
        return found == all.end() ? nullptr : found->second;
    }
};

// Never destroyed: MPI_Finalize may be called after destructors.
template <class Function> Handlers<Function> &handlers_of() {
    static Handlers<Function> &all = *new Handlers<Function>;
    return all;
}

// What stands in C for handlers in C++.
template <class Object, int get(HandleOf<Object>, MPI_Errhandler *)> void failed(HandleOf<Object> *handle, int *code, ...) {
    MPI_Errhandler handler;
    get(*handle, &handler);
    typename Object::Errhandler_function *function = handlers_of<typename Object::Errhandler_function>().of(handler);
#ifdef DIALECT_MPICH
    // The C function returns no error then, since the bindings call the handler for those that it returns.
    int seen = *code;
    *code = MPI_SUCCESS;
    code = &seen;
#endif
    if (function) With<Object>::call(*handle, [=](Object &object) { return function(object, code), 0; });
}

} // namespace

#define CREATE_ERRHANDLER(Class) \
    Errhandler Class::Create_errhandler(Errhandler_function *function) { \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL; \
        raise(MPI_##Class##_create_errhandler(failed<Class, PMPI_##Class##_get_errhandler>, &made)); \
        return handlers_of<Errhandler_function>().add(made, function); \
    }

CREATE_ERRHANDLER(Comm)
CREATE_ERRHANDLER(Win)
CREATE_ERRHANDLER(File)

#ifdef DIALECT_MPICH

#define CREATE_KEYVAL(Class, Mpi) \
    int Class::Create_keyval(Copy_attr_function *copy, Delete_attr_function *remove, void *own) { \
        int key = MPI_KEYVAL_INVALID; \
        raise(MPI_##Mpi##_create_keyval(copy ? copied<Class> : nullptr, remove ? deleted<Class> : nullptr, &key, \
                                        new Key<Class>{nullptr, nullptr, copy, remove, own})); \
        return key; \
    }

#else

#define CREATE_KEYVAL(Class, Mpi) \
    int Class::do_create_keyval(MPI_##Mpi##_copy_attr_function *copy_c, MPI_##Mpi##_delete_attr_function *remove_c, \
                                Copy_attr_function *copy, Delete_attr_function *remove, void *own, int &key) { \
        return MPI_##Mpi##_create_keyval(copied<Class>, deleted<Class>, &key, new Key<Class>{copy_c, remove_c, copy, remove, own}); \
    }

#endif

CREATE_KEYVAL(Comm, Comm)
CREATE_KEYVAL(Datatype, Type)
CREATE_KEYVAL(Win, Win)

// Operations: the C library calls the function with an object of the datatype.
#ifdef DIALECT_MPICH
extern "C" MPI_User_function alhena_cxx_reduction_1;
extern "C" void alhena_cxx_set_reduction_1(MPI_Op, User_function *);

void Op::Init(User_function *function, bool commutes) {
    raise(MPI_Op_create(alhena_cxx_reduction_1, commutes, &handle));
    alhena_cxx_set_reduction_1(handle, function);
}
#else
extern "C" MPI_User_function ompi_mpi_cxx_op_intercept;
extern "C" void ompi_op_set_cxx_callback(MPI_Op, User_function *);

void Op::Init(User_function *function, bool commutes) {
    MPI_Op_create(ompi_mpi_cxx_op_intercept, commutes, &handle);
    ompi_op_set_cxx_callback(handle, function);
}
#endif

// Generalized requests.
namespace {

// As Open MPI's header has it, whose inline function makes it.
struct Generalized {
    void *own;
    int (*query)(void *, Status &);
    int (*free)(void *);
    int (*cancel)(void *, bool);
};

int query(void *state, MPI_Status *status) {
    Generalized *of = static_cast<Generalized *>(state);
    Status object;
    object.handle = *status;
    int code = of->query(of->own, object);
    *status = object.handle;
    return code;
}

int release(void *state) {
    Generalized *of = static_cast<Generalized *>(state);
    int code = of->free(of->own);
    delete of;
    return code;
}

int cancel(void *state, int complete) {
    Generalized *of = static_cast<Generalized *>(state);
    return of->cancel(of->own, complete != 0);
}

} // namespace

#ifdef DIALECT_MPICH
Grequest Grequest::Start(Query_function *asks, Free_function *frees, Cancel_function *cancels, void *own) {
    Grequest request;
    raise(MPI_Grequest_start(query, release, cancel, new Generalized{own, asks, frees, cancels}, &request.handle));
    return request;
}
#else
extern "C" {
int ompi_mpi_cxx_grequest_query_fn_intercept(void *state, MPI_Status *status) { return query(state, status); }
int ompi_mpi_cxx_grequest_free_fn_intercept(void *state) { return release(state); }
int ompi_mpi_cxx_grequest_cancel_fn_intercept(void *state, int complete) { return cancel(state, complete); }
}
#endif

// Representations of data in files. They stay until the process ends, and so does what they were made with.
namespace {

template <class Convert, class Extent> struct Representation {
    Convert *read;
    Convert *write;
    Extent *extent;
    void *own;
};

#ifdef DIALECT_MPICH
typedef int Converts(void *, Datatype &, int, void *, Offset, void *);
typedef int Extends(const Datatype &, Aint &, void *);
#define RESULT(call) return call
#else
typedef void Converts(void *, Datatype &, int, void *, Offset, void *);
typedef void Extends(const Datatype &, Aint &, void *);
#define RESULT(call) \
    call; \
    return MPI_SUCCESS
#endif
typedef Representation<Converts, Extends> Form;

int reads(void *data, MPI_Datatype type, int count, void *file, MPI_Offset at, void *own) {
    Form *of = static_cast<Form *>(own);
    Datatype object(type);
    RESULT(of->read(data, object, count, file, at, of->own));
}

int writes(void *data, MPI_Datatype type, int count, void *file, MPI_Offset at, void *own) {
    Form *of = static_cast<Form *>(own);
    Datatype object(type);
    RESULT(of->write(data, object, count, file, at, of->own));
}

int extends(MPI_Datatype type, MPI_Aint *extent, void *own) {
    Form *of = static_cast<Form *>(own);
    RESULT(of->extent(Datatype(type), *extent, of->own));
}

} // namespace

void Register_datarep(const char *name, Converts *read, Converts *write, Extends *extent, void *own) {
    raise(MPI_Register_datarep(name, reads, writes, extends, new Form{read, write, extent, own}));
}

#ifndef DIALECT_MPICH
// Functions in C in the place of one or both, which are those that convert nothing.
void Register_datarep(const char *name, MPI_Datarep_conversion_function *read, Converts *write, Extends *extent, void *own) {
    MPI_Register_datarep(name, read, writes, extends, new Form{nullptr, write, extent, own});
}

void Register_datarep(const char *name, Converts *read, MPI_Datarep_conversion_function *write, Extends *extent, void *own) {
    MPI_Register_datarep(name, reads, write, extends, new Form{read, nullptr, extent, own});
}

void Register_datarep(const char *name, MPI_Datarep_conversion_function *read, MPI_Datarep_conversion_function *write, Extends *extent,
                      void *own) {
    MPI_Register_datarep(name, read, write, extends, new Form{nullptr, nullptr, extent, own});
}
#else
// Offsets are long in MPICH's, and long long in Intel's.
extern "C" void _ZN3MPI16Register_datarepEPKcPFiPvRNS_8DatatypeEiS2_xS2_ES6_PFiRKS3_RlS2_ES2_(const char *, Converts *, Converts *, Extends *, void *)
    ALIAS(_ZN3MPI16Register_datarepEPKcPFiPvRNS_8DatatypeEiS2_lS2_ES6_PFiRKS3_RlS2_ES2_);
#endif

} // namespace MPI
