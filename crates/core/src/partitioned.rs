//! Partitioned point-to-point communication (MPI-5.0 chapter 4).

use abi::Result;
use pml_ob1::{Done, Ob1};

use crate::state::State;

/// A partitioned operation. There is none yet: `MPI_Psend_init` and `MPI_Precv_init` are still to come.
pub(crate) enum Partitioned {}

impl Partitioned {
    pub fn is_active(&self) -> bool {
        match *self {}
    }

    pub fn advance(&mut self, _ob1: &mut Ob1) -> bool {
        match *self {}
    }

    pub fn deactivate(&mut self) -> Done {
        match *self {}
    }

    pub fn outcome(&self, _ob1: &Ob1) -> Done {
        match *self {}
    }

    pub fn release(self: Box<Self>, _state: &mut State) {
        match *self {}
    }
}

/// `MPI_Start` on a partitioned request.
pub(crate) fn start(_state: &mut State, _key: u32) -> Result<()> {
    Ok(())
}
