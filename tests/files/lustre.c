/* Loaded before the library (LD_PRELOAD): every file system answers as Lustre does. A file has four stripes of 64 KiB in turn unless
 * LL_IOC_LOV_SETSTRIPE has asked for others in this process. The program finds lustre_targets by dlsym. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

/* struct lov_user_md_v1, without targets. */
struct layout {
    uint32_t magic, pattern;
    uint64_t object[2];
    uint32_t size;
    uint16_t count, first;
};

static struct layout layout = { 0x0bd10bd0, 1, { 0, 0 }, 64 << 10, 4, 0xffff };
static unsigned targets;

/* The targets that this process has written to, a bit each, as the others' layout has them. */
unsigned lustre_targets(uint32_t size, uint16_t count)
{
    layout.size = size;
    layout.count = count;
    unsigned written = targets;
    targets = 0;
    return written;
}

int fstatfs64(int fd, struct statfs64 *found)
{
    int (*real)(int, struct statfs64 *);
    *(void **)&real = dlsym(RTLD_NEXT, "fstatfs64");
    int done = real(fd, found);
    found->f_type = 0x0bd00bd0;
    return done;
}

ssize_t fgetxattr(int fd, const char *name, void *into, size_t room)
{
    (void)fd;
    if (strcmp(name, "lustre.lov") != 0 || room < sizeof layout) {
        errno = ENODATA;
        return -1;
    }
    memcpy(into, &layout, sizeof layout);
    return sizeof layout;
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (request != 0x4008669aul) {
        int (*real)(int, unsigned long, ...);
        *(void **)&real = dlsym(RTLD_NEXT, "ioctl");
        return real(fd, request, argument);
    }
    struct layout wanted;
    memcpy(&wanted, argument, sizeof wanted);
    if (wanted.magic != layout.magic || wanted.size % (64 << 10) != 0) {
        errno = EINVAL;
        return -1;
    }
    layout.size = wanted.size ? wanted.size : 64 << 10;
    layout.count = wanted.count ? wanted.count : 4;
    return 0;
}

static void touched(size_t len, off64_t at)
{
    for (off64_t stripe = at / layout.size; stripe * layout.size < at + (off64_t)len; stripe++)
        targets |= 1u << stripe % layout.count;
}

ssize_t pwrite64(int fd, const void *from, size_t len, off64_t at)
{
    ssize_t (*real)(int, const void *, size_t, off64_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    touched(len, at);
    return real(fd, from, len, at);
}

ssize_t pwritev64(int fd, const struct iovec *from, int count, off64_t at)
{
    ssize_t (*real)(int, const struct iovec *, int, off64_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pwritev64");
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += from[i].iov_len;
    touched(len, at);
    return real(fd, from, count, at);
}
