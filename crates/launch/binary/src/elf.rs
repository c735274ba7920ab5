//! The dynamic section of an ELF file.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};

use crate::Binary;

pub fn read(path: &Path) -> io::Result<Option<Binary>> {
    let mut file = File::open(path)?;
    let mut magic = [0; 4];
    match file.read_exact(&mut magic) {
        Ok(()) if magic == elf::ELFMAG => {}
        Ok(()) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    file.rewind()?;
    // Only what is asked for is read: programs may be large.
    let cache = ReadCache::new(file);
    parse(&cache).map(Some).map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))
}

fn parse<'data>(data: impl ReadRef<'data>) -> Result<Binary, object::read::Error> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, data)?;
    let mut entries = Vec::new();
    for segment in segments {
        for entry in segment.dynamic(endian, data)?.unwrap_or_default() {
            entries.push((entry.d_tag(endian), entry.d_val(endian)));
        }
    }
    let value = |tag| entries.iter().find(|(known, _)| *known == tag).map(|(_, value)| *value);
    let strings = match (value(elf::DT_STRTAB), value(elf::DT_STRSZ)) {
        (Some(address), Some(size)) => {
            let mut found: &[u8] = &[];
            for segment in segments {
                if let Ok(Some(bytes)) = segment.data_range(endian, data, address, size) {
                    found = bytes;
                }
            }
            found
        }
        _ => &[],
    };
    let text = |at: u64| -> Option<String> {
        let bytes = strings.get(usize::try_from(at).ok()?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    };
    let needed = entries.iter().filter(|(tag, _)| *tag == elf::DT_NEEDED);
    Ok(Binary {
        needed: needed.filter_map(|(_, at)| text(*at)).collect(),
        rpath: value(elf::DT_RPATH).and_then(text),
        runpath: value(elf::DT_RUNPATH).and_then(text),
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn damaged_programs_do_not_panic(at in 0usize..1000, value in any::<u8>(), length in 0usize..2000) {
            let mut file = std::fs::read("/bin/true").unwrap();
            file[at] = value;
            let _ = parse(&file[..]);
            let _ = parse(&file[..length.min(file.len())]);
        }
    }
}
