//! Asymmetric fences: the rare side (a rank about to sleep) pays for both.
//!
//! ```text
//!   sender                          sleeper
//!   publish message                 set sleeping bit
//!   (compiler fence only)           membarrier: every registered process executes a full fence
//!   read sleeping bit               look for messages, then sleep
//! ```
//! Either the sender sees the bit or the sleeper sees the message. Both sides must be registered.

use core::ffi::c_int;

const QUERY: c_int = 0;
const GLOBAL_EXPEDITED: c_int = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: c_int = 1 << 2;
const PRIVATE_EXPEDITED: c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

/// Registers this process for [`barrier`], on both sides. `false`: not available, use fences.
pub fn register() -> bool {
    let needed = GLOBAL_EXPEDITED | REGISTER_GLOBAL_EXPEDITED;
    let offered = call(QUERY);
    offered >= 0 && offered & needed == needed && call(REGISTER_GLOBAL_EXPEDITED) == 0
}

/// Makes every running thread of every registered process execute a full memory fence. `false`: it failed.
pub fn barrier() -> bool {
    call(GLOBAL_EXPEDITED) == 0
}

/// Registers this process for [`private`]. `false`: not available.
pub fn register_private() -> bool {
    let needed = PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED;
    let offered = call(QUERY);
    offered >= 0 && offered & needed == needed && call(REGISTER_PRIVATE_EXPEDITED) == 0
}

/// Makes every running thread of this process execute a full memory fence. `false`: it failed.
pub fn private() -> bool {
    call(PRIVATE_EXPEDITED) == 0
}

fn call(command: c_int) -> c_int {
    // SAFETY: membarrier takes no pointers; unknown commands answer with an error.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) as c_int }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_registered_process_can_issue_barriers() {
        if super::register() {
            assert!(super::barrier());
        }
        if super::register_private() {
            assert!(super::private());
        }
    }
}
