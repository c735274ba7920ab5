//! `alhena bench raw`: the papers' NetPIPE modules for Portals and for Gemini, between two processes over the NIC in
//! software, and what MPI takes beyond them over the same NIC.

mod exchange;
mod gemini;
pub mod pair;
mod portals;

use clap::{Args, ValueEnum};

use crate::campaign::{self, Options, Subject, Variant};
use crate::error::Error;
use crate::modes::{Mode, RAW_GEMINI, RAW_PORTALS};

/// What to measure.
#[derive(Args)]
#[group(skip)]
pub struct Arguments {
    /// The network interface
    #[arg(value_enum)]
    network: Network,
    #[command(flatten)]
    options: Options,
    /// Smallest message in bytes; 0 is followed by 1
    #[arg(long, default_value_t = 0)]
    min: u64,
    /// Largest message in bytes; those by SMSG are at most 8192 bytes long
    #[arg(long, default_value_t = 256 << 10)]
    max: u64,
    /// From each size to the next, a power of two
    #[arg(long, default_value_t = 8)]
    factor: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Network {
    /// Puts into a posted descriptor; beside it each message layer on Portals
    Portals,
    /// SMSG, FMA puts and BTE puts; beside them ob1 over Gemini
    Gemini,
}

/// The tool's own arguments in place of a program.
const PAIR: &[&str] = &["bench", "raw-pair"];
/// Longest message by SMSG that is measured: as long as MPI sends them, at most.
const SMSG_MOST: u64 = 8192;

/// What stands beside Portals itself, under the names of `alhena sim seastar`.
static ON_PORTALS: [Variant; 7] = [
    Variant { tool: Some(PAIR), ..Variant::new("Portals", &[]) },
    Variant::new("CM", &["--mca", "pml", "cm", "--mca", "mtl", "portals"]),
    Variant::new("OB1", &["--mca", "btl", "portals,self"]),
    Variant::new("MPICH-1.2.6", &["--mca", "pml", "cm", "--mca", "mtl", "mpich"]),
    Variant::new(
        "MPICH2-0.97",
        &["--mca", "pml", "cm", "--mca", "mtl", "mpich", "--mca", "mpich_device", "2-0.97"],
    ),
    Variant::new("Cray-MPI", &["--mca", "pml", "cm", "--mca", "mtl", "mpich", "--mca", "mpich_device", "xt"]),
    Variant::new("1.2.6 over SHMEM", &["--mca", "pml", "cm", "--mca", "mtl", "shmem"]),
];

/// What stands beside Gemini itself.
static ON_GEMINI: [Variant; 2] = [
    Variant { tool: Some(PAIR), ..Variant::new("Gemini", &[]) },
    Variant::new("MPI", &["--mca", "btl", "ugni,self"]),
];

/// Measures, prints the tables, writes what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let (modes, variants): (&'static [Mode], &[Variant]) = match arguments.network {
        Network::Portals => (&RAW_PORTALS, &ON_PORTALS),
        Network::Gemini => (&RAW_GEMINI, &ON_GEMINI),
    };
    let subject = |mode| Subject { mode, ranks: 2, of: None, options: sizes(arguments, mode) };
    campaign::compare(&arguments.options, &modes.iter().map(subject).collect::<Vec<_>>(), variants)
}

fn sizes(arguments: &Arguments, mode: &Mode) -> Vec<String> {
    let max = if mode.name == "smsg" { arguments.max.min(SMSG_MOST) } else { arguments.max };
    // The block transfer engine takes no empty put.
    let min = if mode.name == "bte" { arguments.min.max(1) } else { arguments.min };
    let limits = [("--min", min), ("--max", max), ("--factor", arguments.factor)];
    limits.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]).collect()
}
