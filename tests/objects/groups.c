/* A group that is asked for over and over and never freed uses up no handles: programs do that (Global Arrays asks for the group
 * of a window in every operation). usage: groups FILE */
#include <mpi.h>
#include <stdio.h>

#include "check.h"

/* More than a process may have groups of its own. */
enum { TIMES = (1 << 20) + 100 };

static MPI_Win win;
static MPI_File file;

static int of_world(MPI_Group *group) { return MPI_Comm_group(MPI_COMM_WORLD, group); }
static int of_window(MPI_Group *group) { return MPI_Win_get_group(win, group); }
static int of_file(MPI_Group *group) { return MPI_File_get_group(file, group); }

static void lasts(const char *what, int (*ask)(MPI_Group *))
{
    MPI_Group group = MPI_GROUP_NULL, copy;
    char name[64];
    int i, size = 0, error = MPI_SUCCESS;
    for (i = 0; i < TIMES && error == MPI_SUCCESS; i++)
        error = ask(&group);
    snprintf(name, sizeof name, "%s, never freed", what);
    check(i == TIMES && error == MPI_SUCCESS, name, i);
    /* Each of them is there until it is freed as often as it was asked for. */
    for (i = 0; i < TIMES && error == MPI_SUCCESS; i++) {
        copy = group;
        error = MPI_Group_size(copy, &size) || size != 1 || MPI_Group_free(&copy) || copy != MPI_GROUP_NULL;
    }
    snprintf(name, sizeof name, "%s, freed as often", what);
    check(error == MPI_SUCCESS && MPI_Group_size(group, &size) != MPI_SUCCESS, name, i);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_File_open(MPI_COMM_WORLD, argv[argc - 1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    lasts("the group of a communicator", of_world);
    lasts("the group of a window", of_window);
    lasts("the group of a file", of_file);
    MPI_File_close(&file);
    MPI_Win_free(&win);
    MPI_Finalize();
    return check_failures != 0;
}
