//! Whatever a peer writes into a frame, ob1 keeps its memory, its other peers and its requests in order.
//!
//! The input is a script: one byte says what happens next, the following ones are its operands.
#![no_main]

use btl::{Alone, Bounds, Btl, Peer};
use btl_mock::{Net, Options, Port};
use libfuzzer_sys::fuzz_target;
use mem::UserMem;
use pml::{Data, LayerState, Mode, Pattern, Receives, ReqId, SendTo, Sends};
use pml_ob1::{Config, Ob1};

const ROGUE: Peer = Peer(0);
const VICTIM: Peer = Peer(1);
/// Bytes behind each buffer of the victim that must stay as they are.
const GUARD: usize = 16;

struct Victim {
    ob1: Ob1,
    port: Port,
    buffers: Vec<Vec<u8>>,
    requests: Vec<ReqId>,
}

impl Victim {
    fn buffer(&mut self, len: usize) -> UserMem {
        self.buffers.push(vec![0xEE; len + GUARD]);
        let buffer = self.buffers.last_mut().expect("just pushed");
        // SAFETY: buffers live, and stay where they are, until the machine is dropped.
        unsafe { UserMem::of(&mut buffer[..len]) }
    }

    fn progress(&mut self) {
        btl::poll(&mut Alone(&mut self.port, &mut self.ob1), Bounds::USUAL);
    }

    fn send(&mut self, len: usize, mode: Mode) {
        let data = Data::Contiguous(self.buffer(len));
        let to = SendTo { peer: ROGUE, context: 0, source: 1, tag: 1, owner: 0 };
        if let Ok(Some(id)) = self.ob1.isend(&mut self.port, &to, data, mode) {
            self.requests.push(id);
        }
    }

    fn receive(&mut self, len: usize, tag: i32) {
        let data = Data::Contiguous(self.buffer(len));
        let pattern = Pattern { context: 0, source: 0, tag, peer: Some(ROGUE), owner: 0 };
        if let Ok(id) = self.ob1.irecv(&mut self.port, &pattern, data) {
            self.requests.push(id);
        }
    }
}

/// Takes `len` bytes off the script, or what is left of it.
fn take<'a>(script: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (taken, rest) = script.split_at(len.min(script.len()));
    *script = rest;
    taken
}

fn byte(script: &mut &[u8]) -> usize {
    take(script, 1).first().map_or(0, |&byte| usize::from(byte))
}

fn rogue_writes(rogue: &mut Port, script: &mut &[u8]) {
    let words = byte(script) % 9;
    let header: Vec<u64> = take(script, 8 * words)
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
        .collect();
    let mut payload = vec![0x55; byte(script) % 200];
    // SAFETY: `send` copies the payload.
    let mut payload = unsafe { UserMem::of(&mut payload) };
    let _ = rogue.send(VICTIM, &header, &mut payload);
}

fuzz_target!(|script: &[u8]| {
    let mut script = script;
    let choices = byte(&mut script);
    let mut options = Options { slots: 1 << 12, ..Options::new(2) };
    options.limits.eager = 20;
    options.limits.max_send = 200;
    options.limits.min_rdma = 40;
    options.limits.get = choices & 1 != 0;
    options.limits.put = choices & 2 != 0;
    options.limits.get_align = if choices & 4 != 0 { 4 } else { 1 };
    let net = Net::new(options);
    let mut rogue = net.port(ROGUE.0);
    let mut victim = Victim {
        ob1: Ob1::new(Config::new(2)),
        port: net.port(VICTIM.0),
        buffers: Vec::new(),
        requests: Vec::new(),
    };
    while !script.is_empty() {
        match byte(&mut script) % 8 {
            0..4 => rogue_writes(&mut rogue, &mut script),
            4 => victim.send(byte(&mut script), Mode::Standard),
            5 => victim.send(byte(&mut script), Mode::Synchronous),
            6 => {
                let (len, tag) = (byte(&mut script), byte(&mut script) as i32 - 2);
                victim.receive(len, tag.max(abi::ANY_TAG));
            }
            _ => {
                victim.progress();
            }
        }
    }
    for _ in 0..20 {
        victim.progress();
    }
    // The end of the peer ends everything that depends on it.
    net.kill(ROGUE.0);
    for _ in 0..20 {
        victim.progress();
    }
    for id in std::mem::take(&mut victim.requests) {
        assert!(victim.ob1.take(id).is_some(), "a request outlived its peer");
    }
    assert!(victim.ob1.idle() && net.exposures() == 0);
    for buffer in &victim.buffers {
        assert!(buffer[buffer.len() - GUARD..].iter().all(|&byte| byte == 0xEE));
    }
});
