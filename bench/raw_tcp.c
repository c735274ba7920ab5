/*
 * The floor between hosts: what the system's own sockets take between the first and the last rank, with as many bytes on
 * the wire as a message of this library has. MPI only starts the processes and tells the port.
 *
 *   --what pingpong | streaming | rate     as the programs of these names do
 *   --where HOST                           the first rank's address, to which the last one connects
 *
 * Both sides spin: they ask the socket again until it has or takes something.
 */
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

/* HEADER: bytes that a message has beside its payload. */
enum { HEADER = 24, STREAMED = 64, RATED = 256, READ = 1 << 18 };

static int stream;
static char *wire; /* room for a message with its header, and for what is read at once */

static void put_out(const char *from, size_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(stream, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0)
            from += sent, bytes -= (size_t)sent;
        else if (errno != EAGAIN && errno != EINTR)
            kernel_fail("sending through a socket", strerror(errno));
    }
}

/* Reads this many bytes, at most `room` at once, which all begin at `into` where `over` says so. */
static void take_in(char *into, size_t bytes, size_t room, int over)
{
    while (bytes > 0) {
        ssize_t got = recv(stream, into, bytes < room ? bytes : room, MSG_DONTWAIT);
        if (got > 0) {
            into += over ? 0 : got;
            bytes -= (size_t)got;
        } else if (got == 0) {
            kernel_fail("receiving from a socket", "the peer has closed it");
        } else if (errno != EAGAIN && errno != EINTR) {
            kernel_fail("receiving from a socket", strerror(errno));
        }
    }
}

static int is_first(void)
{
    return k.rank == 0;
}

static int is_last(void)
{
    return k.rank == k.ranks - 1;
}

static void pingpong(size_t bytes, long iterations)
{
    size_t all = bytes + HEADER;
    for (long i = 0; i < iterations; i++) {
        if (is_first())
            put_out(wire, all);
        if (is_first() || is_last())
            take_in(wire, all, all, 0);
        if (is_last())
            put_out(wire, all);
    }
}

/* Messages of one direction, and an answer without payload. */
static void window(size_t bytes, long iterations, int messages)
{
    size_t all = bytes + HEADER;
    for (long i = 0; i < iterations; i++) {
        if (is_first()) {
            for (int message = 0; message < messages; message++)
                put_out(wire, all);
            take_in(wire, HEADER, HEADER, 0);
        } else if (is_last()) {
            take_in(wire, all * (size_t)messages, READ, 1);
            put_out(wire, HEADER);
        }
    }
}

static void streaming(size_t bytes, long iterations)
{
    window(bytes, iterations, STREAMED);
}

static void rate(size_t bytes, long iterations)
{
    window(bytes, iterations, RATED);
}

static double megabytes_per_second(size_t bytes, double seconds)
{
    return (double)STREAMED * bytes / seconds / 1e6;
}

static double messages_per_second(size_t bytes, double seconds)
{
    (void)bytes;
    return RATED / seconds;
}

static void must(int succeeded, const char *step)
{
    if (!succeeded)
        kernel_fail(step, strerror(errno));
}

static void connect_to(const char *host, int port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    int why = getaddrinfo(host, service, &hints, &found);
    if (why != 0)
        kernel_fail("looking up the host of --where", gai_strerror(why));
    stream = socket(found->ai_family, SOCK_STREAM, 0);
    must(stream >= 0 && connect(stream, found->ai_addr, found->ai_addrlen) == 0, "connecting to the host of --where");
    freeaddrinfo(found);
}

/* The first rank listens on all its addresses, the last one connects. */
static void open_stream(void)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    socklen_t length = sizeof any;
    int listener = -1, port = 0, one = 1, none = 0;
    if (is_first()) {
        listener = socket(AF_INET6, SOCK_STREAM, 0);
        must(listener >= 0 && setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof none) == 0 &&
                 bind(listener, (struct sockaddr *)&any, sizeof any) == 0 && listen(listener, 1) == 0 &&
                 getsockname(listener, (struct sockaddr *)&any, &length) == 0,
             "listening");
        port = ntohs(any.sin6_port);
    }
    MPI_Bcast(&port, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (is_last())
        connect_to(k.where, port);
    /* A queued connection is made before anybody accepts it, so no rank waits for a socket while another waits in MPI. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_first()) {
        stream = accept(listener, NULL, NULL);
        must(stream >= 0, "accepting");
        close(listener);
    }
    if (is_first() || is_last())
        must(setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "switching Nagle's algorithm off");
}

int main(int argc, char **argv)
{
    kernel_begin(argc, argv, 2, 1, 8 << 20);
    wire = kernel_buffer((k.max + k.perturb + HEADER) > READ ? k.max + k.perturb + HEADER : READ);
    open_stream();
    k.messages = strcmp(k.what, "pingpong") == 0 ? 2 : strcmp(k.what, "streaming") == 0 ? STREAMED : RATED;
    if (strcmp(k.what, "pingpong") == 0)
        kernel_sizes(pingpong, kernel_half_microseconds, "us");
    else if (strcmp(k.what, "streaming") == 0)
        kernel_sizes(streaming, megabytes_per_second, "MB/s");
    else if (strcmp(k.what, "rate") == 0)
        kernel_sizes(rate, messages_per_second, "msg/s");
    else
        kernel_fail("reading options: --what must be pingpong, streaming or rate", k.what);
    close(stream);
    free(wire);
    kernel_end();
    return 0;
}
