//! What files say about unwinding their code.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use framehop::{ExplicitModuleSectionInfo, Module};
use object::{Object as _, ObjectSection, ObjectSegment, SegmentFlags};

use crate::maps::{Object, VDSO};
use crate::ptrace;

/// Bytes of a section.
pub type Bytes = Arc<[u8]>;

/// Files larger than this are not read: their frames have names, but the stack may end there.
const LARGEST: u64 = 4 << 30;

/// What was read, by path and number of the file.
#[derive(Default)]
pub struct Files(HashMap<(PathBuf, u64), Option<File>>);

struct File {
    sections: ExplicitModuleSectionInfo<Bytes>,
    segments: Vec<Segment>,
    build_id: Vec<u8>,
}

/// A part of the file that is loaded.
struct Segment {
    address: u64,
    from: u64,
    bytes: u64,
}

impl Files {
    /// The module for the unwinder, the build-id of its file, and what the loader has added to the addresses in that; `None`: the
    /// file is another one by now, or none.
    pub fn module(&mut self, pid: i32, object: &Object) -> Option<(Module<Bytes>, Vec<u8>, u64)> {
        let key = (object.path.clone(), object.inode);
        let file = self.0.entry(key).or_insert_with(|| File::of(pid, object)).as_ref()?;
        let bias = file.bias(object)?;
        let name = object.path.to_string_lossy().into_owned();
        let module = Module::new(name, object.range.clone(), bias, file.sections.clone());
        Some((module, file.build_id.clone(), bias))
    }
}

impl File {
    fn of(pid: i32, object: &Object) -> Option<File> {
        if object.path.as_os_str() == VDSO {
            let bytes = (object.range.end - object.range.start) as usize;
            return File::parse(&ptrace::memory(pid, object.range.start, bytes.min(1 << 20)).ok()?);
        }
        // As the process sees it, which may be in a container.
        let inside = format!("/proc/{pid}/root{}", object.path.display());
        let path = [PathBuf::from(inside), object.path.clone()].into_iter().find(|path| {
            fs::metadata(path).is_ok_and(|data| data.ino() == object.inode && data.len() <= LARGEST)
        })?;
        File::parse(&fs::read(path).ok()?)
    }

    fn parse(bytes: &[u8]) -> Option<File> {
        let file = object::File::parse(bytes).ok()?;
        let range = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let data = |name: &str| {
            let section = file.section_by_name(name)?;
            section.uncompressed_data().ok().map(|data| Bytes::from(&*data))
        };
        let sections = ExplicitModuleSectionInfo {
            base_svma: 0,
            text_svma: range(".text"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            got_svma: range(".got"),
            debug_frame: data(".debug_frame"),
            ..ExplicitModuleSectionInfo::default()
        };
        let is_code = |flags| matches!(flags, SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0);
        let segments = file.segments().filter(|segment| is_code(segment.flags())).map(|segment| {
            let (from, bytes) = segment.file_range();
            Segment { address: segment.address(), from, bytes }
        });
        let build_id = file.build_id().ok().flatten().unwrap_or_default().to_vec();
        Some(File { sections, segments: segments.collect(), build_id })
    }

    fn bias(&self, object: &Object) -> Option<u64> {
        let bytes = object.range.end - object.range.start;
        let overlaps = |segment: &&Segment| {
            segment.from < object.from.saturating_add(bytes)
                && object.from < segment.from.saturating_add(segment.bytes)
        };
        let segment = self.segments.iter().find(overlaps)?;
        // Both are congruent modulo the size of a page, so it does not matter where in the page the segment begins.
        Some(
            object
                .range
                .start
                .wrapping_sub(segment.address.wrapping_add(object.from).wrapping_sub(segment.from)),
        )
    }
}
