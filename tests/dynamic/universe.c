/* MPI_UNIVERSE_SIZE is what is expected (0: not set), also in a job that is spawned. Arguments: the number. */
#include "check.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    int expected = argc > 1 ? atoi(argv[1]) : -1, is_parent, is_set, code;
    char *again[] = {argc > 1 ? argv[1] : NULL, NULL};
    void *value = NULL;
    MPI_Comm parent, child;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &is_set);
    MPI_Comm_get_parent(&parent);
    is_parent = parent == MPI_COMM_NULL;
    if (is_parent) {
        MPI_Comm_spawn(argv[0], again, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, &code);
        MPI_Comm_disconnect(&child);
    } else {
        MPI_Comm_disconnect(&parent);
    }
    check_all(is_set ? *(int *)value == expected : expected == 0, "%s: MPI_UNIVERSE_SIZE is %d",
              is_parent ? "parents" : "child", expected);
    return finish();
}
