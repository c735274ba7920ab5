//! Two groups meet: what their leaders have agreed on becomes an inter-communicator.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use abi::{Error, Result};
use btl::Peer;
use communicators::acquaint::{self, Encounter, Side, share_text};
use engine::Lane;
use objects::domain::Token;
use objects::state::State;
use objects::wait::wait_for;
use platform::eventfd::EventFd;

use crate::talk::Offer;

/// A group that is about to meet another one.
pub(crate) struct Group {
    pub(crate) comm: abi::Comm,
    pub(crate) root: u32,
    pub(crate) is_root: bool,
    pub(crate) side: Side,
}

impl Group {
    /// The processes of `comm`, with their cards.
    ///
    /// # Errors
    /// No intra-communicator, or no rank of it; or a process cannot be reached: for all alike.
    pub(crate) fn of(t: &mut Token, comm: abi::Comm, root: i32) -> Result<Group> {
        let (root, is_root) = {
            let state = t.lock();
            let found = state.comm(comm)?;
            if found.is_inter() {
                return Err(Error::new(abi::ERR_COMM, "the communicator is an inter-communicator"));
            }
            let size = found.size();
            let root = u32::try_from(root).ok().filter(|&root| root < size);
            let root = root.ok_or(Error::new(abi::ERR_ROOT, "the root is no rank of the communicator"))?;
            (root, found.rank == root)
        };
        Ok(Group { comm, root, is_root, side: acquaint::side(t, comm)? })
    }

    /// What the root offers the other leader.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub(crate) fn offer(&self) -> Result<Offer> {
        Ok(Offer { encounter: Encounter::new()?, leader: self.root, side: self.side.clone() })
    }

    /// Meets the group with whose leader `talk`, the root's part, comes to an agreement: the inter-communicator of both.
    ///
    /// # Errors
    /// The root's, for all alike; or that the other group is lost.
    pub(crate) fn meet(
        &self,
        t: &mut Token,
        talk: impl FnOnce(&mut Token) -> Result<Offer>,
    ) -> Result<abi::Comm> {
        self.meet_along(t, &mut String::new(), |t, _| talk(t))
    }

    /// As [`Group::meet`]; all get the words that the root's part writes into `along`, after its error, too.
    pub(crate) fn meet_along(
        &self,
        t: &mut Token,
        along: &mut String,
        talk: impl FnOnce(&mut Token, &mut String) -> Result<Offer>,
    ) -> Result<abi::Comm> {
        let talked = self.is_root.then(|| talk(t, along));
        let bound = talked.as_ref().and_then(|talked| talked.as_ref().ok().cloned());
        let mut text = talked.map_or_else(String::new, |talked| encode(talked, along));
        let made = self.go_on(t, &mut text, along);
        if let (Err(error), Some(offer)) = (&made, bound) {
            // The other leader is lost: then it does not wait either.
            let _ = refuse(t, &offer, *error);
        }
        made
    }

    /// Joins the group that the root has met, of which `text` is what all are to know.
    fn go_on(&self, t: &mut Token, text: &mut String, along: &mut String) -> Result<abi::Comm> {
        share_text(t, self.comm, self.root, text)?;
        let (line, rest) = text.split_once('\n').ok_or(GARBLED)?;
        line.clone_into(along);
        let Offer { encounter, leader: far, side: other } = parse(rest)?;
        let remote = acquaint::meet(t, &other)?;
        let made = self.join(t, (Arc::clone(&remote), far), encounter);
        let mut state = t.lock();
        if made.is_err() {
            self.report_failures(&mut state);
        }
        state.p2p.release(remote.members());
        made
    }

    /// The other group may have the inter-communicator already, and learns which of its members have failed.
    fn report_failures(&self, state: &mut State) {
        let Ok(comm) = state.comm(self.comm) else { return };
        for peer in state.failed_in(comm) {
            (state.on_failure)(state, Peer(peer));
        }
    }

    fn join(
        &self,
        t: &mut Token,
        (remote, far): (Arc<objects::group::Group>, u32),
        encounter: Encounter,
    ) -> Result<abi::Comm> {
        let ours: Vec<u32> = t.lock().comm(self.comm)?.group.members().to_vec();
        if remote.members().iter().any(|peer| ours.contains(peer)) {
            return Err(Error::new(abi::ERR_COMM, "the two groups overlap"));
        }
        crate::parting::settle_waiting(&mut t.lock());
        communicators::between(t, (self.comm, self.root), (remote, far), encounter)
    }

    /// As [`apart`]. When a process of the group fails, or the communicator is revoked, the descriptor that `work` gets is readable,
    /// and `work` ends soon: with a result that `binds`, or there is none.
    ///
    /// # Errors
    /// As [`apart`]; `MPIX_ERR_PROC_FAILED`, `MPIX_ERR_REVOKED`.
    pub(crate) fn apart<R: Send + 'static>(
        &self,
        t: &mut Token,
        binds: fn(&R) -> bool,
        work: impl FnOnce(i32) -> R + Send + 'static,
    ) -> Result<R> {
        let failed = Error::new(abi::ERR_NO_MEM, "there is no descriptor for the wait");
        let cancel = EventFd::new().map_err(|error| failed.described(|| error.to_string()))?;
        let cancel = Arc::new(cancel);
        let of_worker = Arc::clone(&cancel);
        let place = begin_apart(move || work(of_worker.as_fd().as_raw_fd()))?;
        let comm = self.comm;
        let mut failure = None;
        let result = wait_for(t, |state| {
            if failure.is_none() {
                failure = state.check_whole(comm).err();
                failure.iter().for_each(|_| cancel.signal());
            }
            take(&place)
        });
        failure.filter(|_| !binds(&result)).map_or(Ok(result), Err)
    }
}

/// Has the other leader know that this one does not go on, and why.
fn refuse(t: &mut Token, offer: &Offer, error: Error) -> Result<()> {
    let remote = acquaint::meet(t, &offer.side)?;
    let far = remote.members()[offer.leader as usize];
    let refused = communicators::refuse_between(t, far, offer.encounter, error);
    t.lock().p2p.release(remote.members());
    refused
}

const GARBLED: Error = Error::new(abi::ERR_INTERN, "the root has shared what makes no sense");

fn encode(outcome: Result<Offer>, along: &str) -> String {
    let along = along.replace('\n', " ");
    match outcome {
        Ok(offer) => format!("{along}\n{} {}", abi::SUCCESS, offer.encode()),
        Err(error) => format!("{along}\n{} {}", error.class, error.into_text()),
    }
}

fn parse(text: &str) -> Result<Offer> {
    let (class, rest) = text.split_once(' ').ok_or(GARBLED)?;
    match class.parse().map_err(|_| GARBLED)? {
        abi::SUCCESS => Offer::parse(rest).ok_or(GARBLED),
        class => {
            let what = "another rank, the root, has failed";
            Err(Error::new(class, what).described(|| rest.to_owned()))
        }
    }
}

/// Runs `work`, which may block, on a thread of its own, and waits for it: other threads of the program go on.
///
/// # Errors
/// `MPI_ERR_NO_MEM`: no thread can be started.
pub(crate) fn apart<R: Send + 'static>(
    t: &mut Token,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R> {
    let place = begin_apart(work)?;
    Ok(wait_for(t, |_| take(&place)))
}

/// Where the result of what runs apart will be.
type Place<R> = Arc<Mutex<Option<R>>>;

fn begin_apart<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Result<Place<R>> {
    /// Lanes of calls, beside those of files.
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let key = 1 << 63 | CALLS.fetch_add(1, Ordering::Relaxed);
    let place = Arc::new(Mutex::new(None));
    let of_worker = Arc::clone(&place);
    let done = move |_: &mut State, result: R| {
        *of_worker.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    };
    engine::run_blocking(Lane::Own { key, most: 1 }, move |_| work(), done)?;
    Ok(place)
}

fn take<R>(place: &Place<R>) -> Option<R> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}
