//! How an error reaches the handler of its object (MPI-5.0 section 9.3). The C face alone calls this.

use abi::Error;
use ffi::Call;

use files::FILES;
use objects::domain::{Mode, Token, enter_any, mode};
use objects::errhandler::{CALLED, Handler};
use objects::failures::outward;
use objects::handle::{self, Kind};
use objects::state::State;
use windows::WINDOWS;

/// The object that an error is raised on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum On {
    /// A communicator.
    Comm(abi::Comm),
    /// A window.
    Win(abi::Win),
    /// A file.
    File(abi::File),
    /// A session.
    Session(abi::Session),
    /// No object: `MPI_COMM_SELF`, or the initial handler while that does not exist (MPI-5.0 section 9.3).
    SelfComm,
}

/// What the C face has to do with an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Raised {
    /// Return this code.
    Return(i32),
    /// Call the user's function with this handle and code, after every Rust frame has returned.
    Handler {
        /// Address of the user's function.
        function: usize,
        /// The handle of the object that the function gets.
        handle: usize,
        /// The error code.
        code: i32,
        /// What the MPI function returns when the handler has returned.
        returns: i32,
    },
}

/// Brings the error of `call` to the handler of the object it happened on. A fatal one does not return.
#[cold]
pub fn raise(on: On, error: Error, call: Call<'_>) -> Raised {
    let mut token = enter_any();
    let error = Error { class: outward(error.class), ..error };
    let on = if error.on == abi::Comm(0) { on } else { owner(error.on.0) };
    if matches!(error.class, abi::ERR_PROC_FAILED | abi::ERR_PROC_FAILED_PENDING) {
        // A call that fails at once has taken no message: without this a program that repeats it would never hear that another process
        // has revoked the communicator.
        objects::wait::make_progress(&mut token);
    }
    let (handler, handle) = find(&mut token, on);
    let failure = note(&mut token.lock(), on, error, call.function());
    let class = failure.error.class;
    // A handler that the program called itself was no failure of the call (MPI-5.0 section 9.6).
    let returns = if error.what == CALLED { abi::SUCCESS } else { class };
    match handler {
        Handler::Return => Raised::Return(returns),
        Handler::User { function, .. } => {
            Raised::Handler { function: function.due(), handle, code: class, returns }
        }
        Handler::Fatal => fatal(&mut token, &failure, call, "MPI_ERRORS_ARE_FATAL"),
        Handler::Abort => fatal(&mut token, &failure, call, "MPI_ERRORS_ABORT"),
    }
}

/// All that is known of an error.
struct Failure {
    error: Error,
    /// What was seen, with the system's word for it.
    seen: String,
    /// ` on file "…"`, where the call itself does not name the object.
    place: String,
}

/// Keeps what `MPI_Error_string` returns for an error beyond its class: for files, whose errors return unless the
/// program wants them otherwise (MPI-5.0 section 14.7).
fn note(state: &mut State, on: On, error: Error, function: &'static str) -> Failure {
    let text = error.into_text();
    let On::File(file) = on else {
        state.errors.forget(error.class);
        let place = match error.on {
            abi::Comm(0) => String::new(),
            comm => format!(" on {}", crate::call::handle(state, "comm", "MPI_Comm", comm.0)),
        };
        return Failure { error, seen: seen(error, &text), place };
    };
    let (known, path) = FILES.get_mut(&mut state.tables).seen(file, error);
    let seen = seen(known, if known.what == error.what { &text } else { known.what });
    let place = path.map(|path| format!(" on file \"{}\"", path.display())).unwrap_or_default();
    // A call that the program makes to its handler has not failed itself.
    if known.what == CALLED {
        state.errors.forget(known.class);
    } else {
        state.errors.explain(known.class, format!("{function} failed{place}: {seen}"));
    }
    Failure { error: known, seen, place }
}

fn seen(error: Error, text: &str) -> String {
    match error.errno {
        0 => text.to_owned(),
        errno => format!("{text}: {}", std::io::Error::from_raw_os_error(errno)),
    }
}

/// The object of a request, by the value of its handle.
fn owner(handle: usize) -> On {
    if handle::key(Kind::File, handle).is_some() {
        return On::File(abi::File(handle));
    }
    if handle::key(Kind::Win, handle).is_some() {
        return On::Win(abi::Win(handle));
    }
    On::Comm(abi::Comm(handle))
}

fn find(token: &mut Token, on: On) -> (Handler, usize) {
    let state = token.lock();
    let own = match on {
        On::Comm(comm) => state.comm(comm).ok().map(|c| (c.errhandler, comm.0)),
        On::Session(session) => state.sessions.get(session).ok().map(|s| (s.errhandler, session.0)),
        On::Win(win) => WINDOWS.get(&state.tables).get(win).ok().map(|w| (w.errhandler, win.0)),
        On::File(file) => Some(files::handler_of(&state, file)),
        On::SelfComm => None,
    };
    own.or_else(|| state.comm(abi::COMM_SELF).ok().map(|c| (c.errhandler, abi::COMM_SELF.0)))
        .unwrap_or((state.errhandlers.initial, abi::COMM_NULL.0))
}

/// Ends the job; `handler` is the name of the error handler that asks for it.
fn fatal(token: &mut Token, failure: &Failure, call: Call<'_>, handler: &str) -> ! {
    let Failure { error, seen, place } = failure;
    // With the state unlocked: it takes the loader's lock.
    objects::fatal::note_failed_call();
    let mut state = token.lock();
    let call = crate::call::describe(&mut state, call);
    let class = state.errors.string(error.class).unwrap_or("an error of the program");
    let message = format!(
        "alhena: {call} failed{place}: {class}\n\
         alhena: seen: {seen}\n\
         alhena: mend the call, or set MPI_ERRORS_RETURN to handle the error; {handler} ended the job"
    );
    objects::fatal::abort_with(exit_code(error.class), format_args!("{message}"))
}

/// An exit code that stands for failure whatever the class is.
fn exit_code(class: i32) -> i32 {
    match mode() {
        Mode::Before | Mode::After | Mode::Forked => 1,
        _ => class.clamp(1, 255),
    }
}
