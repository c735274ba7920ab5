//! From parts of a count to bytes of a buffer.

use crate::port::{Base, Port, Region, Side, Ty};
use crate::schedule::{Buf, IRREGULAR, Ref, RefId, Schedule};
use abi::{Error, Result};

/// Count and datatype of one side of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Elements per block, as the call gives it.
    pub count: u64,
    /// Packed bytes of an element (`MPI_Type_size`).
    pub size: u64,
    /// Distance of elements in bytes (`MPI_Type_get_extent`).
    pub extent: i64,
    /// Lowest byte an element touches, relative to its origin (`MPI_Type_get_true_extent`).
    pub true_lb: i64,
    /// Bytes from the lowest to the highest byte an element touches.
    pub true_extent: u64,
}

impl Layout {
    /// `count` elements without holes.
    pub const fn contiguous(count: u64, size: u64) -> Layout {
        Layout { count, size, extent: size as i64, true_lb: 0, true_extent: size }
    }

    /// Packed bytes of a block.
    pub const fn bytes(&self) -> u64 {
        self.count * self.size
    }
}

/// The counts and types of a call. The [crate's](crate) start states which side means what for which
/// collective; an argument that is not significant on a rank is left at its default.
///
/// Reductions give their datatype in `recv` on every rank (and the same in `send`): scratch elements have
/// its extent as spacing and are placed so that all bytes from `true_lb` on lie inside the scratch, which
/// is what a user function that reads or writes through the whole type map needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// The send arguments.
    pub send: Layout,
    /// The receive arguments (`MPI_Bcast`: the only ones).
    pub recv: Layout,
    /// Packed bytes of one block, from whichever side is significant on this rank; of the largest receive block of
    /// v and w variants.
    pub packed: u64,
}

/// Count and spacing of a class of buffers.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    count: u64,
    spacing: i64,
    /// Ands inner boundaries, so that pieces of byte streams begin on cache lines.
    mask: u64,
}

const SEND: usize = 0;
const RECV: usize = 1;
const SEND_BYTES: usize = 2;
const RECV_BYTES: usize = 3;
const PACKED: usize = 4;
const BOUNCE: usize = 5;

/// Scratch buffers at most; algorithms use up to five.
const SCRATCHES: usize = 12;
/// Scratch buffers start on cache lines.
const ALIGN: u64 = 64;

/// What a reference of the schedule is in one call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BoundRef {
    /// Memory, or a signal.
    Region(Region),
    /// No bytes: no message, nothing to copy or combine.
    Void,
    /// A block of a v or w variant, whose size the port knows.
    Block { side: Side, index: u32 },
    /// A piece of such a block, as long as a slot.
    Piece { side: Side, index: u32, piece: u16 },
    /// Packed scratch from `offset` on, for block `index` of the receive side.
    Aside { offset: i64, index: u32 },
}

/// A schedule's references resolved against one call.
#[derive(Debug, Default)]
pub(crate) struct Binding {
    places: Vec<BoundRef>,
    units: [Unit; 6],
    /// Packed bytes of an element of the send and of the receive type.
    sizes: [u64; 2],
    scratch: [i64; SCRATCHES],
    prefix: Vec<u64>,
    pub(crate) arena_bytes: usize,
}

impl Binding {
    pub(crate) fn bind(
        &mut self,
        schedule: &Schedule,
        shape: &Shape,
        irregular: impl Iterator<Item = u64>,
        first_epoch: u64,
    ) -> Result<()> {
        // A type without bytes moves nothing whatever its count; both sides of a message then agree that it
        // is empty.
        let effective = |l: &Layout| if l.size == 0 { 0 } else { l.count };
        let elements = |l: &Layout| Unit { count: effective(l), spacing: l.extent, mask: !0 };
        let bytes = |n| Unit { count: n, spacing: 1, mask: !(ALIGN - 1) };
        self.sizes = [shape.send.size, shape.recv.size];
        self.units[SEND] = elements(&shape.send);
        self.units[RECV] = elements(&shape.recv);
        self.units[SEND_BYTES] = bytes(shape.send.bytes());
        self.units[RECV_BYTES] = bytes(shape.recv.bytes());
        self.units[PACKED] = bytes(shape.packed);
        self.units[BOUNCE] = Unit { spacing: shape.recv.size as i64, ..self.units[RECV] };
        self.prefix.clear();
        if schedule.irregular > 0 {
            self.sum_up(irregular)?;
            if self.prefix.len() <= schedule.irregular as usize {
                return Err(Error::new(abi::ERR_ARG, "fewer block counts than ranks"));
            }
        }
        self.check_range(schedule)?;
        self.place_scratch(schedule, shape)?;
        let mut places = core::mem::take(&mut self.places);
        places.clear();
        places.extend(schedule.refs.iter().map(|r| self.resolve(r, first_epoch)));
        self.places = places;
        Ok(())
    }

    /// Packed bytes of a region.
    pub(crate) fn bytes(&self, region: &Region, port: &impl Port) -> u64 {
        match *region {
            Region::Empty => 0,
            Region::Block { side, index } => port.block_bytes(side, index),
            Region::Piece { bytes, .. } | Region::Span { ty: Ty::Byte, count: bytes, .. } => bytes,
            Region::Span { ty: Ty::Send, count, .. } => count * self.sizes[0],
            Region::Span { ty: Ty::Recv, count, .. } => count * self.sizes[1],
        }
    }

    /// What a reference is in this call.
    #[inline(always)]
    pub(crate) fn place(&self, id: RefId) -> &BoundRef {
        &self.places[id.0 as usize]
    }

    fn sum_up(&mut self, irregular: impl Iterator<Item = u64>) -> Result<()> {
        let mut sum = 0u64;
        self.prefix.push(0);
        for n in irregular {
            sum = sum.checked_add(n).ok_or(TOO_LARGE)?;
            self.prefix.push(sum);
        }
        Ok(())
    }

    /// Every offset the schedule can name fits in 63 bits, so resolving needs no checks.
    fn check_range(&self, schedule: &Schedule) -> Result<()> {
        let total = self.prefix.last().copied().unwrap_or(0);
        for unit in &self.units {
            let blocks = unit.count.checked_mul(u64::from(schedule.max_blocks)).ok_or(TOO_LARGE)?;
            let bytes = blocks.max(total).checked_mul(unit.spacing.unsigned_abs()).ok_or(TOO_LARGE)?;
            i64::try_from(bytes).map_err(|_| TOO_LARGE)?;
        }
        Ok(())
    }

    fn place_scratch(&mut self, schedule: &Schedule, shape: &Shape) -> Result<()> {
        let mut end = 0u64;
        for (i, s) in schedule.scratch.iter().enumerate() {
            let unit = &self.units[if s.packed { PACKED } else { RECV }];
            let n = match s.den {
                IRREGULAR => self.prefix.last().copied().unwrap_or(0),
                1 => unit.count * u64::from(s.parts),
                den => scale(unit.count, s.parts, den) + 1 + !unit.mask,
            };
            // With a negative extent the last element lies lowest.
            let run = unit.spacing * n.saturating_sub(1) as i64;
            let (lb, extent) = if s.packed { (0, 1) } else { (shape.recv.true_lb, shape.recv.true_extent) };
            self.scratch[i] = end as i64 - lb - run.min(0);
            let used = run.unsigned_abs().checked_add(extent).ok_or(TOO_LARGE)?;
            end = end.checked_add(used.next_multiple_of(ALIGN)).ok_or(TOO_LARGE)?;
        }
        self.arena_bytes = usize::try_from(end).map_err(|_| TOO_LARGE)?;
        Ok(())
    }

    fn resolve(&self, r: &Ref, first_epoch: u64) -> BoundRef {
        let bounce = |owner: u16, round: u16| Base::Bounce {
            owner: owner.into(),
            epoch: first_epoch + u64::from(round),
        };
        let scratch = |i: u8| self.scratch[usize::from(i)];
        let (unit, base, ty, start) = match r.buf {
            Buf::Signal => return BoundRef::Region(Region::Empty),
            Buf::SendBlock => return BoundRef::Block { side: Side::Send, index: r.lo },
            Buf::RecvBlock => return BoundRef::Block { side: Side::Recv, index: r.lo },
            Buf::SendPiece(piece) => return BoundRef::Piece { side: Side::Send, index: r.lo, piece },
            Buf::RecvPiece(piece) => return BoundRef::Piece { side: Side::Recv, index: r.lo, piece },
            Buf::PackedBlock(i) => return BoundRef::Aside { offset: scratch(i), index: r.lo },
            Buf::Send => (SEND, Base::Send, Ty::Send, 0),
            Buf::Recv => (RECV, Base::Recv, Ty::Recv, 0),
            Buf::SendBytes => (SEND_BYTES, Base::Send, Ty::Byte, 0),
            Buf::RecvBytes => (RECV_BYTES, Base::Recv, Ty::Byte, 0),
            Buf::Typed(i) => (RECV, Base::Arena, Ty::Recv, scratch(i)),
            Buf::Packed(i) => (PACKED, Base::Arena, Ty::Byte, scratch(i)),
            Buf::Bounce { owner, round } => (BOUNCE, bounce(owner, round), Ty::Recv, 0),
            Buf::BounceBytes { owner, round } => (PACKED, bounce(owner, round), Ty::Byte, 0),
        };
        let unit = &self.units[unit];
        let lo = self.boundary(unit, r.lo, r.den);
        let hi = self.boundary(unit, r.hi, r.den);
        let org = if r.org == r.lo { lo } else { self.boundary(unit, r.org, r.den) };
        let offset = start + (lo as i64 - org as i64) * unit.spacing;
        if hi == lo {
            BoundRef::Void
        } else {
            BoundRef::Region(Region::Span { base, ty, offset, count: hi - lo })
        }
    }

    /// The element at which part `at` of `den` begins.
    fn boundary(&self, unit: &Unit, at: u32, den: u32) -> u64 {
        match den {
            1 => unit.count * u64::from(at),
            IRREGULAR => self.prefix[at as usize],
            _ if at < den => scale(unit.count, at, den) & unit.mask,
            // Whole counts are exact, so that a block's pieces are cut alike wherever it lies.
            _ => unit.count * u64::from(at / den) + (scale(unit.count, at % den, den) & unit.mask),
        }
    }
}

/// `⌊n·num/den⌋` without overflow: `n = q·den + r` makes it `num·q + ⌊num·r/den⌋`.
const fn scale(n: u64, num: u32, den: u32) -> u64 {
    let (num, den) = (num as u64, den as u64);
    if n <= u32::MAX as u64 { n * num / den } else { n / den * num + n % den * num / den }
}

const TOO_LARGE: Error =
    Error::new(abi::ERR_COUNT, "the counts of the collective need more than 63 bits of bytes");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_count() {
        for n in [0, 1, 7, 64, 1000, u64::from(u32::MAX) + 17, 1 << 50] {
            for den in [2, 3, 7, 70, 1024] {
                let cuts: Vec<u64> = (0..=den).map(|i| scale(n, i, den)).collect();
                assert_eq!((cuts[0], cuts[den as usize]), (0, n));
                assert!(cuts.windows(2).all(|w| w[0] <= w[1] && w[1] - w[0] <= n / u64::from(den) + 1));
            }
        }
    }
}
