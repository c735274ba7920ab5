//! Hints (MPI-5.0 section 14.2.8), by their reserved names and by those that programs use with other libraries.

use crate::lustre::Stripes;
use crate::staging::{Staging, Where};

/// When something is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Always, if possible.
    Enable,
    /// Never.
    Disable,
    /// Where it pays.
    Automatic,
}

impl Choice {
    fn parse(text: &str) -> Option<Choice> {
        match text.trim().to_ascii_lowercase().as_str() {
            "enable" | "true" => Some(Choice::Enable),
            "disable" | "false" => Some(Choice::Disable),
            "automatic" => Some(Choice::Automatic),
            _ => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Choice::Enable => "enable",
            Choice::Disable => "disable",
            Choice::Automatic => "automatic",
        }
    }
}

/// The hints in force for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    /// Processes that access the file in collective calls (`cb_nodes`).
    pub cb_nodes: u64,
    /// The program has given `cb_nodes`.
    pub cb_nodes_given: bool,
    /// Bytes that each of them has at a time (`cb_buffer_size`).
    pub cb_buffer_size: u64,
    /// What the parts of a file that they access are aligned to, in bytes (`cb_block_size`); 0: blocks of the file system.
    pub cb_block_size: u64,
    /// Collective buffering of reads (`romio_cb_read`, `collective_buffering`).
    pub cb_read: Choice,
    /// Collective buffering of writes.
    pub cb_write: Choice,
    /// Sieving of independent reads (`romio_ds_read`).
    pub ds_read: Choice,
    /// Bytes of a window of the file for sieving reads (`ind_rd_buffer_size`).
    pub read_window: u64,
    /// Permissions of a file that is made (`file_perm`, octal).
    pub permissions: Option<u32>,
    /// How a file that is made is striped over storage targets (`striping_unit`, `striping_factor`); 0: as the file
    /// system likes.
    pub stripes: Stripes,
    /// `access_style`, kept as it was given.
    pub access_style: Option<String>,
    /// The kinds of memory that the program promises to use (`mpi_assert_memory_alloc_kinds`), kept as they were given.
    pub memory_kinds: Option<String>,
    /// Where written data waits (`io_staging`, `io_staging_size`).
    pub staging: Staging,
}

const MEMORY_KINDS: &str = "mpi_assert_memory_alloc_kinds";
const MIB: u64 = 1 << 20;
/// Largest buffer that a hint may ask for.
const MOST: u64 = 1 << 30;
/// Most storage targets that a hint may ask for: Lustre's own bound.
const MOST_TARGETS: u64 = 2000;

impl Hints {
    /// What is in force without hints, with `processes` that have the file open.
    pub fn new(processes: u64) -> Hints {
        Hints {
            cb_nodes: processes.min(default_aggregators(processes)),
            cb_nodes_given: false,
            cb_buffer_size: 4 * MIB,
            cb_block_size: 0,
            cb_read: Choice::Automatic,
            cb_write: Choice::Automatic,
            ds_read: Choice::Automatic,
            read_window: 4 * MIB,
            permissions: None,
            stripes: Stripes::default(),
            access_style: None,
            memory_kinds: None,
            staging: Staging::default(),
        }
    }

    /// Takes a hint over, if it is one that is known and has a value that can be.
    pub fn take(&mut self, key: &str, value: &str, processes: u64) {
        let bytes = || value.trim().parse::<u64>().ok().filter(|bytes| (1..=MOST).contains(bytes));
        let choice = Choice::parse(value);
        match key {
            "cb_nodes" => {
                let nodes = value.trim().parse::<u64>().ok().filter(|&nodes| nodes > 0);
                self.cb_nodes = nodes.map_or(self.cb_nodes, |nodes| nodes.min(processes));
                self.cb_nodes_given |= nodes.is_some();
            }
            "cb_buffer_size" => self.cb_buffer_size = bytes().unwrap_or(self.cb_buffer_size),
            "cb_block_size" => self.cb_block_size = bytes().unwrap_or(self.cb_block_size),
            "collective_buffering" => {
                self.cb_read = choice.unwrap_or(self.cb_read);
                self.cb_write = choice.unwrap_or(self.cb_write);
            }
            "romio_cb_read" => self.cb_read = choice.unwrap_or(self.cb_read),
            "romio_cb_write" => self.cb_write = choice.unwrap_or(self.cb_write),
            "romio_ds_read" => self.ds_read = choice.unwrap_or(self.ds_read),
            "ind_rd_buffer_size" => self.read_window = bytes().unwrap_or(self.read_window),
            "file_perm" => {
                self.permissions = u32::from_str_radix(value.trim(), 8).ok().filter(|&mode| mode <= 0o7777)
            }
            "striping_unit" => self.stripes.unit = bytes().unwrap_or(self.stripes.unit),
            "striping_factor" => {
                let factor =
                    value.trim().parse::<u64>().ok().filter(|factor| (1..=MOST_TARGETS).contains(factor));
                self.stripes.factor = factor.unwrap_or(self.stripes.factor);
            }
            "access_style" => self.access_style = Some(value.to_owned()),
            MEMORY_KINDS => self.memory_kinds = Some(value.to_owned()),
            "io_staging" => self.staging.place = Where::parse(value).unwrap_or(self.staging.place.clone()),
            "io_staging_size" => {
                self.staging.limit = Staging::parse_limit(value).unwrap_or(self.staging.limit)
            }
            _ => {}
        }
    }

    /// Has one aggregator for each of the storage targets of a file, unless the program has given their number.
    pub fn fit(&mut self, targets: u64, processes: u64) {
        if !self.cb_nodes_given {
            self.cb_nodes = targets.clamp(1, processes.max(1));
        }
    }

    /// Every hint with the value in force, under all of its names.
    pub fn list(&self) -> Vec<(&'static str, String)> {
        let buffering = match (self.cb_read, self.cb_write) {
            (Choice::Disable, Choice::Disable) => "false",
            _ => "true",
        };
        let mut all = vec![
            ("cb_nodes", self.cb_nodes.to_string()),
            ("cb_buffer_size", self.cb_buffer_size.to_string()),
            ("cb_block_size", self.cb_block_size.to_string()),
            ("collective_buffering", buffering.to_owned()),
            ("romio_cb_read", self.cb_read.word().to_owned()),
            ("romio_cb_write", self.cb_write.word().to_owned()),
            ("romio_ds_read", self.ds_read.word().to_owned()),
            // Sieving writes would undo what others write meanwhile into the holes.
            ("romio_ds_write", Choice::Disable.word().to_owned()),
            ("ind_rd_buffer_size", self.read_window.to_string()),
            ("io_staging", self.staging.place.word()),
            ("io_staging_size", self.staging.limit.to_string()),
        ];
        all.extend(self.permissions.map(|mode| ("file_perm", format!("{mode:o}"))));
        all.extend(self.access_style.clone().map(|style| ("access_style", style)));
        all.extend(self.memory_kinds.clone().map(|kinds| (MEMORY_KINDS, kinds)));
        all
    }

    /// What must be the same on all processes, as a number that differs where one of them does.
    pub fn digest(&self) -> u64 {
        let words = [
            self.cb_nodes,
            self.cb_buffer_size,
            self.cb_block_size,
            self.cb_read as u64,
            self.cb_write as u64,
            u64::from(self.staging.is_on()),
            self.stripes.unit,
            self.stripes.factor,
        ];
        words
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

/// One aggregator for four processes, and two at least.
fn default_aggregators(processes: u64) -> u64 {
    (processes / 4).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_that_make_no_sense_change_nothing() {
        let mut hints = Hints::new(4);
        let before = hints.clone();
        for (key, value) in [
            ("cb_nodes", "0"),
            ("cb_nodes", "many"),
            ("cb_buffer_size", "-1"),
            ("romio_ds_read", "perhaps"),
            ("io_staging", "somewhere"),
            ("io_staging_size", "1"),
            ("striping_unit", "-1"),
            ("striping_factor", "0"),
            ("no_such", "1"),
        ] {
            hints.take(key, value, 4);
        }
        assert_eq!(hints, before);
        hints.take("cb_nodes", "100", 4);
        hints.take("romio_ds_read", "enable", 4);
        assert_eq!((hints.cb_nodes, hints.ds_read), (4, Choice::Enable));
        hints.fit(2, 4);
        assert_eq!(hints.cb_nodes, 4, "the program has said how many");
        let mut hints = before.clone();
        hints.fit(3, 4);
        assert_eq!(hints.cb_nodes, 3);
        hints.fit(7, 4);
        assert_eq!(hints.cb_nodes, 4);
        assert_ne!(hints.digest(), before.digest());
    }
}
