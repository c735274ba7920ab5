//! The transport's parameters, and the numbers that follow from them for one job.

use core::fmt;
use rdma::{Quota, Use, wire};

mca::choice! {
    /// Which way short messages take.
    pub enum UseMsgq {
        /// A mailbox per peer.
        Never = "never",
        /// The node's shared queue for jobs of at least `msgq_ranks` ranks.
        Auto = "auto",
        /// The node's shared queue.
        Always = "always",
        /// The node's shared queue at first; a mailbox for a peer to which many messages go.
        ByUse = "by_use",
    }
}

mca::params! {
    /// Parameters of the transport over Gemini.
    pub struct UgniParams("btl_ugni_") {
        /// Largest mailbox message, 4 bytes of header included; 0 chooses by job size: 8192 up to 512 ranks, 2048
        /// up to 1024, 1024 up to 8192, 512 up to 16384, else 256.
        smsg_limit: mca::Size = "0", unit "bytes", range 0 to 16384;
        /// Messages that a mailbox holds.
        smsg_max_credits: mca::Int = "32", range 1 to 1024;
        /// How often the NIC sends a lost message again.
        smsg_max_retries: mca::Int = "16", range 0 to 1000;
        /// How often a failed transfer is posted again.
        rdma_max_retries: mca::Int = "16", range 0 to 1000;
        /// Longest transfer fetched through the FMA window; longer ones use the block transfer engine.
        fma_get_limit: mca::Size = "2k", unit "bytes", range 0 to 65536, alias "btl_ugni_fma_limit";
        /// Longest transfer stored through the FMA window.
        fma_put_limit: mca::Size = "4k", unit "bytes", range 0 to 65536;
        /// Longest single GET; 0 forbids GET, so that rendezvous always uses PUT.
        get_limit: mca::Size = "1M", unit "bytes", range 0 to 4294967292;
        /// Longest single PUT: the piece in which a PUT rendezvous is pipelined.
        rdma_pipeline_frag_size: mca::Size = "4M", unit "bytes", range 4096 to 4294967292;
        /// Smallest message for which zero copy is worth its registrations.
        min_rdma_pipeline_size: mca::Size = "8k", unit "bytes", range 0 to 1073741824;
        /// Largest payload sent without asking the receiver; above the SMSG limit by Eager GET.
        eager_limit: mca::Size = "8k", unit "bytes", range 64 to 1048576;
        /// Largest fragment of a message sent in pieces.
        max_send_size: mca::Size = "8k", unit "bytes", range 64 to 1048576;
        /// Registered Eager GET buffers made at first, for each direction.
        eager_num: mca::Int = "16", range 1 to 65536;
        /// Most registered Eager GET buffers for each direction.
        eager_max: mca::Int = "128", range 1 to 65536;
        /// Eager GET buffers made at a time.
        eager_inc: mca::Int = "16", range 1 to 65536;
        /// Entries of the arrival queue.
        remote_cq_size: mca::Int = "40000", range 2 to 16777216;
        /// Entries of the queue for sent messages.
        local_cq_size: mca::Int = "8192", range 2 to 16777216;
        /// Entries of the queue for transfers: how many may be under way together.
        local_rdma_cq_size: mca::Int = "1024", range 2 to 16777216;
        /// Registered memory taken for mailboxes at first.
        smsg_page_size: mca::Size = "2M", unit "bytes", range 4096 to 1073741824;
        /// Mailboxes made at a time; 0: at first as many as fit into `smsg_page_size`, then each time as many as there
        /// are.
        mbox_increment: mca::Int = "0", range 0 to 65536;
        /// Registrations that this process may use; 0 derives it from the NIC and the ranks of the node.
        max_mem_reg: mca::Int = "0", range 0 to 4096;
        /// Whether short messages go through the node's shared queue, whose memory grows with nodes and not ranks.
        use_msgq: UseMsgq = "never";
        /// Ranks from which on `use_msgq = auto` uses the shared queue.
        msgq_ranks: mca::Int = "16384", range 1 to 1073741824;
        /// Messages to a peer after which it gets a mailbox, where `use_msgq` is `by_use`.
        msgq_uses: mca::Int = "16", range 1 to 1000000;
        /// Shared-queue messages that may be under way between two nodes: 1 or even.
        msgq_credits: mca::Int = "64", range 1 to 4096;
        /// Shared-queue messages a node holds in all.
        msgq_pool: mca::Int = "4096", range 1 to 4096;
    }
}

/// The numbers in effect for one job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UgniPlan {
    /// Largest mailbox message, in bytes.
    pub smsg_limit: usize,
    /// Largest payload sent eagerly, in bytes.
    pub eager_limit: usize,
    /// Largest payload of one send, in bytes.
    pub max_send: usize,
    /// Bytes of an Eager GET buffer's payload part.
    pub buffer: usize,
    /// Short messages use the shared queue, to a peer without mailbox.
    pub msgq: bool,
    /// Largest message of a mailbox that a peer gets by use, in bytes.
    pub mailbox_limit: usize,
    /// Messages through the shared queue after which a peer gets a mailbox; `None`: none does.
    pub queue_uses: Option<u32>,
    /// Registrations that this process may use.
    pub registrations: u32,
    /// How many mailboxes are made when.
    pub mailboxes: MailboxSteps,
    /// Limits that make a protocol unreachable, for the user to know.
    pub notices: Vec<Notice>,
}

/// How many mailboxes are made at a time. A process that talks to few others registers little, and one that talks to
/// all stays within its registrations, whatever the size of the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MailboxSteps {
    /// Mailboxes of the first step.
    pub first: u32,
    /// Whether each later step makes as many as there are.
    pub doubling: bool,
    /// One for every peer.
    pub all: u32,
    /// In how many steps at most; `None`: a peer can do without a mailbox.
    pub steps: Option<u32>,
}

impl MailboxSteps {
    /// How many to make when there are `made` and so many steps are left, this one included. The last makes all that
    /// are missing, so that no peer is without one.
    pub fn next(&self, made: u32, left: u32) -> u32 {
        let missing = self.all.saturating_sub(made);
        let count = if self.doubling { self.first.max(made).min(missing) } else { self.first };
        let last = self.steps.is_some() && left <= 1;
        if last { count.max(missing).max(1) } else { count.max(1) }
    }
}

/// A protocol that the limits leave no room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// All that is eager fits into a mailbox message.
    NoEagerGet {
        /// The SMSG limit in effect.
        smsg_limit: usize,
        /// The eager limit asked for.
        eager_limit: usize,
    },
    /// GET is forbidden; rendezvous uses PUT.
    NoGet,
    /// No GET is long enough for the block transfer engine.
    NoBteGet {
        /// The FMA limit.
        fma: usize,
        /// The GET limit.
        get: usize,
    },
    /// No PUT is long enough for the block transfer engine.
    NoBtePut {
        /// The FMA limit.
        fma: usize,
        /// The PUT limit.
        put: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::NoEagerGet { smsg_limit, eager_limit } => write!(
                f,
                "Eager GET is never used: messages up to btl_ugni_smsg_limit ({smsg_limit} bytes) cover \
                 btl_ugni_eager_limit ({eager_limit} bytes)"
            ),
            Notice::NoGet => f.write_str("GET is never used: btl_ugni_get_limit is below 4 bytes"),
            Notice::NoBteGet { fma, get } => write!(
                f,
                "the block transfer engine never fetches: btl_ugni_fma_get_limit ({fma} bytes) covers \
                 btl_ugni_get_limit ({get} bytes)"
            ),
            Notice::NoBtePut { fma, put } => write!(
                f,
                "the block transfer engine never stores: btl_ugni_fma_put_limit ({fma} bytes) covers \
                 btl_ugni_rdma_pipeline_frag_size ({put} bytes)"
            ),
        }
    }
}

/// Parameters that leave no way to communicate at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unusable {
    /// A mailbox message cannot hold an Eager GET request.
    SmsgTooSmall {
        /// The limit in effect.
        limit: usize,
    },
    /// There are fewer registrations than the transport's own memory needs.
    TooFewRegistrations {
        /// For this process.
        have: u32,
    },
    /// The attributes of the shared queue contradict each other.
    Msgq,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("setting up the Gemini transport failed\n")?;
        match self {
            Unusable::SmsgTooSmall { limit } => write!(
                f,
                "a mailbox message of {limit} bytes cannot hold an Eager GET request ({} bytes)\n\
                 raise it: --mca btl_ugni_smsg_limit {}",
                wire::GET_INIT_MOST,
                wire::GET_INIT_MOST.next_power_of_two()
            ),
            Unusable::TooFewRegistrations { have } => write!(
                f,
                "{have} memory registrations are left for each rank, and {} are needed\n\
                 run fewer ranks per node, or raise --mca btl_ugni_max_mem_reg (and gni_mdds)",
                rdma::FEWEST
            ),
            Unusable::Msgq => f.write_str(
                "btl_ugni_msgq_credits must be 1 or even and at most btl_ugni_msgq_pool\n\
                 correct them, or use mailboxes: --mca btl_ugni_use_msgq never",
            ),
        }
    }
}

impl std::error::Error for Unusable {}

/// Descriptors of a NIC that are left to others.
const RESERVED_MDDS: u32 = 20;
/// Descriptors assumed where the NIC does not tell its limit.
const ASSUMED_MDDS: u32 = 1200;

impl UgniParams {
    /// The SMSG limit for a job of `ranks` ranks.
    pub(crate) fn smsg_limit_for(&self, ranks: usize) -> usize {
        match (self.smsg_limit, ranks) {
            (0, ..=512) => 8192,
            (0, ..=1024) => 2048,
            (0, ..=8192) => 1024,
            (0, ..=16384) => 512,
            (0, _) => 256,
            (given, _) => given,
        }
    }

    /// The numbers for a job of `ranks` ranks, `local_ranks` of them on this node, whose NIC has `mdds` memory
    /// descriptors (0: unknown).
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn plan(&self, ranks: usize, local_ranks: usize, mdds: u32) -> Result<UgniPlan, Unusable> {
        let msgq = match self.use_msgq {
            UseMsgq::Never => false,
            UseMsgq::Auto => ranks as i64 >= self.msgq_ranks,
            UseMsgq::Always | UseMsgq::ByUse => true,
        };
        let smsg_limit = if msgq { gni::limits::MSGQ_MAX as usize } else { self.smsg_limit_for(ranks) };
        let mailbox_limit = self.smsg_limit_for(ranks).max(smsg_limit);
        if smsg_limit < wire::GET_INIT_MOST {
            return Err(Unusable::SmsgTooSmall { limit: smsg_limit });
        }
        if msgq && !self.msgq_attr(local_ranks).is_valid() {
            return Err(Unusable::Msgq);
        }
        let registrations = self.registrations(local_ranks, mdds);
        if registrations < rdma::FEWEST {
            return Err(Unusable::TooFewRegistrations { have: registrations });
        }
        let eager_limit = match smsg_limit >= self.eager_limit {
            true => self.eager_limit.min(smsg_limit - wire::SEND_MOST),
            false => self.eager_limit,
        };
        Ok(UgniPlan {
            smsg_limit,
            eager_limit,
            max_send: self.max_send_size.max(eager_limit),
            buffer: self.max_send_size.max(eager_limit).next_multiple_of(64),
            msgq,
            mailbox_limit,
            queue_uses: (self.use_msgq == UseMsgq::ByUse).then_some(self.msgq_uses as u32),
            registrations,
            mailboxes: self.mailbox_steps(mailbox_limit, ranks, registrations, msgq),
            notices: self.notices(smsg_limit),
        })
    }

    /// Attributes of the node's shared queue.
    pub(crate) fn msgq_attr(&self, local_ranks: usize) -> gni::MsgqAttr {
        gni::MsgqAttr {
            max_message: gni::limits::MSGQ_MAX,
            credits: self.msgq_credits as u32,
            pool: self.msgq_pool as u32,
            instances: (local_ranks as u32).clamp(1, gni::limits::MSGQ_INSTANCES),
        }
    }

    fn registrations(&self, local_ranks: usize, mdds: u32) -> u32 {
        let share = |descriptors: u32| descriptors / local_ranks.max(1) as u32;
        match (self.max_mem_reg as u32, mdds) {
            (0, 0) => share(ASSUMED_MDDS),
            // A NIC with few descriptors has none to leave to others.
            (0, limit) if limit <= 4 * RESERVED_MDDS => share(limit),
            (0, limit) => share(limit - RESERVED_MDDS),
            (given, _) => given,
        }
    }

    /// Begins with what fits into `smsg_page_size`, or more when doubling from there would take more than half of the
    /// registrations that the pools may have, an eighth of all.
    fn mailbox_steps(&self, smsg_limit: usize, ranks: usize, registrations: u32, msgq: bool) -> MailboxSteps {
        let all = ranks as u32;
        let most = 1 + Quota::with_mailboxes(registrations).left(Use::Mailboxes);
        let steps = (!msgq).then_some(most);
        if self.mbox_increment > 0 {
            return MailboxSteps { first: self.mbox_increment as u32, doubling: false, all, steps };
        }
        let slot = (smsg_limit + 16).next_multiple_of(64);
        let mailbox = 128 + slot * self.smsg_max_credits as usize;
        let fits = (self.smsg_page_size / mailbox).max(1) as u32;
        let least = all.div_ceil(1u32.checked_shl(most - 1).unwrap_or(u32::MAX));
        MailboxSteps { first: fits.max(least), doubling: true, all, steps }
    }

    fn notices(&self, smsg_limit: usize) -> Vec<Notice> {
        let mut notices = Vec::new();
        if smsg_limit >= self.eager_limit {
            notices.push(Notice::NoEagerGet { smsg_limit, eager_limit: self.eager_limit });
        }
        if self.get_limit < 4 {
            notices.push(Notice::NoGet);
        } else if self.fma_get_limit >= self.get_limit {
            notices.push(Notice::NoBteGet { fma: self.fma_get_limit, get: self.get_limit });
        }
        if self.fma_put_limit >= self.rdma_pipeline_frag_size {
            notices.push(Notice::NoBtePut { fma: self.fma_put_limit, put: self.rdma_pipeline_frag_size });
        }
        notices
    }
}

#[cfg(test)]
mod tests {
    use super::{Notice, UgniParams, Unusable, UseMsgq};

    #[test]
    fn smsg_limits_follow_the_job_size() {
        let params = UgniParams::default();
        let limits =
            [2, 512, 513, 1024, 1025, 8192, 8193, 16384, 16385].map(|ranks| params.smsg_limit_for(ranks));
        assert_eq!(limits, [8192, 8192, 2048, 2048, 1024, 1024, 512, 512, 256]);
    }

    #[test]
    fn defaults_of_a_small_job_leave_no_eager_get_and_say_so() {
        let plan = UgniParams::default().plan(2, 2, 4096).expect("usable");
        assert!(plan.eager_limit < 8192);
        assert_eq!(plan.notices, [Notice::NoEagerGet { smsg_limit: 8192, eager_limit: 8192 }]);
        let plan = UgniParams::default().plan(1024, 16, 4096).expect("usable");
        assert_eq!((plan.smsg_limit, plan.eager_limit), (2048, 8192));
        assert!(plan.notices.is_empty());
    }

    #[test]
    fn the_papers_runs() {
        let params = UgniParams { smsg_limit: 1024, ..UgniParams::default() };
        let plan = params.plan(2, 1, 4096).expect("usable");
        assert_eq!((plan.smsg_limit, plan.eager_limit, plan.buffer), (1024, 8192, 8192));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let small = UgniParams { smsg_limit: 64, ..UgniParams::default() };
        assert_eq!(small.plan(2, 1, 4096), Err(Unusable::SmsgTooSmall { limit: 64 }));
        let crowded = UgniParams::default().plan(2, 16, 16);
        assert_eq!(crowded, Err(Unusable::TooFewRegistrations { have: 1 }));
        let odd = UgniParams { use_msgq: UseMsgq::Always, msgq_credits: 3, ..UgniParams::default() };
        assert_eq!(odd.plan(2, 1, 4096), Err(Unusable::Msgq));
    }

    #[test]
    fn mailboxes_for_all_use_an_eighth_of_the_registrations_and_no_more_than_there_are_ranks() {
        for (ranks, local, mdds) in
            [(16_384, 16, 4096), (49_152, 16, 4096), (49_152, 48, 1000), (64, 8, 64), (2, 2, 16)]
        {
            let plan = UgniParams::default().plan(ranks, local, mdds).expect("usable");
            let steps = plan.mailboxes.steps.expect("every peer needs one");
            let (mut blocks, mut made) = (0, 0);
            while made < ranks as u32 {
                made += plan.mailboxes.next(made, steps - blocks);
                blocks += 1;
            }
            assert_eq!(made, ranks as u32);
            assert!(blocks <= (plan.registrations / 8).max(1), "{blocks} of {}", plan.registrations);
        }
    }

    #[test]
    fn every_peer_has_a_mailbox_however_few_are_made_at_a_time() {
        for increment in [0, 1, 2, 100] {
            for registrations in rdma::FEWEST..100 {
                let params = UgniParams {
                    mbox_increment: increment,
                    max_mem_reg: registrations.into(),
                    ..UgniParams::default()
                };
                for ranks in [2, 3, 17, 500] {
                    let mailboxes = params.plan(ranks, 1, 4096).expect("usable").mailboxes;
                    let steps = mailboxes.steps.expect("every peer needs one");
                    let made = (0..steps).fold(0, |made, step| made + mailboxes.next(made, steps - step));
                    assert!(made >= ranks as u32, "{made} of {ranks} with {registrations}, {increment}");
                }
            }
        }
    }

    #[test]
    fn few_mailboxes_take_little_however_large_the_job() {
        let first = |ranks| {
            UgniParams { smsg_limit: 256, ..UgniParams::default() }
                .plan(ranks, 16, 4096)
                .map(|p| p.mailboxes.next(0, 31))
        };
        assert_eq!(first(49_152), first(1024));
    }
}
