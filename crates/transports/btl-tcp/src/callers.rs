//! Callers at the port, which may be strangers.

use crate::network::{STRANGER, Socket};
use crate::transport::Tcp;
use platform::descriptor::is_shortage;
use std::io;
use std::time::Instant;

/// Callers accepted in a row, before the accepted ones are read from.
const CALLERS: usize = 64;

impl Tcp {
    /// Takes callers, some at a time. Without room for more the others wait until idle connections are closed.
    pub(crate) fn accept(&mut self) {
        for _ in 0..CALLERS {
            if !self.has_room_for_caller() {
                return self.stop_listening();
            }
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
                    let socket =
                        prepared.and_then(|()| Socket::new(stream, &self.network.set, STRANGER, false));
                    // A caller that has gone already is none.
                    socket.into_iter().for_each(|socket| self.strangers.add(socket, Instant::now()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_shortage(&error) && self.strangers.give_one_up() => {}
                Err(error) => {
                    self.stop_listening();
                    self.network.is_at_limit();
                    return self.report_refusal(&error);
                }
            }
        }
    }

    /// A caller cannot be accepted, and waits; a peer that waits with it learns nothing.
    #[cold]
    fn report_refusal(&mut self, error: &io::Error) {
        if let Some(report) = self.report.take() {
            report(&format!(
                "rank {} cannot accept a TCP connection\n\
                 seen: {error}; {} connections are open\n\
                 the peer waits until descriptors are free; raise the limit for open files: ulimit -n",
                self.network.me,
                self.network.links.len()
            ));
        }
    }

    /// Reads from the callers, and takes those of the job for candidates.
    pub(crate) fn hear(&mut self) {
        let network = &self.network;
        let callers =
            self.strangers.hear_by(Instant::now(), platform::random::nonce, |who| network.expects(who));
        self.network.callers = self.strangers.callers().count();
        for (socket, who, session) in callers {
            // It may have gone meanwhile.
            let Some(at) = self.network.conversation_of(&who) else { continue };
            let Ok(wire) = self.network.take_caller(socket, at, session) else { continue };
            self.take_call(at, wire);
        }
    }
}
