//! Memory handles: what names registered memory to a peer's NIC.

use core::ops::BitOr;

/// Registration flags (`GNI_MEM_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemFlags(pub u16);

impl MemFlags {
    /// Peers may read and write.
    pub const READWRITE: MemFlags = MemFlags(0);
    /// Peers may only read.
    pub const READ_ONLY: MemFlags = MemFlags(1);
    /// Writes become visible in the order in which they were sent. Mailboxes need this (the default).
    pub const STRICT_PI_ORDERING: MemFlags = MemFlags(0x20);
    /// Writes may become visible in any order; up to 4.6 times faster on hardware, for bulk data.
    pub const RELAXED_PI_ORDERING: MemFlags = MemFlags(0x100);

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: MemFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the bits contradict each other or are unknown to Gemini.
    pub const fn is_invalid(self) -> bool {
        let known = MemFlags::READ_ONLY.0 | MemFlags::STRICT_PI_ORDERING.0 | MemFlags::RELAXED_PI_ORDERING.0;
        self.0 & !known != 0
            || self.has(MemFlags(MemFlags::STRICT_PI_ORDERING.0 | MemFlags::RELAXED_PI_ORDERING.0))
    }
}

impl BitOr for MemFlags {
    type Output = MemFlags;

    fn bitor(self, other: MemFlags) -> MemFlags {
        MemFlags(self.0 | other.0)
    }
}

/// Names registered memory to every NIC of the domain (`gni_mem_handle_t`): two words, opaque to programs,
/// sent to peers as they are.
///
/// ```text
///   word 0   63 ................ 12   11 ......... 0
///            4 KiB page of the base   MDD index
///   word 1   63 .. 56   55 .. 46     45 .. 34   33 .. 28     27 ........ 0
///            CRC-8      generation   flags      page shift   MRT pages
/// ```
///
/// The CRC covers the other 120 bits and is verified on every use, so that a handle damaged on its way to a
/// peer names nothing. The generation distinguishes successive users of one memory descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MemHandle(pub [u64; 2]);

/// The fields of a [`MemHandle`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HandleFields {
    /// Address of the first 4 KiB page.
    pub base: u64,
    /// Index of the memory descriptor, below 4,096.
    pub mdd: u16,
    /// Relocation table entries in use, below 2^28.
    pub pages: u32,
    /// Page size of these entries, as a power of two.
    pub page_shift: u32,
    /// Registration flags, 12 bits.
    pub flags: MemFlags,
    /// Which user of this descriptor it is, 10 bits.
    pub generation: u16,
}

impl MemHandle {
    /// Packs the fields and seals them; bits beyond a field's width are dropped.
    pub fn pack(fields: &HandleFields) -> MemHandle {
        let low = fields.base & !0xfff | u64::from(fields.mdd & 0xfff);
        let high = u64::from(fields.pages) & 0xfff_ffff
            | u64::from(fields.page_shift & 0x3f) << 28
            | u64::from(fields.flags.0 & 0xfff) << 34
            | u64::from(fields.generation & 0x3ff) << 46;
        MemHandle([low, high | u64::from(crc8(low, high)) << 56])
    }

    /// The fields, or `None` when the CRC does not match.
    pub fn unpack(self) -> Option<HandleFields> {
        let [low, high] = self.0;
        if (high >> 56) as u8 != crc8(low, high) {
            return None;
        }
        Some(HandleFields {
            base: low & !0xfff,
            mdd: (low & 0xfff) as u16,
            pages: (high & 0xfff_ffff) as u32,
            page_shift: (high >> 28 & 0x3f) as u32,
            flags: MemFlags((high >> 34 & 0xfff) as u16),
            generation: (high >> 46 & 0x3ff) as u16,
        })
    }
}

/// CRC-8 (polynomial x^8 + x^2 + x + 1) of the 120 bits below the CRC's own place, by nibbles.
fn crc8(low: u64, high: u64) -> u8 {
    const STEP: [u8; 16] = nibble_table();
    let mut crc = 0u8;
    for word in [low, high & 0x00ff_ffff_ffff_ffff] {
        for place in (0..16).rev() {
            let nibble = (word >> (4 * place)) as u8 & 0xf;
            crc = crc << 4 ^ STEP[usize::from(crc >> 4 ^ nibble)];
        }
    }
    crc
}

const fn nibble_table() -> [u8; 16] {
    let mut table = [0u8; 16];
    let mut index = 0;
    while index < 16 {
        let mut crc = (index as u8) << 4;
        let mut bit = 0;
        while bit < 4 {
            crc = if crc & 0x80 != 0 { crc << 1 ^ 0x07 } else { crc << 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{HandleFields, MemFlags, MemHandle, crc8};

    const FIELDS: HandleFields = HandleFields {
        base: 0x7fff_1234_5000,
        mdd: 4095,
        pages: 0x0abc_def0,
        page_shift: 30,
        flags: MemFlags(0x121),
        generation: 1000,
    };

    #[test]
    fn fields_survive_packing() {
        assert_eq!(MemHandle::pack(&FIELDS).unpack(), Some(FIELDS));
    }

    #[test]
    fn every_single_bit_error_is_seen() {
        let handle = MemHandle::pack(&FIELDS);
        for bit in 0..128 {
            let mut broken = handle;
            broken.0[bit / 64] ^= 1 << (bit % 64);
            assert_eq!(broken.unpack(), None, "bit {bit}");
        }
    }

    #[test]
    fn crc_agrees_with_the_bitwise_definition() {
        let (low, high) = (0x0123_4567_89ab_cdef, 0x00fe_dcba_9876_5432u64);
        let mut crc = 0u8;
        for word in [low, high] {
            for bit in (0..64).rev() {
                let carry = crc >> 7 ^ (word >> bit & 1) as u8;
                crc = crc << 1 ^ if carry != 0 { 7 } else { 0 };
            }
        }
        assert_eq!(crc8(low, high), crc);
    }
}
