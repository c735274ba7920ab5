//! Objects that a program makes and must free, with the places of their birth.

use std::collections::HashMap;

use interpose::{Call, Direction, Kind, Shape};

use crate::findings::{Class, Findings};
use crate::site::Site;

/// Objects by kind and handle.
#[derive(Default)]
pub struct Handles(HashMap<(Kind, usize), Object>);

struct Object {
    born: Site,
    /// The library may answer the same handle several times; each is to be freed.
    references: u32,
}

/// Handles below are constants of the ABI, or null.
pub const FIRST: usize = 0x1000;

/// The class of a leak of this kind.
fn class(kind: Kind) -> Option<Class> {
    Some(match kind {
        Kind::Comm => Class::CommunicatorLeak,
        Kind::Group => Class::GroupLeak,
        Kind::Datatype => Class::DatatypeLeak,
        Kind::Op => Class::OperationLeak,
        Kind::Win => Class::WindowLeak,
        Kind::File => Class::FileLeak,
        Kind::Info => Class::InfoLeak,
        Kind::Errhandler => Class::ErrhandlerLeak,
        Kind::Session => Class::SessionLeak,
        Kind::Message => Class::MessageLeak,
        _ => return None,
    })
}

/// Types that belong to the library, which a program must not free (MPI-5.0 section 19.1.5).
fn is_library_owned(call: &Call<'_>) -> bool {
    call.function.base().starts_with("Type_create_f90_")
}

/// The handles that the call may free.
pub fn before(call: &Call<'_>) -> Vec<(Kind, usize)> {
    call.arguments()
        .filter(|(_, it)| {
            it.direction == Direction::InOut && it.shape == Shape::One && class(it.kind).is_some()
        })
        .map(|(place, it)| (it.kind, call.handle(place)))
        .collect()
}

impl Handles {
    /// A call was successful: what it has made and freed.
    pub fn changed(&mut self, call: &Call<'_>, before: &[(Kind, usize)]) {
        let mut before = before.iter();
        for (place, argument) in call.arguments().filter(|(_, it)| class(it.kind).is_some()) {
            match (argument.direction, argument.shape) {
                (Direction::InOut, Shape::One) => {
                    let Some(&(kind, old)) = before.next() else { continue };
                    if call.handle(place) != old {
                        self.freed(kind, old);
                    }
                }
                (Direction::Out, Shape::One) if !is_library_owned(call) => {
                    self.made(argument.kind, call.handle(place), Site::of(call));
                }
                (Direction::Out, Shape::Array(_)) if argument.kind == Kind::Datatype => {
                    self.contents(call, place);
                }
                _ => {}
            }
        }
    }

    /// `MPI_Type_get_contents`: the types are new references where they are not named ones.
    fn contents(&mut self, call: &Call<'_>, place: usize) {
        for index in 0..call.length(place) {
            let handle = call.element(place, index) as usize;
            // Those that the library has not written may be anything; a type that the program has made is meant.
            if self.0.contains_key(&(Kind::Datatype, handle)) {
                self.made(Kind::Datatype, handle, Site::of(call));
            }
        }
    }

    fn made(&mut self, kind: Kind, handle: usize, born: Site) {
        if handle >= FIRST {
            self.0.entry((kind, handle)).or_insert(Object { born, references: 0 }).references += 1;
        }
    }

    fn freed(&mut self, kind: Kind, handle: usize) {
        if let Some(object) = self.0.get_mut(&(kind, handle)) {
            object.references -= 1;
            if object.references == 0 {
                self.0.remove(&(kind, handle));
            }
        }
    }

    /// The library is finalized: what is left was never freed.
    pub fn left(&mut self, findings: &Findings<'_>) {
        for ((kind, _), object) in self.0.drain() {
            if let Some(class) = class(kind) {
                findings.add(class, object.born, None, [0; 3]);
            }
        }
    }
}
