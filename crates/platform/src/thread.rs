//! Which thread calls.

/// A number that no other thread of the process has while this one lives; never 0.
pub fn current() -> usize {
    // SAFETY: pthread_self has no precondition and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

#[cfg(test)]
mod tests {
    #[test]
    fn threads_have_numbers_of_their_own() {
        let mine = super::current();
        assert_ne!(mine, 0);
        assert_eq!(mine, super::current());
        assert_ne!(mine, std::thread::spawn(super::current).join().unwrap());
    }
}
