//! Values of attributes (MPI-5.0 section 19.3.7).

use abi::Address;

use crate::callback::Origin;
use crate::origin::of_call;

/// The value of an attribute as the language that has set it has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// A pointer of C.
    Pointer(Address),
    /// An integer of Fortran; C sees a pointer to it, which is valid while the attribute is there.
    Integer(Box<i64>),
}

impl Attribute {
    /// What a call of `MPI_Comm_set_attr` and the like was given: a pointer, or a place with the integer.
    ///
    /// # Safety
    /// A place that a front-end has named is readable.
    pub unsafe fn given(value: Address) -> Attribute {
        let place = core::ptr::with_exposed_provenance::<i64>(value.0);
        match of_call(place).has_integers() {
            // SAFETY: the caller's promise.
            true => Attribute::Integer(Box::new(unsafe { *place })),
            false => Attribute::Pointer(value),
        }
    }

    /// The pointer or the integer that it is for functions of that origin.
    pub fn seen_by(&self, origin: Origin) -> Address {
        match self {
            Attribute::Pointer(pointer) => *pointer,
            Attribute::Integer(number) if origin.has_integers() => Address(**number as usize),
            Attribute::Integer(number) => Address((&raw const **number).expose_provenance()),
        }
    }

    /// What a copy function of that origin has made of this value: what it hands on as it is remains of its kind.
    pub fn copied(&self, copy: Address, origin: Origin) -> Attribute {
        if copy == self.seen_by(origin) {
            return self.clone();
        }
        if origin.has_integers() {
            Attribute::Integer(Box::new(copy.0 as i64))
        } else {
            Attribute::Pointer(copy)
        }
    }
}

/// Where the value of an attribute goes, in the terms of the call.
pub struct AttributeOut<'a> {
    place: &'a mut Address,
}

impl<'a> AttributeOut<'a> {
    /// At the place that C has given.
    pub fn new(place: &'a mut Address) -> AttributeOut<'a> {
        AttributeOut { place }
    }

    /// Gives an attribute of the program.
    pub fn give(self, value: &Attribute) {
        *self.place = value.seen_by(of_call(self.place));
    }

    /// Gives a predefined attribute: its address for C, the value for others.
    pub fn give_predefined(self, value: Predefined) {
        *self.place =
            if of_call(self.place).has_integers() { Address(value.number as usize) } else { value.pointer };
    }
}

/// A predefined attribute (MPI-5.0 sections 9.1.2 and 12.2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predefined {
    /// What C gets.
    pub pointer: Address,
    /// What Fortran gets.
    pub number: i64,
}

impl Predefined {
    /// An integer, to which C gets a pointer.
    pub fn of<N: Copy + Into<i64>>(value: &N) -> Predefined {
        Predefined { pointer: Address((&raw const *value).expose_provenance()), number: (*value).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callback::Callers;
    use crate::origin::state;

    static INTEGERS: Callers = Callers { attributes_are_integers: true, ..Callers::STANDARD };

    #[test]
    fn each_language_reads_what_the_other_has_set() {
        let fortran = Origin::of(&INTEGERS);
        let number = -5_i64;
        let place = Address((&raw const number).expose_provenance());
        // SAFETY: the place is readable.
        let (as_pointer, as_integer) = unsafe {
            let as_pointer = Attribute::given(place);
            state(place.0, fortran);
            let as_integer = Attribute::given(place);
            state(0, Origin::STANDARD);
            (as_pointer, as_integer)
        };
        assert_eq!(as_pointer, Attribute::Pointer(place));
        assert_eq!(as_pointer.seen_by(fortran), place);
        assert_eq!(as_integer.seen_by(fortran), Address(-5_isize as usize));
        let seen = core::ptr::with_exposed_provenance::<i64>(as_integer.seen_by(Origin::STANDARD).0);
        // SAFETY: the attribute is there.
        assert_eq!(unsafe { *seen }, -5);
    }

    #[test]
    fn what_a_copy_function_hands_on_keeps_its_kind() {
        let fortran = Origin::of(&INTEGERS);
        let integer = Attribute::Integer(Box::new(7));
        assert_eq!(integer.copied(integer.seen_by(Origin::STANDARD), Origin::STANDARD), integer);
        assert_eq!(integer.copied(Address(8), fortran), Attribute::Integer(Box::new(8)));
        let pointer = Attribute::Pointer(Address(64));
        assert_eq!(pointer.copied(Address(64), fortran), pointer);
        assert_eq!(pointer.copied(Address(72), Origin::STANDARD), Attribute::Pointer(Address(72)));
    }
}
