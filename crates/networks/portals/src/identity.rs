//! Identities: processes, users, jobs, and what each may reach.

/// A node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Nid(pub u32);

/// A process of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pid(pub u32);

/// A user.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Uid(pub u32);

/// A job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Jid(pub u32);

/// `ptl_process_id_t` of one process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessId {
    /// Its node.
    pub nid: Nid,
    /// Which process there.
    pub pid: Pid,
}

/// `ptl_process_id_t` with wildcards; `None` is `PTL_NID_ANY` or `PTL_PID_ANY`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ProcessMatch {
    /// The node.
    pub nid: Option<Nid>,
    /// The process there.
    pub pid: Option<Pid>,
}

impl ProcessMatch {
    /// Every process.
    pub const ANY: ProcessMatch = ProcessMatch { nid: None, pid: None };

    /// Whether `id` is one of those meant.
    pub fn fits(&self, id: ProcessId) -> bool {
        self.nid.is_none_or(|nid| nid == id.nid) && self.pid.is_none_or(|pid| pid == id.pid)
    }
}

impl From<ProcessId> for ProcessMatch {
    fn from(id: ProcessId) -> ProcessMatch {
        ProcessMatch { nid: Some(id.nid), pid: Some(id.pid) }
    }
}

/// An entry of the access table (`PtlACEntry`): whose operations may use it, and on which index. `None` is any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AccessEntry {
    /// The initiating process.
    pub id: ProcessMatch,
    /// Its user.
    pub uid: Option<Uid>,
    /// Its job.
    pub jid: Option<Jid>,
    /// The index of the portal table.
    pub index: Option<u32>,
}

impl AccessEntry {
    /// Every process, at every index.
    pub const ANY: AccessEntry = AccessEntry { id: ProcessMatch::ANY, uid: None, jid: None, index: None };

    /// Whether the entry admits an operation.
    pub fn admits(&self, id: ProcessId, uid: Uid, jid: Jid, index: u32) -> bool {
        self.id.fits(id)
            && self.uid.is_none_or(|one| one == uid)
            && self.jid.is_none_or(|one| one == jid)
            && self.index.is_none_or(|one| one == index)
    }
}
