//! What the library's own code costs its processor.

gni_timed::cost_table! {
    /// Processor time of the layers above the NIC, and of copies.
    pub struct SoftwareCosts {
        /// Sending one frame: envelope, sequence number, choice of protocol.
        pml_send: 35.0 "ns", "callgrind: 170 instructions of ob1, taken as 2 per cycle of a 2.4 GHz Opteron";
        /// Taking one frame: matching, completing a request.
        pml_recv: 110.0 "ns", "callgrind: 530 instructions of ob1, posting the receive included, likewise";
        /// Taking the end of a transfer.
        pml_event: 40.0 "ns", "assumed: a cache miss";
        /// Rate of copies between buffers.
        copy_rate: 6.0 "B/ns", "assumed: one core of a Magny-Cours Opteron out of its caches";
        /// Taking, filling or emptying a registered buffer of MPICH2's E1, copies not counted.
        staging: 0.0 "ns", "no source; fitted for MPICH2 alone, see sim::paper::MPICH2";
        /// A cache line that another core of the node has written.
        line: 98.0 "ns", "AnandTech 2010: memory of an Opteron 6174 answers in 98 ns; another core's cache about as fast";
        /// As `line`, from a core of another last-level cache, where caches are given.
        far_line: 98.0 "ns", "as line: the caches of a Magny-Cours Opteron keep nothing for each other";
        /// As `line`, from a core of another memory node, where caches are given.
        remote_line: 98.0 "ns", "likewise";
        /// How much later the next of several cores gets a line that they all want, where caches are given.
        line_turn: 10.0 "ns", "assumed: one access to a third-level cache";
        /// Beginning a copy out of another process's memory.
        single_copy: 700.0 "ns", "assumed: a system call that pins two pages, on a 2.4 GHz Opteron";
        /// `alhena_put`, beside the transport's part.
        light_put: 73.0 "ns", "callgrind: 350 instructions of 8 bytes over ugni, taken as 2 per cycle of a 2.4 GHz Opteron";
        /// `alhena_get`, likewise.
        light_get: 86.0 "ns", "callgrind: 413 instructions, likewise";
        /// `MPI_Put`, likewise.
        osc_put: 88.0 "ns", "callgrind: 421 instructions, likewise";
        /// `MPI_Get`, likewise.
        osc_get: 102.0 "ns", "callgrind: 489 instructions, likewise";
        /// A flush of either interface, beside waiting and looking for events.
        osc_flush: 110.0 "ns", "callgrind: 530 instructions of an MPI_Win_flush that finds nothing under way, likewise";
        /// How long a rank polls before it sleeps.
        spin: 500000.0 "ns", "the library's mpi_spin_us";
        /// A processor goes over to another of the ranks that share it.
        switch: 3000.0 "ns", "assumed: about twenty yields or a sleep, a switch of processes, caches cold";
        /// Standard deviation of the times that ranks of LAMMPS compute in a step, by their mean.
        jitter: 0.016 "", "measured: LAMMPS on two ranks, see docs/simulation.md (Ranks that do not compute for equally long)";
        /// Exponential parts of such a draw: 1 has a long tail, 16 is nearly normal.
        jitter_parts: 16.0 "", "the same recordings, which are not skewed";
        /// The same deviation for AMG, whose ranks draw once for an iteration.
        amg_jitter: 0.0 "", "not measured, so none; `--paper` takes LAMMPS's";
        /// From the news to the first instruction of a rank that slept.
        wake_up: 5000.0 "ns", "assumed: a futex call and a switch of processes, caches cold";
    }
}

impl SoftwareCosts {
    /// A wide node of Zen 4 cores: within a last-level cache and between two as AnandTech measured a 7950X in 2022
    /// (15 to 19, up to 79.5 ns); to another memory node assumed as 2.5 times that. The rest as
    /// [`SoftwareCosts::TWO_CORES`].
    pub const WIDE_NODE: SoftwareCosts =
        SoftwareCosts { line: 19.0, far_line: 79.5, remote_line: 200.0, ..SoftwareCosts::TWO_CORES };

    /// A virtual machine of two Zen 4 cores, for runs that were recorded on one: a cache line and the rate of copies
    /// as this library's measurements there have them (`docs/measurements`), its own code by the instructions counted
    /// above at 4 per cycle of 3 GHz.
    pub const TWO_CORES: SoftwareCosts = SoftwareCosts {
        pml_send: 15.0,
        pml_recv: 45.0,
        pml_event: 20.0,
        copy_rate: 8.0,
        line: 175.0,
        light_put: 29.0,
        light_get: 34.0,
        osc_put: 35.0,
        osc_get: 41.0,
        osc_flush: 44.0,
        ..SoftwareCosts::SOURCED
    };
}
