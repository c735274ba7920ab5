//! Performance variables: enquiries, sessions and handles (MPI-5.0 section 15.3.7).
//!
//! The library counts all the time, in plain integers. A handle remembers what the count was when it began, so that
//! any number of tools can start, stop and reset without knowing of each other. A peak cannot be had by subtraction:
//! its one record is begun anew at every reset, after all other handles have taken it over.

use std::ffi::CStr;

use abi::{Address, Error, Result, TEnum, TPvarHandle, TPvarSession};
use engine::Guarded;
use ffi::TextOut;
use mem::Slab;

use mca::Quantity;

use super::variables::{Shown, VARIABLES, Variable};
use super::{NO_HANDLE, NO_NAME, at, open, put};
use objects::domain::Token;
use objects::memory::{of_user, of_vec};
use objects::state::State;

/// Sessions and handles of performance variables.
struct Pvars {
    sessions: Slab<(), 16, 15>,
    handles: Slab<Handle, 20, 11>,
}

static PVARS: Guarded<Pvars> = Guarded::new(Pvars { sessions: Slab::new(), handles: Slab::new() });

/// A variable as one tool watches it.
struct Handle {
    session: u32,
    index: usize,
    running: bool,
    /// The library's count when the handle was last started.
    base: u64,
    /// What was counted before that; of a peak, the highest value.
    total: u64,
}

const NO_SESSION: Error = Error::new(abi::T_ERR_INVALID_SESSION, "the handle is not a session");
const NO_WRITE: Error = Error::new(abi::T_ERR_PVAR_NO_WRITE, "the variable can be neither written nor reset");
const NO_START: Error = Error::new(abi::T_ERR_PVAR_NO_STARTSTOP, "the variable runs all the time");
const NO_BUFFER: Error = Error::new(abi::T_ERR_INVALID, "the buffer is NULL");

/// `MPI_T_pvar_get_num`
pub fn pvar_get_num(_t: &mut Token, num: Option<&mut i32>) -> Result<()> {
    open()?;
    put(num, VARIABLES.len() as i32);
    Ok(())
}

/// `MPI_T_pvar_get_index`
pub fn pvar_get_index(_t: &mut Token, name: &CStr, class: i32, index: Option<&mut i32>) -> Result<()> {
    open()?;
    let is_it =
        |known: &Variable| known.name.as_bytes() == name.to_bytes() && known.quantity.class() == class;
    put(index, VARIABLES.iter().position(is_it).ok_or(NO_NAME)? as i32);
    Ok(())
}

/// `MPI_T_pvar_get_info`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn pvar_get_info(
    _t: &mut Token,
    index: i32,
    mut name: TextOut<'_>,
    verbosity: Option<&mut i32>,
    class: Option<&mut i32>,
    datatype: Option<&mut abi::Datatype>,
    enumtype: Option<&mut TEnum>,
    mut desc: TextOut<'_>,
    bind: Option<&mut i32>,
    readonly: Option<&mut i32>,
    continuous: Option<&mut i32>,
    atomic: Option<&mut i32>,
) -> Result<()> {
    open()?;
    let &Variable { name: own, description, quantity, .. } = at(&VARIABLES, index)?;
    name.set(own);
    desc.set(description);
    put(verbosity, abi::T_VERBOSITY_USER_BASIC);
    put(class, quantity.class());
    put(datatype, quantity.datatype());
    put(enumtype, super::enumeration::enum_of_variable(index, quantity));
    put(bind, abi::T_BIND_NO_OBJECT);
    put(readonly, i32::from(quantity.is_read_only()));
    put(continuous, i32::from(quantity.is_continuous()));
    // The library is locked while a value is read and reset.
    put(atomic, i32::from(!quantity.is_read_only()));
    Ok(())
}

/// `MPI_T_pvar_session_create`
pub fn pvar_session_create(t: &mut Token, session: &mut TPvarSession) -> Result<()> {
    open()?;
    let full = Error::new(abi::T_ERR_OUT_OF_SESSIONS, "2^16 sessions exist");
    let key = PVARS.get_mut(&mut t.lock().tables).sessions.insert(()).map_err(|()| full)?;
    *session = TPvarSession(key as usize + 1);
    Ok(())
}

/// `MPI_T_pvar_session_free`: its handles go with it.
pub fn pvar_session_free(t: &mut Token, session: &mut TPvarSession) -> Result<()> {
    open()?;
    let mut state = t.lock();
    let key = PVARS.get(&state.tables).session(*session)?;
    for handle in PVARS.get(&state.tables).handles_of(key) {
        free_handle(&mut state, handle);
    }
    PVARS.get_mut(&mut state.tables).sessions.remove(key);
    *session = TPvarSession(abi::T_PVAR_SESSION_NULL);
    Ok(())
}

/// `MPI_T_pvar_handle_alloc`
pub fn pvar_handle_alloc(
    t: &mut Token,
    session: TPvarSession,
    index: i32,
    _object: Address,
    handle: &mut TPvarHandle,
    count: Option<&mut i32>,
) -> Result<()> {
    open()?;
    let mut state = t.lock();
    let session = PVARS.get(&state.tables).session(session)?;
    let quantity = at(&VARIABLES, index)?.quantity;
    let new = Handle { session, index: index as usize, running: false, base: 0, total: 0 };
    let full = Error::new(abi::T_ERR_OUT_OF_HANDLES, "2^20 handles of performance variables exist");
    let key = PVARS.get_mut(&mut state.tables).handles.insert(new).map_err(|_| full)?;
    restart_handle(&mut state, key);
    if quantity.is_continuous() {
        set_running(&mut state, key, true);
    }
    *handle = TPvarHandle(key as usize + FIRST_HANDLE);
    put(count, 1);
    Ok(())
}

/// Handles stand above `MPI_T_PVAR_HANDLE_NULL` and `MPI_T_PVAR_ALL_HANDLES`.
const FIRST_HANDLE: usize = abi::T_PVAR_ALL_HANDLES + 1;

/// `MPI_T_pvar_handle_free`
pub fn pvar_handle_free(t: &mut Token, session: TPvarSession, handle: &mut TPvarHandle) -> Result<()> {
    open()?;
    let mut state = t.lock();
    let key = PVARS.get(&state.tables).one(session, *handle)?;
    free_handle(&mut state, key);
    *handle = TPvarHandle(abi::T_PVAR_HANDLE_NULL);
    Ok(())
}

/// `MPI_T_pvar_start`
pub fn pvar_start(t: &mut Token, session: TPvarSession, handle: TPvarHandle) -> Result<()> {
    start_or_stop(t, session, handle, true)
}

/// `MPI_T_pvar_stop`
pub fn pvar_stop(t: &mut Token, session: TPvarSession, handle: TPvarHandle) -> Result<()> {
    start_or_stop(t, session, handle, false)
}

fn start_or_stop(t: &mut Token, session: TPvarSession, handle: TPvarHandle, run: bool) -> Result<()> {
    open()?;
    let mut state = t.lock();
    for key in PVARS.get(&state.tables).named(session, handle)? {
        match PVARS.get(&state.tables).quantity(key) {
            quantity if !quantity.is_continuous() => set_running(&mut state, key, run),
            // Among all handles these are passed over.
            _ if handle.0 == abi::T_PVAR_ALL_HANDLES => {}
            _ => return Err(NO_START),
        }
    }
    Ok(())
}

/// `MPI_T_pvar_read`
pub fn pvar_read(t: &mut Token, session: TPvarSession, handle: TPvarHandle, buf: Address) -> Result<()> {
    open()?;
    let state = t.lock();
    let key = PVARS.get(&state.tables).one(session, handle)?;
    show(&state, key, buf)
}

/// `MPI_T_pvar_readreset`
pub fn pvar_readreset(t: &mut Token, session: TPvarSession, handle: TPvarHandle, buf: Address) -> Result<()> {
    open()?;
    let mut state = t.lock();
    let key = PVARS.get(&state.tables).one(session, handle)?;
    if PVARS.get(&state.tables).quantity(key).is_read_only() {
        return Err(NO_WRITE);
    }
    show(&state, key, buf)?;
    restart_handle(&mut state, key);
    Ok(())
}

/// `MPI_T_pvar_reset`
pub fn pvar_reset(t: &mut Token, session: TPvarSession, handle: TPvarHandle) -> Result<()> {
    open()?;
    let mut state = t.lock();
    for key in PVARS.get(&state.tables).named(session, handle)? {
        match PVARS.get(&state.tables).quantity(key) {
            quantity if !quantity.is_read_only() => restart_handle(&mut state, key),
            _ if handle.0 == abi::T_PVAR_ALL_HANDLES => {}
            _ => return Err(NO_WRITE),
        }
    }
    Ok(())
}

/// `MPI_T_pvar_write`
pub fn pvar_write(t: &mut Token, session: TPvarSession, handle: TPvarHandle, buf: Address) -> Result<()> {
    open()?;
    let mut state = t.lock();
    let key = PVARS.get(&state.tables).one(session, handle)?;
    let quantity = PVARS.get(&state.tables).quantity(key);
    if quantity.is_read_only() {
        return Err(NO_WRITE);
    }
    if buf.0 == 0 {
        return Err(NO_BUFFER);
    }
    let bytes = of_user(buf, quantity.size()).as_bytes().to_vec().try_into().expect("eight bytes");
    let value = match quantity {
        Quantity::Time => (f64::from_ne_bytes(bytes) * 1e9) as u64,
        _ => u64::from_ne_bytes(bytes),
    };
    restart_handle(&mut state, key);
    if let Some(handle) = PVARS.get_mut(&mut state.tables).handles.get_mut(key) {
        handle.total = value;
    }
    Ok(())
}

impl Pvars {
    fn session(&self, session: TPvarSession) -> Result<u32> {
        let key = session.0.checked_sub(1).and_then(|key| u32::try_from(key).ok()).ok_or(NO_SESSION)?;
        self.sessions.get(key).map(|()| key).ok_or(NO_SESSION)
    }

    /// The one handle named, which must belong to the session.
    fn one(&self, session: TPvarSession, handle: TPvarHandle) -> Result<u32> {
        let session = self.session(session)?;
        let key =
            handle.0.checked_sub(FIRST_HANDLE).and_then(|key| u32::try_from(key).ok()).ok_or(NO_HANDLE)?;
        let found = self.handles.get(key).ok_or(NO_HANDLE)?;
        if found.session == session { Ok(key) } else { Err(NO_HANDLE) }
    }

    /// The handle named, or all of the session for `MPI_T_PVAR_ALL_HANDLES`.
    fn named(&self, session: TPvarSession, handle: TPvarHandle) -> Result<Vec<u32>> {
        if handle.0 == abi::T_PVAR_ALL_HANDLES {
            return Ok(self.handles_of(self.session(session)?));
        }
        self.one(session, handle).map(|key| vec![key])
    }

    fn handles_of(&self, session: u32) -> Vec<u32> {
        self.handles.iter().filter(|(_, handle)| handle.session == session).map(|(key, _)| key).collect()
    }

    fn quantity(&self, key: u32) -> Quantity {
        self.variable(key).quantity
    }

    fn variable(&self, key: u32) -> &'static Variable {
        let index = self.handles.get(key).map_or(0, |handle| handle.index);
        &VARIABLES[index]
    }
}

/// A handle's value at the moment.
fn value(state: &State, handle: &Handle) -> u64 {
    let variable = &VARIABLES[handle.index];
    let now = variable.now(state);
    match variable.quantity {
        Quantity::Level | Quantity::State => now,
        Quantity::Peak => handle.total.max(now),
        _ if handle.running => handle.total + now.saturating_sub(handle.base),
        _ => handle.total,
    }
}

fn show(state: &State, key: u32, buf: Address) -> Result<()> {
    let handle = PVARS.get(&state.tables).handles.get(key).ok_or(NO_HANDLE)?;
    if buf.0 == 0 {
        return Err(NO_BUFFER);
    }
    let value = self::value(state, handle);
    let quantity = VARIABLES[handle.index].quantity;
    let bytes = match quantity {
        Quantity::Time => (value as f64 * 1e-9).to_ne_bytes().to_vec(),
        Quantity::State => (value as i32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    };
    of_vec(&bytes).copy_to(of_user(buf, quantity.size()));
    Ok(())
}

/// Puts a handle at its starting value.
fn restart_handle(state: &mut State, key: u32) {
    let variable = PVARS.get(&state.tables).variable(key);
    if variable.quantity == Quantity::Peak {
        let highest = variable.now(state);
        let others = |handle: &&mut Handle| VARIABLES[handle.index].quantity == Quantity::Peak;
        for handle in
            PVARS.get_mut(&mut state.tables).handles.iter_mut().map(|(_, handle)| handle).filter(others)
        {
            handle.total = handle.total.max(highest);
        }
        state.p2p.restart_peak();
    }
    let now = variable.now(state);
    if let Some(handle) = PVARS.get_mut(&mut state.tables).handles.get_mut(key) {
        handle.base = now;
        handle.total = 0;
    }
}

fn set_running(state: &mut State, key: u32, run: bool) {
    let variable = PVARS.get(&state.tables).variable(key);
    let now = variable.now(state);
    let Some(handle) = PVARS.get_mut(&mut state.tables).handles.get_mut(key) else { return };
    if handle.running == run {
        return;
    }
    if run {
        handle.base = now;
    } else {
        handle.total += now.saturating_sub(handle.base);
    }
    handle.running = run;
    if variable.quantity == Quantity::Time {
        let timers = &mut state.timers;
        *timers = if run { *timers + 1 } else { *timers - 1 };
    }
}

fn free_handle(state: &mut State, key: u32) {
    set_running(state, key, false);
    PVARS.get_mut(&mut state.tables).handles.remove(key);
}
