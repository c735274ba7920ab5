/* Opening, modes, pointers, sizes, error handlers (MPI-5.0 sections 14.2, 14.4.3, 14.7). */
#include "files.h"
#include "process.h"
#include <stdint.h>
#include <sys/inotify.h>

static int called;
static MPI_File told;
static int told_class;

static void handler(MPI_File *file, int *code, ...)
{
    called++;
    told = *file;
    told_class = class_of(*code);
}

static void comm_handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
    called += 1000;
}

static int mode(int amode)
{
    MPI_File f = MPI_FILE_NULL;
    int code = MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &f);
    if (code == MPI_SUCCESS)
        MPI_File_close(&f);
    return class_of(code);
}

static void modes(void)
{
    MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    all_eq(mode(MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE, "a missing file is no such file");
    all_eq(mode(MPI_MODE_RDONLY | MPI_MODE_RDWR), MPI_ERR_AMODE, "two ways of access are none");
    all_eq(mode(MPI_MODE_CREATE), MPI_ERR_AMODE, "no way of access is none");
    all_eq(mode(MPI_MODE_CREATE | MPI_MODE_RDONLY), MPI_ERR_AMODE, "reading creates nothing");
    all_eq(mode(MPI_MODE_EXCL | MPI_MODE_RDONLY), MPI_ERR_AMODE, "reading excludes nothing");
    all_eq(mode(MPI_MODE_SEQUENTIAL | MPI_MODE_RDWR), MPI_ERR_AMODE, "sequential files are read or written");
    all_eq(mode(RW | MPI_MODE_EXCL), MPI_SUCCESS, "an exclusive file is made once");
    all_eq(mode(RW | MPI_MODE_EXCL), MPI_ERR_FILE_EXISTS, "an exclusive file is not made twice");
    if (size > 1)
        all_eq(mode(rank ? MPI_MODE_RDWR : MPI_MODE_RDONLY), MPI_ERR_NOT_SAME, "different modes are noticed");
    all_eq(mode(RW | MPI_MODE_DELETE_ON_CLOSE), MPI_SUCCESS, "a file that goes with its close");
    all_eq(access(path, F_OK), -1, "has gone");
    char name[4200];
    memset(name, 'x', sizeof name);
    name[4000] = 0;
    MPI_File f = (MPI_File)1;
    all_eq(class_of(MPI_File_open(MPI_COMM_WORLD, name, RW, MPI_INFO_NULL, &f)), MPI_ERR_BAD_FILE, "a name of 4,000 bytes");
    all_eq(f == MPI_FILE_NULL, 1, "no handle comes of it");
    all_eq(class_of(MPI_File_open(MPI_COMM_WORLD, "/no/such/directory/x", RW, MPI_INFO_NULL, &f)), MPI_ERR_NO_SUCH_FILE, "a missing directory");
    all_eq(class_of(MPI_File_open(MPI_COMM_WORLD, "/", MPI_MODE_RDONLY, MPI_INFO_NULL, &f)), MPI_ERR_BAD_FILE, "a directory is no file");
    char here[4096];
    if (getcwd(here, sizeof here) && chdir(path[0] == '/' ? "/tmp" : ".") == 0) {
        all_eq(class_of(MPI_File_open(MPI_COMM_WORLD, "q", RW | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f)), MPI_SUCCESS, "a name of one letter");
        MPI_File_close(&f);
        all_eq(chdir(here), 0, "back");
    }
    snprintf(name, sizeof name, "ufs:%s", path);
    all_eq(class_of(MPI_File_open(MPI_COMM_WORLD, name, RW, MPI_INFO_NULL, &f)), MPI_SUCCESS, "a prefix names a kind of file system");
    MPI_File_close(&f);
    all_eq(access(path, F_OK), 0, "and is no part of the name");
}

static void refusals(void)
{
    char byte = 'x';
    MPI_Offset offset;
    MPI_File f = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY);
    all_eq(class_of(MPI_File_read_at(f, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_ACCESS, "a file for writing is not read");
    all_eq(class_of(MPI_File_write_at(f, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_ARG, "no offset is negative");
    all_eq(class_of(MPI_File_write_at(f, 0, &byte, -1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_COUNT, "no count is negative");
    all_eq(class_of(MPI_File_write_at(f, 0, NULL, 1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_BUFFER, "no buffer is null");
    all_eq(class_of(MPI_File_write_at(f, 0, &byte, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE)), MPI_ERR_TYPE, "no type is null");
    all_eq(class_of(MPI_File_seek(f, 0, 77)), MPI_ERR_ARG, "no such way to seek");
    all_eq(class_of(MPI_File_seek(f, -1, MPI_SEEK_SET)), MPI_ERR_ARG, "not before the begin");
    MPI_File_close(&f);
    f = opened(MPI_MODE_RDONLY);
    all_eq(class_of(MPI_File_write_at(f, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_READ_ONLY, "a file for reading is not written");
    all_eq(class_of(MPI_File_set_size(f, 0)), MPI_ERR_READ_ONLY, "nor cut");
    MPI_File_close(&f);
    f = opened(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    all_eq(class_of(MPI_File_write_at(f, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_UNSUPPORTED_OPERATION, "sequential: no offsets");
    all_eq(class_of(MPI_File_write(f, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)), MPI_ERR_UNSUPPORTED_OPERATION, "sequential: no individual pointer");
    all_eq(class_of(MPI_File_seek_shared(f, 0, MPI_SEEK_SET)), MPI_ERR_UNSUPPORTED_OPERATION, "sequential: no seeking");
    all_eq(class_of(MPI_File_get_position_shared(f, &offset)), MPI_ERR_UNSUPPORTED_OPERATION, "sequential: no position");
    all_eq(class_of(MPI_File_set_size(f, 10)), MPI_ERR_UNSUPPORTED_OPERATION, "sequential: no size");
    all_eq(class_of(MPI_File_preallocate(f, 10)), MPI_ERR_UNSUPPORTED_OPERATION, "sequential: no preallocation");
    MPI_File_close(&f);
    MPI_File stale = f;
    all_eq(class_of(MPI_File_get_amode(stale, &(int){0})), MPI_ERR_FILE, "no file is null");
    all_eq(class_of(MPI_File_get_amode((MPI_File)MPI_COMM_WORLD, &(int){0})), MPI_ERR_FILE, "no file is a communicator");
}

static void pointers(void)
{
    MPI_Offset offset;
    MPI_Status status;
    char text[16] = "0123456789abcdef", back[16];
    MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File f = opened(RW);
    if (rank == 0)
        MPI_File_write(f, text, 16, MPI_BYTE, &status);
    else
        MPI_File_seek(f, 16, MPI_SEEK_CUR);
    MPI_File_get_position(f, &offset);
    all_eq(offset, 16, "the individual pointer moves by what is written");
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(f);
    MPI_File_seek(f, -10, MPI_SEEK_END);
    memset(back, 0, 16);
    all_eq(MPI_File_read(f, back, 16, MPI_BYTE, &status), MPI_SUCCESS, "a read across the end is no error");
    all_eq(bytes_of(&status), 10, "and tells what it has read");
    all_eq(memcmp(back, text + 6, 10) == 0 && back[10] == 0, 1, "and reads that");
    MPI_File_get_position(f, &offset);
    all_eq(offset, 22, "the pointer has moved by what was asked for");
    MPI_File_read_at(f, 1000, back, 16, MPI_BYTE, &status);
    all_eq(bytes_of(&status), 0, "nothing is behind the end");
    MPI_Request request;
    MPI_File_seek(f, 0, MPI_SEEK_SET);
    MPI_File_iread(f, back, 8, MPI_BYTE, &request);
    MPI_File_get_position(f, &offset);
    all_eq(offset, 8, "a nonblocking read moves the pointer when it starts");
    MPI_Wait(&request, &status);
    all_eq(bytes_of(&status) == 8 && memcmp(back, text, 8) == 0, 1, "and reads");
    int amode;
    MPI_File_get_amode(f, &amode);
    all_eq(amode, RW, "the mode is as it was given");
    MPI_Group group, world;
    MPI_File_get_group(f, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int same;
    MPI_Group_compare(group, world, &same);
    all_eq(same, MPI_IDENT, "the group is that of the communicator");
    MPI_Group_free(&group), MPI_Group_free(&world);
    all_eq(MPI_File_set_size(f, 100), MPI_SUCCESS, "the size is set");
    MPI_File_get_size(f, &offset);
    all_eq(offset, 100, "to what was asked");
    if (size > 1)
        all_eq(class_of(MPI_File_set_size(f, 100 + rank)), MPI_ERR_NOT_SAME, "different sizes are noticed");
    MPI_File_preallocate(f, 50);
    MPI_File_get_size(f, &offset);
    all_eq(offset, 100, "preallocation cuts nothing");
    MPI_File_preallocate(f, 200);
    MPI_File_get_size(f, &offset);
    all_eq(offset, 200, "preallocation makes a file longer");
    MPI_File_close(&f);
    f = opened(MPI_MODE_RDWR | MPI_MODE_APPEND);
    MPI_File_get_position(f, &offset);
    all_eq(offset, 200, "appending begins at the end");
    MPI_File_get_position_shared(f, &offset);
    all_eq(offset, 200, "with both pointers");
    MPI_File_close(&f);
    f = opened(MPI_MODE_RDWR);
    all_eq(MPI_File_write_at(f, ((MPI_Offset)1 << 40) + rank, text, 1, MPI_BYTE, &status), MPI_SUCCESS, "offsets above 2^40");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at(f, ((MPI_Offset)1 << 40) - 2, back, 16, MPI_BYTE, &status);
    all_eq(bytes_of(&status), 2 + size, "have data where it was written");
    MPI_File_close(&f);
}

/* Whether the string of an error holds some parts. */
static int says(int code, const char *call, const char *path, const char *seen)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Error_string(code, text, &len);
    return strstr(text, call) && strstr(text, path) && strstr(text, seen);
}

static void handlers(void)
{
    MPI_Errhandler mine, got;
    MPI_File f;
    MPI_File_get_errhandler(MPI_FILE_NULL, &got);
    all_eq(got == MPI_ERRORS_RETURN, 1, "files return their errors");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    all_eq(class_of(MPI_File_delete("/tmp/no/such/file", MPI_INFO_NULL)), MPI_ERR_NO_SUCH_FILE, "deleting what is missing");
    all_eq(says(MPI_ERR_NO_SUCH_FILE, "MPI_File_delete", "\"/tmp/no/such/file\"", "(os error 2)"), 1, "the error's string names call, path and errno");
    MPI_File_open(MPI_COMM_WORLD, "/no/such/directory/x", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);
    all_eq(says(MPI_ERR_NO_SUCH_FILE, "MPI_File_open", "\"/no/such/directory/x\"", "(os error 2)"), 1, "on every process that opens");
    f = opened(RW);
    MPI_File_seek(f, -5, MPI_SEEK_SET);
    all_eq(says(MPI_ERR_ARG, "MPI_File_seek", path, "the offset is negative"), 1, "or what was seen");
    MPI_File_close(&f);
    MPI_Errhandler by_comm;
    MPI_Comm_create_errhandler(comm_handler, &by_comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, by_comm);
    MPI_File_create_errhandler(handler, &mine);
    MPI_File_set_errhandler(MPI_FILE_NULL, mine);
    MPI_File_open(MPI_COMM_WORLD, "/no/such/directory/x", RW, MPI_INFO_NULL, &f);
    all_eq(called == 1 && told == MPI_FILE_NULL && told_class == MPI_ERR_NO_SUCH_FILE, 1, "opening reports to the handler of MPI_FILE_NULL");
    f = opened(RW);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_File_seek(f, -5, MPI_SEEK_SET);
    all_eq(called == 2 && told == f && told_class == MPI_ERR_ARG, 1, "a file inherits that handler");
    MPI_File_get_errhandler(f, &got);
    all_eq(got == mine, 1, "and knows it");
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&mine);
    MPI_File_call_errhandler(f, MPI_ERR_QUOTA);
    all_eq(called == 3 && told_class == MPI_ERR_QUOTA, 1, "the program calls it");
    all_eq(class_of(MPI_File_set_errhandler(f, by_comm)), MPI_ERR_ARG, "a handler of communicators does not fit");
    MPI_File_set_errhandler(f, MPI_ERRORS_RETURN);
    all_eq(class_of(MPI_File_seek(f, -5, MPI_SEEK_SET)), MPI_ERR_ARG, "a file returns its errors again");
    all_eq(called, 4, "with no handler called");
    MPI_File_close(&f);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&by_comm);
}

/* A view of one filetype of integers, on a file opened in some way. */
static int view_of(int amode, int first, int second)
{
    MPI_Datatype t;
    int lens[2] = {3, 1}, disps[2] = {first, second};
    MPI_Type_indexed(2, lens, disps, MPI_INT, &t);
    MPI_Type_commit(&t);
    MPI_File f = opened(amode);
    int code = class_of(MPI_File_set_view(f, 0, MPI_INT, t, "native", MPI_INFO_NULL));
    if (code == MPI_SUCCESS)
        code = class_of(MPI_File_set_view(f, 0, t, t, "native", MPI_INFO_NULL));
    else if (class_of(MPI_File_set_view(f, 0, t, t, "native", MPI_INFO_NULL)) != code)
        code = -1;
    MPI_File_close(&f);
    MPI_Type_free(&t);
    return code;
}

/* A view of pieces of bytes, apart from each other. */
static int view_of_parts(MPI_Datatype etype, int bytes)
{
    MPI_Datatype t;
    MPI_Type_vector(4, bytes, 8, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    MPI_File f = opened(RW);
    int code = class_of(MPI_File_set_view(f, 0, etype, t, "native", MPI_INFO_NULL));
    MPI_File_close(&f);
    MPI_Type_free(&t);
    return code;
}

static void views(void)
{
    all_eq(view_of(RW, 0, 5), MPI_SUCCESS, "a filetype that ascends is one, and an etype");
    all_eq(view_of(RW, -2, 2), MPI_ERR_IO, "one below 0 is none");
    all_eq(view_of(MPI_MODE_RDONLY, 3, 0), MPI_ERR_IO, "one that descends is none");
    all_eq(view_of(RW, 0, 1), MPI_ERR_IO, "one that overlaps is none to write");
    all_eq(view_of(MPI_MODE_RDONLY, 0, 1), MPI_SUCCESS, "but one to read");
    all_eq(view_of_parts(MPI_INT, 4), MPI_SUCCESS, "a filetype of bytes that make up whole etypes is one");
    all_eq(view_of_parts(MPI_BYTE, 2), MPI_SUCCESS, "and so is any for an etype of bytes");
    all_eq(view_of_parts(MPI_INT, 2), MPI_ERR_ARG, "one that cuts its etype is none");
}

static void hints(void)
{
    MPI_Info info, used;
    char value[MPI_MAX_INFO_VAL];
    int there;
    MPI_File f;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "romio_ds_read", "enable");
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "no_such_hint", "1");
    MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system");
    MPI_File_open(MPI_COMM_WORLD, path, RW, info, &f);
    MPI_File_get_info(f, &used);
    MPI_Info_get(used, "cb_nodes", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && !strcmp(value, "1"), 1, "a hint is in force");
    MPI_Info_get(used, "romio_ds_read", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && !strcmp(value, "enable"), 1, "so is an alias");
    MPI_Info_get(used, "romio_ds_write", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && !strcmp(value, "disable"), 1, "writes are not sieved, whatever the program asks for");
    MPI_Info_get(used, "no_such_hint", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there, 0, "an unknown one is dropped");
    MPI_Info_get(used, "filename", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && !strcmp(value, path), 1, "the name of the file is reported");
    MPI_Info_get(used, "mpi_assert_memory_alloc_kinds", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && !strcmp(value, "system"), 1, "and what memory the program promised to use");
    MPI_Info_get(used, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && strstr(value, "system") != NULL, 1, "and what it may use");
    MPI_Info_free(&used);
    if (size > 1) {
        MPI_Info_set(info, "cb_nodes", rank ? "1" : "2");
        all_eq(class_of(MPI_File_set_info(f, info)), MPI_ERR_NOT_SAME, "hints on collective access are the same everywhere");
    }
    MPI_Info_free(&info);
    MPI_File_close(&f);
    /* Hints of the system, by a file that each rank writes for itself. */
    char name[4200];
    snprintf(name, sizeof name, "%s.hints.%d", path, rank);
    FILE *hinted = fopen(name, "w");
    fputs("# hints\ncb_buffer_size 65536\nromio_ds_read disable\n", hinted);
    fclose(hinted);
    setenv("ROMIO_HINTS", name, 1);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_read", "enable");
    MPI_File_open(MPI_COMM_WORLD, path, RW, info, &f);
    MPI_Info_free(&info);
    MPI_File_get_info(f, &used);
    MPI_Info_get(used, "cb_buffer_size", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && !strcmp(value, "65536"), 1, "ROMIO_HINTS names hints");
    MPI_Info_get(used, "romio_ds_read", MPI_MAX_INFO_VAL - 1, value, &there);
    all_eq(there && !strcmp(value, "enable"), 1, "those of the program go before them");
    MPI_Info_free(&used);
    MPI_File_close(&f);
    unsetenv("ROMIO_HINTS");
    unlink(name);
}

/* However many open a file, it is made once. */
static void made_once(void)
{
    char folder[4200], events[4096];
    int watch = -1, times = 0;
    snprintf(folder, sizeof folder, "%s.d", path);
    if (rank == 0) {
        mkdir(folder, 0700);
        watch = inotify_init1(IN_NONBLOCK);
        inotify_add_watch(watch, folder, IN_CREATE | IN_MOVED_TO);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    char name[4300];
    snprintf(name, sizeof name, "%s/fresh", folder);
    MPI_File f;
    int code = MPI_File_open(MPI_COMM_WORLD, name, RW | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
    all_eq(class_of(code), MPI_SUCCESS, "a file in a fresh folder");
    char byte = 1;
    MPI_File_write_ordered(f, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_shared(f, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
    if (rank == 0) {
        long n = read(watch, events, sizeof events);
        for (long at = 0; at < n; times++)
            at += (long)(sizeof(struct inotify_event) + ((struct inotify_event *)(events + at))->len);
        close(watch);
        rmdir(folder);
    }
    all_eq(rank ? 1 : times, 1, "is made once, and nothing beside it, for shared pointers either");
}

/* Places of a view, also of one without any byte. */
static void places(void)
{
    MPI_Datatype nothing, view;
    MPI_Offset at = -1;
    MPI_Status status;
    char byte = 1;
    MPI_File f = opened(RW);
    MPI_Type_vector(2, 1, 3, MPI_INT, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(f, 100, MPI_INT, view, "native", MPI_INFO_NULL);
    MPI_File_get_byte_offset(f, 3, &at);
    all_eq(at, 100 + 16 + 12, "the byte at an offset of a view");
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    MPI_File_set_view(f, 50, MPI_INT, nothing, "native", MPI_INFO_NULL);
    all_eq(class_of(MPI_File_get_byte_offset(f, 0, &at)), MPI_SUCCESS, "an empty view has an offset 0");
    all_eq(at, 50, "at its displacement");
    all_eq(class_of(MPI_File_get_byte_offset(f, 1, &at)), MPI_ERR_ARG, "and no other");
    all_eq(class_of(MPI_File_write_all(f, &byte, 0, MPI_INT, &status)), MPI_SUCCESS, "nothing is written there together");
    all_eq(class_of(MPI_File_read_ordered(f, &byte, 0, MPI_INT, &status)), MPI_SUCCESS, "and read in order");
    all_eq(bytes_of(&status), 0, "which is nothing");
    all_eq(class_of(MPI_File_write(f, &byte, 1, MPI_BYTE, &status)), MPI_ERR_ARG, "a byte does not fit");
    MPI_File_set_view(f, INT64_MAX - 10, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    all_eq(class_of(MPI_File_get_byte_offset(f, 11, &at)), MPI_ERR_ARG, "no byte lies behind 2^63");
    all_eq(class_of(MPI_File_write_at_all(f, 11, &byte, 1, MPI_BYTE, &status)) != MPI_SUCCESS, 1, "and none is written there");
    MPI_File_close(&f);
    MPI_Type_free(&view), MPI_Type_free(&nothing);
}

/* A filetype whose items interleave: the columns of a matrix, one after the other. */
static void columns(int together)
{
    enum { ROWS = 5, COLUMNS = 6, ALL = ROWS * COLUMNS };
    MPI_Datatype column, view;
    MPI_Offset at;
    MPI_Status status;
    int mine[ALL], back[ALL] = { 0 }, good = 1;
    for (int i = 0; i < ALL; i++)
        mine[i] = 1000 * rank + i;
    if (rank == 0)
        unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File f = opened(RW);
    MPI_Type_vector(ROWS, 1, COLUMNS * size, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, 4, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(f, 4 * rank * COLUMNS, MPI_INT, view, "native", MPI_INFO_NULL);
    if (together)
        MPI_File_write_at_all(f, 0, mine, ALL, MPI_INT, &status);
    else
        MPI_File_write_at(f, 0, mine, ALL, MPI_INT, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    long bytes = 0;
    int *all = (int *)whole(path, &bytes);
    for (int i = 0; good && i < ALL; i++)
        good &= bytes == 4l * ALL * size && all[i % ROWS * COLUMNS * size + rank * COLUMNS + i / ROWS] == mine[i];
    free(all);
    all_eq(good, 1, together ? "columns are written together" : "columns are written");
    if (together)
        MPI_File_read_at_all(f, 1, back, ALL - 1, MPI_INT, &status);
    else
        MPI_File_read_at(f, 1, back, ALL - 1, MPI_INT, &status);
    all_eq(memcmp(back, mine + 1, 4 * (ALL - 1)) == 0 && bytes_of(&status) == 4 * (ALL - 1), 1, "and read");
    MPI_File_seek(f, 0, MPI_SEEK_END);
    MPI_File_get_position(f, &at);
    all_eq(at, ROWS * (COLUMNS * (size - rank)) + ROWS - 1, "the view ends with the first column that leaves the file");
    MPI_File_close(&f);
    MPI_Type_free(&column), MPI_Type_free(&view);
}

static void cycles(int times)
{
    MPI_File f;
    long held = 0;
    int before = 0;
    for (int i = 0; i < times; i++) {
        if (i == times / 4)
            before = descriptors(), held = resident();
        f = opened(RW);
        MPI_File_set_view(f, 8 * i, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
        MPI_File_close(&f);
    }
    all_eq(descriptors(), before, "opening and closing leaves no descriptor");
    all_eq(resident() - held < 256, 1, "and no memory");
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "handles");
    modes();
    refusals();
    pointers();
    handlers();
    views();
    hints();
    places();
    columns(0), columns(1);
    made_once();
    cycles(argc > 2 ? atoi(argv[2]) : 500);
    if (rank == 0)
        unlink(path);
    return finish();
}
