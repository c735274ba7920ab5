// The virtual functions of MPI::File, which only MPICH's class has.
#include "bindings.h"

#ifdef DIALECT_MPICH
#define ON_THIS(call) raise(*this, call)

namespace MPI {

// A function with and one without a status.
#define WITH_STATUS(name, c, parameters, ...) \
    void File::name parameters { ON_THIS(MPI_File_##c(handle, __VA_ARGS__, MPI_STATUS_IGNORE)); }
#define TRANSFERS(name, c, buffer) \
    WITH_STATUS(name, c, (buffer data, int count, const Datatype &datatype), data, count, datatype.handle) \
    void File::name(buffer data, int count, const Datatype &datatype, Status &status) { \
        ON_THIS(MPI_File_##c(handle, data, count, datatype.handle, &status.handle)); \
    }
#define TRANSFERS_AT(name, c, buffer) \
    WITH_STATUS(name, c, (Offset at, buffer data, int count, const Datatype &datatype), at, data, count, datatype.handle) \
    void File::name(Offset at, buffer data, int count, const Datatype &datatype, Status &status) { \
        ON_THIS(MPI_File_##c(handle, at, data, count, datatype.handle, &status.handle)); \
    }
#define ENDS(name, c, buffer) \
    WITH_STATUS(name, c, (buffer data), data) \
    void File::name(buffer data, Status &status) { ON_THIS(MPI_File_##c(handle, data, &status.handle)); }
#define BEGINS(name, c, buffer) \
    void File::name(buffer data, int count, const Datatype &datatype) { \
        ON_THIS(MPI_File_##c(handle, data, count, datatype.handle)); \
    }
#define BEGINS_AT(name, c, buffer) \
    void File::name(Offset at, buffer data, int count, const Datatype &datatype) { \
        ON_THIS(MPI_File_##c(handle, at, data, count, datatype.handle)); \
    }
#define REQUESTS(name, c, buffer) \
    Request File::name(buffer data, int count, const Datatype &datatype) { \
        Request request; \
        ON_THIS(MPI_File_##c(handle, data, count, datatype.handle, &request.handle)); \
        return request; \
    }
#define REQUESTS_AT(name, c, buffer) \
    Request File::name(Offset at, buffer data, int count, const Datatype &datatype) { \
        Request request; \
        ON_THIS(MPI_File_##c(handle, at, data, count, datatype.handle, &request.handle)); \
        return request; \
    }

TRANSFERS(Read, read, void *)
TRANSFERS(Read_all, read_all, void *)
TRANSFERS(Read_ordered, read_ordered, void *)
TRANSFERS(Read_shared, read_shared, void *)
TRANSFERS(Write, write, const void *)
TRANSFERS(Write_all, write_all, const void *)
TRANSFERS(Write_ordered, write_ordered, const void *)
TRANSFERS(Write_shared, write_shared, const void *)
TRANSFERS_AT(Read_at, read_at, void *)
TRANSFERS_AT(Read_at_all, read_at_all, void *)
TRANSFERS_AT(Write_at, write_at, const void *)
TRANSFERS_AT(Write_at_all, write_at_all, const void *)
BEGINS(Read_all_begin, read_all_begin, void *)
BEGINS(Read_ordered_begin, read_ordered_begin, void *)
BEGINS(Write_all_begin, write_all_begin, const void *)
BEGINS(Write_ordered_begin, write_ordered_begin, const void *)
BEGINS_AT(Read_at_all_begin, read_at_all_begin, void *)
BEGINS_AT(Write_at_all_begin, write_at_all_begin, const void *)
ENDS(Read_all_end, read_all_end, void *)
ENDS(Read_at_all_end, read_at_all_end, void *)
ENDS(Read_ordered_end, read_ordered_end, void *)
ENDS(Write_all_end, write_all_end, const void *)
ENDS(Write_at_all_end, write_at_all_end, const void *)
ENDS(Write_ordered_end, write_ordered_end, const void *)
REQUESTS(Iread, iread, void *)
REQUESTS(Iread_shared, iread_shared, void *)
REQUESTS(Iwrite, iwrite, const void *)
REQUESTS(Iwrite_shared, iwrite_shared, const void *)
REQUESTS_AT(Iread_at, iread_at, void *)
REQUESTS_AT(Iwrite_at, iwrite_at, const void *)

#define ANSWERS(kind, name, type, call) \
    kind File::name const { \
        type answer = type(); \
        ON_THIS(call); \
        return answer; \
    }

ANSWERS(Aint, Get_type_extent(const Datatype &datatype), Aint, MPI_File_get_type_extent(handle, datatype.handle, &answer))
ANSWERS(Offset, Get_size(), Offset, MPI_File_get_size(handle, &answer))
ANSWERS(Offset, Get_position(), Offset, MPI_File_get_position(handle, &answer))
ANSWERS(Offset, Get_position_shared(), Offset, MPI_File_get_position_shared(handle, &answer))
ANSWERS(Offset, Get_byte_offset(Offset at), Offset, MPI_File_get_byte_offset(handle, at, &answer))
ANSWERS(int, Get_amode(), int, MPI_File_get_amode(handle, &answer))
ANSWERS(bool, Get_atomicity(), int, MPI_File_get_atomicity(handle, &answer))
ANSWERS(Info, Get_info(), Info, MPI_File_get_info(handle, &answer.handle))
ANSWERS(Group, Get_group(), Group, MPI_File_get_group(handle, &answer.handle))
ANSWERS(Errhandler, Get_errhandler(), Errhandler, MPI_File_get_errhandler(handle, &answer.handle))

void File::Set_info(const Info &info) { ON_THIS(MPI_File_set_info(handle, info.handle)); }
void File::Set_atomicity(bool on) { ON_THIS(MPI_File_set_atomicity(handle, on)); }
void File::Set_size(Offset size) { ON_THIS(MPI_File_set_size(handle, size)); }
void File::Preallocate(Offset size) { ON_THIS(MPI_File_preallocate(handle, size)); }
void File::Seek(Offset to, int whence) { ON_THIS(MPI_File_seek(handle, to, whence)); }
void File::Seek_shared(Offset to, int whence) { ON_THIS(MPI_File_seek_shared(handle, to, whence)); }
void File::Sync() { ON_THIS(MPI_File_sync(handle)); }
void File::Close() { ON_THIS(MPI_File_close(&handle)); }
void File::Set_errhandler(const Errhandler &to) { ON_THIS(MPI_File_set_errhandler(handle, to.handle)); }

void File::Get_view(Offset &from, Datatype &element, Datatype &file, char *form) const {
    ON_THIS(MPI_File_get_view(handle, &from, &element.handle, &file.handle, form));
}

void File::Set_view(Offset from, const Datatype &element, Datatype file, const char *form, const Info &info) {
    ON_THIS(MPI_File_set_view(handle, from, element.handle, file.handle, form, info.handle));
}

} // namespace MPI
#endif
