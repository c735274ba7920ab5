//! Whatever a process manager or a rank writes, slots and their values are found or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pmi::welcome::Welcome;
use pmi::wire::{Slot, LineBuffer, escape, unescape};

fuzz_target!(|bytes: &[u8]| {
    let mut buffer = LineBuffer::default();
    // In two pieces, as a stream may deliver it.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for piece in [first, second] {
        buffer.push(piece);
        while let Ok(Some(text)) = buffer.next_line() {
            if let Some(slot) = Slot::new(text) {
                let _ = (slot.command(), slot.get_rest("msg"), slot.number::<u32>("size"));
                for (key, value) in slot.pairs() {
                    let _ = (slot.get(key), unescape(value));
                }
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert_eq!(unescape(&escape(text)), text);
        let _ = Welcome::parse(text);
        let _ = pmi::mapping::parse(text, 64);
    }
});
