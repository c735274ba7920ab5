/* Ports, names, MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_join (MPI-5.0 sections 11.8 to 11.10), within one job. */
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <fcntl.h>

static void *volatile garbage;
#define GARBAGE garbage
#define THREADS 4

static int rank, size;

/* The two sides of a port within the job: `many` processes and the rest. */
static void both_sides(int server)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm part, inter;
    int is_server = rank == server, sum = 0, one = rank, me, expected = 0;

    MPI_Comm_split(MPI_COMM_WORLD, is_server, 0, &part);
    MPI_Comm_rank(part, &me);
    if (is_server)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, server, MPI_COMM_WORLD);
    if (is_server)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, part, &inter);
    else
        MPI_Comm_connect(me == 0 ? port : GARBAGE, MPI_INFO_NULL, 0, part, &inter);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    for (int other = 0; other < size; other++)
        expected += (is_server != (other == server)) * other;
    check_all(sum == expected, "accept by rank %d, connect by the others", server);
    MPI_Comm_disconnect(&inter);
    if (is_server)
        MPI_Close_port(port);
    MPI_Comm_free(&part);
}

static char shared[MPI_MAX_PORT_NAME];

static void *accepts(void *unused)
{
    MPI_Comm inter;
    int word = -1;

    (void)unused;
    MPI_Comm_accept(shared, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    MPI_Recv(&word, 1, MPI_INT, 0, 3, inter, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, 4, inter);
    MPI_Comm_disconnect(&inter);
    return (void *)(intptr_t)word;
}

static void *connects(void *number)
{
    MPI_Comm inter;
    int word = (int)(intptr_t)number, back = -1;

    MPI_Comm_connect(shared, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    MPI_Send(&word, 1, MPI_INT, 0, 3, inter);
    MPI_Recv(&back, 1, MPI_INT, 0, 4, inter, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&inter);
    return (void *)(intptr_t)(back == word);
}

/* Several threads accept at one port while others connect, and messages go on. */
static void many_threads(void)
{
    pthread_t threads[THREADS];
    int sum = 0, good = 1;

    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, shared);
    MPI_Bcast(shared, sizeof shared, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < THREADS && rank < 2; i++)
        pthread_create(&threads[i], NULL, rank == 0 ? accepts : connects, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < 50; i++) {
        int one = 1, all = 0;
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        good &= all == size;
    }
    for (int i = 0; i < THREADS && rank < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (int)(intptr_t)result;
    }
    good &= rank == 0 ? sum == THREADS * (THREADS + 1) / 2 : rank == 1 ? sum == THREADS : 1;
    if (rank == 0)
        MPI_Close_port(shared);
    check_all(good, "%d threads accept at one port", THREADS);
}

static void errors(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    MPI_Info info;
    int code;

    code = MPI_Comm_connect("no port at all", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    check_all(class_of(code) == MPI_ERR_PORT, "a name that is none is MPI_ERR_PORT on all ranks");
    code = MPI_Comm_accept("no port at all", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    check_all(class_of(code) == MPI_ERR_PORT, "accepting at a port that is not open is MPI_ERR_PORT");
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "1");
    code = MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter);
    check_all(class_of(code) == MPI_ERR_PORT, "no accept within a second is MPI_ERR_PORT");
    code = MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &inter);
    check_all(class_of(code) == MPI_ERR_PORT, "no connect within a second is MPI_ERR_PORT");
    MPI_Info_free(&info);
    check_all(MPI_Close_port(port) == MPI_SUCCESS, "a port is closed");
    check_all(class_of(MPI_Close_port(port)) == MPI_ERR_PORT, "it is closed once");
    code = MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    check_all(class_of(code) == MPI_ERR_PORT, "connecting to a closed port is MPI_ERR_PORT");
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "1e19");
    code = MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter);
    check_all(class_of(code) == MPI_ERR_PORT, "so it is with more time than any clock has");
    MPI_Info_free(&info);
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "", name[100];
    int good = 1, pid = getpid();

    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "a name: %d/$", pid);
    check_all(class_of(MPI_Lookup_name(name, MPI_INFO_NULL, found)) == MPI_ERR_NAME, "a name that is not published is MPI_ERR_NAME");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        good = MPI_Publish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS;
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    good &= MPI_Lookup_name(name, MPI_INFO_NULL, found) == MPI_SUCCESS && !strcmp(found, port);
    check_all(good, "a name that is published is found");
    check_all(class_of(MPI_Publish_name(name, MPI_INFO_NULL, "x")) == MPI_ERR_SERVICE, "publishing it again is MPI_ERR_SERVICE");
    check_all(rank == 0 || class_of(MPI_Unpublish_name(name, MPI_INFO_NULL, port)) == MPI_ERR_SERVICE,
              "taking back what another process has published is MPI_ERR_SERVICE");
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(rank != 0 || MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS, "a name is taken back");
    check_all(class_of(MPI_Lookup_name(name, MPI_INFO_NULL, found)) == MPI_ERR_NAME, "it is found no more");
    if (rank == 0)
        MPI_Close_port(port);
}

/* Ranks 0 and 1 have a socket. */
static void join(int blocks)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = -1, pid = getpid(), word = 0, flags = 0, good = 1;
    char byte = 'x';
    MPI_Comm inter;

    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "alhena-join-%d", pid);
    if (rank == 0) {
        int listener = socket(AF_UNIX, SOCK_STREAM, 0);
        good = !bind(listener, (void *)&name, sizeof name) && !listen(listener, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (rank == 1)
            good = !connect(fd, (void *)&name, sizeof name);
    }
    if (rank < 2) {
        if (!blocks)
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        flags = fcntl(fd, F_GETFL);
        good &= MPI_Comm_join(fd, &inter) == MPI_SUCCESS && fcntl(fd, F_GETFL) == flags;
        MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &word, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
        good &= word == 1 - rank;
        /* The socket is the program's again. */
        if (rank == 0)
            good &= write(fd, &byte, 1) == 1;
        MPI_Comm_disconnect(&inter);
        if (rank == 1)
            good &= read(fd, &byte, 1) == 1;
    }
    close(fd);
    check_all(good, "two processes join over a socket that %s", blocks ? "blocks" : "does not block");
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    garbage = (void *)(uintptr_t)24;
    errors();
    names();
    if (size > 1) {
        both_sides(0);
        both_sides(size - 1);
        many_threads();
        join(1);
        join(0);
    }
    return finish();
}
