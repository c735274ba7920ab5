// Functions of the namespace MPI that programs import from MPICH's library. With Open MPI's header they are all inline.
#ifdef DIALECT_MPICH
#include "bindings.h"

namespace MPI {

void MPIR_CXX_InitDatatypeNames() {}

void Init() { MPI_Init(nullptr, nullptr); }

void Init(int &count, char **&arguments) { MPI_Init(&count, &arguments); }

int Init_thread(int level) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, level, &provided);
    return provided;
}

int Init_thread(int &count, char **&arguments, int level) {
    int provided = 0;
    MPI_Init_thread(&count, &arguments, level, &provided);
    return provided;
}

void Finalize() { raise(MPI_Finalize()); }

double Wtime() { return MPI_Wtime(); }

double Wtick() { return MPI_Wtick(); }

void Pcontrol(int level, ...) { MPI_Pcontrol(level); }

ANSWERS_WHETHER(Is_initialized(), MPI_Initialized(&answer))
ANSWERS_WHETHER(Is_finalized(), MPI_Finalized(&answer))
ANSWERS_WHETHER(Is_thread_main(), MPI_Is_thread_main(&answer))
ANSWERS(int, Query_thread(), MPI_Query_thread(&answer))
ANSWERS(int, Get_error_class(int code), MPI_Error_class(code, &answer))
ANSWERS(int, Add_error_class(), MPI_Add_error_class(&answer))
ANSWERS(int, Add_error_code(int in), MPI_Add_error_code(in, &answer))
ANSWERS(Aint, Get_address(const void *place), MPI_Get_address(place, &answer))

void Add_error_string(int code, const char *text) { raise(MPI_Add_error_string(code, text)); }
void Get_error_string(int code, char *text, int &length) { raise(MPI_Error_string(code, text, &length)); }
void Get_processor_name(char *name, int &length) { raise(MPI_Get_processor_name(name, &length)); }
void Get_version(int &version, int &subversion) { raise(MPI_Get_version(&version, &subversion)); }
void Compute_dims(int processes, int dimensions, int *sizes) { raise(MPI_Dims_create(processes, dimensions, sizes)); }

void Attach_buffer(void *buffer, int size) { raise(MPI_Buffer_attach(buffer, size)); }
ANSWERS(int, Detach_buffer(void *&buffer), MPI_Buffer_detach(&buffer, &answer))

void *Alloc_mem(Aint size, const Info &info) {
    void *memory = nullptr;
    raise(MPI_Alloc_mem(size, info.handle, &memory));
    return memory;
}

void Free_mem(void *memory) { raise(MPI_Free_mem(memory)); }

void Open_port(const Info &info, char *port) { raise(MPI_Open_port(info.handle, port)); }
void Close_port(const char *port) { raise(MPI_Close_port(port)); }
void Publish_name(const char *name, const Info &info, const char *port) { raise(MPI_Publish_name(name, info.handle, port)); }
void Unpublish_name(const char *name, const Info &info, const char *port) { raise(MPI_Unpublish_name(name, info.handle, port)); }
void Lookup_name(const char *name, const Info &info, char *port) { raise(MPI_Lookup_name(name, info.handle, port)); }

ANSWERS(Intercomm, Comm::Get_parent(), MPI_Comm_get_parent(&answer.handle))
ANSWERS(Intercomm, Comm::Join(int socket), MPI_Comm_join(socket, &answer.handle))

} // namespace MPI
#endif
