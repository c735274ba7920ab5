//! How a transport opens: what it publishes for the other processes of the job, and what it learns of them.
//!
//! ```text
//!   this process                  the job's key space               the others
//!   begin: put the own card ───►  alhena-tcp of rank 0, of rank 1 … ◄─── begin
//!   ─────────────────────────────── fence ───────────────────────────────
//!   open: get all cards ◄───────                              ───────► open
//! ```
//! The owner of all transports calls [`Join::begin`] of those that the job takes, meets the other processes once, and
//! calls [`Join::open`] of each. A transport knows nothing of launchers: the key space is a [`Cards`].

use std::fmt;
use std::io;

use shm::doorbell::{Doorbell, SharedDoorbell};

use crate::{Btl, Peer, Suspects};

/// Lines for the user, each with its beginning: what failed, what was seen, what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lines(pub String);

impl Lines {
    /// An error's lines, with the library's name before each.
    pub fn of(error: &dyn fmt::Display) -> Lines {
        Lines(format!("alhena: {}", error.to_string().replace('\n', "\nalhena: ")))
    }

    /// A call of the system that failed for want of something, and the command that shows the limit.
    pub fn system(step: &str, error: &io::Error) -> Lines {
        Lines::of(&format!("{step} failed\nseen: {error}\nlook at this process's limits: ulimit -a"))
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lines {}

impl From<mca::BadValue> for Lines {
    fn from(error: mca::BadValue) -> Lines {
        Lines(error.to_string())
    }
}

/// The job of this process, and its key space.
pub trait Cards {
    /// This process.
    fn me(&self) -> Peer;

    /// A random number that all processes of the job share and no other job has.
    fn id(&self) -> u64;

    /// The node of each process of the job.
    fn nodes(&self) -> &[u32];

    /// Whether this node has more processes of the job than processors.
    fn oversubscribed(&self) -> bool;

    /// An ancestor of all processes of this node, where the launcher has one.
    fn proxy_pid(&self) -> Option<i32>;

    /// Puts a card of this process, a line of text, which the others can get after the next fence.
    ///
    /// # Errors
    /// The launcher does not take it.
    fn put(&mut self, key: &str, card: &str) -> Result<(), Lines>;

    /// The card that a process put before the last fence; `None`: it put none.
    ///
    /// # Errors
    /// The launcher does not answer.
    fn get(&mut self, of: Peer, key: &str) -> Result<Option<String>, Lines>;

    /// The launcher's part that finds out whether a suspected host answers, if it has one.
    fn suspects(&mut self) -> Option<Box<dyn Suspects>> {
        None
    }

    /// What ends the job, with the lines to print, where a transport finds that nothing may go on.
    fn end(&self) -> fn(&str) -> ! {
        |text| {
            report(text);
            std::process::exit(1)
        }
    }

    /// Waits until all processes of the job are here. For the owner of all transports, which alone knows when.
    ///
    /// # Errors
    /// A process is gone, or the launcher.
    fn fence(&mut self) -> Result<(), Lines>;
}

impl dyn Cards + '_ {
    /// How many processes the job has.
    pub fn size(&self) -> u32 {
        self.nodes().len() as u32
    }

    /// The processes of the job, in their order.
    pub fn all(&self) -> impl Iterator<Item = Peer> + use<> {
        (0..self.size()).map(Peer)
    }

    /// The node of a process.
    pub fn node_of(&self, peer: Peer) -> u32 {
        self.nodes()[peer.0 as usize]
    }

    /// Whether all processes are on one node.
    pub fn is_one_node(&self) -> bool {
        self.nodes().iter().all(|&node| node == self.nodes()[0])
    }

    /// How many processes are on this one's node, itself included.
    pub fn local_ranks(&self) -> usize {
        let own = self.node_of(self.me());
        self.nodes().iter().filter(|&&node| node == own).count()
    }

    /// What a process put under `key`, read by `parse`. `what` names it, and `advice` is how all processes get one.
    ///
    /// # Errors
    /// The process put none, or none that can be read; or the launcher does not answer.
    pub fn card<T>(
        &mut self,
        of: Peer,
        (key, what, advice): (&str, &str, &str),
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Lines> {
        let text = self.get(of, key)?;
        text.as_deref().and_then(parse).ok_or_else(|| {
            let seen = match text.filter(|text| !text.is_empty()) {
                None => format!("rank {} put no {what}", of.0),
                Some(text) => format!("rank {} put \"{text}\" for its {what}", of.0),
            };
            Lines::of(&format!("rank {} has no way to rank {}\nseen: {seen}\n{advice}", self.me().0, of.0))
        })
    }

    /// What each process put, as [`Self::card`], in the order of the processes.
    ///
    /// # Errors
    /// As of one.
    pub fn cards<T>(
        &mut self,
        named: (&str, &str, &str),
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, Lines> {
        self.all().map(|peer| self.card(peer, named, &parse)).collect()
    }
}

/// What a transport has when it begins.
pub struct Start<'a> {
    /// The job.
    pub job: &'a mut dyn Cards,
    /// The parameters in force.
    pub values: &'a mca::Values,
    /// What is lost on the way is sent again by a layer above ([`crate::Rails`]).
    pub is_repaired: bool,
    /// This process's doorbell in the memory of its node, in a file that processes beyond the node may map; `None`:
    /// they share no memory.
    pub doorbell: &'a dyn Fn() -> io::Result<Option<SharedDoorbell>>,
}

/// A transport that has published how it is reached and does not know yet how the others are.
pub trait Join: Sized {
    /// What it becomes.
    type Opened: Btl + 'static;

    /// What it stands on: `()`, or the transports that carry what it sends.
    type Below;

    /// What it is, for the list of `alhena info`.
    const ABOUT: &'static str;

    /// Its parameters, whose names begin with `btl_` and its name.
    const PARAMS: &'static [mca::Param];

    /// Its performance variables.
    const VARIABLES: &'static [mca::Variable<Self::Opened>];

    /// Opens what this process has and puts its card, which the others see after the next fence.
    ///
    /// # Errors
    /// The lines to print.
    fn begin(start: &mut Start<'_>) -> Result<Self, Lines>;

    /// The transport, all of whose peers have put their cards.
    ///
    /// # Errors
    /// The lines to print.
    fn open(self, job: &mut dyn Cards, below: Self::Below) -> Result<Self::Opened, Lines>;

    /// Whether no process may send before all have opened theirs: the job meets once more.
    fn awaits_all(_opened: &Self::Opened) -> bool {
        false
    }

    /// What a process with this transport sleeps on, if that is a word in memory and not a descriptor
    /// ([`Btl::descriptor`]).
    fn doorbell(_opened: &Self::Opened) -> Option<&'static Doorbell> {
        None
    }

    /// How it reaches a peer beside its name, for `mpiexec -report`; it goes on from "the parameter btl allows tcp".
    fn detail(_opened: &Self::Opened, _peer: Peer) -> String {
        String::new()
    }
}

/// Prints what a transport reports while it runs, of strangers at its ports for one.
pub fn report(text: &str) {
    eprintln!("{}", Lines::of(&text));
}
