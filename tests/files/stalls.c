/* What stands still stops nothing else: locks that another program holds, while nonblocking accesses wait for them.
 *
 *   this process   starts accesses | messages, another file: all end | "give the locks back" | waits for the accesses
 *   its child      has locks on the files of the accesses ........................... gives them back
 *
 * Were one of them to wait in the call, or with the library locked, the child would get no message; then the alarm ends the test.
 *
 * usage: stalls DIR */
#include "files.h"
#include <signal.h>
#include <pthread.h>
#include <sys/wait.h>

enum { FILES = 6, LONG = 1 << 20 };

static char names[FILES + 1][4200], data[LONG];
static int orders[2], answers[2];

/* The other program: locks all files, waits for a word, and ends. */
static void hold_locks(void)
{
    char word = 0;
    if (read(orders[0], &word, 1) != 1)
        _exit(1);
    for (int i = 0; i < FILES; i++) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        int f = open(names[i], O_RDWR | O_CREAT, 0600);
        if (f < 0 || fcntl(f, F_SETLKW, &lock))
            _exit(2);
    }
    if (write(answers[1], &word, 1) != 1 || read(orders[0], &word, 1) != 1)
        _exit(3);
    _exit(0);
}

static void tell(void)
{
    if (write(orders[1], "x", 1) != 1)
        abort();
}

static void *talk(void *unused)
{
    for (int i = 0; i < 50; i++) {
        int a = i, b = -1;
        MPI_Sendrecv(&a, 1, MPI_INT, 0, 1, &b, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    return unused;
}

static void late(int signal)
{
    static const char text[] = "FAIL an access that waits for a lock stops all others\n";
    (void)signal;
    _exit(write(1, text, sizeof text - 1) > 0 ? 3 : 4);
}

int main(int argc, char **argv)
{
    /* Before MPI: a child must not have it. */
    for (int i = 0; i <= FILES; i++)
        snprintf(names[i], sizeof names[i], "%s/stalls.%d.%d", argc > 1 ? argv[1] : "/tmp", (int)getpid(), i);
    if (pipe(orders) || pipe(answers))
        return 1;
    int child = fork();
    if (child == 0)
        hold_locks();
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    named(argc, argv, "stalls");
    signal(SIGALRM, late);
    alarm(50);

    MPI_File f[FILES + 1];
    MPI_Request r[2 * FILES];
    for (int i = 0; i <= FILES; i++) {
        MPI_File_open(MPI_COMM_SELF, names[i], RW, MPI_INFO_NULL, &f[i]);
        MPI_File_set_atomicity(f[i], i < FILES);
    }
    tell();
    char word;
    all_eq(read(answers[0], &word, 1), 1, "another program has the locks");
    memset(data, 'd', sizeof data);
    for (int i = 0; i < FILES; i++) {
        MPI_File_iwrite_at_all(f[i], 0, data, 1000, MPI_BYTE, &r[2 * i]);
        MPI_File_iwrite_at(f[i], 2000, data, 1000, MPI_BYTE, &r[2 * i + 1]);
    }
    int done = 1;
    MPI_Testall(2 * FILES, r, &done, MPI_STATUSES_IGNORE);
    all_eq(done, 0, "accesses wait for them");
    pthread_t other;
    pthread_create(&other, NULL, talk, NULL);
    pthread_join(other, NULL);
    all_eq(1, 1, "messages go on meanwhile");
    MPI_Request plain[3];
    MPI_Status status;
    for (int i = 0; i < 3; i++)
        MPI_File_iwrite_at(f[FILES], (MPI_Offset)i * LONG, data, LONG, MPI_BYTE, &plain[i]);
    MPI_Waitall(3, plain, MPI_STATUSES_IGNORE);
    MPI_File_iwrite_at_all(f[FILES], 3 * LONG, data, LONG, MPI_BYTE, &plain[0]);
    MPI_Wait(&plain[0], &status);
    all_eq(bytes_of(&status), LONG, "and other files");
    tell();
    MPI_Waitall(2 * FILES, r, MPI_STATUSES_IGNORE);
    all_eq(1, 1, "they end when the locks are given back");
    for (int i = 0; i <= FILES; i++) {
        MPI_File_close(&f[i]);
        unlink(names[i]);
    }
    int ended = 1;
    waitpid(child, &ended, 0);
    all_eq(ended, 0, "the other program had all locks");
    return finish();
}
