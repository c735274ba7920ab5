//! The system calls that the transports need, each behind a safe or plainly stated contract.
//!
//! | module         | calls                                           | used for                              |
//! |----------------|-------------------------------------------------|---------------------------------------|
//! | [`clock`]      | `clock_gettime(2)`                              | `MPI_Wtime`                           |
//! | [`cma`]        | `process_vm_readv(2)`, `process_vm_writev(2)`   | single copy between processes         |
//! | [`descriptor`] | `ppoll(2)`                                      | sleeping on a descriptor              |
//! | [`epoll`]      | `epoll_wait(2)`                                 | many descriptors behind one           |
//! | [`eventfd`]    | `eventfd(2)`                                    | ringing a thread that sleeps on descriptors |
//! | [`file`]         | `pread(2)`, `fallocate(2)`, `fstatfs(2)`, `fcntl(2)` | files at positions, their locks; files without names |
//! | [`fork`]       | `pthread_atfork(3)`, `_exit(2)`                 | children that the program forks       |
//! | [`futex`]      | `futex(2)`, never PRIVATE                       | sleeping on a doorbell in shared memory |
//! | [`host`]       | `/proc/sys/kernel/hostname`                     | how this host is called               |
//! | [`huge`]       | `madvise(2)`, `MADV_COLLAPSE`                   | huge pages under buffers              |
//! | [`image`]      | `dladdr(3)`, `dl_iterate_phdr(3)`               | the installation's own files; the file of an address |
//! | [`interfaces`] | `getifaddrs(3)`                                 | where this host can be reached        |
//! | [`mapped_file`] | `mmap(2)`, `readv(2)`                          | many short pieces written at once     |
//! | [`membarrier`] | `membarrier(2)`, expedited                      | senders that pay no fence             |
//! | [`memory`]     | `/proc/meminfo`, control groups                 | how much may still be allocated       |
//! | [`memory_file`] | `memfd_create(2)`, `fallocate(2)`, seals       | memory that processes share           |
//! | [`pidfd`]      | `pidfd_open(2)`, `pidfd_getfd(2)`, `poll(2)`    | noticing that a peer is gone, its descriptors |
//! | [`ports`]      | `bind(2)`, by [`tcp`] and [`udp`]               | one free port of several              |
//! | [`presence`]   | `fcntl(2)`, `F_OFD_GETLK`                       | whether a process lives, whatever its namespaces |
//! | [`private_block`] | `mmap(2)`, `MAP_HUGETLB`                  | large blocks of memory, on huge pages |
//! | [`process_stat`] | `/proc/PID/stat`                             | what another process or thread does   |
//! | [`processor`]  | `getcpu(2)`, `sched_getaffinity(2)`             | who shares a processor                |
//! | [`ptracer`]    | `prctl(PR_SET_PTRACER)`                         | single copy under Yama                |
//! | [`random`]     | `getrandom(2)`                                  | secrets by which processes know each other |
//! | [`stack`]      | `_Unwind_Backtrace` of libgcc_s                 | where a thread waits                  |
//! | [`tcp`]        | `connect(2)`, `listen(2)`, `sendmsg(2)`         | connections that never block          |
//! | [`tcp_hosts`]  | `getpeername(2)`, `TCP_INFO`                    | hosts that answer no connection       |
//! | [`thread`]     | `pthread_self(3)`, `pthread_sigmask(3)`         | which thread calls; threads of the library |
//! | [`timer`]      | `timerfd_create(2)`                             | a time among descriptors              |
//! | [`udp`]        | `sendmmsg(2)`, `recvmmsg(2)`                    | many datagrams at once                |
//! | [`waiter`]     | `sched_yield(2)`                                | how long to spin before sleeping      |
//! | [`watchpoint`] | `perf_event_open(2)`, `PERF_TYPE_BREAKPOINT`      | which code uses some bytes            |
//! | [`xpmem`]      | `ioctl(2)` of `/dev/xpmem`                      | single copy without system calls      |
//!
//! [`blocking`] is the proof that a call may block.
//!
//! Linux only. Nothing here holds state, but for the descriptor that forked children close ([`presence`]).

pub mod blocking;
pub mod clock;
pub mod cma;
pub mod descriptor;
pub mod epoll;
pub mod eventfd;
pub mod file;
pub mod fork;
pub mod futex;
pub mod host;
pub mod huge;
pub mod image;
pub mod interfaces;
pub mod mapped_file;
pub mod membarrier;
pub mod memory;
pub mod memory_file;
pub mod pidfd;
pub mod ports;
pub mod presence;
pub mod private_block;
pub mod process_stat;
pub mod processor;
pub mod ptracer;
pub mod random;
mod socket;
pub mod stack;
pub mod tcp;
pub mod tcp_hosts;
pub mod thread;
pub mod timer;
pub mod udp;
pub mod waiter;
pub mod watchpoint;
pub mod xpmem;

pub use blocking::Blocking;
