//! Which transports may be used.

/// The transports that the parameter `btl` allows. `self` is always used, named or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// Between processes of one node.
    pub vader: bool,
    /// Over Gemini.
    pub ugni: bool,
    /// Over Portals.
    pub portals: bool,
    /// Over libfabric.
    pub ofi: bool,
    /// Over TCP.
    pub tcp: bool,
}

/// The names that the parameter accepts.
const NAMES: &[&str] = &["self", "vader", "sm", "ugni", "tcp", "portals", "ofi"];

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
        let network = |place: usize| chosen[place] && !exclusive;
        Some(Selection { vader, ugni: network(3), portals: network(5), ofi: network(6), tcp: network(4) })
    }
}

mca::params! {
    /// The choice of transports.
    pub struct BtlParams("") {
        /// Transports that may carry messages, separated by commas: self (a rank to itself; always used), vader or
        /// sm (ranks of one node), ugni (Gemini, in software), portals (Portals, in software), ofi (libfabric) or tcp: all
        /// ranks; those of the node only without vader.
        /// `^vader` allows all defaults but that.
        btl: Selection = "self,vader", scope AllEq;
    }
}

#[cfg(test)]
mod tests {
    use super::{BtlParams, Selection};
    use mca::Type;

    #[test]
    fn transports_are_chosen_by_name() {
        let chosen =
            |text| Selection::parse(text).map(|Selection { vader, ugni, tcp, .. }| (vader, ugni, tcp));
        assert_eq!(chosen("self,ugni"), Some((false, true, false)));
        assert_eq!(chosen("sm,self,ugni"), Some((true, true, false)));
        assert_eq!(chosen("^ugni"), Some((true, false, false)));
        assert_eq!(chosen("^sm"), Some((false, false, false)));
        assert_eq!(chosen("self,tcp"), Some((false, false, true)));
        assert_eq!(chosen("self,ib"), None);
        let ofi = |text| Selection::parse(text).map(|chosen| (chosen.vader, chosen.ofi, chosen.tcp));
        assert_eq!(ofi("self,vader,ofi"), Some((true, true, false)));
        let portals = |text| Selection::parse(text).map(|chosen| (chosen.vader, chosen.portals));
        assert_eq!(portals("portals,self"), Some((false, true)));
        assert_eq!(portals("^portals"), Some((true, false)));
        let defaults = Selection { vader: true, ugni: false, portals: false, ofi: false, tcp: false };
        assert_eq!(BtlParams::default().btl, defaults);
    }
}
