//! Return codes.

use core::fmt;

/// Why a call did not succeed. The numbers of the C interface differ between implementations, so there are none here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Error {
    /// `PTL_AC_INDEX_INVALID`: no such entry of the access table.
    AcIndexInvalid,
    /// `PTL_EQ_EMPTY`: no event. Not a failure: ask again later.
    EqEmpty,
    /// `PTL_EQ_INVALID`: no such event queue.
    EqInvalid,
    /// `PTL_EQ_IN_USE`: a memory descriptor names the queue.
    EqInUse,
    /// `PTL_FAIL`: anything else.
    Fail,
    /// `PTL_IFACE_DUP`: this process has attached already; what it has stays usable.
    IfaceDup,
    /// `PTL_IFACE_INVALID`: no such interface.
    IfaceInvalid,
    /// `PTL_MD_ILLEGAL`: a descriptor that contradicts itself, or a region beyond it.
    MdIllegal,
    /// `PTL_MD_INVALID`: no such descriptor, or an inactive one.
    MdInvalid,
    /// `PTL_MD_IN_USE`: operations on the descriptor are under way.
    MdInUse,
    /// `PTL_MD_NO_UPDATE`: something has arrived in the queue, or is arriving; nothing was changed.
    MdNoUpdate,
    /// `PTL_ME_INVALID`: no such match entry.
    MeInvalid,
    /// `PTL_ME_IN_USE`: the entry has a descriptor already, or one with operations under way.
    MeInUse,
    /// `PTL_ME_LIST_TOO_LONG`: the match list is as long as it may be.
    MeListTooLong,
    /// `PTL_NO_SPACE`: the NIC has no room for the object or operation.
    NoSpace,
    /// `PTL_PID_INVALID`: the process id cannot be had.
    PidInvalid,
    /// `PTL_PROCESS_INVALID`: no such process, or a wildcard where one process is meant.
    ProcessInvalid,
    /// `PTL_PT_FULL`: every index of the portal table has entries.
    PtFull,
    /// `PTL_PT_INDEX_INVALID`: no such index of the portal table.
    PtIndexInvalid,
    /// `PTL_SR_INDEX_INVALID`: this NIC does not have the status register.
    SrIndexInvalid,
}

/// Result of a call.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// The name in the C interface.
    pub const fn name(self) -> &'static str {
        match self {
            Error::AcIndexInvalid => "PTL_AC_INDEX_INVALID",
            Error::EqEmpty => "PTL_EQ_EMPTY",
            Error::EqInvalid => "PTL_EQ_INVALID",
            Error::EqInUse => "PTL_EQ_IN_USE",
            Error::Fail => "PTL_FAIL",
            Error::IfaceDup => "PTL_IFACE_DUP",
            Error::IfaceInvalid => "PTL_IFACE_INVALID",
            Error::MdIllegal => "PTL_MD_ILLEGAL",
            Error::MdInvalid => "PTL_MD_INVALID",
            Error::MdInUse => "PTL_MD_IN_USE",
            Error::MdNoUpdate => "PTL_MD_NO_UPDATE",
            Error::MeInvalid => "PTL_ME_INVALID",
            Error::MeInUse => "PTL_ME_IN_USE",
            Error::MeListTooLong => "PTL_ME_LIST_TOO_LONG",
            Error::NoSpace => "PTL_NO_SPACE",
            Error::PidInvalid => "PTL_PID_INVALID",
            Error::ProcessInvalid => "PTL_PROCESS_INVALID",
            Error::PtFull => "PTL_PT_FULL",
            Error::PtIndexInvalid => "PTL_PT_INDEX_INVALID",
            Error::SrIndexInvalid => "PTL_SR_INDEX_INVALID",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Error {}

/// Why what stands on a NIC cannot be set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetupError {
    /// What is set up, for people.
    pub what: &'static str,
    /// How the names of its parameters begin.
    pub parameters: &'static str,
    /// The step that failed.
    pub step: &'static str,
    /// The NIC's answer.
    pub error: Error,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SetupError { what, parameters, step, error } = self;
        write!(
            f,
            "setting up {what} failed: {step}\nthe NIC answered {error}\nchoose other limits: alhena info --param {parameters}"
        )
    }
}

impl core::error::Error for SetupError {}
