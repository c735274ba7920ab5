//! The observation memory of this host: made here, held here, and read here whatever became of the ranks.

use std::sync::Arc;

use observe::{Area, Shape};
use platform::memory_file::MemoryFile;

/// The memory of one program of each rank.
pub(super) struct Observation {
    file: MemoryFile,
    area: Arc<Area>,
}

impl Observation {
    /// Memory for this shape; `None`: there is none.
    pub fn create(shape: Shape) -> Option<Observation> {
        let file = Area::create(shape).ok()?;
        let area = Area::map(&file, shape.ranks).ok()?;
        Some(Observation { file, area })
    }

    /// The file that the ranks get.
    pub fn file(&self) -> &MemoryFile {
        &self.file
    }

    /// The sections of the ranks of this host.
    pub fn area(&self) -> &Arc<Area> {
        &self.area
    }
}
