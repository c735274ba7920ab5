/* Runs a program for which the kernel refuses one system call, as an old kernel or a container's seccomp profile does.
 *
 * usage: refuse CALL ERRNO PROGRAM [ARGUMENT…]
 *   CALL   a name of the list below; clone_pidfd is clone with CLONE_PIDFD alone
 *   ERRNO  ENOSYS or EPERM
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) {#name, SYS_##name}
static const struct call {
    const char *name;
    long number;
} calls[] = {
    CALL(close_range),   CALL(epoll_pwait2),      CALL(eventfd2),          CALL(fallocate),   CALL(getrandom),
    CALL(io_uring_setup), CALL(membarrier),       CALL(memfd_create),      CALL(pidfd_getfd), CALL(pidfd_open),
    CALL(pidfd_send_signal), CALL(process_vm_readv), CALL(process_vm_writev), CALL(rseq),      CALL(sched_setaffinity),
    CALL(signalfd4),     CALL(statx),             CALL(timerfd_create),    CALL(waitid),      {"clone_pidfd", SYS_clone},
};

static int refuse(const struct call *call, unsigned error)
{
    /* Any flags but for clone, whose flags are its first argument. */
    unsigned flags = strcmp(call->name, "clone_pidfd") == 0 ? CLONE_PIDFD : 0;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call->number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, flags ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 3 && i < sizeof calls / sizeof *calls; i++)
        if (strcmp(argv[1], calls[i].name) == 0) {
            if (refuse(&calls[i], strcmp(argv[2], "EPERM") ? ENOSYS : EPERM) != 0) {
                perror("refuse");
                return 77;
            }
            execvp(argv[3], argv + 3);
            perror(argv[3]);
            return 127;
        }
    fprintf(stderr, "refuse: unknown call %s\n", argc > 1 ? argv[1] : "");
    return 2;
}
