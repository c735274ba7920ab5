//! Which processors this process may use, as a bit mask that can travel as text.

/// Processors a mask has room for.
const MAX_CPUS: usize = 1024;

/// The processors that this process may use, 64 per word. Empty where the system does not say.
pub(crate) fn allowed() -> Vec<u64> {
    let mut mask = [0u64; MAX_CPUS / 64];
    // SAFETY: the mask is writable and its size in bytes is passed; 0 is the calling thread.
    let rc = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    let used = if rc == 0 { mask.iter().rposition(|&w| w != 0).map_or(0, |i| i + 1) } else { 0 };
    mask[..used].to_vec()
}

/// The mask as hexadecimal words, lowest first.
pub(crate) fn encode(mask: &[u64]) -> String {
    let words: Vec<String> = mask.iter().map(|w| format!("{w:x}")).collect();
    words.join(",")
}

/// Undoes [`encode`].
pub(crate) fn parse(text: &str) -> Option<Vec<u64>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let words = text.split(',').map(|w| u64::from_str_radix(w, 16).ok()).collect::<Option<Vec<_>>>()?;
    (words.len() <= MAX_CPUS / 64).then_some(words)
}

/// Adds the processors of `other` to `union`.
pub(crate) fn add(union: &mut Vec<u64>, other: &[u64]) {
    if union.len() < other.len() {
        union.resize(other.len(), 0);
    }
    for (to, from) in union.iter_mut().zip(other) {
        *to |= from;
    }
}

/// Number of processors in `mask`.
pub(crate) fn count(mask: &[u64]) -> usize {
    mask.iter().map(|w| w.count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_travel_as_text() {
        let own = allowed();
        assert!(count(&own) > 0);
        assert_eq!(parse(&encode(&own)), Some(own));
        assert_eq!(parse("xyz"), None);
    }

    #[test]
    fn union_counts_each_processor_once() {
        let mut union = vec![0b11];
        add(&mut union, &[0b10, 1]);
        assert_eq!(count(&union), 3);
    }
}
