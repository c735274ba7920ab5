//! One call, on its way into the recording.

use crate::real::Real;
use crate::state::{self, Moment};
use std::time::Instant;

/// A call that is recorded.
pub struct Call {
    number: usize,
    name: &'static str,
    values: Vec<i64>,
    entered: Moment,
    /// When the library's function was called and when it returned.
    started: Instant,
    ended: Instant,
}

impl Call {
    /// The call of a function; `None` while nothing is recorded. The recording ends with `MPI_Finalize`.
    pub fn begin(number: usize, name: &'static str) -> Option<Call> {
        if !state::is_running() {
            return None;
        }
        let entered = Moment::now();
        let at = entered.at;
        let call = Call { number, name, values: Vec::new(), entered, started: at, ended: at };
        if matches!(name, "MPI_Finalize" | "MPI_Abort") {
            call.write();
            state::end();
            return None;
        }
        Some(call)
    }

    /// A number or handle.
    pub fn value(&mut self, value: i64) {
        self.values.push(value);
    }

    /// The size of a datatype.
    pub fn size_of(&mut self, datatype: usize) {
        static REAL: Real = Real::new("PMPI_Type_size\0");
        let mut size = 0i32;
        if datatype == DATATYPE_NULL {
            return self.values.push(0);
        }
        // SAFETY: `PMPI_Type_size` takes a datatype and a pointer to an int.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, *mut i32) -> i32>(REAL.address())(
                datatype,
                &raw mut size,
            )
        };
        self.values.push(size.into());
    }

    /// A handle that a pointer leads to.
    pub fn word_at(&mut self, pointer: usize) {
        // SAFETY: MPI's contract: the pointer leads to a handle.
        self.values.push(if pointer == 0 { 0 } else { unsafe { *(pointer as *const i64) } });
    }

    /// So many handles, after their number.
    pub fn words_at(&mut self, pointer: usize, length: usize) {
        self.values.push(length as i64);
        // SAFETY: MPI's contract: the pointer leads to that many handles.
        (0..length).for_each(|index| self.word_at(pointer + index * size_of::<i64>()));
    }

    /// An int that a pointer leads to.
    pub fn int_at(&mut self, pointer: usize) {
        // SAFETY: MPI's contract: the pointer leads to an int.
        self.values.push(if pointer == 0 { 0 } else { unsafe { *(pointer as *const i32) }.into() });
    }

    /// As many ints as another int holds, after their number.
    pub fn ints_at(&mut self, pointer: usize, count: usize) {
        // SAFETY: as above.
        let count = if count == 0 { 0 } else { unsafe { *(count as *const i32) }.max(0) };
        self.values.push(count.into());
        (0..count as usize).for_each(|index| self.int_at(pointer + index * size_of::<i32>()));
    }

    /// A count for each rank of a communicator, after their number.
    pub fn counts_at(&mut self, pointer: usize, comm: usize, wide: bool) {
        let ranks = if pointer == 0 { 0 } else { state::ask("PMPI_Comm_size\0", comm) as usize };
        self.values.push(ranks as i64);
        for index in 0..ranks {
            if wide {
                self.word_at(pointer + index * size_of::<i64>());
            } else {
                self.int_at(pointer + index * size_of::<i32>());
            }
        }
    }

    /// A communicator that the call has made: its ranks go into the recording, too.
    pub fn comm_at(&mut self, pointer: usize) {
        self.word_at(pointer);
        let Some(&handle) = self.values.last() else { return };
        if let Some(ranks) = world_ranks(handle as usize) {
            state::with(|recording| recording.comm(handle, &ranks));
        }
    }

    /// The library's function is called now.
    pub fn starts(&mut self) {
        self.started = Instant::now();
    }

    /// It has returned.
    pub fn ended(&mut self) {
        self.ended = Instant::now();
    }

    /// Writes the call.
    pub fn write(self) {
        // What was done between `entered` and `started` is the recorder's own.
        let took = self.ended.saturating_duration_since(self.started);
        state::with(|recording| recording.call(self.number, self.name, self.entered, took, &self.values));
    }
}

/// Null handles of the standard ABI.
const COMM_NULL: usize = 0x100;
const DATATYPE_NULL: usize = 0x200;

/// The ranks of an intra-communicator, as ranks of the world.
fn world_ranks(comm: usize) -> Option<Vec<u32>> {
    if comm == COMM_NULL || comm == 0 {
        return None;
    }
    let two = |name: &'static str, first: usize, second: usize| {
        let real = Real::new(name).address();
        // SAFETY: these functions take a handle and a pointer.
        unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn(usize, usize) -> i32>(real)(first, second)
        }
    };
    let mut inter = 0i32;
    two("PMPI_Comm_test_inter\0", comm, &raw mut inter as usize);
    if inter != 0 {
        return None;
    }
    let (mut group, mut world) = (0usize, 0usize);
    two("PMPI_Comm_group\0", comm, &raw mut group as usize);
    two("PMPI_Comm_group\0", state::COMM_WORLD, &raw mut world as usize);
    let size = state::ask("PMPI_Comm_size\0", comm) as i32;
    let (from, mut to) = ((0..size).collect::<Vec<i32>>(), vec![-1i32; size as usize]);
    let real = Real::new("PMPI_Group_translate_ranks\0").address();
    // SAFETY: the function takes a group, a number, that many ranks, a group, and room for as many ranks.
    unsafe {
        core::mem::transmute::<usize, unsafe extern "C" fn(usize, i32, *const i32, usize, *mut i32) -> i32>(
            real,
        )(group, size, from.as_ptr(), world, to.as_mut_ptr())
    };
    for group in [&raw mut group, &raw mut world] {
        let real = Real::new("PMPI_Group_free\0").address();
        // SAFETY: the function takes a pointer to a group.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(*mut usize) -> i32>(real)(group) };
    }
    to.into_iter().map(|rank| u32::try_from(rank).ok()).collect()
}
