/* A rank that does what the test wants of it.
 *
 * usage: rank [WORDS]   each word is one step, `N:word` only on rank N:
 *   init finalize      MPI_Init and MPI_Finalize
 *   barrier            MPI_Barrier on MPI_COMM_WORLD
 *   who                print "rank R of S app A"
 *   env=NAME           print "NAME=value" or "NAME unset"
 *   print=TEXT         print TEXT without a newline
 *   flush              write what was printed so far
 *   lines=N            print N lines of 200 times the rank's letter
 *   stdin              print the number of bytes and the sum of what standard input gives
 *   exit=CODE abort=CODE signal=NUMBER
 *   sleep=MILLISECONDS
 *   multiple           MPI_Init_thread with MPI_THREAD_MULTIPLE
 *   send=RANK receive=RANK   a short message
 *   start=RANK         that message by a persistent request, until "complete"
 *   parts=RANK part=RANK   a message in partitions, sent until "complete", received
 *   spread=ROOT        MPI_Ibcast, until "complete"
 *   touch=FILE await=FILE    make a file; wait for one without MPI
 *   forked=CALL        make this call in a forked child (send, receive, barrier, window, finalize, init, wtime), and print
 *                      how the child ends
 *   fork               leave a child behind that sleeps and holds all descriptors
 *   daemon             the same in a session of its own, twice forked
 *   catch=NUMBER       print "caught NUMBER" when that signal comes
 *   exchange           send 4 MiB in a ring, and put 1 MiB into a window of each of two kinds
 *   run=COMMAND        run that by the shell, without descriptors of this process
 *   memory=MIB         use that much memory
 *   sockets=N          open so many, at most as many as allowed: so the end of the process takes long
 *   cpus               print the processors this rank may use
 *   kinds              print the kinds of memory that MPI_INFO_ENV and MPI_COMM_WORLD name
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void caught(int signal)
{
    char text[] = "caught 00\n";
    text[7] = '0' + signal / 10;
    text[8] = '0' + signal % 10;
    if (write(1, text, sizeof text - 1) < 0)
        _exit(99);
}

/* Some descriptors are left for the rest. */
static void open_sockets(int count)
{
    struct rlimit all;
    getrlimit(RLIMIT_NOFILE, &all);
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
    for (int pair[2]; count > 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0; count -= 2)
        if (pair[1] + 100 > (int)all.rlim_cur)
            return;
}

static void who(void)
{
    int rank, size, flag, *app;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &flag);
    printf("rank %d of %d app %d\n", rank, size, flag ? *app : -1);
}

static void print_kinds(void)
{
    MPI_Info used[2] = {MPI_INFO_ENV};
    MPI_Comm_get_info(MPI_COMM_WORLD, &used[1]);
    for (int i = 0; i < 2; i++) {
        char kinds[256] = "unset";
        int length = sizeof kinds, flag;
        MPI_Info_get_string(used[i], "mpi_memory_alloc_kinds", &length, kinds, &flag);
        printf("%s: %s\n", i == 0 ? "environment" : "world", kinds);
    }
    MPI_Info_free(&used[1]);
}

static void print_lines(int count)
{
    const char *rank = getenv("PMI_RANK");
    char line[202];
    memset(line, 'a' + (rank ? atoi(rank) : 0), 200);
    strcpy(line + 200, "\n");
    for (int i = 0; i < count; i++) {
        fputs(line, stdout);
        if (i % 7 == 0)
            fflush(stdout);
    }
}

static void count_stdin(void)
{
    unsigned long bytes = 0, sum = 0;
    for (int c; (c = getchar()) != EOF; bytes++)
        sum += (unsigned long)c;
    printf("stdin %lu bytes sum %lu\n", bytes, sum);
}

static void leave_child(int in_own_session)
{
    if (fork() != 0)
        return;
    if (in_own_session) {
        setsid();
        if (fork() != 0)
            _exit(0);
    }
    sleep(300);
    _exit(0);
}

static void call_in_child(const char *call)
{
    int status, byte = 0;
    MPI_Win window;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (strcmp(call, "send") == 0)
            MPI_Send(&byte, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        else if (strcmp(call, "receive") == 0)
            MPI_Recv(&byte, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (strcmp(call, "barrier") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        else if (strcmp(call, "window") == 0)
            MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &byte, &window);
        else if (strcmp(call, "finalize") == 0)
            MPI_Finalize();
        else if (strcmp(call, "init") == 0)
            MPI_Init(NULL, NULL);
        else if (strcmp(call, "wtime") == 0)
            MPI_Wtime();
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("%s: %s %d\n", call, WIFEXITED(status) ? "exit" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void print_cpus(void)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    printf("cpus");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            printf(" %d", cpu);
    printf("\n");
}

static void use_memory(size_t mib)
{
    for (size_t i = 0; i < mib; i++)
        memset(malloc(1 << 20), 1, 1 << 20);
}

static void exchange(void)
{
    int rank, size, bytes = 4 << 20, share = 1 << 20;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *sent = malloc((size_t)bytes), *got = malloc((size_t)bytes), *base;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    memset(sent, 'a' + rank, (size_t)bytes);
    MPI_Sendrecv(sent, bytes, MPI_BYTE, to, 0, got, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int wrong = got[0] != 'a' + from || got[bytes - 1] != 'a' + from;
    for (int kind = 0; kind < 2; kind++) {
        MPI_Win window;
        if (kind == 0)
            MPI_Win_allocate(share, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        else
            MPI_Win_create(got, share, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_fence(0, window);
        MPI_Put(sent, share, MPI_BYTE, to, 0, share, MPI_BYTE, window);
        MPI_Win_fence(0, window);
        const char *filled = kind == 0 ? base : got;
        wrong |= filled[0] != 'a' + from || filled[share - 1] != 'a' + from;
        MPI_Win_free(&window);
    }
    printf("exchange %s\n", wrong ? "WRONG" : "ok");
    free(sent);
    free(got);
}

/* What a step has begun and "complete" ends. */
static MPI_Request request = MPI_REQUEST_NULL;
static char letter = 'x';

static void step(const char *word)
{
    const char *value = strchr(word, '=');
    size_t length = value ? (size_t)(value - word) : strlen(word);
    value = value ? value + 1 : "";
#define IS(name) (length == strlen(name) && strncmp(word, name, length) == 0)
    if (IS("init"))
        MPI_Init(NULL, NULL);
    else if (IS("finalize"))
        MPI_Finalize();
    else if (IS("barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (IS("who"))
        who();
    else if (IS("exchange"))
        exchange();
    else if (IS("env"))
        printf(getenv(value) ? "%s=%s\n" : "%s unset\n", value, getenv(value));
    else if (IS("print"))
        printf("%s", value);
    else if (IS("flush"))
        fflush(stdout);
    else if (IS("lines"))
        print_lines(atoi(value));
    else if (IS("stdin"))
        count_stdin();
    else if (IS("exit"))
        exit(atoi(value));
    else if (IS("abort"))
        MPI_Abort(MPI_COMM_WORLD, atoi(value));
    else if (IS("signal"))
        raise(atoi(value));
    else if (IS("sleep"))
        usleep((useconds_t)atoi(value) * 1000);
    else if (IS("multiple"))
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &(int){0});
    else if (IS("send"))
        MPI_Send("x", 1, MPI_CHAR, atoi(value), 5, MPI_COMM_WORLD);
    else if (IS("receive"))
        MPI_Recv(&(char){0}, 1, MPI_CHAR, atoi(value), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (IS("start")) {
        MPI_Send_init("x", 1, MPI_CHAR, atoi(value), 5, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
    } else if (IS("spread"))
        MPI_Ibcast(&letter, 1, MPI_CHAR, atoi(value), MPI_COMM_WORLD, &request);
    else if (IS("parts")) {
        MPI_Psend_init("x", 1, 1, MPI_CHAR, atoi(value), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready(0, request);
    } else if (IS("part")) {
        MPI_Precv_init(&letter, 1, 1, MPI_CHAR, atoi(value), 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else if (IS("complete")) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);
    } else if (IS("touch"))
        close(open(value, O_CREAT | O_WRONLY, 0600));
    else if (IS("await"))
        while (access(value, F_OK) != 0)
            usleep(1000);
    else if (IS("forked"))
        call_in_child(value);
    else if (IS("fork"))
        leave_child(0);
    else if (IS("daemon"))
        leave_child(1);
    else if (IS("catch"))
        signal(atoi(value), caught);
    else if (IS("run")) {
        fflush(stdout);
        if (system(value) < 0)
            exit(97);
    } else if (IS("memory"))
        use_memory((size_t)atoi(value));
    else if (IS("sockets"))
        open_sockets(atoi(value));
    else if (IS("cpus"))
        print_cpus();
    else if (IS("kinds"))
        print_kinds();
    else {
        fprintf(stderr, "rank: unknown word %s\n", word);
        exit(98);
    }
}

/* The rank that the launcher gave to this process, by the first of its variables. */
static const char *given_rank(void)
{
    const char *names[] = {"PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (int i = 0; i < 3; i++)
        if (getenv(names[i]))
            return getenv(names[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *rank = given_rank();
    for (int i = 1; i < argc; i++) {
        char *end;
        long only = strtol(argv[i], &end, 10);
        if (end != argv[i] && *end == ':') {
            if (rank && atol(rank) == only)
                step(end + 1);
        } else {
            step(argv[i]);
        }
    }
    return 0;
}
