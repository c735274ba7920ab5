//! Attribute keys, and the attributes of an object.

use abi::{Address, Error, Result};
use ffi::{Attribute, CopyAttr, DeleteAttrFunction};

use crate::handle::Objects;

/// The kind of object that a key belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// Communicators.
    Comm,
    /// Datatypes.
    Datatype,
    /// Windows.
    Win,
}

/// A key: its functions, and how often it is used.
#[derive(Clone, Copy)]
pub(crate) struct Keyval {
    pub(crate) holder: Holder,
    pub(crate) copy: CopyAttr,
    pub(crate) delete: Option<DeleteAttrFunction>,
    pub(crate) extra_state: Address,
    /// The handle and each attribute that uses the key.
    users: u32,
    freed: bool,
}

/// Keys made by the program. A key's integer is above all predefined ones.
pub(crate) struct Keyvals {
    slab: Objects<Keyval>,
}

const FIRST_KEYVAL: i32 = 0x1000;

impl Keyvals {
    pub(crate) const fn new() -> Keyvals {
        Keyvals { slab: Objects::new() }
    }

    /// Adds a key, in use by its handle.
    pub(crate) fn add(
        &mut self,
        holder: Holder,
        copy: CopyAttr,
        delete: Option<DeleteAttrFunction>,
        extra_state: Address,
    ) -> Result<i32> {
        let new = Keyval { holder, copy, delete, extra_state, users: 1, freed: false };
        let full = |_| Error::new(abi::ERR_OTHER, "more than 2^20 attribute keys exist");
        Ok(FIRST_KEYVAL + self.slab.insert(new).map_err(full)? as i32)
    }

    /// Takes a key's handle away, unless another copy of it did.
    pub(crate) fn free(&mut self, key: i32, holder: Holder) -> Result<()> {
        self.get(key, holder)?;
        if let Some(found) = self.slab.get_mut((key - FIRST_KEYVAL) as u32)
            && !std::mem::replace(&mut found.freed, true)
        {
            self.release(key);
        }
        Ok(())
    }

    /// A key that exists: freed ones do as long as an attribute uses them (MPI-5.0 section 7.7.2).
    pub(crate) fn get(&self, key: i32, holder: Holder) -> Result<Keyval> {
        let keyval = key.checked_sub(FIRST_KEYVAL).and_then(|key| self.slab.get(u32::try_from(key).ok()?));
        match keyval {
            Some(keyval) if keyval.holder == holder => Ok(*keyval),
            _ => Err(Error::new(abi::ERR_KEYVAL, "no such attribute key for this kind of object")),
        }
    }

    pub(crate) fn acquire(&mut self, key: i32) {
        if let Some(keyval) = self.slab.get_mut((key - FIRST_KEYVAL) as u32) {
            keyval.users += 1;
        }
    }

    pub(crate) fn release(&mut self, key: i32) {
        let slot = (key - FIRST_KEYVAL) as u32;
        if let Some(keyval) = self.slab.get_mut(slot) {
            keyval.users -= 1;
            if keyval.users == 0 {
                self.slab.remove(slot);
            }
        }
    }

    /// The key's functions, also after the key itself was freed.
    pub(crate) fn functions(&self, key: i32) -> Option<Keyval> {
        self.slab.get((key - FIRST_KEYVAL) as u32).copied()
    }
}

/// The attributes of one object, in the order in which their values were set.
#[derive(Clone, Default, Debug)]
pub struct Attributes {
    pub(crate) values: Vec<(i32, Attribute)>,
}

impl Attributes {
    pub(crate) fn get(&self, key: i32) -> Option<&Attribute> {
        self.values.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }
}
