//! Where the frames of one peer leave: by the ways of the table below, with faults on request.

use btl::{Peer, Way, Ways};
use dr::{Full, Port, Time};
use mem::PeerBytes;

use crate::faults::{Fate, Faults};

/// A frame that leaves after the next one.
#[derive(Debug)]
pub(crate) struct Held {
    peer: Peer,
    way: Way,
    header: Vec<u64>,
    body: Vec<u8>,
}

/// The way out to one peer, for the time of a call.
pub(crate) struct Out<'a, B> {
    pub(crate) below: &'a mut B,
    pub(crate) faults: Option<&'a mut Faults>,
    pub(crate) held: &'a mut Option<Held>,
    pub(crate) peer: Peer,
    pub(crate) ways: &'a [Way],
    pub(crate) now: Time,
}

impl<B: Ways> Out<'_, B> {
    fn send(&mut self, way: Way, header: &[u64], body: &[u8]) -> Result<(), Full> {
        self.below.send_by(way, self.peer, header, &mut PeerBytes::of(body)).map_err(|_| Full)
    }

    #[cold]
    fn send_with_fate(&mut self, fate: Fate, way: Way, header: &[u64], body: &[u8]) -> Result<(), Full> {
        match fate {
            Fate::Leaves(times) => (0..times).try_for_each(|_| self.send(way, header, body))?,
            Fate::Damaged(bit) => {
                let (mut header, mut body) = (header.to_vec(), body.to_vec());
                match bit.checked_sub(header.len() * 64) {
                    None => header[bit / 64] ^= 1 << (bit % 64),
                    Some(bit) => body[bit / 8] ^= 1 << (bit % 8),
                }
                self.send(way, &header, &body)?;
            }
            Fate::Late => {
                let held = Held { peer: self.peer, way, header: header.to_vec(), body: body.to_vec() };
                let earlier = self.held.replace(held);
                self.send_held(earlier);
                return Ok(());
            }
        }
        let held = self.held.take();
        self.send_held(held);
        Ok(())
    }

    /// Lets a frame leave that was held back; without room it is one more that is lost.
    fn send_held(&mut self, held: Option<Held>) {
        if let Some(Held { peer, way, header, body }) = held {
            let _ = self.below.send_by(way, peer, &header, &mut PeerBytes::of(&body));
        }
    }
}

impl<B: Ways> Port for Out<'_, B> {
    fn transmit(&mut self, path: u8, header: &[u64], body: &[u8]) -> Result<(), Full> {
        let way = self.ways[usize::from(path)];
        let Some(faults) = &mut self.faults else { return self.send(way, header, body) };
        if faults.is_cut(path, self.now) {
            return Ok(());
        }
        let fate = faults.draw(header.len() * 64 + body.len() * 8);
        self.send_with_fate(fate, way, header, body)
    }
}
