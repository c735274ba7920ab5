//! Shared memory under a launcher that gives none: the lowest rank of a node makes it and hands it to its
//! neighbours over a Unix socket in the abstract namespace (nothing in the file system).
//!
//! ```text
//!   host (lowest local rank)                         guest
//!    │                                                 │   guest checks the user of the host, host that of the
//!    │ ◄──────────── nonce, place, processors ───────  │   guest (SO_PEERCRED: the kernel's word), then the nonce;
//!    │   … until all guests are there                  │   both note the other's pid
//!    │ ── job, oversubscribed or not, pids of ───────► │
//!    │    all local ranks; descriptor                  │   they stay connected ([`crate::foreign`])
//! ```
//!
//! The socket's name and the nonce are random and travel through the launcher's key-value space, which only
//! ranks of the job can read. A stranger that connects is dropped; nothing is read from another user's process, and
//! nothing sent to it.

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use platform::memory_file::MemoryFile as Segment;

use crate::affinity::{self, Mask};
use crate::connection::Connection;
use crate::{Error, scm, socket};

const STEP: &str = "MPI_Init: shared memory of this node";
/// Bytes of a guest's hello: nonce, place among the local ranks, processors that it may use.
const HELLO: usize = 16 + 4 + size_of::<Mask>();
/// Bytes of the host's answer before the pids: number of the job, 1 where the node is oversubscribed.
const ANSWER: usize = 8 + 1;
/// A stranger that connects and stays silent holds the host up for this long at most.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a rank knows of its node once all ranks of it have met.
pub(crate) struct Met {
    pub(crate) pids: Vec<i32>,
    pub(crate) segment: Segment,
    pub(crate) job_id: u64,
    /// There are more ranks than processors, counting every processor that some rank of the node may use. (A launcher
    /// that binds ranks leaves each of them with a few only.)
    pub(crate) oversubscribed: bool,
}

/// How a guest finds its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    name: u64,
    nonce: u128,
    bytes: u64,
}

impl Card {
    pub(crate) fn encode(&self) -> String {
        format!("{:016x}:{:032x}:{}", self.name, self.nonce, self.bytes)
    }

    pub(crate) fn parse(text: &str) -> Option<Card> {
        let mut fields = text.split(':');
        let name = u64::from_str_radix(fields.next()?, 16).ok()?;
        let nonce = u128::from_str_radix(fields.next()?, 16).ok()?;
        let bytes = fields.next()?.parse().ok()?;
        fields.next().is_none().then_some(Card { name, nonce, bytes })
    }

    /// Guest: what it learns of the `local_size` ranks of this node, and the connection with the host. `place` is the
    /// caller's.
    pub(crate) fn fetch(&self, place: usize, local_size: usize) -> Result<(Met, Connection), Error> {
        let (mut stream, host) = socket::connect(self.name)
            .map_err(Error::io("MPI_Init: connecting to the lowest rank of this node"))?;
        let mut hello = [0; HELLO];
        hello[..16].copy_from_slice(&self.nonce.to_le_bytes());
        hello[16..20].copy_from_slice(&(place as u32).to_le_bytes());
        let words = hello[20..].chunks_exact_mut(8).zip(affinity::allowed());
        words.for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        send_all(&stream, &hello)?;

        let mut message = vec![0; ANSWER + local_size * 4];
        let first = scm::receive(stream.as_fd(), &mut message).map_err(Error::io(STEP))?;
        let fd = first.fds.into_iter().next().ok_or(Error::Lost { step: STEP })?;
        stream.read_exact(&mut message[first.bytes..]).map_err(|_| Error::Lost { step: STEP })?;
        let (job, rest) = message.split_first_chunk::<8>().ok_or(Error::Lost { step: STEP })?;
        let mut pids: Vec<i32> =
            rest[1..].chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        pids[0] = host;
        pids[place] = std::process::id() as i32;
        let segment = Segment { fd, bytes: self.bytes };
        let met = Met { pids, segment, job_id: u64::from_le_bytes(*job), oversubscribed: rest[0] == 1 };
        Ok((met, Connection::over(stream)))
    }
}

/// The lowest local rank's side.
pub(crate) struct Host {
    card: Card,
    listener: UnixListener,
    segment: Segment,
}

impl Host {
    /// Makes `bytes` of shared memory and a socket to hand it out.
    pub(crate) fn new(bytes: u64) -> Result<Host, Error> {
        let nonce = platform::random::secret().map_err(Error::io("getrandom"))?;
        let card = Card { name: crate::random()?, nonce, bytes };
        let listener = socket::listen(card.name).map_err(Error::io(STEP))?;
        let segment = Segment::create(bytes)
            .and_then(|segment| segment.allocate_with_room().map(|()| segment))
            .map_err(|source| Error::Segment { bytes, source })?;
        Ok(Host { card, listener, segment })
    }

    pub(crate) fn card(&self) -> &Card {
        &self.card
    }

    /// Waits for the `local_size - 1` guests, then sends all of them what they have to know. Returns the connections
    /// with them, too, by place.
    pub(crate) fn serve(self, job_id: u64, local_size: usize) -> Result<(Met, Vec<Connection>), Error> {
        let mut pids = vec![0; local_size];
        pids[0] = std::process::id() as i32;
        let mut processors = affinity::allowed();
        let mut guests = Vec::with_capacity(local_size - 1);
        while guests.len() < local_size - 1 {
            let (stream, _) = self.listener.accept().map_err(Error::io(STEP))?;
            if let Some(guest) = self.admit(&stream, &pids) {
                pids[guest.place] = guest.pid;
                affinity::add(&mut processors, &guest.processors);
                guests.push((guest.place, stream));
            }
        }
        let oversubscribed = local_size > affinity::count(&processors);
        let mut message = job_id.to_le_bytes().to_vec();
        message.push(oversubscribed.into());
        message.extend(pids.iter().flat_map(|pid| pid.to_le_bytes()));
        for (_, guest) in &guests {
            let sent =
                scm::send(guest.as_fd(), &message, &[self.segment.fd.as_fd()]).map_err(Error::io(STEP))?;
            send_all(guest, &message[sent..])?;
        }
        guests.sort_unstable_by_key(|(place, _)| *place);
        let guests = guests.into_iter().map(|(_, stream)| Connection::over(stream)).collect();
        Ok((Met { pids, segment: self.segment, job_id, oversubscribed }, guests))
    }

    /// A guest that proves to belong to this job; `None` for any other caller.
    fn admit(&self, mut stream: &UnixStream, pids: &[i32]) -> Option<Guest> {
        let pid = socket::peer_of_same_user(stream.as_fd()).ok()?;
        stream.set_read_timeout(Some(TIMEOUT)).ok()?;
        let mut hello = [0; HELLO];
        stream.read_exact(&mut hello).ok()?;
        stream.set_read_timeout(None).ok()?;
        let (nonce, rest) = hello.split_first_chunk::<16>()?;
        let (place, words) = rest.split_first_chunk::<4>()?;
        let place = u32::from_le_bytes(*place) as usize;
        let mut processors = Mask::default();
        let words = processors.iter_mut().zip(words.as_chunks::<8>().0);
        words.for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
        let known = u128::from_le_bytes(*nonce) == self.card.nonce;
        (known && pids.get(place) == Some(&0)).then_some(Guest { place, pid, processors })
    }
}

/// A rank that has proven itself to the host.
struct Guest {
    place: usize,
    pid: i32,
    processors: Mask,
}

/// Sends all of `bytes`, without a signal where the guest reads them no more.
fn send_all(stream: &UnixStream, bytes: &[u8]) -> Result<(), Error> {
    scm::send_all(stream.as_fd(), bytes).map_err(Error::io(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;
    use std::thread;

    #[test]
    fn guests_get_the_memory_and_strangers_do_not() {
        let host = Host::new(1 << 20).unwrap();
        let card = Card::parse(&host.card().encode()).unwrap();
        assert_eq!(card, *host.card());
        let stranger = Card { nonce: card.nonce ^ 1, ..card.clone() };
        let mut guests = vec![thread::spawn(move || stranger.fetch(1, 3).is_err())];
        for place in 1..3 {
            let card = card.clone();
            guests.push(thread::spawn(move || {
                let (met, _host) = card.fetch(place, 3).unwrap();
                let mut bytes = [0; 5];
                let file = std::fs::File::from(met.segment.fd);
                while bytes != *b"hello" {
                    file.read_exact_at(&mut bytes, 0).unwrap();
                }
                met.job_id == 7 && met.pids == vec![std::process::id() as i32; 3]
            }));
        }
        let (met, connections) = host.serve(7, 3).unwrap();
        assert_eq!(connections.len(), 2);
        std::fs::File::from(met.segment.fd).write_all_at(b"hello", 0).unwrap();
        assert_eq!(met.pids, vec![std::process::id() as i32; 3]);
        assert!(guests.into_iter().all(|guest| guest.join().unwrap()));
    }

    /// Runs `work` as another user, which only this thread becomes; `None` where that is not allowed.
    fn as_other_user<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
        let thread = thread::spawn(|| {
            // SAFETY: the bare system call changes this thread alone; it takes plain values.
            let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
            (changed == 0).then(work)
        });
        thread.join().unwrap()
    }

    #[test]
    fn nothing_is_read_from_another_user() {
        let host = Host::new(1 << 20).unwrap();
        let card = host.card().clone();
        let (about, nonce) = (socket::address(host.card().name).unwrap(), card.nonce.to_le_bytes());
        let caller = as_other_user(move || {
            let mut stream = UnixStream::connect_addr(&about).unwrap();
            stream.write_all(&nonce).unwrap();
            stream.write_all(&[1; HELLO - 16]).unwrap();
            stream
        });
        let Some(mut caller) = caller else { return };
        let (stream, _) = host.listener.accept().unwrap();
        assert!(host.admit(&stream, &[1, 0]).is_none());
        drop(stream);
        // A socket that is closed with bytes not read resets the connection.
        let seen = caller.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(seen, Err(std::io::ErrorKind::ConnectionReset));
    }

    #[test]
    fn nothing_is_sent_to_another_user() {
        let card = Card { name: crate::random().unwrap(), nonce: 5, bytes: 1 };
        let about = socket::address(card.name).unwrap();
        let Some(listener) = as_other_user(move || UnixListener::bind_addr(&about).unwrap()) else { return };
        let guest = thread::spawn(move || card.fetch(1, 2).is_err());
        let (mut stream, _) = listener.accept().unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        drop(stream);
        assert!(guest.join().unwrap());
    }

    #[test]
    fn broken_cards_are_refused() {
        for text in ["", "1:2", "1:2:3:4", "x:2:3", "1:2:-3"] {
            assert_eq!(Card::parse(text), None, "{text}");
        }
    }
}
