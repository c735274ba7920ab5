/* Files that are striped over storage targets (hints striping_unit and striping_factor of MPI-5.0 section 14.2.8), on a file system that
 * answers as Lustre does (lustre.c): one process writes to each target. */
#define _GNU_SOURCE
#include "files.h"
#include <dlfcn.h>
#include <stdint.h>

enum { RECORD = 1000, RECORDS = 400 };

static unsigned (*targets)(uint32_t, uint16_t);

static long hint(MPI_File f, const char *name)
{
    MPI_Info used;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int there;
    MPI_File_get_info(f, &used);
    MPI_Info_get(used, name, MPI_MAX_INFO_VAL, value, &there);
    MPI_Info_free(&used);
    return there ? atol(value) : -1;
}

static MPI_File made(const char *unit, const char *factor, const char *nodes)
{
    MPI_Info info;
    MPI_File f;
    MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Info_create(&info);
    MPI_Info_set(info, "striping_unit", unit);
    MPI_Info_set(info, "striping_factor", factor);
    if (nodes)
        MPI_Info_set(info, "cb_nodes", nodes);
    all_eq(MPI_File_open(MPI_COMM_WORLD, path, RW, info, &f), MPI_SUCCESS, "a striped file is made");
    MPI_Info_free(&info);
    return f;
}

/* Records of all ranks in turn; which targets were written by whom. */
static void write_on(MPI_File f, int unit, int factor, int writers)
{
    static char own[RECORD * RECORDS], back[RECORD * RECORDS];
    MPI_Datatype record, all;
    for (int i = 0; i < RECORD * RECORDS; i++)
        own[i] = (char)(7 * rank + i % 251);
    MPI_Type_contiguous(RECORD, MPI_BYTE, &record);
    MPI_Type_create_resized(record, 0, (MPI_Aint)RECORD * size, &all);
    MPI_Type_commit(&all);
    MPI_File_set_view(f, (MPI_Offset)RECORD * rank, MPI_BYTE, all, "native", MPI_INFO_NULL);
    targets((uint32_t)unit, (uint16_t)factor);
    MPI_File_write_all(f, own, RECORD * RECORDS, MPI_BYTE, MPI_STATUS_IGNORE);
    unsigned mine = targets((uint32_t)unit, (uint16_t)factor);
    unsigned *each = calloc((size_t)size, sizeof *each);
    MPI_Allgather(&mine, 1, MPI_UNSIGNED, each, 1, MPI_UNSIGNED, MPI_COMM_WORLD);
    unsigned seen = 0, twice = 0;
    int who = 0;
    for (int i = 0; i < size; i++) {
        twice |= seen & each[i];
        seen |= each[i];
        who += each[i] != 0;
    }
    free(each);
    if (size > 1) {
        all_eq(twice, 0, "no target has two writers");
        all_eq(seen, (1 << factor) - 1, "every target is written to");
        all_eq(who, writers, "the aggregators share the targets");
    }
    MPI_File_read_at_all(f, 0, back, RECORD * RECORDS, MPI_BYTE, MPI_STATUS_IGNORE);
    all_eq(memcmp(own, back, sizeof own), 0, "what was written is read");
    MPI_Type_free(&record), MPI_Type_free(&all);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "stripes");
    *(void **)&targets = dlsym(RTLD_DEFAULT, "lustre_targets");
    if (!targets)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_File f = made("131072", "3", NULL);
    all_eq(hint(f, "striping_unit"), 131072, "the stripe is as the hint says");
    all_eq(hint(f, "striping_factor"), 3, "so is the number of targets");
    all_eq(hint(f, "cb_nodes"), least(3, size), "each target has an aggregator");
    write_on(f, 131072, 3, least(3, size));
    MPI_File_close(&f);
    f = made("131072", "5", "2");
    all_eq(hint(f, "cb_nodes"), least(2, size), "unless the program says how many");
    write_on(f, 131072, 5, least(2, size));
    MPI_File_close(&f);
    f = made("1000", "3", NULL);
    all_eq(hint(f, "striping_unit"), 131072, "what the file system refuses is not in force");
    all_eq(hint(f, "striping_factor"), 5, "nor the rest of it");
    write_on(f, 131072, 5, least(5, size));
    MPI_File_close(&f);
    if (rank == 0)
        unlink(path);
    return finish();
}
