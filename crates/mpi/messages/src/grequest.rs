//! Generalized requests (MPI-5.0 section 13.2): the program completes them; its functions fill the status.

use abi::{Address, Error, Result, Status};
use engine::{Afterlife, Work};
use ffi::{GrequestCancelFunction as Cancel, GrequestFreeFunction as Free, GrequestQueryFunction as Query};
use pml::Done;

use objects::domain::Token;
use objects::handle::RequestKey;
use objects::immediate::EMPTY;
use objects::state::State;

/// A generalized request. Plain data: the functions and the state belong to the program.
#[derive(Clone)]
pub struct Generalized {
    query: Query,
    free: Free,
    cancel: Cancel,
    extra_state: Address,
    /// `MPI_Grequest_complete` was called.
    pub complete: bool,
    /// The handle was freed before the request was complete.
    pub orphaned: bool,
}

impl Generalized {
    /// Asks the program for the status. Takes the token: the function may call MPI.
    pub fn query(&self, _unlocked: &mut Token) -> Done {
        let mut status = Status::EMPTY;
        let error = self.query.call(self.extra_state, &mut status);
        Done { status, error, owner: 0 }
    }

    /// Calls the program's free function. Its error code is that of the call that comes here (MPI-5.0 section 13.2).
    pub fn free(&self, _unlocked: &mut Token) -> Result<()> {
        match self.free.call(self.extra_state) {
            abi::SUCCESS => Ok(()),
            code => Err(Error::new(code, "the free function of a generalized request failed")),
        }
    }

    /// Calls the program's cancel function.
    pub fn cancel(&self, _unlocked: &mut Token) -> Result<()> {
        match self.cancel.call(self.extra_state, i32::from(self.complete)) {
            abi::SUCCESS => Ok(()),
            code => Err(Error::new(code, "the cancel function of a generalized request failed")),
        }
    }
}

impl engine::Operation<State> for Generalized {
    fn work(&self) -> Option<Work> {
        Some(Work::Program)
    }

    fn is_over(&mut self, _state: &mut State) -> bool {
        self.complete
    }

    /// The program's function gives the status.
    fn outcome(&self) -> Done {
        EMPTY
    }

    /// The functions still have to run once the program completes the request.
    fn give_up(&mut self, _state: &mut State) -> Afterlife {
        if self.complete {
            return Afterlife::Gone;
        }
        self.orphaned = true;
        Afterlife::Stays
    }
}

/// `MPI_Grequest_start`
pub fn start(
    t: &mut Token,
    query: Query,
    free: Free,
    cancel: Cancel,
    extra_state: Address,
    request: &mut abi::Request,
) -> Result<()> {
    let generalized = Generalized { query, free, cancel, extra_state, complete: false, orphaned: false };
    *request = t.lock().add_request(generalized)?;
    Ok(())
}

/// `MPI_Grequest_complete`
pub fn complete(t: &mut Token, request: abi::Request) -> Result<()> {
    let not = Error::new(abi::ERR_REQUEST, "the handle names no active generalized request");
    let Some(RequestKey::Operation(key)) = RequestKey::of(request) else { return Err(not) };
    let orphan = {
        let mut state = t.lock();
        // Another thread may wait for this very request.
        state.threads.changed();
        let generalized = state.requests.get_as::<Generalized>(key).ok_or(not)?;
        if generalized.complete {
            return Err(Error::new(abi::ERR_REQUEST, "the generalized request is complete already"));
        }
        generalized.complete = true;
        let orphan = generalized.orphaned.then(|| generalized.clone());
        if orphan.is_some() {
            drop(state.requests.remove(key));
        }
        orphan
    };
    orphan.map_or(Ok(()), |orphan| orphan.free(t))
}
