/* Loaded before the library (LD_PRELOAD): reads and writes of files that have a name move few bytes, are interrupted, and fail
 * as the program sets in faults_set. The program finds faults_set and faults_hit by dlsym. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_uint drawn, calls, hits;
static atomic_int fails_with, fails_after;

/* From now on: every call after the first `after` fails with `error`; 0: none. */
void faults_set(int error, int after)
{
    calls = hits = 0;
    fails_after = after;
    fails_with = error;
}

/* How many calls have failed since. */
int faults_hit(void)
{
    return (int)hits;
}

/* How many bytes are moved; -1 with errno set: none. */
static ssize_t portion(int fd, size_t len)
{
    struct stat file;
    if (len == 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink == 0)
        return (ssize_t)len;
    if (fails_with && (int)calls++ >= fails_after) {
        hits++;
        errno = fails_with;
        return -1;
    }
    unsigned word = atomic_fetch_add(&drawn, 2654435761u) * 2246822519u >> 8;
    if (word % 5 == 0) {
        errno = EINTR;
        return -1;
    }
    return word % 5 == 1 ? 1 + (ssize_t)(word / 5 % len) : (ssize_t)len;
}

ssize_t pread64(int fd, void *into, size_t len, off64_t at)
{
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pread64");
    ssize_t moved = portion(fd, len);
    return moved < 0 ? moved : real(fd, into, (size_t)moved, at);
}

ssize_t pwrite64(int fd, const void *from, size_t len, off64_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t moved = portion(fd, len);
    return moved < 0 ? moved : real(fd, from, (size_t)moved, at);
}

ssize_t pwritev64(int fd, const struct iovec *from, int count, off64_t at)
{
    static ssize_t (*real)(int, const struct iovec *, int, off64_t);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwritev64");
    struct iovec some[1024];
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += from[i].iov_len;
    ssize_t moved = portion(fd, len);
    if (moved < 0)
        return moved;
    size_t left = (size_t)moved;
    int used = 0;
    for (; used < count && left > 0; used++) {
        some[used] = from[used];
        if (some[used].iov_len > left)
            some[used].iov_len = left;
        left -= some[used].iov_len;
    }
    return real(fd, some, used, at);
}
