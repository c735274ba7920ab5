//! Attributes (MPI-5.0 section 7.7): values cached on objects under keys, with callbacks of the program.
//!
//! A callback may call MPI. So the attributes of an object are copied out first, the callbacks run with the
//! state unlocked, and the result is put back.

use abi::{Address, Error, Result};
use ffi::{Attribute, AttributeOut, CopyAttr, DeleteAttrFunction, Predefined};

use crate::domain::Token;
use crate::state::State;
use crate::tables::attributes::Keyval;

pub use crate::tables::attributes::{Attributes, Holder};

/// An object with attributes.
pub trait Attributed: Copy {
    /// Of which kind it is.
    const HOLDER: Holder;

    /// What callbacks know it by.
    fn handle(self) -> usize;

    /// Those of the program.
    ///
    /// # Errors
    /// That of a handle that names no such object.
    fn attributes(self, state: &mut State) -> Result<&mut Attributes>;

    /// A predefined attribute, if the key is one: its value, or that it is not set.
    ///
    /// # Errors
    /// As [`Attributed::attributes`].
    fn predefined(self, _state: &State, _keyval: i32) -> Result<Option<Option<Predefined>>> {
        Ok(None)
    }
}

impl Attributed for abi::Comm {
    const HOLDER: Holder = Holder::Comm;

    fn handle(self) -> usize {
        self.0
    }

    fn attributes(self, state: &mut State) -> Result<&mut Attributes> {
        Ok(&mut state.comms.get_mut(self)?.attributes)
    }

    fn predefined(self, state: &State, keyval: i32) -> Result<Option<Option<Predefined>>> {
        let p = &state.predefined;
        let value = match keyval {
            abi::TAG_UB => &p.tag_ub,
            abi::IO => &p.io,
            abi::HOST => &p.host,
            abi::WTIME_IS_GLOBAL => &p.wtime_is_global,
            abi::APPNUM => &p.appnum,
            abi::UNIVERSE_SIZE => &p.universe_size,
            abi::LASTUSEDCODE => &p.last_used_code,
            abi::FT => &p.ft,
            _ => return Ok(None),
        };
        // Section 9.1.2: of what describes the environment, a communicator of a session has the bound of tags alone. The
        // last code (section 9.5) and whether failures are survived concern sessions, too.
        let of_session = state.comm(self)?.session.is_some();
        let world_only =
            matches!(keyval, abi::IO | abi::HOST | abi::WTIME_IS_GLOBAL | abi::APPNUM | abi::UNIVERSE_SIZE);
        let unset = of_session && world_only
            || keyval == abi::APPNUM && p.appnum < 0
            || keyval == abi::UNIVERSE_SIZE && p.universe_size <= 0;
        Ok(Some((!unset).then(|| Predefined::of(value))))
    }
}

impl Attributed for abi::Datatype {
    const HOLDER: Holder = Holder::Datatype;

    fn handle(self) -> usize {
        self.0
    }

    fn attributes(self, state: &mut State) -> Result<&mut Attributes> {
        state.types.attributes(self)
    }
}

/// `MPI_Comm_create_keyval` and its siblings
pub fn create_keyval(
    t: &mut Token,
    holder: Holder,
    copy: CopyAttr,
    delete: Option<DeleteAttrFunction>,
    keyval: &mut i32,
    extra_state: Address,
) -> Result<()> {
    *keyval = t.lock().keyvals.add(holder, copy, delete, extra_state)?;
    Ok(())
}

/// `MPI_Comm_free_keyval` and its siblings: attributes under the key live on, and the key with them; to free it
/// again by another copy of the handle changes nothing then.
pub fn free_keyval(t: &mut Token, holder: Holder, keyval: &mut i32) -> Result<()> {
    t.lock().keyvals.free(*keyval, holder)?;
    *keyval = abi::KEYVAL_INVALID;
    Ok(())
}

/// `MPI_Comm_set_attr` and its siblings: an old value is deleted first, with its callback.
pub fn set<O: Attributed>(t: &mut Token, object: O, keyval: i32, value: Attribute) -> Result<()> {
    let old = {
        let mut state = t.lock();
        state.keyvals.get(keyval, O::HOLDER)?;
        object.attributes(&mut state)?.get(keyval).cloned()
    };
    if let Some(old) = old {
        call_delete(t, object, keyval, &old)?;
    }
    let mut state = t.lock();
    let values = &mut object.attributes(&mut state)?.values;
    let before = values.len();
    values.retain(|(key, _)| *key != keyval);
    values.push((keyval, value));
    if values.len() > before {
        state.keyvals.acquire(keyval);
    }
    Ok(())
}

/// `MPI_Comm_get_attr` and its siblings
pub fn get<O: Attributed>(
    t: &mut Token,
    object: O,
    keyval: i32,
    value: AttributeOut<'_>,
    flag: &mut i32,
) -> Result<()> {
    let mut state = t.lock();
    if let Some(found) = object.predefined(&state, keyval)? {
        *flag = i32::from(found.is_some());
        if let Some(found) = found {
            value.give_predefined(found);
        }
        return Ok(());
    }
    object.attributes(&mut state)?;
    state.keyvals.get(keyval, O::HOLDER)?;
    let found = object.attributes(&mut state)?.get(keyval);
    *flag = i32::from(found.is_some());
    if let Some(found) = found {
        value.give(found);
    }
    Ok(())
}

/// `MPI_Comm_delete_attr` and its siblings
pub fn delete<O: Attributed>(t: &mut Token, object: O, keyval: i32) -> Result<()> {
    let old = {
        let mut state = t.lock();
        state.keyvals.get(keyval, O::HOLDER)?;
        object.attributes(&mut state)?.get(keyval).cloned()
    };
    let old = old.ok_or(Error::new(abi::ERR_KEYVAL, "the object has no attribute under this key"))?;
    remove(t, object, keyval, &old)
}

fn remove(t: &mut Token, object: impl Attributed, keyval: i32, value: &Attribute) -> Result<()> {
    call_delete(t, object, keyval, value)?;
    let mut state = t.lock();
    object.attributes(&mut state)?.values.retain(|(key, _)| *key != keyval);
    state.keyvals.release(keyval);
    Ok(())
}

fn call_delete(t: &mut Token, object: impl Attributed, keyval: i32, value: &Attribute) -> Result<()> {
    let functions = t.lock().keyvals.functions(keyval);
    let Some(Keyval { delete: Some(delete), extra_state, .. }) = functions else { return Ok(()) };
    match delete.call(object.handle(), keyval, value.seen_by(delete.origin()), extra_state) {
        abi::SUCCESS => Ok(()),
        code => Err(Error::new(code, "the delete function of an attribute failed")),
    }
}

/// Deletes every attribute of an object that is about to go, in reverse order of setting (MPI-5.0 sections
/// 7.7.1 and 11.2.4). Stops at the first callback that fails, as the object then stays.
pub fn delete_all(t: &mut Token, object: impl Attributed) -> Result<()> {
    loop {
        let last = object.attributes(&mut t.lock())?.values.last().cloned();
        let Some((keyval, value)) = last else { return Ok(()) };
        remove(t, object, keyval, &value)?;
    }
}

/// Offers every attribute of `from` to its copy callback; what the duplicate gets (MPI-5.0 section 7.7.2).
pub fn copy_all(t: &mut Token, from: impl Attributed) -> Result<Attributes> {
    let values = from.attributes(&mut t.lock())?.values.clone();
    let mut copied = Attributes::default();
    for (keyval, value) in values {
        let functions = t.lock().keyvals.functions(keyval);
        let Some(Keyval { copy, extra_state, .. }) = functions else { continue };
        let new = match copy {
            CopyAttr::Null => None,
            CopyAttr::Dup => Some(value),
            CopyAttr::User(function) => {
                let (mut out, mut flag) = (Address(0), 0);
                let seen = value.seen_by(function.origin());
                match function.call(from.handle(), keyval, extra_state, seen, &mut out, &mut flag) {
                    abi::SUCCESS => (flag != 0).then(|| value.copied(out, function.origin())),
                    code => {
                        forget(&mut t.lock(), copied);
                        return Err(Error::new(code, "the copy function of an attribute failed"));
                    }
                }
            }
        };
        if let Some(new) = new {
            copied.values.push((keyval, new));
            t.lock().keyvals.acquire(keyval);
        }
    }
    Ok(copied)
}

/// Forgets copies whose object was never made.
pub fn forget(state: &mut State, copied: Attributes) {
    copied.values.iter().for_each(|(keyval, _)| state.keyvals.release(*keyval));
}
