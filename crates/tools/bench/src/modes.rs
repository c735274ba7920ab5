//! The measurements: which program, and what its figures mean.

use crate::error::Error;
use crate::mpi::Line;

/// One measuring program of `bench/`, and how its lines are read.
#[derive(Debug)]
pub struct Mode {
    /// Its name on the command line and in the JSON.
    pub name: &'static str,
    /// The program: `bench/PROGRAM.c`.
    pub program: &'static str,
    /// Options that make the program measure this.
    pub options: &'static [&'static str],
    /// What it does, for the tables.
    pub title: &'static str,
    /// What is shown of it; the first view is what the program prints.
    pub views: &'static [View],
    /// Whether the program takes the size limits of the command line.
    pub sized: bool,
    /// Whether it needs two ranks, rather than as many as asked for.
    pub pair: bool,
    /// The diagrams that show it beside other modes; if there are none, it has one of its own.
    pub drawn: &'static [Drawn],
}

/// A mode in a diagram of several.
#[derive(Debug)]
pub struct Drawn {
    /// What the diagram is of.
    pub diagram: &'static str,
    /// The name of its curve there.
    pub curve: &'static str,
    /// Whether other MPIs lack it, and another mode stands for theirs.
    pub ours: bool,
}

/// One way to show a mode's figures.
#[derive(Debug)]
pub struct View {
    /// Key in the JSON.
    pub key: &'static str,
    /// What is shown.
    pub title: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// The value to show of a printed line; none where the line has none.
    pub of: fn(&Line) -> Option<f64>,
    /// Whether this MPI's figures are compared with those of others.
    pub compared: bool,
    /// Whether the first one's figures are taken from those of the others: what they take beyond it.
    pub overheads: bool,
    /// Whether the ratios of all sizes and subjects are summed up to one figure as well.
    pub summed_up: bool,
}

const fn as_printed(
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    more_is_better: bool,
) -> View {
    View {
        key,
        title,
        unit,
        more_is_better,
        of: |line| Some(line.value),
        compared: true,
        overheads: false,
        summed_up: false,
    }
}

/// What a message costs beside its time, shown where hosts are measured.
pub static PROCESSOR_TIME: View = View {
    of: |line| line.processor,
    ..as_printed("processor", "processor time of a message, both sides", "µs", false)
};

/// A mode with a program of its own.
const fn point_to_point(name: &'static str, title: &'static str, views: &'static [View]) -> Mode {
    Mode { name, program: name, options: &[], title, views, sized: true, pair: true, drawn: &[] }
}

/// The message rate of so many threads.
const fn threads(name: &'static str, title: &'static str, options: &'static [&'static str]) -> Mode {
    const RATE: [View; 1] = [as_printed("rate", "messages in windows of 64", "msg/s", true)];
    Mode { program: "threads", options, sized: false, ..point_to_point(name, title, &RATE) }
}

/// Latency as printed, and the bandwidth that follows.
const fn both(latency: &'static str) -> [View; 2] {
    let bandwidth = View {
        of: |line| Some(line.bytes as f64 / line.value),
        ..as_printed("bandwidth", "bandwidth", "MB/s", true)
    };
    [as_printed("latency", latency, "µs", false), bandwidth]
}

/// Modes of point-to-point messages. The first five are the papers'.
pub static POINT_TO_POINT: [Mode; 11] = [
    point_to_point("pingpong", "ping-pong", &const { both("half round trip") }),
    point_to_point(
        "preposted",
        "ping-pong, receives pre-posted",
        &[as_printed("latency", "half round trip", "µs", false)],
    ),
    point_to_point(
        "bidirectional",
        "both directions at once",
        &[as_printed("bandwidth", "bandwidth of both", "MB/s", true)],
    ),
    point_to_point(
        "streaming",
        "streaming, one direction",
        &[as_printed("bandwidth", "bandwidth, 64 messages in flight", "MB/s", true)],
    ),
    Mode {
        sized: false,
        ..point_to_point(
            "rate",
            "message rate",
            &[as_printed("rate", "messages in windows of 256", "msg/s", true)],
        )
    },
    Mode {
        sized: false,
        pair: false,
        ..point_to_point(
            "ring",
            "ring exchange (MPI_Sendrecv with both neighbours)",
            &[as_printed("time", "time of one", "µs", false)],
        )
    },
    Mode {
        program: "persistent",
        options: &["--what", "pingpong"],
        ..point_to_point(
            "persistent-pingpong",
            "ping-pong of persistent messages (MPI_Start, MPI_Wait)",
            &[as_printed("latency", "half round trip", "µs", false)],
        )
    },
    Mode {
        program: "persistent",
        options: &["--what", "both"],
        ..point_to_point(
            "persistent-both",
            "persistent messages in both directions (MPI_Startall, MPI_Waitall)",
            &[as_printed("bandwidth", "bandwidth of both", "MB/s", true)],
        )
    },
    threads("threads-1", "message rate at MPI_THREAD_MULTIPLE, one thread", &["--what", "1"]),
    threads("threads-2", "message rate of two threads with a communicator each", &["--what", "2"]),
    threads("threads-4", "message rate of four threads with a communicator each", &["--what", "4"]),
];

macro_rules! collectives {
    ($($name:literal $title:literal;)*) => {
        /// The collective operations.
        pub static COLLECTIVES: [Mode; [$($name),*].len()] = [$(Mode {
            name: $name,
            program: "collectives",
            options: &["--what", $name],
            title: $title,
            views: &[as_printed("time", "time of one", "µs", false)],
            sized: !matches!($name.as_bytes(), b"barrier" | b"ibarrier" | b"pbarrier"),
            pair: false,
            drawn: &[],
        }),*];
    };
}

collectives! {
    "barrier" "MPI_Barrier";
    "bcast" "MPI_Bcast";
    "reduce" "MPI_Reduce, sum of doubles";
    "allreduce" "MPI_Allreduce, sum of doubles";
    "reduce_scatter_block" "MPI_Reduce_scatter_block, sum of doubles";
    "scan" "MPI_Scan, sum of doubles";
    "gather" "MPI_Gather";
    "scatter" "MPI_Scatter";
    "allgather" "MPI_Allgather";
    "alltoall" "MPI_Alltoall";
    "reduce_scatter" "MPI_Reduce_scatter, sum of doubles";
    "exscan" "MPI_Exscan, sum of doubles";
    "gatherv" "MPI_Gatherv";
    "scatterv" "MPI_Scatterv";
    "allgatherv" "MPI_Allgatherv";
    "alltoallv" "MPI_Alltoallv";
    "alltoallw" "MPI_Alltoallw";
    "neighbor_allgather" "MPI_Neighbor_allgather, a ring";
    "neighbor_alltoall" "MPI_Neighbor_alltoall, a ring";
    "ibarrier" "MPI_Ibarrier and MPI_Wait";
    "ibcast" "MPI_Ibcast and MPI_Wait";
    "ireduce" "MPI_Ireduce and MPI_Wait, sum of doubles";
    "iallreduce" "MPI_Iallreduce and MPI_Wait, sum of doubles";
    "igather" "MPI_Igather and MPI_Wait";
    "iscatter" "MPI_Iscatter and MPI_Wait";
    "iallgather" "MPI_Iallgather and MPI_Wait";
    "ialltoall" "MPI_Ialltoall and MPI_Wait";
    "pbarrier" "MPI_Start and MPI_Wait of MPI_Barrier_init";
    "pbcast" "MPI_Start and MPI_Wait of MPI_Bcast_init";
    "preduce" "MPI_Start and MPI_Wait of MPI_Reduce_init, sum of doubles";
    "pallreduce" "MPI_Start and MPI_Wait of MPI_Allreduce_init, sum of doubles";
    "preduce_scatter_block" "MPI_Start and MPI_Wait of MPI_Reduce_scatter_block_init, sum of doubles";
    "pscan" "MPI_Start and MPI_Wait of MPI_Scan_init, sum of doubles";
    "pgather" "MPI_Start and MPI_Wait of MPI_Gather_init";
    "pscatter" "MPI_Start and MPI_Wait of MPI_Scatter_init";
    "pallgather" "MPI_Start and MPI_Wait of MPI_Allgather_init";
    "pallgatherv" "MPI_Start and MPI_Wait of MPI_Allgatherv_init";
    "palltoall" "MPI_Start and MPI_Wait of MPI_Alltoall_init";
    "palltoallv" "MPI_Start and MPI_Wait of MPI_Alltoallv_init";
    "palltoallw" "MPI_Start and MPI_Wait of MPI_Alltoallw_init";
}

/// The collectives that are measured when none are chosen: blocking, with equal blocks.
pub const REGULAR: [&str; 10] = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "reduce_scatter_block",
    "scan",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
];

/// The loop of an ocean model's solver.
pub static POP: Mode = Mode {
    name: "pop",
    program: "pop",
    options: &[],
    title: "nine-point halo exchange, stencil and MPI_Allreduce of two numbers",
    views: &[as_printed("time", "time of an iteration", "µs", false)],
    sized: true,
    pair: false,
    drawn: &[],
};

/// A network interface itself, beside MPI over it.
const fn raw(name: &'static str, title: &'static str, options: &'static [&'static str]) -> Mode {
    const VIEWS: [View; 1] =
        [View { compared: false, overheads: true, ..as_printed("latency", "half round trip", "µs", false) }];
    Mode { program: "preposted", options, ..point_to_point(name, title, &VIEWS) }
}

/// What carries messages to and fro; MPI's programs take no notice of the option.
pub static RAW_PORTALS: [Mode; 1] =
    [raw("portals", "puts of Portals, and MPI over the same NIC", &["--what", "portals"])];
/// The same of Gemini.
pub static RAW_GEMINI: [Mode; 3] = [
    raw("smsg", "SMSG of Gemini, and MPI over the same NIC", &["--what", "smsg"]),
    raw("fma", "FMA puts of Gemini, and MPI over the same NIC", &["--what", "fma"]),
    raw("bte", "BTE puts of Gemini, and MPI over the same NIC", &["--what", "bte"]),
];

/// A measurement of data with holes.
const fn datatypes(name: &'static str, title: &'static str, views: &'static [View]) -> Mode {
    Mode { program: "datatypes", ..point_to_point(name, title, views) }
}

/// What is measured of data with holes.
pub static DATATYPES: [Mode; 3] = [
    Mode {
        options: &["--measure", "send"],
        ..datatypes(
            "send",
            "send and receive",
            &[View { summed_up: true, ..as_printed("bandwidth", "bandwidth", "MB/s", true) }],
        )
    },
    Mode {
        options: &["--measure", "pack"],
        ..datatypes("pack", "MPI_Pack", &[as_printed("loops", "speed", "times a loop's", true)])
    },
    Mode {
        options: &["--measure", "unpack"],
        ..datatypes("unpack", "MPI_Unpack", &[as_printed("loops", "speed", "times a loop's", true)])
    },
];

const fn one_sided(
    name: &'static str,
    title: &'static str,
    options: &'static [&'static str],
    sized: bool,
) -> Mode {
    const VIEWS: [View; 1] = [TIME];
    Mode { name, program: "one_sided", options, title, views: &VIEWS, sized, pair: false, drawn: &[] }
}

/// What one operation takes.
const TIME: View = as_printed("time", "time of one", "µs", false);
/// The same beside what needs no MPI.
const BESIDE_MEMCPY: [View; 2] = [TIME, over("over memcpy to or from that memory", false)];
const BESIDE_ATOMIC: [View; 2] =
    [TIME, over("over the processor's operation by all ranks on one word", false)];

/// A mode of a diagram of several.
const fn drawn(diagram: &'static str, curve: &'static str) -> Drawn {
    Drawn { diagram, curve, ours: false }
}

const PUTS: &str = "put and flush, or a message";
const GETS: &str = "get and flush, or a message";
const GATHERS: &str = "gather to rank 0";

/// A gather, with the bandwidth that each rank has.
const fn gather(name: &'static str, title: &'static str, options: &'static [&'static str]) -> Mode {
    Mode { views: &const { both("time of one") }, ..one_sided(name, title, options, true) }
}

/// One-sided operations and synchronisation.
pub static ONE_SIDED: [Mode; 15] = [
    Mode {
        views: &BESIDE_MEMCPY,
        drawn: &[drawn(PUTS, "MPI_Put")],
        ..one_sided("put", "MPI_Put and MPI_Win_flush", &["--what", "put"], true)
    },
    one_sided(
        "put-computing",
        "MPI_Put and MPI_Win_flush while the target computes for 50 ms",
        &["--what", "put-computing"],
        false,
    ),
    Mode {
        views: &BESIDE_MEMCPY,
        drawn: &[drawn(GETS, "MPI_Get")],
        ..one_sided("get", "MPI_Get and MPI_Win_flush", &["--what", "get"], true)
    },
    Mode {
        views: &BESIDE_MEMCPY,
        drawn: &[Drawn { ours: true, ..drawn(PUTS, "alhena_put") }],
        ..one_sided(
            "light-put",
            "alhena_put and alhena_flush, elsewhere MPI_Put",
            &["--what", "light-put"],
            true,
        )
    },
    Mode {
        views: &BESIDE_MEMCPY,
        drawn: &[Drawn { ours: true, ..drawn(GETS, "alhena_get") }],
        ..one_sided(
            "light-get",
            "alhena_get and alhena_flush, elsewhere MPI_Get",
            &["--what", "light-get"],
            true,
        )
    },
    Mode {
        drawn: &[drawn(GATHERS, "MPI_Gather")],
        ..gather("gather", "MPI_Gather to rank 0", &["--what", "gather"])
    },
    Mode {
        drawn: &[Drawn { ours: true, ..drawn(GATHERS, "alhena_rput") }],
        ..gather("light-gather", "gather by alhena_rput, elsewhere MPI_Gather", &["--what", "light-gather"])
    },
    Mode {
        drawn: &[drawn(PUTS, "MPI_Isend and MPI_Irecv"), drawn(GETS, "MPI_Isend and MPI_Irecv")],
        ..one_sided("messages", "MPI_Isend and MPI_Irecv", &["--what", "messages"], true)
    },
    one_sided("accumulate", "MPI_Accumulate and MPI_Win_flush", &["--what", "accumulate"], true),
    one_sided("get_accumulate", "MPI_Get_accumulate and MPI_Win_flush", &["--what", "get_accumulate"], true),
    Mode {
        views: &BESIDE_ATOMIC,
        ..one_sided(
            "fetch_and_op",
            "MPI_Fetch_and_op by all ranks on one word",
            &["--what", "fetch_and_op"],
            false,
        )
    },
    Mode {
        views: &BESIDE_ATOMIC,
        ..one_sided(
            "compare_and_swap",
            "MPI_Compare_and_swap by all ranks on one word",
            &["--what", "compare_and_swap"],
            false,
        )
    },
    one_sided(
        "lock-put-unlock",
        "MPI_Win_lock, MPI_Put, MPI_Win_unlock",
        &["--what", "lock-put-unlock"],
        true,
    ),
    one_sided("fence", "MPI_Win_fence", &["--what", "fence"], false),
    one_sided(
        "post-start-complete-wait",
        "MPI_Win_post, start, complete and wait with both neighbours",
        &["--what", "post-start-complete-wait"],
        false,
    ),
];

/// A pattern of accesses to a file.
const fn file(
    name: &'static str,
    title: &'static str,
    options: &'static [&'static str],
    views: &'static [View],
) -> Mode {
    Mode { program: "files", options, pair: false, ..point_to_point(name, title, views) }
}

/// What all ranks move.
const BANDWIDTH: View = as_printed("bandwidth", "bandwidth of all ranks", "MB/s", true);
/// What a call takes.
const CALL: View = as_printed("latency", "time of one call", "µs", false);

/// The same over what the program measures beside it, of each MPI by itself.
const fn over(title: &'static str, more_is_better: bool) -> View {
    View {
        of: |line| Some(line.value / line.floor?),
        compared: false,
        ..as_printed("over", title, "times the floor", more_is_better)
    }
}

/// A pattern of accesses to a file, with the bandwidth of all ranks.
const fn moving(name: &'static str, title: &'static str, options: &'static [&'static str]) -> Mode {
    file(name, title, options, &const { [BANDWIDTH] })
}

/// Calls on a file, each with the time that it takes.
const fn calling(name: &'static str, title: &'static str, options: &'static [&'static str]) -> Mode {
    file(name, title, options, &const { [CALL] })
}

/// Files. The first two are the floor of all others.
pub static FILES: [Mode; 14] = [
    moving("raw-write", "pwrite by as many processes", &["--what", "raw-write"]),
    moving("raw-read", "pread by as many processes", &["--what", "raw-read"]),
    file(
        "contiguous-write",
        "MPI_File_write_at, a segment for each rank",
        &["--what", "contiguous-write"],
        &const { [BANDWIDTH, over("over pwrite by as many processes", true)] },
    ),
    file(
        "contiguous-read",
        "MPI_File_read_at, a segment for each rank",
        &["--what", "contiguous-read"],
        &const { [BANDWIDTH, over("over pread by as many processes", true)] },
    ),
    moving(
        "collective-write",
        "MPI_File_write_at_all, a segment for each rank",
        &["--what", "collective-write"],
    ),
    moving(
        "collective-read",
        "MPI_File_read_at_all, a segment for each rank",
        &["--what", "collective-read"],
    ),
    file(
        "strided-write",
        "MPI_File_write_at_all, records of all ranks in turn",
        &["--what", "strided-write"],
        &const { [BANDWIDTH, over("over one MPI_File_write_at of as much", true)] },
    ),
    file(
        "strided-read",
        "MPI_File_read_at_all, records of all ranks in turn",
        &["--what", "strided-read"],
        &const { [BANDWIDTH, over("over one MPI_File_read_at of as much", true)] },
    ),
    moving(
        "subarray-write",
        "MPI_File_write_at_all, blocks of an array in 4 dimensions",
        &["--what", "subarray-write"],
    ),
    moving(
        "subarray-read",
        "MPI_File_read_at_all, blocks of an array in 4 dimensions",
        &["--what", "subarray-read"],
    ),
    calling("records", "MPI_File_write, small records", &["--what", "records"]),
    file(
        "shared",
        "MPI_File_write_shared, appends",
        &["--what", "shared"],
        &const { [CALL, over("over an atomic addition and pwrite by as many processes", false)] },
    ),
    calling("ordered", "MPI_File_write_ordered, appends", &["--what", "ordered"]),
    calling("open-close", "MPI_File_open and MPI_File_close", &["--what", "open-close"]),
];

/// The shapes that `bench/datatypes.c` knows.
pub const SHAPES: [&str; 7] = ["vector-2", "vector-16", "column", "face", "struct", "indexed", "rows"];

/// What is measured when nothing is chosen: the papers' point-to-point modes.
pub const PAPERS: [&str; 5] = ["pingpong", "preposted", "bidirectional", "streaming", "rate"];

/// The modes of these names among `all`, in the order given.
pub fn named(names: &[String], all: &'static [Mode]) -> Result<Vec<&'static Mode>, Error> {
    let find = |name: &String| {
        all.iter().find(|mode| mode.name == name).ok_or_else(|| Error::NoMode {
            name: name.clone(),
            known: all.iter().map(|mode| mode.name).collect::<Vec<_>>().join(", "),
        })
    };
    names.iter().map(find).collect()
}
