/* A rank is killed in the middle of collective writes by interleaved views with holes. What lies outside all views must stay, and what
 * was synchronised before must be there, or what was written over it since.
 *
 * usage: killed DIR write [HINT VALUE]     never ends by itself
 *        killed DIR check */
#include "files.h"
#include <signal.h>
#include <sys/time.h>

enum { BLOCK = 64, DATA = 40, BLOCKS = 4096, VIEWERS = 4 };

/* What a byte of the file is before a rank writes. */
static unsigned char old(long at)
{
    return (unsigned char)(at * 7 + 3);
}

static void write_on(const char *hint, const char *chosen)
{
    unsigned char *mine = malloc((long)DATA * BLOCKS);
    MPI_Datatype view;
    MPI_Info info;
    MPI_File f;
    if (rank == 0) {
        FILE *fresh = fopen(path, "wb");
        for (long i = 0; i < (long)BLOCK * BLOCKS * VIEWERS; i++)
            fputc(old(i), fresh);
        fclose(fresh);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "32768");
    MPI_Info_set(info, hint, chosen);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, info, &f);
    MPI_Info_free(&info);
    MPI_Type_vector(BLOCKS, DATA, BLOCK * VIEWERS, MPI_BYTE, &view);
    MPI_Type_commit(&view);
    MPI_File_set_view(f, BLOCK * rank + 8, MPI_BYTE, view, "native", MPI_INFO_NULL);
    memset(mine, 0xdd, (long)DATA * BLOCKS);
    MPI_File_write_at_all(f, 0, mine, DATA * BLOCKS, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_sync(f);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(mine, 0xee, (long)DATA * BLOCKS);
    if (rank == 1) {
        srand(getpid());
        signal(SIGALRM, SIG_DFL);
        struct itimerval soon = { { 0, 0 }, { 0, 20000 + rand() % 60000 } };
        setitimer(ITIMER_REAL, &soon, NULL);
    }
    for (;;)
        MPI_File_write_at_all(f, 0, mine, DATA * BLOCKS, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void check_holes(void)
{
    long bytes = 0, wrong = 0;
    unsigned char *all = whole(path, &bytes);
    all_eq(bytes, (long)BLOCK * BLOCKS * VIEWERS, "the file is as long as before");
    for (long i = 0; i < bytes; i++) {
        int in_view = i % BLOCK >= 8 && i % BLOCK < 8 + DATA;
        wrong += in_view ? all[i] != 0xdd && all[i] != 0xee : all[i] != old(i);
    }
    free(all);
    all_eq(wrong, 0, "bytes outside the views are as before, those inside synchronised or written since");
    unlink(path);
}

int main(int argc, char **argv)
{
    start(&argc, &argv, "killed");
    if (argc > 2 && !strcmp(argv[2], "write"))
        write_on(argc > 4 ? argv[3] : "cb_nodes", argc > 4 ? argv[4] : "2");
    check_holes();
    return finish();
}
