//! Which transports may be used.

use btl::{Cards, Lines};
use btl_dr::DrParams;

macro_rules! declare {
    (() $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        /// The transports that the parameter `btl` allows, or that a job takes. `self` is always used, named or not.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Selection {
            /// Between processes of one node.
            pub vader: bool,
            $(
                #[doc = concat!("The network ", $name, ".")]
                pub $field: bool,
            )*
        }

        /// The names that the parameter accepts.
        const NAMES: &[&str] = &["self", "vader", "sm", $($name),*];

        impl mca::Type for Selection {
            type Value = Selection;
            const KIND: mca::Kind = mca::Kind::Words(NAMES);

            fn parse(text: &str) -> Option<Selection> {
                let chosen = mca::listed(NAMES, text)?;
                // Open MPI calls its shared memory transport "sm"; leaving out either name leaves it out.
                let exclusive = text.trim_start().starts_with('^');
                let vader = if exclusive { chosen[1] && chosen[2] } else { chosen[1] || chosen[2] };
                // Networks only where they are asked for: Gemini takes memory, sockets and a thread, TCP a port,
                // libfabric whatever its provider takes.
                let mut networks = chosen[3..].iter().map(|&chosen| chosen && !exclusive);
                Some(Selection { vader, $($field: networks.next().unwrap_or(false)),* })
            }
        }

        impl Selection {
            /// The networks among them, by name.
            fn networks(&self) -> impl Iterator<Item = &'static str> {
                [$((self.$field, $name)),*].into_iter().filter(|network| network.0).map(|network| network.1)
            }
        }
    };
}
networks!(declare());

mca::params! {
    /// The choice of transports.
    pub struct BtlParams("") {
        /// Transports that may carry messages, separated by commas: self (a rank to itself; always used), vader or
        /// sm (ranks of one node), ugni (Gemini, in software), portals (Portals, in software), ofi (libfabric), tcp or udp: all
        /// ranks; those of the node only without vader. dr puts data reliability over the others (pml dr); udp needs it. verify
        /// puts checksums over the others (mpi_checksum).
        /// `^vader` allows all defaults but that.
        btl: Selection = "self,vader", scope AllEq;
    }
}

/// What the message layer needs of the transports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wants {
    /// What the parameters allow.
    Transports,
    /// A Portals NIC, which has to see all messages.
    MatchingNic,
    /// Data reliability over the networks that the parameters allow.
    Reliability {
        /// Over shared memory, too, whatever its parameter says.
        everywhere: bool,
    },
    /// Verification over what the parameters allow.
    Verification,
}

/// What a job takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) taken: Selection,
    /// Vader carries what a network on top of it sends, and no messages.
    pub(crate) vader_is_wire: bool,
}

impl Choice {
    /// What a job takes of what the parameters allow. `shares_memory`: processes of this node do. `wants` is what the
    /// message layer needs.
    ///
    /// # Errors
    /// Nothing leads to the others, or two networks are to be asked when a process sleeps.
    pub(crate) fn new(
        job: &dyn Cards,
        values: &mca::Values,
        shares_memory: bool,
        wants: Wants,
    ) -> Result<Choice, Lines> {
        let mut taken = BtlParams::read(values)?.btl;
        let nic_matches = wants == Wants::MatchingNic;
        let is_reliable_everywhere = wants == Wants::Reliability { everywhere: true };
        taken.dr |= is_reliable_everywhere || wants == Wants::Reliability { everywhere: false };
        // What is sent again when it is damaged is verified.
        taken.verify = (taken.verify || wants == Wants::Verification) && !taken.dr && !nic_matches;
        let several = !job.is_one_node();
        let messages_by_vader = taken.vader && !nic_matches;
        // Where vader reaches all processes, neither Portals nor libfabric has anything to do.
        let is_needed = several || !messages_by_vader || !shares_memory;
        taken.portals = (taken.portals || nic_matches) && is_needed;
        taken.ofi &= is_needed;
        if taken.udp && !taken.dr {
            return Err(datagrams_alone());
        }
        if taken.portals && (taken.dr || taken.verify) {
            return Err(sums_over_a_nic(taken.dr));
        }
        let repairs_all =
            taken.dr && (is_reliable_everywhere || DrParams::read(values)?.cover_shared_memory());
        // What messages do not use is the wire of Portals. Verification stands on all there is.
        let is_below = (repairs_all || taken.verify) && taken.vader;
        let vader_is_wire = shares_memory && (taken.portals && !messages_by_vader || is_below);
        taken.vader = (messages_by_vader || vader_is_wire) && shares_memory;
        let wired_by_tcp = taken.portals && (several || !shares_memory);
        // A user who has set nothing need not know that several hosts need a network. One host opens none.
        taken.tcp |= wired_by_tcp || several && values.are_defaults(BtlParams::PARAMS);
        // Shared memory loses nothing: without a network there may be nothing to repair.
        taken.dr &= vader_is_wire || taken.networks().any(|name| name != "dr");
        if taken.portals
            && let Some(other) = taken.networks().find(|name| !["tcp", "portals"].contains(name))
        {
            return Err(two_networks(other));
        }
        let leads_somewhere =
            taken.vader || taken.networks().any(|name| !["portals", "dr", "verify"].contains(&name));
        if leads_somewhere || job.size() == 1 {
            return Ok(Choice { taken, vader_is_wire });
        }
        Err(unreachable(job, shares_memory))
    }
}

/// One network is enough, and each wants to be asked when a process sleeps.
fn two_networks(other: &str) -> Lines {
    Lines::of(&format!(
        "choosing transports failed\n\
         seen: the parameter btl names both {other} and portals\n\
         choose one: --mca btl self,portals, or --mca btl self,{other}"
    ))
}

/// What a network of datagrams loses is lost, unless a layer sends it again.
fn datagrams_alone() -> Lines {
    Lines::of(
        &"choosing transports failed\n\
          seen: the parameter btl names udp, whose datagrams the network may lose, without data reliability\n\
          put that over it: --mca pml dr --mca btl self,vader,udp; or choose tcp",
    )
}

/// A software NIC has retries of its own, and wants to be asked alone when a process sleeps.
fn sums_over_a_nic(repairs: bool) -> Lines {
    let (what, instead) = match repairs {
        true => ("data reliability (pml dr)", "--mca pml dr"),
        false => ("verification (mpi_checksum verify)", "--mca mpi_checksum verify"),
    };
    Lines::of(&format!(
        "choosing transports failed\n\
         seen: {what} and a Portals NIC (btl portals) are both asked for\n\
         choose one: {instead} --mca btl self,vader,tcp, or --mca btl self,portals"
    ))
}

/// Nothing leads to the others: there is no shared memory, or it may not be used.
fn unreachable(job: &dyn Cards, shares_memory: bool) -> Lines {
    let seen = match shares_memory {
        true => "the parameter btl allows no transport between processes",
        false => "the launcher gave this node no shared memory, and the parameter btl allows nothing else",
    };
    Lines::of(&format!(
        "rank {} cannot reach the other {} ranks of its job\n\
         seen: {seen}\n\
         start all ranks on one node with Alhena's own mpiexec, or allow a network: --mca btl self,vader,tcp",
        job.me().0,
        job.size() - 1,
    ))
}

#[cfg(test)]
mod tests {
    use super::{BtlParams, Selection};
    use mca::Type;

    #[test]
    fn transports_are_chosen_by_name() {
        let chosen = |text| Selection::parse(text).map(names);
        assert_eq!(chosen("self,ugni"), Some("ugni".into()));
        assert_eq!(chosen("sm,self,ugni"), Some("vader,ugni".into()));
        assert_eq!(chosen("^ugni"), Some("vader".into()));
        assert_eq!(chosen("^sm"), Some(String::new()));
        assert_eq!(chosen("self,tcp"), Some("tcp".into()));
        assert_eq!(chosen("self,tcp,dr"), Some("tcp,dr".into()));
        assert_eq!(chosen("self,ib"), None);
        assert_eq!(chosen("self,vader,ofi"), Some("vader,ofi".into()));
        assert_eq!(chosen("portals,self"), Some("portals".into()));
        assert_eq!(chosen("^portals"), Some("vader".into()));
        assert_eq!(names(BtlParams::default().btl), "vader");
    }

    fn names(chosen: Selection) -> String {
        let vader = chosen.vader.then_some("vader");
        vader.into_iter().chain(chosen.networks()).collect::<Vec<_>>().join(",")
    }
}
