//! Limits of the Gemini transport that make it use one protocol as far as that goes.

use btl_ugni::{UgniParams, UseMsgq};
use clap::ValueEnum;

/// Which limits are in effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Forced {
    /// The defaults, which for a small job leave no room for Eager GET
    Default,
    /// Those of the paper's figures: mailboxes to 1 KiB, rendezvous from 8 KiB
    Paper,
    /// Mailboxes as far as they go
    Smsg,
    /// The node's shared queue for what is short
    Msgq,
    /// Eager GET for all that is not tiny
    EagerGet,
    /// Rendezvous by GET
    Get,
    /// Rendezvous by PUT
    Put,
    /// Rendezvous in pieces that are copied
    Fragments,
}

/// Smallest mailbox message that all protocols can live with.
const TINY: usize = 128;

impl Forced {
    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Forced::Default => "default",
            Forced::Paper => "paper",
            Forced::Smsg => "smsg",
            Forced::Msgq => "msgq",
            Forced::EagerGet => "eager-get",
            Forced::Get => "get",
            Forced::Put => "put",
            Forced::Fragments => "fragments",
        }
    }

    /// The parameters with the limits that force it.
    pub fn params(self) -> UgniParams {
        let defaults = UgniParams::default();
        let rendezvous =
            UgniParams { smsg_limit: TINY, eager_limit: 64, min_rdma_pipeline_size: 0, ..defaults };
        let defaults = UgniParams::default();
        match self {
            Forced::Default => defaults,
            Forced::Paper => UgniParams { smsg_limit: 1024, ..defaults },
            Forced::Smsg => UgniParams { smsg_limit: 16384, eager_limit: 16384, ..defaults },
            Forced::Msgq => UgniParams { use_msgq: UseMsgq::Always, ..defaults },
            Forced::EagerGet => UgniParams {
                smsg_limit: TINY,
                eager_limit: 1 << 20,
                max_send_size: 1 << 20,
                eager_num: 2,
                ..defaults
            },
            Forced::Get => rendezvous,
            Forced::Put => UgniParams { get_limit: 0, ..rendezvous },
            Forced::Fragments => UgniParams { min_rdma_pipeline_size: 1 << 30, ..rendezvous },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Forced;
    use clap::ValueEnum;

    #[test]
    fn all_limits_leave_a_way_to_communicate() {
        for forced in Forced::value_variants() {
            forced.params().plan(2, 1, 4096).unwrap_or_else(|error| panic!("{}: {error}", forced.name()));
        }
    }
}
