/* MPI_Comm_spawn and MPI_Comm_spawn_multiple (MPI-5.0 section 11.7): the program spawns itself. */
#include "check.h"
#include <stdint.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char *program;

/* What means nothing, where the standard does not look at an argument. */
static void *volatile garbage;
#define GARBAGE garbage

/* All kinds of communication over an inter-communicator, by both sides. */
static void talk(MPI_Comm inter, int parents, int children, int is_child)
{
    int me, them, theirs = is_child ? parents : children, ours = is_child ? children : parents, sum = 0, one;
    int got = -1, good = 1;
    MPI_Comm merged;

    MPI_Comm_rank(inter, &me);
    MPI_Comm_remote_size(inter, &them);
    check(them == theirs, "size of the other side", them);
    /* Everyone with everyone. */
    for (int other = 0; other < theirs; other++) {
        int mine = 100 * me + other;
        MPI_Sendrecv(&mine, 1, MPI_INT, other, 5, &got, 1, MPI_INT, other, 5, inter, MPI_STATUS_IGNORE);
        good &= got == 100 * other + me;
    }
    /* Longer than what goes at once. */
    int length = 300000, *data = malloc(length * sizeof *data);
    for (int i = 0; i < length; i++)
        data[i] = me + i;
    if (me == 0 && !is_child)
        MPI_Send(data, length, MPI_INT, theirs - 1, 6, inter);
    if (me == ours - 1 && is_child) {
        memset(data, 0, length * sizeof *data);
        MPI_Recv(data, length, MPI_INT, MPI_ANY_SOURCE, 6, inter, MPI_STATUS_IGNORE);
        for (int i = 0; i < length; i++)
            good &= data[i] == i;
    }
    free(data);
    one = me + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    good &= sum == theirs * (theirs + 1) / 2;
    one = is_child ? -1 : 42;
    MPI_Bcast(&one, 1, MPI_INT, is_child ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    good &= is_child || me == 0 ? one == 42 : 1;
    MPI_Intercomm_merge(inter, is_child, &merged);
    MPI_Comm_rank(merged, &got);
    good &= got == (is_child ? parents + me : me);
    one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
    good &= sum == parents + children;
    /* A window and a part that crosses both jobs. */
    int *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, merged, &memory, &window);
    *memory = -1;
    MPI_Win_fence(0, window);
    MPI_Put(&got, 1, MPI_INT, (got + 1) % (parents + children), 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    good &= *memory == (got + parents + children - 1) % (parents + children);
    MPI_Win_free(&window);
    MPI_Comm half;
    MPI_Comm_split(merged, got % 2, -got, &half);
    one = got;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_MIN, half);
    good &= sum == got % 2;
    MPI_Comm_disconnect(&half);
    MPI_Comm_disconnect(&merged);
    if (is_child) {
        int all;
        MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        good = all;
    }
    /* The parents' word. */
    int theirs_good;
    MPI_Allreduce(&good, &theirs_good, 1, MPI_INT, MPI_MIN, inter);
    if (!is_child)
        check_all(good && theirs_good, "messages, collectives, a merge and a window of %d and %d processes", parents, children);
}

static int child(MPI_Comm parent, char **argv)
{
    int parents, flag, *number;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm again;

    MPI_Comm_remote_size(parent, &parents);
    MPI_Comm_get_name(parent, name, &flag);
    if (strcmp(name, "MPI_COMM_PARENT"))
        printf("FAIL name of the parent: %s\n", name);
    MPI_Comm_get_parent(&again);
    if (again != parent)
        printf("FAIL the parent is another one each time\n");
    if (!strcmp(argv[1], "talk")) {
        talk(parent, parents, size, 1);
    } else if (!strcmp(argv[1], "tell")) {
        /* The number of the command, an argument and the directory. */
        char text[1000], where[800];
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
        if (!getcwd(where, sizeof where))
            where[0] = 0;
        snprintf(text, sizeof text, "%d %s %s %s", flag ? *number : -1, argv[2] ? argv[2] : "none", where,
                 getenv("GIVEN") ? getenv("GIVEN") : "unset");
        MPI_Send(text, strlen(text) + 1, MPI_CHAR, 0, rank, parent);
    } else if (!strcmp(argv[1], "handler")) {
        MPI_Errhandler handler;
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
        flag = handler == MPI_ERRORS_RETURN;
        MPI_Send(&flag, 1, MPI_INT, 0, rank, parent);
    } else if (!strcmp(argv[1], "die")) {
        raise(9);
    }
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&again);
    if (again != MPI_COMM_NULL)
        printf("FAIL there is a parent after MPI_Comm_disconnect\n");
    MPI_Finalize();
    return 0;
}

/* Spawns with arguments that count at the root alone. */
static int spawn_at(int root, MPI_Comm comm, const char *command, char **argv, int n, MPI_Info info, MPI_Comm *inter, int *codes)
{
    int me;

    MPI_Comm_rank(comm, &me);
    if (me != root)
        return MPI_Comm_spawn(GARBAGE, GARBAGE, -17, MPI_INFO_NULL, root, comm, inter, codes);
    return MPI_Comm_spawn(command, argv, n, info, root, comm, inter, codes);
}

static void fails(const char *what, const char *command, char **argv, MPI_Info info)
{
    MPI_Comm inter = MPI_COMM_NULL;
    int codes[2] = {-1, -1};
    int code = spawn_at(size - 1, MPI_COMM_WORLD, command, argv, 2, info, &inter, codes);

    check_all(class_of(code) == MPI_ERR_SPAWN && codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN,
              "%s is MPI_ERR_SPAWN on all ranks", what);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    int codes[8], provided, good;
    MPI_Info info;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    program = argv[0];
    garbage = (void *)(uintptr_t)24;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        return child(parent, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    char *talks[] = {"talk", NULL};
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        for (int i = 0; i < 8; i++)
            codes[i] = -1;
        int code = spawn_at(root, MPI_COMM_WORLD, program, talks, 2, MPI_INFO_NULL, &inter, codes);
        check_all(code == MPI_SUCCESS && codes[0] == 0 && codes[1] == 0 && codes[2] == -1, "spawned by rank %d", root);
        talk(inter, size, 2, 0);
        MPI_Comm_disconnect(&inter);
        check_all(inter == MPI_COMM_NULL, "disconnected");
    }

    /* Each rank by itself, at the same time. */
    spawn_at(0, MPI_COMM_SELF, program, talks, 1, MPI_INFO_NULL, &inter, MPI_ERRCODES_IGNORE);
    talk(inter, 1, 1, 0);
    MPI_Comm_disconnect(&inter);

    /* Several commands; info keys; odd characters. */
    char *one[] = {"tell", "a 'b' \"c\" $d;*\n\\", NULL}, *two[] = {"tell", NULL}, **argvs[] = {one, two};
    char *commands[] = {program, program}, text[1000];
    int counts[] = {1, 2};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Info_create(&info);
    MPI_Info_set(info, "wdir", "/");
    MPI_Info_set(info, "env", "GIVEN=yes");
    MPI_Info_set(info, "mpi_initial_errhandler", "MPI_ERRORS_RETURN");
    infos[1] = info;
    good = MPI_SUCCESS == (rank == 0 ? MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &inter, codes)
                                     : MPI_Comm_spawn_multiple(-3, GARBAGE, GARBAGE, GARBAGE, GARBAGE, 0, MPI_COMM_WORLD, &inter, codes));
    good &= !codes[0] && !codes[1] && !codes[2];
    for (int from = 0; rank == 0 && from < 3; from++) {
        char expected[1000], where[700];
        MPI_Recv(text, sizeof text, MPI_CHAR, from, from, inter, MPI_STATUS_IGNORE);
        if (!getcwd(where, sizeof where))
            where[0] = 0;
        snprintf(expected, sizeof expected, "%d %s %s %s", from > 0, from ? "none" : one[1], from ? "/" : where,
                 from ? "yes" : "unset");
        if (strcmp(text, expected))
            printf("FAIL a child tells \"%s\", not \"%s\"\n", text, expected);
        good &= !strcmp(text, expected);
    }
    check_all(good, "two commands with arguments, a directory and a variable");
    MPI_Comm_disconnect(&inter);

    char *handler[] = {"handler", NULL};
    MPI_Info_delete(info, "wdir");
    MPI_Info_set(info, "soft", "1:2,7");
    good = !spawn_at(0, MPI_COMM_WORLD, program, handler, 4, info, &inter, codes);
    int children = 0, returns = 0;
    MPI_Comm_remote_size(inter, &children);
    good &= children == 2 && !codes[0] && !codes[1] && codes[2] == MPI_ERR_SPAWN && codes[3] == MPI_ERR_SPAWN;
    for (int from = 0; rank == 0 && from < 2; from++) {
        MPI_Recv(&returns, 1, MPI_INT, from, from, inter, MPI_STATUS_IGNORE);
        good &= returns;
    }
    check_all(good, "soft starts the largest number; an initial error handler");
    MPI_Comm_disconnect(&inter);
    MPI_Info_free(&info);

    char *exits[] = {"-c", "exit 3", NULL};
    fails("a command that is missing", "./no-such-program", MPI_ARGV_NULL, MPI_INFO_NULL);
    fails("a command that is not executable", "/etc/passwd", MPI_ARGV_NULL, MPI_INFO_NULL);
    fails("a command that exits without MPI_Init", "/bin/true", MPI_ARGV_NULL, MPI_INFO_NULL);
    fails("a command that fails without MPI_Init", "/bin/sh", exits, MPI_INFO_NULL);
    check_all(class_of(spawn_at(0, MPI_COMM_WORLD, program, talks, -1, MPI_INFO_NULL, &inter, MPI_ERRCODES_IGNORE)) == MPI_ERR_ARG,
              "a negative number of processes is MPI_ERR_ARG on all ranks");
    check_all(class_of(MPI_Comm_spawn(program, talks, 1, MPI_INFO_NULL, size, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE)) == MPI_ERR_ROOT,
              "a root that is no rank is MPI_ERR_ROOT");

    /* A child that stays connected: MPI_Finalize waits for it. */
    spawn_at(0, MPI_COMM_WORLD, program, talks, 1, MPI_INFO_NULL, &inter, MPI_ERRCODES_IGNORE);
    talk(inter, size, 1, 0);
    MPI_Comm_disconnect(&inter);
    return finish();
}
