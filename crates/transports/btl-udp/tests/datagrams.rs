//! Datagrams between two processes of this host.

use btl::{Btl, Peer};
use btl_udp::{Card, Listening, Udp, UdpParams};
use connect::Secret;
use mem::UserMem;

/// Two processes at the loopback, of which the second one offers another address, too.
fn two(more: &str) -> [Udp; 2] {
    let params =
        |if_include: &str| UdpParams { if_include: if_include.into(), mtu: 1500, ..UdpParams::default() };
    // The second one is at the loopback of IPv6, too, where the host has one.
    let all = [params("127.0.0.1"), params("127.0.0.1,::1")];
    let [one, other] = all.each_ref().map(|params| Listening::new(params).unwrap());
    let more = Card::parse(&format!("{} {more}", other.card().encode())).unwrap();
    let cards = [one.card(), more];
    let secret = (1, Secret::new(2));
    [one.open(Peer(0), secret, &cards, &all[0], None), other.open(Peer(1), secret, &cards, &all[1], None)]
}

/// The heads of packets of IPv6 are longer than those of IPv4.
#[test]
fn the_longest_frame_fits_where_one_process_has_more_addresses() {
    let mut ends = two("[fd00::1]:9");
    let longest = ends[0].limits(Peer(1)).max_send;
    assert_eq!(longest, 1500 - 48 - connect::datagram::OVERHEAD - 8 - 8 * btl::MAX_HEADER_WORDS);
    assert_eq!(ends[1].limits(Peer(0)).max_send, longest);
    let mut bytes = vec![7; longest];
    for (from, to) in [(0, 1), (1, 0)] {
        // SAFETY: the bytes live until the end of this test.
        let mut payload = unsafe { UserMem::of(&mut bytes) };
        let header = [1; btl::MAX_HEADER_WORDS];
        ends[from].send(Peer(to as u32), &header, &mut payload).expect("room");
        let arrival = (0..1_000_000).find_map(|_| ends[to].next_arrival()).expect("it arrives");
        assert_eq!(arrival.payload.len(), longest);
        ends[to].release(arrival);
    }
}
