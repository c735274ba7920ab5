// Open MPI's C functions as its C++ bindings need them: one that fails throws, where MPI::ERRORS_THROW_EXCEPTIONS is the error
// handler. Inline functions that were compiled into programs do not look at what a C function returns. Both names of a function are
// here, since a tool that has MPI_X calls PMPI_X.
#ifndef DIALECT_MPICH
#include "bindings.h"

namespace MPI {
void throw_noted();
}

static inline int thrown(int code) {
    if (__builtin_expect(code != MPI_SUCCESS, 0)) MPI::throw_noted();
    return code;
}

static inline int thrown_always(int code) {
    MPI::throw_noted();
    return code;
}

extern "C" {
// Generated from the function table: one line for each function.
#include <calls.h>
}
#endif
