//! The paper's machine, its runs' settings, and what it reports.
//!
//! S. Gutierrez, N. Hjelm, M. Gorentla Venkata, R. Graham: *Performance Evaluation of Open MPI on Cray XE/XK
//! Systems*, HOTI 2012; latencies by NetPIPE between two nodes of Cielo (sections VI.C and VII).

use crate::setup::{Library, Setup};
use crate::software::SoftwareCosts;
use btl_ugni::UgniParams;
use btl_vader::VaderParams;
use gni_timed::{Costs, Torus};
use mca::{BadValue, Param, Values};

/// The limits of the paper's runs.
///
/// SMSG ends at 1 KiB. The eager limit of 8 KiB and the FMA limit of 1 KiB include ob1's envelope of 16 bytes: 8,192
/// bytes are the first rendezvous, and an Eager GET of 1,024 bytes goes by the block transfer engine. The longest GET
/// is that of April 2012, 4 MiB.
pub const LIMITS: [(&str, &str); 6] = [
    ("btl_ugni_smsg_limit", "1024"),
    ("btl_ugni_eager_limit", "8176"),
    ("btl_ugni_min_rdma_pipeline_size", "8176"),
    ("btl_ugni_fma_get_limit", "1008"),
    ("btl_ugni_fma_put_limit", "1008"),
    ("btl_ugni_get_limit", "4M"),
];

/// Two neighbouring chips of Cielo, one rank each, with the limits of the paper's runs.
pub fn setup(costs: Costs) -> Setup {
    let params = params(&LIMITS).expect("the limits fit their declarations");
    Setup {
        library: Library::Alhena,
        torus: Torus::CIELO,
        adaptive: false,
        background: None,
        costs,
        software: SoftwareCosts::SOURCED,
        params,
        vader: Some(VaderParams::default()),
        watch: None,
        timeline: None,
        compact: false,
        takes_tail: true,
        cores: None,
        caches: None,
        fanout: 0,
        seed: 0,
        ranks_per_node: 1,
        node_spacing: 2,
    }
}

/// The same machine as the paper's Open MPI has it: an odd length keeps a message from a GET wherever it lies, since
/// its RTS carries no bytes of it, and fastboxes are as small as they can be.
///
/// What is left of the differences: a fastbox has 64 slots of 128 bytes and its data behind them instead of 32 chunks, and
/// its slots' headers are 8 bytes.
pub fn as_in_the_paper(setup: Setup) -> Setup {
    let vader = setup.vader.map(|params| VaderParams { fastbox_size: 4 << 10, ..params });
    Setup { takes_tail: false, vader, ..setup }
}

/// Computing in operation. The paper's runs shared the machine with other jobs, under a Linux with its own tasks (section VI.A):
/// what disturbs a rank there is rare and long, so the size that was measured on quiet processors is given an exponential
/// tail, and AMG's ranks differ as LAMMPS's do. No figure of the paper chose the shape.
pub const fn in_operation(software: SoftwareCosts) -> SoftwareCosts {
    SoftwareCosts { jitter_parts: 1.0, amg_jitter: software.jitter, ..software }
}

/// The same machine with the other MPI on it.
pub fn with_mpich2(setup: Setup) -> Setup {
    Setup { library: Library::Mpich2, software: MPICH2, ..setup }
}

/// The software of the other MPI. What a message costs its processor is ob1's, times the factor that makes 1 byte take
/// 1.32 µs; what a staging buffer costs is what makes 1,024 bytes take 5.77 µs. [`crate::calibrate::fit_mpich2`] finds
/// both.
pub const MPICH2: SoftwareCosts = SoftwareCosts {
    pml_send: 62.28,
    pml_recv: 195.72,
    pml_event: 71.17,
    staging: 740.0,
    ..SoftwareCosts::SOURCED
};

/// The transport's parameters with these set, by name; of one name, the last counts.
///
/// # Errors
/// The first value that does not fit its parameter. Names that no parameter has are passed over.
pub fn params(pairs: &[(&str, &str)]) -> Result<UgniParams, BadValue> {
    UgniParams::read(&values(UgniParams::PARAMS, pairs)?)
}

/// As [`params`], of shared memory.
///
/// # Errors
/// Those of [`params`].
pub fn vader_params(pairs: &[(&str, &str)]) -> Result<VaderParams, BadValue> {
    VaderParams::read(&values(VaderParams::PARAMS, pairs)?)
}

fn values(params: &'static [Param], pairs: &[(&str, &str)]) -> Result<Values, BadValue> {
    let mut values = Values::default();
    for param in params {
        if let Some((_, text)) = pairs.iter().rev().find(|(name, _)| *name == param.name) {
            values.set(param, text)?;
        }
    }
    Ok(values)
}

/// What [`crate::calibrate::fit`] makes of [`Costs::SOURCED`].
pub const FITTED: Costs =
    Costs { request: 708.0, bte_start: 792.0, nic_rate: 5.641_367_75, ..Costs::SOURCED };

/// One of the paper's figures.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Message length.
    pub bytes: usize,
    /// Bytes from a page's start to the receive buffer's.
    ///
    /// An odd length alone does not prevent a GET here, as it did in the paper's version: ob1 sends the up to three
    /// bytes past the last multiple of four within its RTS. An odd address at the receiver does, and as in the paper
    /// the sender cannot know it.
    pub offset: usize,
    /// The protocol that the paper names.
    pub protocol: &'static str,
    /// Half a round trip in microseconds.
    pub latency: f64,
    /// Whether the costs are fitted to it.
    pub fitted: bool,
}

/// The paper's figures for Cray MPT. That of 1,024 bytes is derived: Open MPI's 4.13 µs are "39.71 % better", and the
/// paper's other shares are of Open MPI's own value.
pub const MPICH2_POINTS: [Point; 5] = [
    Point { bytes: 1, offset: 0, protocol: "E0", latency: 1.32, fitted: true },
    Point { bytes: 1024, offset: 0, protocol: "E1", latency: 5.77, fitted: true },
    Point { bytes: 8195, offset: 1, protocol: "R1", latency: 8.33, fitted: false },
    Point { bytes: 1 << 20, offset: 0, protocol: "R1", latency: 192.07, fitted: false },
    Point { bytes: 8 << 20, offset: 0, protocol: "R1", latency: 8e6 / 5340.0, fitted: false },
];

/// The paper's figures for Open MPI. The last one is the bandwidth of 5.32 GB/s at 8 MB, in NetPIPE's units of 2^20
/// bytes.
pub const POINTS: [Point; 6] = [
    Point { bytes: 1, offset: 0, protocol: "SMSG", latency: 1.20, fitted: true },
    Point { bytes: 1024, offset: 0, protocol: "Eager GET", latency: 4.13, fitted: false },
    Point { bytes: 8192, offset: 0, protocol: "rendezvous GET", latency: 5.12, fitted: true },
    Point { bytes: 8195, offset: 1, protocol: "Put Fallback", latency: 7.69, fitted: false },
    Point { bytes: 1 << 20, offset: 0, protocol: "rendezvous GET", latency: 189.54, fitted: true },
    Point { bytes: 8 << 20, offset: 0, protocol: "rendezvous GET", latency: 8e6 / 5320.0, fitted: false },
];
