//! Error classes, codes and their strings.

use std::collections::BTreeMap;

/// The user's additions. Codes above `MPI_ERR_LASTCODE`; a class is its own code.
pub struct ErrorTable {
    next: i32,
    /// Code to class.
    pub(crate) class_of: BTreeMap<i32, i32>,
    pub(crate) strings: BTreeMap<i32, String>,
    /// What was seen when the last error of a file was reported, by the code of that error.
    pub(crate) explained: Option<(i32, String)>,
}

impl ErrorTable {
    pub const fn new() -> ErrorTable {
        ErrorTable {
            next: abi::ERR_LASTCODE + 1,
            class_of: BTreeMap::new(),
            strings: BTreeMap::new(),
            explained: None,
        }
    }

    /// The class of a code, if the code exists.
    pub fn class(&self, code: i32) -> Option<i32> {
        if standard(code).is_some() { Some(code) } else { self.class_of.get(&code).copied() }
    }

    /// What `MPI_Error_string` returns.
    pub fn string(&self, code: i32) -> Option<&str> {
        if let Some(text) = standard(code) {
            return Some(text);
        }
        self.class_of.get(&code)?;
        Some(self.strings.get(&code).map_or("", String::as_str))
    }

    /// Keeps what was seen of an error, until another one is reported. The text of a user's code is the user's alone.
    pub fn explain(&mut self, code: i32, seen: String) {
        self.explained = standard(code).map(|_| (code, seen));
    }

    /// An error was reported of which nothing more is known.
    pub fn forget(&mut self, code: i32) {
        self.explained.take_if(|explained| explained.0 == code);
    }

    pub(crate) fn add(&mut self, class: Option<i32>) -> i32 {
        let code = self.next;
        self.next += 1;
        self.class_of.insert(code, class.unwrap_or(code));
        code
    }

    /// Largest code in use: the value of `MPI_LASTUSEDCODE`.
    pub(crate) fn last_used(&self) -> i32 {
        self.class_of.keys().next_back().copied().unwrap_or(abi::ERR_LASTCODE)
    }

    pub(crate) fn user_class(&self, class: i32) -> bool {
        self.class_of.get(&class) == Some(&class)
    }
}

/// The standard's classes.
pub(crate) fn standard(class: i32) -> Option<&'static str> {
    Some(match class {
        abi::SUCCESS => "MPI_SUCCESS: no error",
        abi::ERR_BUFFER => "MPI_ERR_BUFFER: invalid buffer pointer",
        abi::ERR_COUNT => "MPI_ERR_COUNT: invalid count argument",
        abi::ERR_TYPE => "MPI_ERR_TYPE: invalid datatype argument",
        abi::ERR_TAG => "MPI_ERR_TAG: invalid tag argument",
        abi::ERR_COMM => "MPI_ERR_COMM: invalid communicator",
        abi::ERR_RANK => "MPI_ERR_RANK: invalid rank",
        abi::ERR_REQUEST => "MPI_ERR_REQUEST: invalid request",
        abi::ERR_ROOT => "MPI_ERR_ROOT: invalid root",
        abi::ERR_GROUP => "MPI_ERR_GROUP: invalid group",
        abi::ERR_OP => "MPI_ERR_OP: invalid operation",
        abi::ERR_TOPOLOGY => "MPI_ERR_TOPOLOGY: invalid topology",
        abi::ERR_DIMS => "MPI_ERR_DIMS: invalid dimension argument",
        abi::ERR_ARG => "MPI_ERR_ARG: invalid argument",
        abi::ERR_UNKNOWN => "MPI_ERR_UNKNOWN: unknown error",
        abi::ERR_TRUNCATE => "MPI_ERR_TRUNCATE: message truncated on receive",
        abi::ERR_OTHER => "MPI_ERR_OTHER: known error not in this list",
        abi::ERR_INTERN => "MPI_ERR_INTERN: internal error of the MPI library",
        abi::ERR_PENDING => "MPI_ERR_PENDING: the request is pending",
        abi::ERR_IN_STATUS => "MPI_ERR_IN_STATUS: the error code is in the status",
        abi::ERR_ACCESS => "MPI_ERR_ACCESS: permission denied",
        abi::ERR_AMODE => "MPI_ERR_AMODE: invalid access mode of a file",
        abi::ERR_ASSERT => "MPI_ERR_ASSERT: invalid assertion argument",
        abi::ERR_BAD_FILE => "MPI_ERR_BAD_FILE: invalid file name",
        abi::ERR_BASE => "MPI_ERR_BASE: invalid base passed to MPI_Free_mem",
        abi::ERR_CONVERSION => "MPI_ERR_CONVERSION: a data conversion function failed",
        abi::ERR_DISP => "MPI_ERR_DISP: invalid displacement",
        abi::ERR_DUP_DATAREP => "MPI_ERR_DUP_DATAREP: the data representation is already defined",
        abi::ERR_FILE_EXISTS => "MPI_ERR_FILE_EXISTS: the file exists",
        abi::ERR_FILE_IN_USE => "MPI_ERR_FILE_IN_USE: the file is open in some process",
        abi::ERR_FILE => "MPI_ERR_FILE: invalid file handle",
        abi::ERR_INFO_KEY => "MPI_ERR_INFO_KEY: the info key is longer than MPI_MAX_INFO_KEY",
        abi::ERR_INFO_NOKEY => "MPI_ERR_INFO_NOKEY: the info object has no such key",
        abi::ERR_INFO_VALUE => "MPI_ERR_INFO_VALUE: the info value is longer than MPI_MAX_INFO_VAL",
        abi::ERR_INFO => "MPI_ERR_INFO: invalid info object",
        abi::ERR_IO => "MPI_ERR_IO: input or output error",
        abi::ERR_KEYVAL => "MPI_ERR_KEYVAL: invalid attribute key",
        abi::ERR_LOCKTYPE => "MPI_ERR_LOCKTYPE: invalid lock type",
        abi::ERR_NAME => "MPI_ERR_NAME: the service name is not published",
        abi::ERR_NO_MEM => "MPI_ERR_NO_MEM: out of memory",
        abi::ERR_NOT_SAME => "MPI_ERR_NOT_SAME: processes passed different collective arguments",
        abi::ERR_NO_SPACE => "MPI_ERR_NO_SPACE: no space left on the device",
        abi::ERR_NO_SUCH_FILE => "MPI_ERR_NO_SUCH_FILE: the file does not exist",
        abi::ERR_PORT => "MPI_ERR_PORT: invalid port name",
        abi::ERR_QUOTA => "MPI_ERR_QUOTA: quota exceeded",
        abi::ERR_READ_ONLY => "MPI_ERR_READ_ONLY: the file or file system is read-only",
        abi::ERR_RMA_ATTACH => "MPI_ERR_RMA_ATTACH: memory cannot be attached",
        abi::ERR_RMA_CONFLICT => "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
        abi::ERR_RMA_RANGE => "MPI_ERR_RMA_RANGE: target memory is not part of the window",
        abi::ERR_RMA_SHARED => "MPI_ERR_RMA_SHARED: memory cannot be shared",
        abi::ERR_RMA_SYNC => "MPI_ERR_RMA_SYNC: wrong synchronisation of accesses to a window",
        abi::ERR_SERVICE => "MPI_ERR_SERVICE: invalid service name",
        abi::ERR_SIZE => "MPI_ERR_SIZE: invalid size argument",
        abi::ERR_SPAWN => "MPI_ERR_SPAWN: processes could not be spawned",
        abi::ERR_UNSUPPORTED_DATAREP => "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation",
        abi::ERR_UNSUPPORTED_OPERATION => "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation",
        abi::ERR_WIN => "MPI_ERR_WIN: invalid window",
        abi::ERR_RMA_FLAVOR => "MPI_ERR_RMA_FLAVOR: the window has the wrong flavour",
        abi::ERR_PROC_ABORTED => "MPI_ERR_PROC_ABORTED: a process has aborted",
        abi::ERR_VALUE_TOO_LARGE => "MPI_ERR_VALUE_TOO_LARGE: a value does not fit its argument",
        abi::ERR_SESSION => "MPI_ERR_SESSION: invalid session",
        abi::ERR_ERRHANDLER => "MPI_ERR_ERRHANDLER: invalid error handler",
        abi::ERR_ABI => "MPI_ERR_ABI: the ABI does not allow the request",
        abi::T_ERR_CANNOT_INIT => "MPI_T_ERR_CANNOT_INIT: the tool interface cannot be initialised",
        abi::T_ERR_NOT_ACCESSIBLE => "MPI_T_ERR_NOT_ACCESSIBLE: not accessible now",
        abi::T_ERR_NOT_INITIALIZED => "MPI_T_ERR_NOT_INITIALIZED: the tool interface is not initialised",
        abi::T_ERR_NOT_SUPPORTED => "MPI_T_ERR_NOT_SUPPORTED: not supported",
        abi::T_ERR_MEMORY => "MPI_T_ERR_MEMORY: out of memory",
        abi::T_ERR_INVALID => "MPI_T_ERR_INVALID: invalid use of the tool interface",
        abi::T_ERR_INVALID_INDEX => "MPI_T_ERR_INVALID_INDEX: no such index",
        abi::T_ERR_INVALID_ITEM => "MPI_T_ERR_INVALID_ITEM: no such item",
        abi::T_ERR_INVALID_SESSION => "MPI_T_ERR_INVALID_SESSION: invalid session",
        abi::T_ERR_INVALID_HANDLE => "MPI_T_ERR_INVALID_HANDLE: invalid handle",
        abi::T_ERR_INVALID_NAME => "MPI_T_ERR_INVALID_NAME: no such name",
        abi::T_ERR_OUT_OF_HANDLES => "MPI_T_ERR_OUT_OF_HANDLES: no more handles",
        abi::T_ERR_OUT_OF_SESSIONS => "MPI_T_ERR_OUT_OF_SESSIONS: no more sessions",
        abi::T_ERR_CVAR_SET_NOT_NOW => "MPI_T_ERR_CVAR_SET_NOT_NOW: the variable cannot be set now",
        abi::T_ERR_CVAR_SET_NEVER => "MPI_T_ERR_CVAR_SET_NEVER: the variable can never be set",
        abi::T_ERR_PVAR_NO_WRITE => "MPI_T_ERR_PVAR_NO_WRITE: the variable cannot be written",
        abi::T_ERR_PVAR_NO_STARTSTOP => {
            "MPI_T_ERR_PVAR_NO_STARTSTOP: the variable cannot be started or stopped"
        }
        abi::T_ERR_PVAR_NO_ATOMIC => {
            "MPI_T_ERR_PVAR_NO_ATOMIC: the variable cannot be read and reset at once"
        }
        abi::ERR_PROC_FAILED => "MPIX_ERR_PROC_FAILED: a process has failed that the operation needs",
        abi::ERR_PROC_FAILED_PENDING => {
            "MPIX_ERR_PROC_FAILED_PENDING: a process has failed that might have sent the message; the request goes on"
        }
        abi::ERR_REVOKED => "MPIX_ERR_REVOKED: the communicator was revoked",
        abi::ERR_LASTCODE => "MPI_ERR_LASTCODE: last error code",
        _ => return None,
    })
}
