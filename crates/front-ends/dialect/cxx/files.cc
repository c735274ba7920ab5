// The virtual functions of MPI::File, which only MPICH's class has.
#include "bindings.h"

#ifdef DIALECT_MPICH
namespace MPI {

// Parameters and what a C function gets of them.
#define DATA(buffer) (buffer data, int count, const Datatype &datatype)
#define DATA_AT(buffer) (Offset at, buffer data, int count, const Datatype &datatype)
#define PASSED (data, count, datatype.handle)
#define PASSED_AT (at, data, count, datatype.handle)
#define LIST(...) __VA_ARGS__

// A function without a status and one with it.
#define TRANSFERS(name, c, parameters, passed) \
    void File::name(LIST parameters) { ON_THIS(MPI_File_##c(handle, LIST passed, MPI_STATUS_IGNORE)); } \
    void File::name(LIST parameters, Status &status) { ON_THIS(MPI_File_##c(handle, LIST passed, &status.handle)); }
#define BEGINS(name, c, parameters, passed) \
    void File::name(LIST parameters) { ON_THIS(MPI_File_##c(handle, LIST passed)); }
#define REQUESTS(name, c, parameters, passed) \
    ANSWERS(Request, File::name(LIST parameters), *this, MPI_File_##c(handle, LIST passed, &answer.handle))

TRANSFERS(Read, read, DATA(void *), PASSED)
TRANSFERS(Read_all, read_all, DATA(void *), PASSED)
TRANSFERS(Read_ordered, read_ordered, DATA(void *), PASSED)
TRANSFERS(Read_shared, read_shared, DATA(void *), PASSED)
TRANSFERS(Write, write, DATA(const void *), PASSED)
TRANSFERS(Write_all, write_all, DATA(const void *), PASSED)
TRANSFERS(Write_ordered, write_ordered, DATA(const void *), PASSED)
TRANSFERS(Write_shared, write_shared, DATA(const void *), PASSED)
TRANSFERS(Read_at, read_at, DATA_AT(void *), PASSED_AT)
TRANSFERS(Read_at_all, read_at_all, DATA_AT(void *), PASSED_AT)
TRANSFERS(Write_at, write_at, DATA_AT(const void *), PASSED_AT)
TRANSFERS(Write_at_all, write_at_all, DATA_AT(const void *), PASSED_AT)
BEGINS(Read_all_begin, read_all_begin, DATA(void *), PASSED)
BEGINS(Read_ordered_begin, read_ordered_begin, DATA(void *), PASSED)
BEGINS(Write_all_begin, write_all_begin, DATA(const void *), PASSED)
BEGINS(Write_ordered_begin, write_ordered_begin, DATA(const void *), PASSED)
BEGINS(Read_at_all_begin, read_at_all_begin, DATA_AT(void *), PASSED_AT)
BEGINS(Write_at_all_begin, write_at_all_begin, DATA_AT(const void *), PASSED_AT)
TRANSFERS(Read_all_end, read_all_end, (void *data), (data))
TRANSFERS(Read_at_all_end, read_at_all_end, (void *data), (data))
TRANSFERS(Read_ordered_end, read_ordered_end, (void *data), (data))
TRANSFERS(Write_all_end, write_all_end, (const void *data), (data))
TRANSFERS(Write_at_all_end, write_at_all_end, (const void *data), (data))
TRANSFERS(Write_ordered_end, write_ordered_end, (const void *data), (data))
REQUESTS(Iread, iread, DATA(void *), PASSED)
REQUESTS(Iread_shared, iread_shared, DATA(void *), PASSED)
REQUESTS(Iwrite, iwrite, DATA(const void *), PASSED)
REQUESTS(Iwrite_shared, iwrite_shared, DATA(const void *), PASSED)
REQUESTS(Iread_at, iread_at, DATA_AT(void *), PASSED_AT)
REQUESTS(Iwrite_at, iwrite_at, DATA_AT(const void *), PASSED_AT)

ANSWERS(Aint, File::Get_type_extent(const Datatype &datatype) const, *this, MPI_File_get_type_extent(handle, datatype.handle, &answer))
ANSWERS(Offset, File::Get_size() const, *this, MPI_File_get_size(handle, &answer))
ANSWERS(Offset, File::Get_position() const, *this, MPI_File_get_position(handle, &answer))
ANSWERS(Offset, File::Get_position_shared() const, *this, MPI_File_get_position_shared(handle, &answer))
ANSWERS(Offset, File::Get_byte_offset(Offset at) const, *this, MPI_File_get_byte_offset(handle, at, &answer))
ANSWERS(int, File::Get_amode() const, *this, MPI_File_get_amode(handle, &answer))
ANSWERS_WHETHER(File::Get_atomicity() const, *this, MPI_File_get_atomicity(handle, &answer))
ANSWERS(Info, File::Get_info() const, *this, MPI_File_get_info(handle, &answer.handle))
ANSWERS(Group, File::Get_group() const, *this, MPI_File_get_group(handle, &answer.handle))
ANSWERS(Errhandler, File::Get_errhandler() const, *this, MPI_File_get_errhandler(handle, &answer.handle))

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
