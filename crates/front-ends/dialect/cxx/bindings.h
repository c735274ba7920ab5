// What all parts of the C++ bindings share.
//
// Programs have most of MPI's C++ interface compiled into them, from inline functions of the header that they were built with.
// This library has the rest by the names that they import: objects (MPI::COMM_WORLD), tables of virtual functions, and what
// calls functions of the program. It stands on the C functions of the same ABI, by their names, so tools see its calls.
#pragma once

#include <algorithm>
#include <mpi.h>
#include <vector>

// What stands for MPI::ERRORS_THROW_EXCEPTIONS in C, where no header has a name for it.
#ifdef DIALECT_MPICH
#define MPI_ERRORS_THROW_EXCEPTIONS ((MPI_Errhandler)0x54000002)
#else
#define MPI_ERRORS_THROW_EXCEPTIONS (&ompi_mpi_errors_throw_exceptions)
#endif

namespace MPI {

// A function of the C library of this ABI, whatever has its name in front of that.
__attribute__((visibility("hidden"))) void *below(const char *name);

#define BELOW(function) \
    ([]() -> decltype(&function) { \
        static void *const found = MPI::below(#function); \
        return reinterpret_cast<decltype(&function)>(found); \
    }())

// The second name of a function.
#define ALIAS(function) __attribute__((alias(#function)))

typedef MPI_Aint Aint;
typedef MPI_Offset Offset;

class Comm_Null;
class Comm;
class Intracomm;
class Intercomm;
class Cartcomm;
class Graphcomm;
class Datatype;
class Errhandler;
class Group;
class Op;
class Request;
class Status;
class Info;
class Win;
class File;

typedef void User_function(const void *, void *, int, const Datatype &);

#ifdef DIALECT_MPICH
#include "classes-mpich.h"
#else
#include "classes-open-mpi.h"
#endif

// The exception, as the program's handler finds it.
class Exception {
#ifdef DIALECT_MPICH
    int code;

public:
    Exception(int of) : code(of) {}
    virtual ~Exception() {}

private:
    char text[MPI_MAX_ERROR_STRING];
#else
    int code;
    char *text;
    int error_class;

public:
    Exception(int of) : code(of), text(new char[MPI_MAX_ERROR_STRING]) {
        int length;
        MPI_Error_class(code, &error_class);
        MPI_Error_string(code, text, &length);
    }
    Exception(const Exception &other) : code(other.code), text(new char[MPI_MAX_ERROR_STRING]), error_class(other.error_class) {
        std::copy(other.text, other.text + MPI_MAX_ERROR_STRING, text);
    }
    ~Exception() { delete[] text; }
#endif
};

extern Intracomm COMM_WORLD;

// After a call: where MPI::ERRORS_THROW_EXCEPTIONS is the error handler of the object, an error becomes an exception.
#ifdef DIALECT_MPICH
// MPICH's functions return the error, and the bindings ask which handler the object has.
template <class Object> void raise(const Object &on, int code) {
    if (code) on.Call_errhandler(code);
}
inline void raise(int code) { raise<Comm>(COMM_WORLD, code); }
#else
// Open MPI's functions have thrown by themselves (calls.cc).
template <class Object> void raise(const Object &, int) {}
inline void raise(int) {}
#endif

// In a function of an object.
#define ON_THIS(call) raise(*this, call)

// A function that gives what a C function writes to `answer`: a value of its type, or whether something is so. What stands behind
// its name is what `raise` gets.
#define ANSWERS(type, function, ...) ANSWERS_FROM(type, type, function, __VA_ARGS__)
#define ANSWERS_WHETHER(function, ...) ANSWERS_FROM(int, bool, function, __VA_ARGS__)
#define ANSWERS_FROM(written, type, function, ...) \
    type function { \
        written answer = written(); \
        raise(__VA_ARGS__); \
        return answer; \
    }

// Handles of an array of objects.
template <class Handle, class Object> std::vector<Handle> handles(const Object *objects, int length) {
    std::vector<Handle> all;
    for (int at = 0; at < length; at++) all.push_back(objects[at].handle);
    return all;
}

// Integers of an array of truth values; none for an array or a length that the C function refuses.
inline std::vector<int> integers(const bool *values, int length) {
    return std::vector<int>(values, values + (values ? std::max(length, 0) : 0));
}

} // namespace MPI
