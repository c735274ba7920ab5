//! How Lustre stripes a file over its storage targets, from the attribute that its client gives (`lustre.lov`, `struct
//! lov_user_md_v1` and `_v3` of Lustre's `lustre_user.h`). **Untested**: no Lustre was at hand; only the layout of the words is tested.

use std::os::fd::BorrowedFd;

use platform::file;

/// The stripes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripes {
    /// Bytes of a stripe.
    pub unit: u64,
    /// Storage targets that the stripes go to in turn.
    pub factor: u64,
}

/// `LOV_USER_MAGIC_V1` and `_V3`. Layouts of several components have another one; they are left to the block of the file system.
const MAGIC: [u32; 2] = [0x0bd1_0bd0, 0x0bd3_0bd0];
/// Where the stripe's length (32 bits) and the number of stripes (16 bits) stand, behind two words and the object's 16 bytes.
const UNIT_AT: usize = 24;
const FACTOR_AT: usize = 28;

impl Stripes {
    /// Those of an open file; `None` where they cannot be found out.
    pub fn of(fd: BorrowedFd<'_>) -> Option<Stripes> {
        // A target takes 24 bytes, and a file has at most 2,000 of them.
        let mut bytes = vec![0; 64 << 10];
        let len = file::attribute(fd, c"lustre.lov", &mut bytes).ok()?;
        Stripes::parse(&bytes[..len])
    }

    fn parse(bytes: &[u8]) -> Option<Stripes> {
        let magic = u32::from_le_bytes(*bytes.first_chunk()?);
        let unit = u32::from_le_bytes(*bytes.get(UNIT_AT..)?.first_chunk()?);
        let factor = u16::from_le_bytes(*bytes.get(FACTOR_AT..)?.first_chunk()?);
        let known = MAGIC.contains(&magic) && unit.is_power_of_two() && factor > 0;
        known.then_some(Stripes { unit: u64::from(unit), factor: u64::from(factor) })
    }
}

#[cfg(test)]
mod tests {
    use super::Stripes;

    #[test]
    fn a_layout_is_read() {
        let mut bytes = vec![0; 56];
        bytes[..4].copy_from_slice(&0x0bd1_0bd0u32.to_le_bytes());
        bytes[24..28].copy_from_slice(&(1u32 << 20).to_le_bytes());
        bytes[28..30].copy_from_slice(&4u16.to_le_bytes());
        assert_eq!(Stripes::parse(&bytes), Some(Stripes { unit: 1 << 20, factor: 4 }));
        bytes[28] = 0;
        assert_eq!(Stripes::parse(&bytes), None);
        assert_eq!(Stripes::parse(&bytes[..20]), None);
        bytes[3] = 1;
        assert_eq!(Stripes::parse(&bytes), None);
    }
}
