//! Buffers that lie in variables of the program: as what MPI was given them. Whether that is what they are, debug information tells
//! after the job (`alhena check`), since a library sees an address alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use datatype::Summary;
use interpose::shared::{self, Module, Place, Table};
use interpose::{Call, ask};

use crate::buffers::Items;
use crate::collectives::COLLECTIVES;
use crate::findings::{CallPlace, Findings, at};
use crate::messages::has_one_program;
use crate::site::Site;

/// Place 2, where it lies 3 ([`ON_STACK`], or a place 2), type 3, the most items of the basic type.
pub(crate) const TYPED: Table = Table::after(COLLECTIVES.end(), 9, 512, at::TYPED);

const STORAGE: usize = 2;
const TYPE: usize = 5;
const ITEMS: usize = 8;

/// In place of a module: how far the address is from the stack pointer and from the frame pointer of the function that calls.
const ON_STACK: u64 = u64::MAX;

/// No variable of a function is farther from its stack pointer.
const FAR: usize = 64 << 20;

/// Buffers that are looked at, at most: a program may have a new one in each call.
const MOST: usize = 4096;

/// Buffers that were looked at.
#[derive(Default)]
pub struct Typed {
    /// By the call's place, the stack pointer, the buffer and its datatype: the row; `None`: there is none for it.
    known: HashMap<(usize, usize, usize, usize), Option<usize>>,
}

impl Typed {
    /// A call was successful.
    pub fn changed(&mut self, findings: &Findings<'_>, call: &Call<'_>, items: &[Items]) {
        let stack = call.stack();
        for it in items.iter().filter(|it| it.first == 0) {
            let key = (call.site(), stack.map_or(0, |(stack, _)| stack), it.address, it.datatype);
            let is_room = self.known.len() < MOST;
            let row = match self.known.get(&key) {
                Some(row) => *row,
                None if is_room => *self.known.entry(key).or_insert_with(|| note(findings, call, it)),
                None => None,
            };
            let Some(row) = row else { continue };
            let elements =
                ask::signature(it.datatype).and_then(Summary::of_words).map_or(0, |it| it.elements);
            let count = (it.count.max(0) as u64).saturating_mul(elements);
            TYPED.row(findings.words(), row)[ITEMS].fetch_max(count, Relaxed);
        }
    }
}

/// The row of a buffer; `None`: no variable is known to have it, its type is none that a variable has, or no room is left.
fn note(findings: &Findings<'_>, call: &Call<'_>, it: &Items) -> Option<usize> {
    let signature = ask::signature(it.datatype)?;
    Summary::of_words(signature).filter(|it| it.is_uniform && !it.has_bytes)?;
    // A type with holes has its items elsewhere.
    (ask::type_size(it.datatype) == ask::type_extent(it.datatype).1).then_some(())?;
    let storage = match call.stack() {
        Some((stack, frame)) if (stack..stack.saturating_add(FAR)).contains(&it.address) => {
            [ON_STACK, (it.address - stack) as u64, it.address.wrapping_sub(frame) as u64]
        }
        _ => {
            let [module, offset] = findings.place(Site { function: 0, address: it.address });
            (module as u32 as u64 != shared::NO_MODULE).then_some([module, offset, 0])?
        }
    };
    let place = findings.place(Site::of(call));
    TYPED.row_of(findings.words(), &[&place[..], &storage, &signature].concat(), |_| {})
}

/// A buffer of the program, as what MPI was given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The call.
    pub at: CallPlace,
    /// Where it lies.
    pub storage: Storage,
    /// Its type.
    pub summary: Summary,
    /// The most items of the basic type.
    pub items: u64,
}

/// Where a buffer lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// At this offset in a file.
    Static(Module, u64),
    /// So far behind the stack pointer and the frame pointer of the function that calls.
    Stack(i64, i64),
}

/// The buffers of a rank.
pub fn read(words: &[AtomicU64]) -> Vec<Buffer> {
    if !has_one_program(words) {
        return Vec::new();
    }
    let modules = shared::modules(words);
    let buffer = |row: &Vec<u64>| {
        let storage = match row[STORAGE] {
            ON_STACK => Storage::Stack(row[STORAGE + 1] as i64, row[STORAGE + 2] as i64),
            _ => {
                let place = Place::read(&row[STORAGE..], modules.len())?;
                Storage::Static(modules[place.module?].clone(), place.offset)
            }
        };
        Some(Buffer {
            at: CallPlace::read(row, &modules)?,
            storage,
            summary: Summary::of_words([row[TYPE], row[TYPE + 1], row[TYPE + 2]])?,
            items: row[ITEMS],
        })
    };
    TYPED.copied(words).iter().filter_map(buffer).collect()
}
