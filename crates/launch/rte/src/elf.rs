//! Just enough of ELF to list the libraries that a program was linked with (`DT_NEEDED`).

use std::mem::size_of;

/// Program header types (ELF-64, gABI chapter 5).
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
/// Tags of the dynamic section.
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// A loadable part of the file.
#[derive(Clone, Copy)]
struct Part {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

/// Names of the shared libraries that the 64-bit little-endian program in `file` asks for. `None` if it is
/// no such program or is damaged.
pub fn needed(file: &[u8]) -> Option<Vec<String>> {
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let parts = parts(file)?;
    let dynamic = parts.iter().find(|part| part.kind == PT_DYNAMIC)?;
    let mut names = Vec::new();
    let mut strings = None;
    for at in (dynamic.offset..dynamic.offset.checked_add(dynamic.bytes)?).step_by(16) {
        let (tag, value) = (number::<8>(file, at)?, number::<8>(file, at + 8)?);
        match tag {
            DT_NULL => break,
            DT_NEEDED => names.push(value),
            DT_STRTAB => strings = file_offset(&parts, value),
            _ => {}
        }
    }
    let strings = strings?;
    names.into_iter().map(|name| string(file, strings.checked_add(name)?)).collect()
}

fn parts(file: &[u8]) -> Option<Vec<Part>> {
    let (table, entry, count) = (number::<8>(file, 32)?, number::<2>(file, 54)?, number::<2>(file, 56)?);
    let part = |index: u64| {
        let at = table.checked_add(index * entry)?;
        Some(Part {
            kind: number::<4>(file, at)? as u32,
            offset: number::<8>(file, at.checked_add(8)?)?,
            address: number::<8>(file, at.checked_add(16)?)?,
            bytes: number::<8>(file, at.checked_add(32)?)?,
        })
    };
    (0..count).map(part).collect()
}

/// Where in the file the byte at `address` of the running program comes from.
fn file_offset(parts: &[Part], address: u64) -> Option<u64> {
    let part = parts.iter().find(|part| {
        part.kind == PT_LOAD && address >= part.address && address - part.address < part.bytes
    })?;
    part.offset.checked_add(address - part.address)
}

/// A little-endian number of `N` bytes at `at`.
fn number<const N: usize>(file: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = file.get(at..at.checked_add(N)?)?;
    let mut wide = [0; size_of::<u64>()];
    wide[..N].copy_from_slice(bytes);
    Some(u64::from_le_bytes(wide))
}

fn string(file: &[u8], at: u64) -> Option<String> {
    let rest = file.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|&b| b == 0)?;
    Some(String::from_utf8_lossy(&rest[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_program_needs_the_c_library() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        assert!(needed(&file).unwrap().iter().any(|name| name.starts_with("libc.so")));
        assert_eq!(needed(b"#!/bin/sh\n"), None);
    }

    proptest! {
        #[test]
        fn damaged_programs_do_not_panic(at in 0usize..1000, value in any::<u8>(), length in 0usize..2000) {
            let mut file = std::fs::read("/bin/true").unwrap();
            file[at] = value;
            let _ = needed(&file);
            let _ = needed(&file[..length.min(file.len())]);
        }
    }
}
