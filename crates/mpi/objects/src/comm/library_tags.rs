//! How messages in the library's context of a communicator are distinguished: by a class in the source, and by the tag.
//!
//! ```text
//!   class of the source   tag
//!   none                  below 2^29           collectives: a digest and a number
//!                         2^29 to 3*2^29       partitions, by number
//!                         3*2^29 to 7*2^28     duplicates being made, by number
//!                         7*2^28               words between the two groups of an inter-communicator
//!   PARTITIONED           the program's        a partitioned channel being set up
//!   LEADERS               the program's        words between the leaders of two groups
//!   APART                 the program's        groups that agree beside the communicator's calls
//! ```
//! What carries a tag of the program has a class of its own, since all 31 bits of it count.

/// Bits of tags that collectives have.
pub const COLLECTIVE_BITS: u32 = 29;

/// In the source: a partitioned channel is set up.
pub const PARTITIONED: u32 = 1 << 30;
/// In the source: the leaders of two groups swap words.
pub const LEADERS: u32 = 1 << 29;
/// In the source, which names a process then and not a rank: groups borrow the context.
pub const APART: u32 = 3 << 29;

/// The bits of a source that are no class.
pub const CLASSLESS: u32 = LEADERS - 1;

/// The tag of words between the two groups of an inter-communicator, which all members swap in turn.
pub const BETWEEN_GROUPS: i32 = 7 << 28;

/// So many partitions of a communicator can be told apart.
pub const PARTITIONS: u32 = 1 << 30;
const DUPLICATES: u32 = 1 << 28;

/// The tag of a partition.
pub const fn of_partition(number: u32) -> i32 {
    (1 << COLLECTIVE_BITS) + (number % PARTITIONS) as i32
}

/// The tag of a duplicate being made.
pub const fn of_duplicate(number: u32) -> i32 {
    (3 << COLLECTIVE_BITS) + (number % DUPLICATES) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_different_kinds_differ() {
        let (first, last) = (of_partition(0), of_partition(u32::MAX));
        assert!(first == 1 << COLLECTIVE_BITS && last < of_duplicate(0));
        assert!(of_duplicate(0) < of_duplicate(u32::MAX) && of_duplicate(u32::MAX) < BETWEEN_GROUPS);
        let classes = [0, PARTITIONED, LEADERS, APART];
        assert!((0..4).all(|one| classes[..one].iter().all(|class| class >> 29 != classes[one] >> 29)));
    }
}
