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

/// `count` of a datatype, the extent of `first` of them behind an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items {
    pub address: usize,
    pub datatype: usize,
    pub first: i64,
    pub count: i64,
    /// The library writes them.
    pub is_written: bool,
}

impl Items {
    /// Their memory, if they are one piece.
    fn region(&self) -> Option<Region> {
        let (offset, length) = piece(self.datatype, self.first, self.count)?;
        let begin = usize::try_from((self.address as i64).checked_add(offset)?).ok()?;
        Some(Region { begin, length, is_written: self.is_written })
    }
}

/// The regions of a successful call whose size its own arguments tell; types with holes are left out.
pub fn of(items: &[Items]) -> Vec<Region> {
    items.iter().filter_map(Items::region).collect()
}

/// What a successful call, whose own arguments tell how much that is, has in its buffers.
pub fn items(call: &Call<'_>) -> Vec<Items> {
    if !tells_sizes(call) {
        return Vec::new();
    }
    let is_buffer = |(_, it): &(usize, &Argument)| matches!(it.kind, Kind::Buffer | Kind::ConstBuffer);
    call.arguments().filter(is_buffer).flat_map(|(place, it)| items_of(call, place, it)).collect()
}

/// Messages, accesses to windows and files, and collectives of one group.
fn tells_sizes(call: &Call<'_>) -> bool {
    let base = call.function.base();
    let is_with_process = || {
        let peers = ["dest", "source", "target_rank"].iter().filter_map(|name| call.function.place(name));
        peers.into_iter().all(|place| call.number_at(place) != i64::from(abi::PROC_NULL))
    };
    match call.function.chapter {
        3 => !base.contains("uffer") && is_with_process(),
        12 => call.function.place("target_disp").is_some() && is_with_process(),
        14 => true,
        6 => call.comm().is_some_and(|comm| ask::comm_test_inter(comm) == 0),
        _ => false,
    }
}

/// What a collective does with a buffer, beside what its argument tells.
enum Part {
    /// The process does not use it.
    None,
    /// As many as the counts tell.
    One,
    /// As many for each process.
    Each,
}

/// Blocks of an array of counts that are looked at.
const MOST_BLOCKS: usize = 64;

fn items_of(call: &Call<'_>, place: usize, argument: &Argument) -> Vec<Items> {
    let next = |from: usize, kind: Kind| {
        call.arguments().find(|(at, it)| *at > from && it.kind == kind && it.direction == Direction::In)
    };
    let (Some((counts, of)), Some((datatype, kind))) =
        (next(place, Kind::Count), next(place, Kind::Datatype))
    else {
        return Vec::new();
    };
    let address = call.word(place);
    // MPI_BOTTOM and MPI_IN_PLACE; the former needs a type with absolute addresses.
    if address <= abi::IN_PLACE || kind.shape != Shape::One {
        return Vec::new();
    }
    // What is said of the origin means nothing then.
    let is_no_op = call.function.place("op").is_some_and(|place| call.word(place) == abi::NO_OP.0);
    if is_no_op && argument.kind == Kind::ConstBuffer && call.function.chapter == 12 {
        return Vec::new();
    }
    let datatype = call.word(datatype);
    let size = || call.comm().map_or(0, |comm| ask::comm_size(comm).max(0) as usize);
    let is_written = is_written(call, argument);
    let items = |first: i64, count: i64| Items { address, datatype, first, count, is_written };
    match (part(call, argument), of.shape) {
        (Part::None, _) => Vec::new(),
        (Part::One, Shape::One) => vec![items(0, call.number_at(counts))],
        (Part::Each, Shape::One) => {
            let count = call.number_at(counts).checked_mul(size() as i64);
            count.map(|count| items(0, count)).into_iter().collect()
        }
        (Part::Each, _) if size() <= MOST_BLOCKS => {
            let Some((displacements, _)) = next(counts, Kind::Displ) else { return Vec::new() };
            let block = |index| items(call.element(displacements, index), call.element(counts, index));
            (0..size()).map(block).collect()
        }
        _ => Vec::new(),
    }
}

fn part(call: &Call<'_>, argument: &Argument) -> Part {
    let name = plain(call.function.base());
    let is_receive = argument.kind == Kind::Buffer;
    let at_root = |part: Part| if call.is_root() == Some(true) { part } else { Part::None };
    match name.as_str() {
        _ if call.function.chapter != 6 => Part::One,
        "gather" | "gatherv" if is_receive => at_root(Part::Each),
        "scatter" | "scatterv" if !is_receive => at_root(Part::Each),
        "allgather" | "allgatherv" if is_receive => Part::Each,
        "alltoall" | "alltoallv" => Part::Each,
        "reduce_scatter_block" if !is_receive => Part::Each,
        "reduce_scatter" => Part::None,
        "exscan" if is_receive && call.comm().is_none_or(|comm| ask::comm_rank(comm) == 0) => Part::None,
        // What others than the root give means nothing.
        "reduce" if is_receive => at_root(Part::One),
        _ => Part::One,
    }
}

/// The name of the operation, whether it blocks, goes on in the background, or is persistent.
pub fn plain(base: &str) -> String {
    let name = base.strip_suffix("_init").unwrap_or(base);
    name.strip_prefix('I').unwrap_or(name).to_ascii_lowercase()
}

fn is_written(call: &Call<'_>, argument: &Argument) -> bool {
    match call.function.base() {
        // The root of a broadcast reads its buffer.
        "Bcast" | "Ibcast" | "Bcast_init" => call.is_root() != Some(true),
        _ => argument.kind == Kind::Buffer,
    }
}

/// Where `count` of a datatype begin, the extent of `first` of them behind an address, and how long they are, if they are one piece.
pub fn piece(datatype: usize, first: i64, count: i64) -> Option<(i64, usize)> {
    let size = ask::type_size(datatype);
    // No datatype has a size of 0, and no bounds that may be asked about.
    if count <= 0 || size <= 0 {
        return None;
    }
    let ((_, extent), (offset, true_extent)) = (ask::type_extent(datatype), ask::type_true_extent(datatype));
    if size != true_extent || (count > 1 && extent != size) {
        return None;
    }
    let begin = offset.checked_add(first.checked_mul(extent)?)?;
    Some((begin, usize::try_from(count.checked_mul(size)?).ok()?))
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
