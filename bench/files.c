/*
 * Files. What, says --what; --where names the folder in which the file lies. Figures are of all ranks together: what they have
 * moved in a second, or the time of one call that each of them makes.
 *
 *   raw, contiguous, collective   each rank's segment of the file, in blocks of so many bytes (IOR's segmented pattern)
 *   strided                       records of so many bytes, of all ranks in turn (IOR's strided pattern), in one access
 *   subarray                      blocks of an array in four dimensions, so many bytes for each rank
 *   records                       records of so many bytes, by the rank's own pointer
 *   shared, ordered               records of so many bytes that make the file grow, by the shared pointer
 *
 * Some stand beside a floor, block by block: contiguous ones beside pwrite and pread; strided ones beside one contiguous access
 * of as much by each rank for itself; shared ones beside an addition to a word that all processes share, and pwrite.
 */
#include "kernel.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALL = 32 << 20, MOST = (16 << 20) + 1 };

static MPI_File file, plain; /* the same file; `plain` gets no view */
static int raw;
static _Atomic long *word; /* that all processes share, for the floor of appends */
static char path[4096];
static char *memory;
static size_t viewed;
static MPI_Datatype filetype = MPI_DATATYPE_NULL;

/* Bytes that a rank moves in one iteration where blocks are long: 32 MiB of all ranks together, a power of two each. */
static size_t full(void)
{
    size_t own = ALL / 2;
    while (own > 1 << 20 && own * (size_t)k.ranks > ALL)
        own /= 2;
    return own;
}

/* Bytes that a rank moves in one iteration: whole blocks, and fewer of them where they are short. */
static size_t volume(size_t bytes)
{
    size_t most = bytes < 512 ? bytes * (full() / 512) : full();
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
}

static void raw_read(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            if (pread(raw, memory + at, bytes, segment(bytes) + (off_t)at) != (ssize_t)bytes)
                kernel_fail("reading", path);
}

static void contiguous_write(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            MPI_File_write_at(file, segment(bytes) + (MPI_Offset)at, memory + at, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void contiguous_read(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        for (size_t at = 0; at < volume(bytes); at += bytes)
            MPI_File_read_at(file, segment(bytes) + (MPI_Offset)at, memory + at, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
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

/* As much as a strided access, each rank for itself and in one piece. */
static void one_write(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_File_write_at(plain, segment(bytes), memory, (int)volume(bytes), MPI_BYTE, MPI_STATUS_IGNORE);
}

static void one_read(size_t bytes, long iterations)
{
    for (long i = 0; i < iterations; i++)
        MPI_File_read_at(plain, segment(bytes), memory, (int)volume(bytes), MPI_BYTE, MPI_STATUS_IGNORE);
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
}

/* Appends of each rank in one iteration. */
static long appends(size_t bytes)
{
    return bytes < 4096 ? 256 : bytes < 32768 ? (1 << 20) / (long)bytes : 32;
}

static double appends_microseconds(size_t bytes, double seconds)
{
    return seconds * 1e6 / appends(bytes);
}

static void append(size_t bytes)
{
    MPI_File_write_shared(file, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void raw_append(size_t bytes)
{
    if (pwrite(raw, memory, bytes, (off_t)atomic_fetch_add(word, bytes)) != (ssize_t)bytes)
        kernel_fail("writing", path);
}

/* Each iteration empties the file; time is taken while it grows. */
static void grow(size_t bytes, long iterations, void one(size_t bytes))
{
    k.inside = 0;
    for (long i = 0; i < iterations; i++) {
        MPI_File_set_size(file, 0);
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
        if (k.rank == 0)
            atomic_store(word, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = kernel_now();
        for (long j = 0; j < appends(bytes); j++)
            one(bytes);
        k.inside += kernel_span(start);
    }
}

static void shared(size_t bytes, long iterations)
{
    grow(bytes, iterations, append);
}

static void raw_shared(size_t bytes, long iterations)
{
    grow(bytes, iterations, raw_append);
}

static void append_ordered(size_t bytes)
{
    MPI_File_write_ordered(file, memory, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void ordered(size_t bytes, long iterations)
{
    grow(bytes, iterations, append_ordered);
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
    body *floor; /* NULL: none */
} all[] = {
    {"raw-write", raw_write, bandwidth, "MB/s", 4096, 4 << 20, NULL},
    {"raw-read", raw_read, bandwidth, "MB/s", 4096, 4 << 20, NULL},
    {"contiguous-write", contiguous_write, bandwidth, "MB/s", 4096, 4 << 20, raw_write},
    {"contiguous-read", contiguous_read, bandwidth, "MB/s", 4096, 4 << 20, raw_read},
    {"collective-write", collective_write, bandwidth, "MB/s", 4096, 4 << 20, NULL},
    {"collective-read", collective_read, bandwidth, "MB/s", 4096, 4 << 20, NULL},
    {"strided-write", strided_write, bandwidth, "MB/s", 8, 256 << 10, one_write},
    {"strided-read", strided_read, bandwidth, "MB/s", 8, 256 << 10, one_read},
    {"subarray-write", subarray_write, subarray_bandwidth, "MB/s", 64 << 10, 16 << 20, NULL},
    {"subarray-read", subarray_read, subarray_bandwidth, "MB/s", 64 << 10, 16 << 20, NULL},
    {"records", records, kernel_microseconds, "us", 8, 4096, NULL},
    {"shared", shared, appends_microseconds, "us", 8, 32768, raw_shared},
    {"ordered", ordered, appends_microseconds, "us", 8, 4096, NULL},
    {"open-close", open_close, kernel_microseconds, "us", 0, 0, NULL},
};

/* A word of a page that all ranks map. */
static _Atomic long *shared_word(void)
{
    char name[sizeof path + 8];
    snprintf(name, sizeof name, "%s.word", path);
    int page = -1;
    if (k.rank == 0 && ((page = open(name, O_RDWR | O_CREAT, 0600)) < 0 || ftruncate(page, PAGE) != 0))
        kernel_fail("making a file", name);
    MPI_Barrier(MPI_COMM_WORLD);
    if (k.rank != 0 && (page = open(name, O_RDWR)) < 0)
        kernel_fail("opening a file", name);
    void *all = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    if (all == MAP_FAILED)
        kernel_fail("mapping a file", name);
    close(page);
    MPI_Barrier(MPI_COMM_WORLD);
    if (k.rank == 0)
        unlink(name);
    return all;
}

/* All ranks open one file, full of data that reads can find. */
static void set_up(void)
{
    long name = (long)getpid();
    MPI_Bcast(&name, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "%s/alhena-bench-files-%ld", k.where[0] ? k.where : "/tmp", name);
    size_t most = k.max > full() ? k.max : full();
    memory = kernel_buffer(most);
    memset(memory, k.rank + 1, most);
    MPI_File *const both[2] = {&file, &plain};
    for (int i = 0; i < 2; i++)
        if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, both[i]) != MPI_SUCCESS)
            kernel_fail("opening a file", path);
    raw = open(path, O_RDWR);
    if (raw < 0)
        kernel_fail("opening a file", path);
    word = shared_word();
    for (size_t at = 0; at < most; at += full())
        if (pwrite(raw, memory, full(), (off_t)(most * (size_t)k.rank + at)) != (ssize_t)full())
            kernel_fail("writing", path);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 1, 0, MOST);
    k.spanned = 1;
    int found = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(all[i].name, k.what) != 0)
            continue;
        found = 1;
        k.max = k.max == MOST ? all[i].max : k.max;
        k.min = k.min == 0 ? all[i].min : k.min;
        k.paced = all[i].of == appends_microseconds;
        k.floor = all[i].floor;
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
    MPI_File_close(&plain);
    if (k.rank == 0)
        unlink(path);
    free(memory);
    kernel_end();
    return 0;
}
