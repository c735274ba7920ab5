//! The observation memory of this host: made here, held here, and read here whatever became of the ranks.

use std::sync::Arc;

use observe::Area;
use platform::memory_file::MemoryFile;

/// The memory of one program of each rank.
pub(super) struct Observation {
    file: MemoryFile,
    area: Arc<Area>,
}

impl Observation {
    /// Memory for so many ranks; `None`: there is none.
    pub fn create(ranks: usize) -> Option<Observation> {
        let file = Area::create(ranks).ok()?;
        let area = Area::map(&file, ranks).ok()?;
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
