//! One call of the program, with its arguments.

use crate::ask;
use crate::function::{Argument, Direction, FUNCTIONS, Function, Kind, Shape};
use crate::stack::Stack;

/// Words that a frame has for the wrappers themselves.
pub const LOCALS: usize = 10;
/// Arguments that the calling convention passes in registers.
pub const IN_REGISTERS: usize = if cfg!(target_arch = "x86_64") { 6 } else { 8 };

/// A call on the stack, as the entry of its wrapper lays it out.
#[repr(C)]
pub struct Frame {
    /// The function's number.
    pub number: usize,
    /// When the library's function was called, in nanoseconds of [`crate::clock::now`].
    pub started: u64,
    /// When it returned.
    pub ended: u64,
    /// For how many nanoseconds it has waited.
    pub waited: u64,
    /// Where the program's call returns to.
    pub site: usize,
    /// What each tool keeps from the beginning of a call to its end.
    pub words: [usize; LOCALS - 5],
    /// The first arguments.
    pub registers: [usize; IN_REGISTERS],
    /// The caller's frame pointer.
    pub frame_pointer: usize,
    /// Where the call returns to.
    pub return_address: usize,
    /// The other arguments follow.
    pub stack: [usize; 0],
}

thread_local! {
    /// Statuses that the program ignores, of the calls that this thread is in.
    static IGNORED: Stack<Vec<abi::Status>> = const { Stack::new() };
}

/// The word of a frame that finds its ignored statuses; those before it are the tools'.
const STATUSES: usize = LOCALS - 6;

/// The entry reads the arguments from the frame, so they may be changed.
impl Frame {
    /// Has the library write the statuses that the program ignores.
    ///
    /// # Safety
    /// The frame is one that an entry has laid out, with all arguments of its function.
    pub unsafe fn add_statuses(&mut self) {
        self.words[STATUSES] = 0;
        // SAFETY: as the caller promises.
        let call = unsafe { Call::of(self) };
        let is_status =
            |(_, it): &(usize, &Argument)| it.kind == Kind::Status && it.direction == Direction::Out;
        let found = call.arguments().find(is_status).filter(|_| call.function.chapter == 3);
        let Some((place, _)) = found.filter(|&(place, _)| call.word(place) == abi::STATUS_IGNORE) else {
            return;
        };
        let mut statuses = vec![abi::Status::EMPTY; call.length(place)];
        let address = statuses.as_mut_ptr() as usize;
        self.words[STATUSES] = IGNORED.with(|stack| stack.keep(statuses));
        match place.checked_sub(IN_REGISTERS) {
            None => self.registers[place] = address,
            // SAFETY: as the caller promises; a function owns the arguments that it gets on the stack.
            Some(place) => unsafe { *self.stack.as_mut_ptr().add(place) = address },
        }
    }

    /// The tools have seen them.
    pub fn drop_statuses(&mut self) {
        if self.words[STATUSES] != 0 {
            IGNORED.with(|stack| stack.take(self.words[STATUSES]));
        }
    }
}

/// A call that a tool looks at.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// What is called.
    pub function: &'static Function,
    frame: &'a Frame,
}

impl<'a> Call<'a> {
    /// The call of a frame.
    ///
    /// # Safety
    /// The frame is one that an entry has laid out, with all arguments of its function.
    pub unsafe fn of(frame: &'a Frame) -> Call<'a> {
        Call { function: &FUNCTIONS[frame.number], frame }
    }

    /// The function's number in [`FUNCTIONS`].
    pub fn number(&self) -> usize {
        self.frame.number
    }

    /// When the library's function was called, in nanoseconds of [`crate::clock::now`].
    pub fn started(&self) -> u64 {
        self.frame.started
    }

    /// When the library's function returned.
    pub fn ended(&self) -> u64 {
        self.frame.ended
    }

    /// Nanoseconds for which the call has waited; 0 where that is not measured ([`crate::waits`]).
    pub fn waited(&self) -> u64 {
        self.frame.waited
    }

    /// The address to which the program's call returns; a call through Fortran's library is the one of the Fortran program.
    pub fn site(&self) -> usize {
        self.frame.site
    }

    /// The stack pointer and the frame pointer of the function that calls; `None`: a library of its language lies between.
    pub fn stack(&self) -> Option<(usize, usize)> {
        let is_direct = self.frame.site == self.frame.return_address;
        is_direct.then_some((self.frame.stack.as_ptr() as usize, self.frame.frame_pointer))
    }

    /// The word of argument `place`: what is there of a number that has 32 bits is its lower half.
    pub fn word(&self, place: usize) -> usize {
        debug_assert!(place < self.function.arguments.len());
        match place.checked_sub(IN_REGISTERS) {
            None => self.frame.registers[place],
            // SAFETY: `of` promises that the arguments behind the registers follow the frame.
            Some(place) => unsafe { *self.frame.stack.as_ptr().add(place) },
        }
    }

    /// A number, whatever its width.
    pub fn number_at(&self, place: usize) -> i64 {
        let word = self.word(place);
        match self.function.arguments[place].kind {
            Kind::Int => i64::from(word as i32),
            Kind::Count | Kind::Displ if !self.function.wide => i64::from(word as i32),
            _ => word as i64,
        }
    }

    /// A handle, by value or through a pointer; 0 where the pointer is NULL.
    pub fn handle(&self, place: usize) -> usize {
        match self.function.arguments[place].is_value() {
            true => self.word(place),
            false => self.element(place, 0) as usize,
        }
    }

    /// Element `index` of what argument `place` points to: a number or a handle. 0 where the pointer is NULL.
    pub fn element(&self, place: usize, index: usize) -> i64 {
        let pointer = self.word(place);
        if pointer == 0 {
            return 0;
        }
        let narrow = match self.function.arguments[place].kind {
            Kind::Int => true,
            Kind::Count | Kind::Displ => !self.function.wide,
            _ => false,
        };
        // SAFETY: MPI's contract: the pointer leads to that many elements of the argument's kind, aligned as C has them.
        unsafe {
            match narrow {
                true => i64::from(*(pointer as *const i32).add(index)),
                false => *(pointer as *const i64).add(index),
            }
        }
    }

    /// The length of an array whose length is an argument, at most what an `int` can count.
    pub fn length(&self, place: usize) -> usize {
        match self.function.arguments[place].shape {
            Shape::Array(length) => self.number_at(length).clamp(0, i64::from(i32::MAX)) as usize,
            _ => 1,
        }
    }

    /// The arguments with their places.
    pub fn arguments(&self) -> impl Iterator<Item = (usize, &'static Argument)> {
        self.function.arguments.iter().enumerate()
    }

    /// The communicator that goes in.
    pub fn comm(&self) -> Option<usize> {
        let found = self.arguments().find(|(_, it)| it.kind == Kind::Comm && it.is_value());
        found.map(|(place, _)| self.word(place))
    }

    /// Whether this rank is the one that the argument `root` names; `None`: the function has no such argument.
    pub fn is_root(&self) -> Option<bool> {
        let root = self.number_at(self.function.place("root")?);
        Some(self.comm().is_some_and(|comm| root == i64::from(ask::comm_rank(comm))))
    }

    /// The requests that go in, before the call changes them.
    pub fn requests_in(&self) -> Vec<usize> {
        let goes_in =
            |(_, it): &(usize, &Argument)| it.kind == Kind::Request && it.direction != Direction::Out;
        let mut all = Vec::new();
        for (place, argument) in self.arguments().filter(goes_in) {
            match argument.is_value() {
                true => all.push(self.word(place)),
                false => all.extend((0..self.length(place)).map(|index| self.element(place, index) as usize)),
            }
        }
        all
    }

    /// The source and tag of status `index` of what argument `place` points to; `None`: the program ignores it.
    pub fn status(&self, place: usize, index: usize) -> Option<(i32, i32)> {
        let pointer = self.word(place);
        // SAFETY: MPI's contract: the pointer leads to a status, or as many as there are requests.
        let status = (pointer != 0).then(|| unsafe { &*(pointer as *const abi::Status).add(index) })?;
        Some((status.source, status.tag))
    }

    /// The requests that the call has completed, of those that it was given: the place of each, and of its status.
    pub fn completed(&self, before: &[usize]) -> Vec<(usize, usize)> {
        let base = self.function.base();
        let out = |name: &str| self.function.place(name).map(|place| self.element(place, 0));
        let all = || (0..before.len()).map(|place| (place, place)).collect();
        let flag = || out("flag").is_some_and(|flag| flag != 0);
        let within = |place: i64| usize::try_from(place).ok().filter(|&place| place < before.len());
        match base {
            "Wait" | "Waitall" => all(),
            "Test" | "Testall" if flag() => all(),
            "Waitany" | "Testany" if base == "Waitany" || flag() => {
                out("indx").and_then(within).map(|place| (place, 0)).into_iter().collect()
            }
            "Waitsome" | "Testsome" => {
                let count = out("outcount").unwrap_or(0).max(0) as usize;
                let Some(indices) = self.function.place("array_of_indices") else { return Vec::new() };
                let each = (0..count.min(before.len()))
                    .map(|at| within(self.element(indices, at)).map(|place| (place, at)));
                each.flatten().collect()
            }
            _ => Vec::new(),
        }
    }
}
