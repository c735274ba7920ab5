//! A profile of a job. Times are nanoseconds, sizes bytes.

use serde::{Deserialize, Serialize};

/// Version of the format.
pub const VERSION: u32 = 1;

/// What the ranks of a job called.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Of the format.
    pub version: u32,
    /// Of Alhena.
    pub alhena: String,
    /// The command of the lowest rank.
    pub command: String,
    /// When the first rank began and when the report was written, in nanoseconds since 1970.
    pub started: u64,
    pub written: u64,
    /// Ranks that the job was started with.
    pub size: u32,
    /// mpiexec's exit code.
    pub exit_code: u8,
    /// Ranks that have called MPI, in order.
    pub ranks: Vec<Rank>,
    /// Places of calls.
    pub sites: Vec<Site>,
    /// Calls by function and size, of all ranks.
    pub bins: Vec<Bin>,
    /// What was sent from whom to whom.
    pub pairs: Vec<Pair>,
}

/// A rank.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rank {
    pub rank: u32,
    pub host: String,
    pub pid: i32,
    pub end: End,
    /// From `MPI_Init` to `MPI_Finalize`, or to the end of the last call.
    pub app_time: u64,
    /// In MPI calls.
    pub mpi_time: u64,
    /// Index into [`Report::sites`] of the call in which it ended.
    pub last_in: Option<usize>,
    /// Of that, waiting for other ranks or for data; `None`: it was not measured.
    #[serde(default)]
    pub waited: Option<u64>,
    /// Calls at places for which there was no room.
    pub lost: u64,
    pub lost_time: u64,
}

/// How far a rank came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Before `MPI_Init`.
    #[default]
    Before,
    /// It ended while it used MPI.
    Broken,
    /// It called `MPI_Finalize`.
    Finalized,
    /// It called `MPI_Abort`.
    Aborted,
}

/// A function called at a place.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Site {
    /// From 1, as in the text.
    pub id: u32,
    /// Without `MPI_`.
    pub call: String,
    /// All processes of a communicator take part.
    #[serde(default)]
    pub collective: bool,
    /// Source file and line, where they are known.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The function that calls.
    pub function: Option<String>,
    /// The program or shared object and the offset in it.
    pub object: String,
    pub offset: u64,
    /// What the ranks did there.
    pub ranks: Vec<SiteOfRank>,
}

/// Calls of one rank at a place.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SiteOfRank {
    pub rank: u32,
    pub time: Sum,
    /// Of the time, that in which the calls waited, and the most of a call.
    #[serde(default)]
    pub waited: u64,
    #[serde(default)]
    pub waited_max: u64,
    #[serde(default, skip_serializing_if = "Sum::is_nothing")]
    pub sent: Sum,
    #[serde(default, skip_serializing_if = "Sum::is_nothing")]
    pub io: Sum,
    #[serde(default, skip_serializing_if = "Sum::is_nothing")]
    pub one_sided: Sum,
}

/// Number, sum, least and most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    pub count: u64,
    pub sum: u64,
    pub min: u64,
    pub max: u64,
}

/// Calls of a function with a size of communicator and of data.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Bin {
    pub call: String,
    pub collective: bool,
    /// Least and most processes of the communicator.
    pub processes: (u64, u64),
    /// Least and most bytes.
    pub size: (u64, u64),
    pub count: u64,
    pub bytes: u64,
    pub time: u64,
}

/// What was sent from one rank to another.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Pair {
    pub from: u32,
    pub to: u32,
    pub messages: u64,
    pub bytes: u64,
    /// Bytes put, got and accumulated.
    pub one_sided: u64,
}

impl Sum {
    pub fn is_nothing(&self) -> bool {
        self.count == 0
    }

    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Both together.
    pub fn and(self, other: Sum) -> Sum {
        match (self.count, other.count) {
            (0, _) => other,
            (_, 0) => self,
            _ => Sum {
                count: self.count + other.count,
                sum: self.sum + other.sum,
                min: self.min.min(other.min),
                max: self.max.max(other.max),
            },
        }
    }
}

/// How long ranks spent at a place with a collective call, against each other.
#[derive(Clone, Copy, Debug)]
pub struct Imbalance {
    /// The rank with the least time there, for which the others waited, and its time.
    pub least: (u32, u64),
    /// The rank with the most time.
    pub most: (u32, u64),
    /// What all ranks spent there beyond the least of them: waiting, where one rank is always the last to come; else there was
    /// more of it.
    pub beyond: u64,
}

impl Site {
    /// Of all ranks: time in which calls waited, and the most of a call.
    pub fn waited(&self) -> (u64, u64) {
        self.ranks.iter().fold((0, 0), |(sum, most), one| (sum + one.waited, most.max(one.waited_max)))
    }

    /// `None`: no collective call of several ranks.
    pub fn imbalance(&self) -> Option<Imbalance> {
        let times = || self.ranks.iter().map(|one| (one.rank, one.time.sum));
        let least =
            times().min_by_key(|&(_, time)| time).filter(|_| self.collective && self.ranks.len() > 1)?;
        let most = times().max_by_key(|&(_, time)| time)?;
        Some(Imbalance { least, most, beyond: times().map(|(_, time)| time - least.1).sum() })
    }

    /// Of all ranks.
    pub fn total(&self, of: impl Fn(&SiteOfRank) -> Sum) -> Sum {
        self.ranks.iter().map(of).fold(Sum::default(), Sum::and)
    }

    /// `solver.c:42`, or the object and the offset.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{}:{line}", base(file)),
            _ => self.file_or_address(),
        }
    }

    /// `solver.c`, or the object and the offset.
    pub fn file_or_address(&self) -> String {
        match &self.file {
            Some(file) => base(file).to_owned(),
            None => format!("{}+{:#x}", base(&self.object), self.offset),
        }
    }
}

impl Report {
    pub fn app_time(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.app_time).sum()
    }

    pub fn mpi_time(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.mpi_time).sum()
    }

    /// Time in which ranks waited; `None`: of none it was measured.
    pub fn waited(&self) -> Option<u64> {
        self.ranks.iter().filter_map(|rank| rank.waited).reduce(|sum, more| sum + more)
    }

    /// Places with collective calls, those first at which ranks spent the most beyond the least of them.
    pub fn imbalances(&self) -> Vec<(&Site, Imbalance)> {
        let mut all: Vec<_> = self.sites.iter().filter_map(|site| Some((site, site.imbalance()?))).collect();
        all.sort_by_key(|(_, imbalance)| std::cmp::Reverse(imbalance.beyond));
        all
    }

    /// Nanoseconds of each function on each rank, in the order of `ranks`: those with the most time first.
    pub fn by_call(&self) -> Vec<(String, Vec<u64>)> {
        let mut calls: Vec<(String, Vec<u64>)> = Vec::new();
        for site in &self.sites {
            let at = calls.iter().position(|(call, _)| *call == site.call).unwrap_or_else(|| {
                calls.push((site.call.clone(), vec![0; self.ranks.len()]));
                calls.len() - 1
            });
            for of_rank in &site.ranks {
                if let Some(index) = self.index_of(of_rank.rank) {
                    calls[at].1[index] += of_rank.time.sum;
                }
            }
        }
        calls.sort_by_key(|(_, times)| std::cmp::Reverse(times.iter().sum::<u64>()));
        calls
    }

    /// The place of a rank in `ranks`, which are in order.
    pub fn index_of(&self, rank: u32) -> Option<usize> {
        self.ranks.binary_search_by_key(&rank, |one| one.rank).ok()
    }

    /// Whether all that is numbered is there: a file may be of anyone.
    pub fn is_consistent(&self) -> bool {
        self.version == VERSION
            && self.ranks.is_sorted_by_key(|rank| rank.rank)
            && self.ranks.iter().all(|rank| rank.last_in.is_none_or(|site| site < self.sites.len()))
            && self.sites.iter().flat_map(|site| &site.ranks).all(|one| self.index_of(one.rank).is_some())
    }
}

/// The last part of a path.
pub fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
