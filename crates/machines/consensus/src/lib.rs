//! Agreement on one value among processes of which some die: a machine without sockets, clock and lock.
//!
//! ```text
//!   a view: the members that are not known to be dead, as a tree of their order
//!
//!        root ── all of its view have reported: the value is decided ──┐
//!        ▲  ▲                                                          │ decision, down the tree
//!   report  report   the combined values of a subtree,                 ▼
//!        │  │        or the decision that one of it knows          each member returns
//!   a member dies ── each that learns of it goes on to the next view, and reports anew
//! ```
//!
//! # What is promised, and why
//!
//! The owner informs each member of each death, sooner or later, and of none that has not happened: the launcher sees ends of
//! processes, and nothing of a dead process arrives after that was announced.
//!
//! * **Uniform.** Members that live decide the same. A message counts only in its own view: the receiver has the same dead. A root
//!   decides when *all* of its view have reported in that view, and takes over a decision that one of them knows. Views of
//!   one process grow; two views of which neither holds the other have no member in common that lives. So a decision that a
//!   living process knows is reported to each later root. (What a process has decided that dies before another one knows it,
//!   is lost with it.)
//! * **It ends.** In the last view all live members report, and nothing is dropped: each has been informed of the same deaths.
//! * **Early.** A member has its result with the first decision that it hears, and answers in later views all the same, until its owner
//!   knows that all have decided ([`Consensus::is_decided`]).
//!
//! Without deaths there are 2 (n - 1) messages on a way of 2 log4 n. The idea is that of early returning agreement (Herault et al.,
//! Practical scalable consensus for pseudo-synchronous distributed systems, SC 2015).
#![forbid(unsafe_code)]

mod view;

use std::collections::BTreeMap;

pub use view::View;

/// What members agree on.
pub trait Value: Clone {
    /// Takes another member's value in; the order does not matter.
    fn combine(&mut self, other: &Self);
}

/// The result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision<V> {
    /// The values of all members but the dead ones, combined.
    pub value: V,
    /// Those whose values are not in it, ascending.
    pub dead: Vec<u32>,
}

/// What a message brings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body<V> {
    /// The values of a subtree.
    Report(V),
    /// A decision, up or down the tree.
    Decision(Decision<V>),
}

/// From one member to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message<V> {
    /// The view of the sender: its dead, ascending.
    pub dead: Vec<u32>,
    /// What it brings.
    pub body: Body<V>,
}

/// One member's part of one agreement.
#[derive(Debug)]
pub struct Consensus<V> {
    view: View,
    /// This member's own value, once it has one.
    own: Option<V>,
    decision: Option<Decision<V>>,
    /// Reports of subtrees in this view, by the child.
    reports: BTreeMap<u32, V>,
    /// This member has reported in this view.
    has_reported: bool,
    /// Messages of views that this member does not have yet, the latest of each sender.
    early: BTreeMap<u32, Message<V>>,
    outbox: Vec<(u32, Message<V>)>,
}

impl<V: Value> Consensus<V> {
    /// Of `members` members, of which this one is `me`; `dead`: those that it knows to be dead.
    pub fn new(members: u32, me: u32, dead: impl IntoIterator<Item = u32>) -> Consensus<V> {
        Consensus {
            view: View::new(members, me, dead),
            own: None,
            decision: None,
            reports: BTreeMap::new(),
            has_reported: false,
            early: BTreeMap::new(),
            outbox: Vec::new(),
        }
    }

    /// This member's value; it takes part from now on.
    pub fn contribute(&mut self, value: V) {
        self.own = Some(value);
        self.go_on();
    }

    /// A message of member `from`.
    pub fn hear(&mut self, from: u32, message: Message<V>) {
        match self.view.compare(&message.dead) {
            view::Order::Same => {
                match message.body {
                    Body::Report(value) if self.view.is_child(from) => {
                        self.reports.entry(from).or_insert(value);
                    }
                    Body::Decision(decision) if self.view.is_neighbour(from) => {
                        self.decide(decision, Some(from))
                    }
                    // No honest member sends it.
                    _ => return,
                }
                self.go_on();
            }
            view::Order::Ahead => {
                self.early.insert(from, message);
            }
            view::Order::Behind => {}
        }
    }

    /// Member `rank` is dead.
    pub fn has_died(&mut self, rank: u32) {
        if !self.view.bury(rank) {
            return;
        }
        self.reports.clear();
        self.has_reported = false;
        self.early.remove(&rank);
        if let Some(decision) = self.decision.clone() {
            self.spread(&decision, None);
        }
        for (from, message) in std::mem::take(&mut self.early) {
            self.hear(from, message);
        }
        self.go_on();
    }

    /// Those whose reports this member waits for.
    pub fn missing(&self) -> impl Iterator<Item = u32> + '_ {
        let is_open = self.decision.is_none();
        self.view.children().filter(move |child| is_open && !self.reports.contains_key(child))
    }

    /// What is to be sent now, and to whom.
    pub fn take_messages(&mut self) -> Vec<(u32, Message<V>)> {
        std::mem::take(&mut self.outbox)
    }

    /// The result, once there is one.
    pub fn decision(&self) -> Option<&Decision<V>> {
        self.decision.as_ref()
    }

    /// Whether there is a result.
    pub fn is_decided(&self) -> bool {
        self.decision.is_some()
    }

    /// Reports, or decides as the root, when the whole subtree has reported.
    fn go_on(&mut self) {
        if self.has_reported || self.decision.is_some() || self.reports.len() < self.view.children().count() {
            return;
        }
        let Some(mut value) = self.own.clone() else { return };
        self.reports.values().for_each(|report| value.combine(report));
        match self.view.parent() {
            Some(parent) => {
                self.has_reported = true;
                self.send(parent, Body::Report(value));
            }
            None => {
                let dead = self.view.dead().to_vec();
                self.decide(Decision { value, dead }, None);
            }
        }
    }

    /// Takes a decision over, unless it has one, and passes it on to all others that it has in the tree.
    fn decide(&mut self, decision: Decision<V>, from: Option<u32>) {
        if self.decision.is_some() {
            return;
        }
        self.spread(&decision, from);
        self.decision = Some(decision);
    }

    fn spread(&mut self, decision: &Decision<V>, except: Option<u32>) {
        let others: Vec<u32> =
            self.view.neighbours().filter(|&neighbour| Some(neighbour) != except).collect();
        for to in others {
            self.send(to, Body::Decision(decision.clone()));
        }
    }

    fn send(&mut self, to: u32, body: Body<V>) {
        let dead = self.view.dead().to_vec();
        self.outbox.push((to, Message { dead, body }));
    }
}
