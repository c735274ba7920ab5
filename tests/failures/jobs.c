/* Two jobs meet again and again, and one process of one of them dies at a random moment: no process of either job waits for ever, and
 * those that live go on with right data.
 *
 * usage: mpiexec -with-ft ulfm -n N jobs server FILE SEED      the port's name is in FILE then
 *        mpiexec -with-ft ulfm -n N jobs client FILE SEED
 */
#include "failures.h"

/* What the groups do once they have met. */
static int talk(MPI_Comm inter) {
    int far = -1, count = 0, rank, code;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_remote_size(inter, &count);
    MPI_Comm_rank(inter, &rank);
    code = MPI_Sendrecv(&rank, 1, MPI_INT, rank % count, 3, &far, 1, MPI_INT, rank % count, 3, inter, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && far != rank)
        check(0, "a message of the other job", far);
    if (code == MPI_SUCCESS)
        code = MPI_Barrier(inter);
    if (code == MPI_SUCCESS)
        return MPI_Comm_disconnect(&inter);
    MPIX_Comm_revoke(inter);
    MPI_Comm_free(&inter);
    return code;
}

int main(int argc, char **argv) {
    MPI_Comm inter, alive;
    MPI_Info info;
    char port[MPI_MAX_PORT_NAME] = "";
    begin(&argc, &argv);
    int is_server = argc > 1 && strcmp(argv[1], "server") == 0;
    const char *path = argc > 2 ? argv[2] : "port";
    unsigned long seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1, random = seed * 6364136223846793005UL + 1442695040888963407UL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "10");
    if (me == 0 && is_server) {
        MPI_Open_port(MPI_INFO_NULL, port);
        give_port(path, port);
    } else if (me == 0) {
        find_port(path, port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int dies_here = (int)(random >> 33) % 2 == is_server, doomed = (int)(random >> 35) % size;
    if (dies_here && doomed == me)
        die_after((long)(random >> 40) % 60000);
    int code = MPI_SUCCESS, met = 0;
    for (; code == MPI_SUCCESS; met++) {
        code = is_server ? MPI_Comm_accept(port, info, 0, MPI_COMM_WORLD, &inter)
                         : MPI_Comm_connect(port, info, 0, MPI_COMM_WORLD, &inter);
        if (code == MPI_SUCCESS)
            code = talk(inter);
    }
    int class = class_of(code);
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED && class != MPI_ERR_PORT)
        check(0, "the class of an error", class);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    MPIX_Comm_shrink(MPI_COMM_WORLD, &alive);
    MPI_Comm_set_errhandler(alive, MPI_ERRORS_RETURN);
    if (port[0] && is_server)
        MPI_Close_port(port);
    int one = 1, sum = 0, left;
    MPI_Comm_size(alive, &left);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, alive);
    all_good(alive, sum == left && left == size - dies_here, is_server ? "the server's processes go on" : "the client's processes go on");
    MPI_Info_free(&info);
    MPI_Comm_free(&alive);
    return finish();
}
