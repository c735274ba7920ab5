// MPI::ERRORS_THROW_EXCEPTIONS.
//
// No error handler in C can throw, since C's functions are not unwound. So what stands for it in C notes the error and returns,
// and the exception is thrown when the C function has returned: by Open MPI's (calls.cc), or by what MPICH's bindings call then.
#include "bindings.h"

#include <dlfcn.h>
#include <mutex>

namespace MPI {
namespace {

thread_local int noted = MPI_SUCCESS;

const MPI_Errhandler THROWS = MPI_ERRORS_THROW_EXCEPTIONS;

template <class Handle> void note(Handle *, int *code, ...) { noted = *code; }

// The handler in C for a kind of object: made when it is first needed, kept until the process ends.
template <class Handle> struct Stands {
    std::mutex lock;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

    MPI_Errhandler get(int (*create)(void (*)(Handle *, int *, ...), MPI_Errhandler *)) {
        std::lock_guard<std::mutex> guard(lock);
        if (handler == MPI_ERRHANDLER_NULL) create(note<Handle>, &handler);
        return handler;
    }

    bool is(MPI_Errhandler other) {
        std::lock_guard<std::mutex> guard(lock);
        return handler != MPI_ERRHANDLER_NULL && other == handler;
    }
};

Stands<MPI_Comm> of_comms;
Stands<MPI_Win> of_wins;
Stands<MPI_File> of_files;

} // namespace

void *below(const char *name) {
#ifdef DIALECT_MPICH
    const char *library = "libmpi.so.12";
#else
    const char *library = "libmpi.so.40";
#endif
    // Loaded, since this library needs it; never closed.
    static void *const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    return dlsym(loaded ? loaded : RTLD_NEXT, name);
}

// An error that was noted, as an exception.
void throw_noted() {
    if (int code = noted) {
        noted = MPI_SUCCESS;
        throw Exception(code);
    }
}

#ifdef DIALECT_MPICH
#define CALL_ERRHANDLER(Class, object) \
    void Class::Call_errhandler(int code) const { \
        MPI_Errhandler current = MPI_ERRHANDLER_NULL; \
        MPI_##Class##_get_errhandler(object, &current); \
        bool throws = current == THROWS; \
        MPI_Errhandler_free(&current); \
        noted = MPI_SUCCESS; \
        if (throws) throw Exception(code); \
        MPI_##Class##_call_errhandler(object, code); \
    }

// An error without a communicator is one of MPI_COMM_WORLD.
CALL_ERRHANDLER(Comm, (handle == MPI_COMM_NULL ? MPI_COMM_WORLD : handle))
CALL_ERRHANDLER(Win, handle)
CALL_ERRHANDLER(File, handle)

void MPIR_Call_world_errhand(int code) { COMM_WORLD.Call_errhandler(code); }
#endif

} // namespace MPI

using namespace MPI;

// The program sees one handler for all kinds of objects.
#define HANDLERS(Kind, Handle, stands) \
    int PMPI_##Kind##_set_errhandler(Handle object, MPI_Errhandler handler) { \
        MPI_Errhandler in_c = handler == THROWS ? stands.get(PMPI_##Kind##_create_errhandler) : handler; \
        return BELOW(PMPI_##Kind##_set_errhandler)(object, in_c); \
    } \
    int PMPI_##Kind##_get_errhandler(Handle object, MPI_Errhandler *handler) { \
        int code = BELOW(PMPI_##Kind##_get_errhandler)(object, handler); \
        if (code == MPI_SUCCESS && stands.is(*handler)) { \
            BELOW(PMPI_Errhandler_free)(handler); \
            *handler = THROWS; \
        } \
        return code; \
    } \
    int MPI_##Kind##_set_errhandler(Handle object, MPI_Errhandler handler) ALIAS(PMPI_##Kind##_set_errhandler); \
    int MPI_##Kind##_get_errhandler(Handle object, MPI_Errhandler *handler) ALIAS(PMPI_##Kind##_get_errhandler);

extern "C" {

HANDLERS(Comm, MPI_Comm, of_comms)
HANDLERS(Win, MPI_Win, of_wins)
HANDLERS(File, MPI_File, of_files)

int PMPI_Errhandler_free(MPI_Errhandler *handler) {
    if (!handler || *handler != THROWS) return BELOW(PMPI_Errhandler_free)(handler);
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int MPI_Errhandler_free(MPI_Errhandler *handler) ALIAS(PMPI_Errhandler_free);

}
