//! Tools that look at the ranks' MPI calls.

use super::Flag;

pub const FLAGS: &[Flag] = &[
    Flag {
        names: &["profile"],
        values: &["[=NAME]"],
        help: "count calls, bytes and times of each rank by place: NAME.txt, NAME.html, NAME.json; see alhena profile",
        apply: |options, values| {
            options.job.tools.profile = Some(values.first().map(Into::into));
            Ok(())
        },
    },
    Flag {
        names: &["check"],
        values: &["[=NAME]"],
        help: "find misuse of MPI: leaks, requests, buffers in use, threads; exit code 1 if any; NAME.json has it all",
        apply: |options, values| {
            options.job.tools.check = Some(values.first().map(Into::into));
            Ok(())
        },
    },
    Flag {
        names: &["record"],
        values: &["DIR"],
        help: "write the MPI calls of each rank and the time between them to DIR/rank.N.rec; see alhena sim replay",
        apply: |options, values| {
            options.job.tools.record = Some(values[0].clone().into());
            Ok(())
        },
    },
];
