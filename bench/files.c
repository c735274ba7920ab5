/*
 * Files. What, says --what; --where names the folder in which the file lies. Figures are of all ranks together: what they have
 * moved in a second, or the time of one call that each of them makes.
 *
 *   raw, contiguous, collective   each rank's segment of the file, in blocks of so many bytes (IOR's segmented pattern)
 *   strided                       records of so many bytes, of all ranks in turn (IOR's strided pattern)
 *   subarray                      blocks of an array in four dimensions, so many bytes for each rank
 *   records, shared, ordered      records of so many bytes, by the rank's own pointer or the shared one
 */
#include "kernel.h"
#include <fcntl.h>
#include <unistd.h>

enum { VOLUME = 16 << 20, MOST = (16 << 20) + 1 };

static MPI_File file;
static int raw;
static char path[4096];
static char *memory;
static size_t viewed;
static MPI_Datatype filetype = MPI_DATATYPE_NULL;

/* Bytes that a rank moves in one iteration: whole blocks, and fewer of them where they are short. */
static size_t volume(size_t bytes)
{
    size_t most = bytes < VOLUME / (1 << 15) ? bytes << 15 : VOLUME;
    return bytes < most ? most / bytes * bytes : bytes;
}

static MPI_Offset segment(size_t bytes)
{
    return (MPI_Offset)volume(bytes) * k.rank;
}

static void raw_write(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            if (pwrite(raw, memory + at, bytes, segment(bytes) + (off_t)at) != (ssize_t)bytes)
                kernel_fail("writing", path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void raw_read(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            if (pread(raw, memory + at, bytes, segment(bytes) + (off_t)at) != (ssize_t)bytes)
                kernel_fail("reading", path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void contiguous_write(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            MPI_File_write_at(file, segment(bytes) + (MPI_Offset)at, memory + at, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void contiguous_read(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            MPI_File_read_at(file, segment(bytes) + (MPI_Offset)at, memory + at, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void collective_write(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            MPI_File_write_at_all(file, segment(bytes) + (MPI_Offset)at, memory + at, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void collective_read(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            MPI_File_read_at_all(file, segment(bytes) + (MPI_Offset)at, memory + at, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void see(MPI_Offset from, MPI_Datatype type)
{
    if (filetype != MPI_DATATYPE_NULL)
        MPI_Type_free(&filetype);
    filetype = type;
    MPI_Type_commit(&filetype);
    MPI_File_set_view(file, from, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
}

/* Records of all ranks in turn. The view is set before time is taken. */
static void see_strided(size_t bytes)
{
    if (viewed == bytes)
        return;
    MPI_Datatype record, all;
    MPI_Type_contiguous((int)bytes, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)bytes * k.ranks, &all);
    MPI_Type_free(&record);
    see((MPI_Offset)bytes * k.rank, all);
    viewed = bytes;
}

static void strided_write(size_t bytes, long iterations)
{
    see_strided(bytes);
    for (long i = 0; i < iterations; i++)
        MPI_File_write_at_all(file, 0, memory, (int)volume(bytes), MPI_BYTE, MPI_STATUS_IGNORE);
}

static void strided_read(size_t bytes, long iterations)
{
    see_strided(bytes);
    for (long i = 0; i < iterations; i++)
        MPI_File_read_at_all(file, 0, memory, (int)volume(bytes), MPI_BYTE, MPI_STATUS_IGNORE);
}

/* This rank's block of an array of doubles: 4 by 4 by 8 by what is left, on a grid of processes. */
static void see_subarray(size_t bytes)
{
    if (viewed == bytes)
        return;
    int grid[4] = {0}, own[4] = {4, 4, 8, (int)(bytes / (4 * 4 * 8 * sizeof(double)))}, whole[4], from[4], rest = k.rank;
    MPI_Dims_create(k.ranks, 4, grid);
    for (int i = 3; i >= 0; i--) {
        whole[i] = own[i] * grid[i];
        from[i] = own[i] * (rest % grid[i]);
        rest /= grid[i];
    }
    MPI_Datatype block;
    MPI_Type_create_subarray(4, whole, own, from, MPI_ORDER_FORTRAN, MPI_DOUBLE, &block);
    see(0, block);
    viewed = bytes;
}

static void subarray_write(size_t bytes, long iterations)
{
    see_subarray(bytes);
    for (long i = 0; i < iterations; i++)
        MPI_File_write_at_all(file, 0, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void subarray_read(size_t bytes, long iterations)
{
    see_subarray(bytes);
    for (long i = 0; i < iterations; i++)
        MPI_File_read_at_all(file, 0, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void records(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++) {
        if (i % 4096 == 0)
            MPI_File_seek(file, segment(bytes), MPI_SEEK_SET);
        MPI_File_write(file, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void shared(size_t bytes, long iterations)
{
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    for (long i = 0; i < iterations; i++)
        MPI_File_write_shared(file, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ordered(size_t bytes, long iterations)
{
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    for (long i = 0; i < iterations; i++)
        MPI_File_write_ordered(file, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void open_close(size_t bytes, long iterations)
{
    (void)bytes;
    for (long i = 0; i < iterations; i++) {
        MPI_File other;
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &other);
        MPI_File_close(&other);
    }
}

/* MB/s of all ranks; of one iteration of the patterns above. */
static double bandwidth(size_t bytes, double seconds)
{
    return (double)volume(bytes) * k.ranks / seconds / 1e6;
}

static double subarray_bandwidth(size_t bytes, double seconds)
{
    return (double)bytes * k.ranks / seconds / 1e6;
}

static const struct {
    const char *name;
    body *run;
    figure *of;
    const char *unit;
    size_t min, max; /* unless told */
} all[] = {
    {"raw-write", raw_write, bandwidth, "MB/s", 4096, 4 << 20},
    {"raw-read", raw_read, bandwidth, "MB/s", 4096, 4 << 20},
    {"contiguous-write", contiguous_write, bandwidth, "MB/s", 4096, 4 << 20},
    {"contiguous-read", contiguous_read, bandwidth, "MB/s", 4096, 4 << 20},
    {"collective-write", collective_write, bandwidth, "MB/s", 4096, 4 << 20},
    {"collective-read", collective_read, bandwidth, "MB/s", 4096, 4 << 20},
    {"strided-write", strided_write, bandwidth, "MB/s", 8, 256 << 10},
    {"strided-read", strided_read, bandwidth, "MB/s", 8, 256 << 10},
    {"subarray-write", subarray_write, subarray_bandwidth, "MB/s", 64 << 10, 16 << 20},
    {"subarray-read", subarray_read, subarray_bandwidth, "MB/s", 64 << 10, 16 << 20},
    {"records", records, kernel_microseconds, "us", 8, 4096},
    {"shared", shared, kernel_microseconds, "us", 8, 4096},
    {"ordered", ordered, kernel_microseconds, "us", 8, 4096},
    {"open-close", open_close, kernel_microseconds, "us", 0, 0},
};

/* All ranks open one file, full of data that reads can find. */
static void set_up(void)
{
    long name = (long)getpid();
    MPI_Bcast(&name, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/alhena-bench-files-%ld", k.where[0] ? k.where : "/tmp", name);
    memory = kernel_buffer(k.max > VOLUME ? k.max : VOLUME);
    memset(memory, k.rank + 1, k.max > VOLUME ? k.max : VOLUME);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        kernel_fail("opening a file", path);
    raw = open(path, O_RDWR);
    if (raw < 0)
        kernel_fail("opening a file", path);
    size_t most = k.max > VOLUME ? k.max : VOLUME;
    for (size_t at = 0; at < most; at += VOLUME)
        if (pwrite(raw, memory, VOLUME, (off_t)(most * (size_t)k.rank + at)) != VOLUME)
            kernel_fail("writing", path);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 0, MOST);
    int found = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, k.what) != 0)
            continue;
        found = 1;
        k.max = k.max == MOST ? all[i].max : k.max;
        k.min = k.min == 0 ? all[i].min : k.min;
        set_up();
        if (all[i].max > 0)
            kernel_sizes(all[i].run, all[i].of, all[i].unit);
        else
            kernel_size(all[i].run, all[i].of, all[i].unit, 1);
    }
    if (!found)
        kernel_fail("reading options", "--what names nothing that is measured here");
    if (filetype != MPI_DATATYPE_NULL)
        MPI_Type_free(&filetype);
    close(raw);
    MPI_File_close(&file);
    if (k.rank == 0)
        unlink(path);
    free(memory);
    kernel_end();
    return 0;
}
