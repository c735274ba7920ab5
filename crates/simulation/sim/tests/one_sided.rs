//! The poster's comparison on virtual time: low-level puts and gets, those of MPI, and two-sided messages.

use sim::experiments::{Contender, Measure, gather, one_sided};
use sim::paper::{FITTED, setup};
use sim::programs::Calls;
use sim::{Interface, Setup};

/// A size of each protocol, and both sides of each limit between them.
const SIZES: [usize; 11] = [1, 8, 512, 1008, 1012, 4096, 8176, 8195, 1 << 16, 1 << 20, (8 << 20) + 4];

fn of_all(machine: &Setup, measure: Measure, bytes: usize) -> [f64; 3] {
    [Contender::Light, Contender::Mpi, Contender::Messages]
        .map(|by| one_sided(machine, by, measure, bytes).expect("an experiment"))
}

/// S15: low-level puts and gets are ahead of two-sided messages, and not behind those of MPI, at any size: until they have
/// arrived, until their end is known (beside messages with an answer), and several at a time. Where the NIC is the limit
/// of several ranks, equal is within a hundredth.
#[test]
fn low_level_is_ahead_of_messages_and_not_behind_mpi() {
    for (ranks_per_node, bytes) in [1, 4].into_iter().flat_map(|ranks| SIZES.map(|bytes| (ranks, bytes))) {
        let machine = Setup { ranks_per_node, ..setup(FITTED) };
        let several = if bytes <= 4096 { 16 } else { 8 };
        for measure in [
            Measure::Arrival,
            Measure::PutDone,
            Measure::GetDone,
            Measure::Puts(several),
            Measure::Gets(several),
        ] {
            let [light, mpi, messages] = of_all(&machine, measure, bytes);
            let seen = format!("{measure:?} of {bytes} bytes, {ranks_per_node} ranks a node");
            let is_by_nic = ranks_per_node > 1 && matches!(measure, Measure::Puts(_) | Measure::Gets(_));
            let allowed = if is_by_nic { mpi * 1.01 } else { mpi };
            assert!(light <= allowed && light < messages, "{seen}: {light} {mpi} {messages}");
        }
    }
}

/// What the put costs beside the network is a call: its target has it sooner than a flush after it returns.
#[test]
fn a_put_arrives_before_its_end_is_known() {
    for bytes in SIZES.into_iter().filter(|&bytes| bytes <= 1 << 20) {
        let of =
            |measure| one_sided(&setup(FITTED), Contender::Light, measure, bytes).expect("an experiment");
        let (arrived, done) = (of(Measure::Arrival), of(Measure::PutDone));
        assert!(arrived < done, "{bytes}: {arrived} {done}");
    }
}

/// A gather by puts with a notice is over before MPI's, and never much later where the root's NIC is the limit.
#[test]
fn a_gather_by_puts_is_ahead() {
    for (nodes, bytes) in [(2, 4096), (2, 1 << 20), (16, 4096), (16, 1 << 18), (64, 4096), (64, 1 << 16)] {
        let of = |by| gather(&setup(FITTED), by, Calls::Apart, nodes, bytes).expect("an experiment");
        let (light, mpi) = (of(Interface::Light), of(Interface::Mpi));
        let allowed = if bytes == 4096 { mpi } else { mpi * 1.02 };
        assert!(light < allowed, "{bytes} bytes from {nodes} nodes: {light} {mpi}");
    }
}

/// Calls in a row overlap, since a rank may be ahead of the root; the NIC's rate is the end of it.
#[test]
fn gathers_in_a_row_overlap() {
    let of = |calls| gather(&setup(FITTED), Interface::Light, calls, 8, 1 << 16).expect("an experiment");
    let (apart, in_a_row) = (of(Calls::Apart), of(Calls::BackToBack));
    assert!(in_a_row < apart, "{apart} {in_a_row}");
    assert!(7.0 * f64::from(1 << 16) / in_a_row < FITTED.nic_rate, "{in_a_row}");
}
