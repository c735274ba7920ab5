//! The memory that a call's arguments name.

use interpose::{Argument, Call, Direction, Kind, Shape, ask};

/// Memory that is read or written as one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub begin: usize,
    /// Bytes.
    pub length: usize,
    /// The library writes it.
    pub is_written: bool,
}

impl Region {
    /// Whether one of the two is written where both lie.
    pub fn conflicts(&self, other: &Region) -> bool {
        (self.is_written || other.is_written) && self.common(other) > 0
    }

    /// Bytes that both have.
    pub fn common(&self, other: &Region) -> usize {
        let end = (self.begin + self.length).min(other.begin + other.length);
        end.saturating_sub(self.begin.max(other.begin))
    }

    /// A number that changes with the content.
    pub fn checksum(&self) -> u64 {
        // SAFETY: MPI's contract: the program's buffer of a message that is under way is there.
        let bytes = unsafe { core::slice::from_raw_parts(self.begin as *const u8, self.length) };
        let (words, rest) = bytes.as_chunks::<8>();
        let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let sum = words.iter().fold(self.length as u64, |sum, word| mix(sum, u64::from_ne_bytes(*word)));
        rest.iter().fold(sum, |sum, &byte| mix(sum, byte.into()))
    }
}

/// The regions of a successful call whose size its own arguments tell; types with holes are left out.
pub fn of(call: &Call<'_>) -> Vec<Region> {
    if !tells_sizes(call) {
        return Vec::new();
    }
    let is_buffer = |(_, it): &(usize, &Argument)| matches!(it.kind, Kind::Buffer | Kind::ConstBuffer);
    call.arguments().filter(is_buffer).filter_map(|(place, it)| region(call, place, it)).collect()
}

/// Messages, accesses to windows and files, and collectives that have as much at each rank.
fn tells_sizes(call: &Call<'_>) -> bool {
    let base = call.function.base();
    match call.function.chapter {
        3 => !base.contains("uffer"),
        12 => call.function.place("target_disp").is_some(),
        14 => true,
        6 => call.function.place("recvcount").is_none() && call.function.place("recvcounts").is_none(),
        _ => false,
    }
}

fn region(call: &Call<'_>, place: usize, argument: &Argument) -> Option<Region> {
    let next = |kind: Kind| {
        let found =
            call.arguments().find(|(at, it)| *at > place && it.kind == kind && it.direction == Direction::In);
        found.filter(|(_, it)| it.shape == Shape::One).map(|(at, _)| at)
    };
    let (count, datatype) = (call.number_at(next(Kind::Count)?), call.word(next(Kind::Datatype)?));
    let address = call.word(place);
    // MPI_BOTTOM and MPI_IN_PLACE; the former needs a type with absolute addresses.
    if address <= abi::IN_PLACE || count <= 0 {
        return None;
    }
    let (size, (_, extent), (first, true_extent)) =
        (ask::type_size(datatype), ask::type_extent(datatype), ask::type_true_extent(datatype));
    if size <= 0 || size != true_extent || (count > 1 && extent != size) {
        return None;
    }
    let is_root = call.is_root() == Some(true);
    let is_written = match (call.function.base(), call.function.chapter) {
        // The root of a broadcast reads its buffer; what others than the root give for a reduction means nothing.
        ("Bcast" | "Ibcast" | "Bcast_init", _) => !is_root,
        ("Reduce" | "Ireduce" | "Reduce_init", _) if argument.kind == Kind::Buffer && !is_root => {
            return None;
        }
        _ => argument.kind == Kind::Buffer,
    };
    let begin = (address as i64).checked_add(first)?;
    Some(Region {
        begin: usize::try_from(begin).ok()?,
        length: usize::try_from(count.checked_mul(size)?).ok()?,
        is_written,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_reads_conflicts_with_nothing_that_only_reads() {
        let region = |begin, length, is_written| Region { begin, length, is_written };
        let read = region(100, 10, false);
        assert!(!read.conflicts(&region(105, 10, false)));
        assert!(read.conflicts(&region(105, 10, true)));
        assert!(!read.conflicts(&region(110, 10, true)));
        assert_eq!(read.common(&region(95, 7, true)), 2);
    }

    #[test]
    fn a_changed_byte_changes_the_checksum() {
        let mut bytes = [7u8; 37];
        let region = Region { begin: bytes.as_ptr() as usize, length: bytes.len(), is_written: false };
        let before = region.checksum();
        (0..bytes.len()).for_each(|index| {
            bytes[index] ^= 1;
            assert_ne!(region.checksum(), before, "{index}");
            bytes[index] ^= 1;
        });
        assert_eq!(region.checksum(), before);
    }
}
