//! What a tool keeps of a call from its beginning to its end.

use core::cell::RefCell;

/// A stack of what is kept: a thread may be in several calls, where the library calls functions of the program. To be held in a
/// `thread_local!`.
pub struct Stack<T>(RefCell<Vec<T>>);

impl<T> Stack<T> {
    /// An empty one.
    pub const fn new() -> Stack<T> {
        Stack(RefCell::new(Vec::new()))
    }

    /// Keeps `value` until the call ends; the word finds it, and is never 0.
    pub fn keep(&self, value: T) -> usize {
        let mut all = self.0.borrow_mut();
        all.push(value);
        all.len()
    }

    /// What was kept under `word`. Calls that began later and have not ended never will: an error handler threw through them.
    pub fn take(&self, word: usize) -> Option<T> {
        let mut all = self.0.borrow_mut();
        all.truncate(word);
        if word == 0 { None } else { all.pop() }
    }
}

impl<T> Default for Stack<T> {
    fn default() -> Self {
        Stack::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_finds_its_own_also_after_others_were_thrown_through() {
        let stack = Stack::new();
        let outer = stack.keep(1);
        let inner = stack.keep(2);
        assert_eq!(stack.take(inner), Some(2));
        stack.keep(3);
        assert_eq!(stack.take(outer), Some(1));
        assert_eq!(stack.take(0), None);
    }
}
