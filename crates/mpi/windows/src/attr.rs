//! Attributes of windows (MPI-5.0 sections 7.7.3 and 12.2.6).

use abi::{Address, Result};
use ffi::{Attribute, AttributeOut, Predefined};

use super::WINDOWS;
use objects::attr::{self, Attributed, Attributes, Holder};
use objects::domain::Token;
use objects::state::State;

/// A window as an object with attributes.
#[derive(Clone, Copy)]
pub(super) struct Win(pub abi::Win);

impl Attributed for Win {
    const HOLDER: Holder = Holder::Win;

    fn handle(self) -> usize {
        self.0.0
    }

    fn attributes(self, state: &mut State) -> Result<&mut Attributes> {
        Ok(&mut WINDOWS.get_mut(&mut state.tables).get_mut(self.0)?.attributes)
    }

    fn predefined(self, state: &State, keyval: i32) -> Result<Option<Option<Predefined>>> {
        let facts = &WINDOWS.get(&state.tables).get(self.0)?.facts;
        Ok(Some(Some(match keyval {
            // The address itself, for C and for Fortran.
            abi::WIN_BASE => Predefined { pointer: Address(facts.base), number: facts.base as i64 },
            abi::WIN_SIZE => Predefined {
                pointer: Address((&raw const facts.size).expose_provenance()),
                number: facts.size as i64,
            },
            abi::WIN_DISP_UNIT => Predefined::of(&facts.disp_unit),
            abi::WIN_CREATE_FLAVOR => Predefined::of(&facts.flavor),
            abi::WIN_MODEL => Predefined::of(&facts.model),
            _ => return Ok(None),
        })))
    }
}

/// `MPI_Win_set_attr`
pub fn set(t: &mut Token, win: abi::Win, keyval: i32, value: Attribute) -> Result<()> {
    attr::set(t, Win(win), keyval, value)
}

/// `MPI_Win_get_attr`
pub fn get(t: &mut Token, win: abi::Win, keyval: i32, value: AttributeOut<'_>, flag: &mut i32) -> Result<()> {
    attr::get(t, Win(win), keyval, value, flag)
}

/// `MPI_Win_delete_attr`
pub fn delete(t: &mut Token, win: abi::Win, keyval: i32) -> Result<()> {
    attr::delete(t, Win(win), keyval)
}
