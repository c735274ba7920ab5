//! A set of processors.

use std::fmt;

use platform::processor::MOST;

/// Processors by number, ascending, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet(Vec<u32>);

impl CpuSet {
    /// The processors that this process may use.
    pub fn allowed() -> CpuSet {
        CpuSet(platform::processor::allowed())
    }

    /// Reads a list such as `0-3,8,10-11` (the kernel's format). `None` if it is malformed or too large.
    pub fn parse(text: &str) -> Option<CpuSet> {
        let mut cpus = Vec::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
            if first > last || last >= MOST {
                return None;
            }
            cpus.extend(first..=last);
        }
        Some(cpus.into_iter().collect())
    }

    /// Number of processors.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no processor is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// The processors in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    /// The processors that both sets have.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.iter().filter(|&cpu| other.contains(cpu)).collect())
    }

    /// As the bit mask that the kernel takes (sched_setaffinity(2)).
    pub fn words(&self) -> [u64; MOST as usize / 64] {
        let mut words = [0; MOST as usize / 64];
        for cpu in self.iter().filter(|&cpu| cpu < MOST) {
            words[cpu as usize / 64] |= 1 << (cpu % 64);
        }
        words
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> CpuSet {
        let mut cpus: Vec<u32> = cpus.into_iter().collect();
        cpus.sort_unstable();
        cpus.dedup();
        CpuSet(cpus)
    }
}

/// The kernel's list format: `0-3,8`.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, run) in self.0.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                run => write!(f, "{comma}{}-{}", run[0], run[run.len() - 1])?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn malformed_lists_are_refused() {
        for text in ["a", "3-1", "1-", "-", "0-99999999"] {
            assert_eq!(CpuSet::parse(text), None, "{text}");
        }
        assert_eq!(CpuSet::parse("\n"), Some(CpuSet::default()));
    }

    proptest! {
        #[test]
        fn lists_round_trip(cpus in proptest::collection::vec(0u32..200, 0..40)) {
            let set: CpuSet = cpus.into_iter().collect();
            prop_assert_eq!(CpuSet::parse(&set.to_string()), Some(set));
        }
    }
}
