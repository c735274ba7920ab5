//! Operations under way: the memory that a provider wants beside each, and what its completion is to say.

use core::cell::Cell;
use core::ffi::c_void;

use mem::UserMem;

use crate::endpoint::Address;
use crate::memory::Region;

/// What the provider is given as an operation's context. It may use the first 64 bytes (`fi_context2`) until the
/// completion.
#[repr(C)]
struct Record {
    provider: [Cell<u64>; 8],
    name: u32,
    busy: Cell<bool>,
    /// The operation goes on after its next completion.
    keep: Cell<bool>,
    told: Cell<Told>,
    region: Cell<Option<Region>>,
    /// Memory of the operation's own.
    scratch: Cell<Option<Box<[u8]>>>,
}

/// What is remembered of an operation for its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    pub cookie: u64,
    /// Length of its memory in bytes.
    pub room: u64,
    /// The receiver of a send, or the sender that a receive asks for.
    pub peer: Option<Address>,
    pub sends: bool,
}

/// All operations of an endpoint. Records stay where they are, and are used again.
#[derive(Default)]
pub(crate) struct Operations {
    records: Vec<&'static Record>,
    free: Vec<u32>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Operation(&'static Record);

impl Operation {
    pub fn context(self) -> *mut c_void {
        (&raw const *self.0).cast_mut().cast()
    }

    pub fn name(self) -> u32 {
        self.0.name
    }

    /// What the provider knows the operation's memory by.
    pub fn desc(self) -> *mut c_void {
        let region = self.0.region.take();
        let desc = region.as_ref().map_or(core::ptr::null_mut(), Region::desc);
        self.0.region.set(region);
        desc
    }

    /// Sets whether the operation goes on after its next completion, unless that is an error.
    pub fn keep(self, keep: bool) {
        self.0.keep.set(keep);
    }

    /// Goes on with a kept operation, which ends with its next completion. Returns what was remembered of it.
    pub fn renew(self, told: Told, region: Option<Region>) -> Told {
        self.0.keep.set(false);
        self.0.region.set(region);
        self.0.told.replace(told)
    }

    /// Ends what [`Operation::renew`] began.
    pub fn take_back(self, told: Told) -> Option<Region> {
        self.0.keep.set(true);
        self.0.told.set(told);
        self.0.scratch.set(None);
        self.0.region.take()
    }

    /// Memory for the message that a kept operation has shown, until the operation is over.
    pub fn scratch(self) -> UserMem {
        let mut scratch = vec![0; self.0.told.get().room as usize].into_boxed_slice();
        // SAFETY: the record keeps the memory, which stays where it is, until the provider has given it back.
        let memory = unsafe { UserMem::of(&mut scratch) };
        self.0.scratch.set(Some(scratch));
        memory
    }
}

impl Operations {
    pub fn begin(&mut self, told: Told, region: Option<Region>) -> Operation {
        let name = self.free.pop().unwrap_or_else(|| {
            let name = self.records.len() as u32;
            // Never freed: a provider may still know it when the process ends.
            self.records.push(Box::leak(Box::new(Record {
                provider: [const { Cell::new(0) }; 8],
                name,
                busy: Cell::new(false),
                keep: Cell::new(false),
                told: Cell::new(told),
                region: Cell::new(None),
                scratch: Cell::new(None),
            })));
            name
        });
        let operation = self.get(name);
        operation.0.busy.set(true);
        operation.0.told.set(told);
        operation.0.region.set(region);
        operation
    }

    pub fn get(&self, name: u32) -> Operation {
        Operation(self.records[name as usize])
    }

    /// The operation with this context is over, or goes on with a message of `len` bytes; what is remembered of it, and
    /// the memory to be given back. `None`: there is none.
    pub fn end(&mut self, context: *mut c_void, len: u64) -> Option<(Told, Option<Region>)> {
        let record = self.find(context)?;
        let ended = (record.told.get(), record.region.take());
        if record.keep.get() {
            record.told.set(Told { room: len, ..record.told.get() });
        } else {
            record.busy.set(false);
            record.scratch.set(None);
            self.free.push(record.name);
        }
        Some(ended)
    }

    /// The operation with this context has failed: it is not kept.
    pub fn fail(&mut self, context: *mut c_void) {
        if let Some(record) = self.find(context) {
            record.keep.set(false);
        }
    }

    /// The names of the receives under way that ask for this sender.
    pub fn receives_from(&self, from: Address) -> Vec<u32> {
        let wanted = |record: &&&Record| {
            let told = record.told.get();
            record.busy.get() && !told.sends && told.peer == Some(from)
        };
        self.records.iter().filter(wanted).map(|record| record.name).collect()
    }

    fn find(&self, context: *mut c_void) -> Option<&'static Record> {
        if context.is_null() {
            return None;
        }
        let record = context.cast::<Record>();
        // SAFETY: a provider gives back only contexts that it was given, which are records, and those stay for ever.
        let record = unsafe { &*record };
        record.busy.get().then_some(record)
    }
}
