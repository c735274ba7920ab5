//! Tools that look at the ranks' MPI calls.

use super::{Complaint, Flag};

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
        help: "find misuse: leaks, buffers in use, types of messages, windows; exit code 1 if any; NAME.json has it all",
        apply: |options, values| {
            options.job.tools.check = Some(values.first().map(Into::into));
            Ok(())
        },
    },
    Flag {
        names: &["check-sends"],
        values: &[],
        help: "with -check: sends wait for their receive, so that dead-locks that buffering hides are found",
        apply: |options, _| {
            options.job.tools.sends = true;
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
    Flag {
        names: &["trace"],
        values: &["FILE"],
        help: "write when each rank called what, and which message went where: for Perfetto, or .json or .svg by its end",
        apply: |options, values| {
            options.job.tools.trace = Some(values[0].clone().into());
            Ok(())
        },
    },
    Flag {
        names: &["trace-events"],
        values: &["N"],
        help: "keep at least the last N calls and messages of each rank (65536)",
        apply: |options, values| {
            let number =
                values[0].to_str().and_then(|text| text.parse().ok()).filter(|n| (1..=MOST).contains(n));
            options.job.tools.events =
                Some(number.ok_or(Complaint::Expected("a number from 1 to 67108864"))?);
            Ok(())
        },
    },
];

/// Events that a timeline keeps at most: four gigabytes of each rank.
const MOST: u64 = 64 << 20;
