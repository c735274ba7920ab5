//! A call as the program made it, for the message about its failure.

use core::ffi::{CStr, c_char};

/// A function and the arguments that it was given, as words.
///
/// The signature is the function's name, then `name:word` for each argument:
///
/// ```text
///   MPI_Send buf:buffer count:int datatype:MPI_Datatype dest:int tag:int comm:MPI_Comm
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Given<const N: usize> {
    signature: &'static str,
    values: [u64; N],
}

/// The same, whatever the number of arguments is.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    signature: &'static str,
    values: &'a [u64],
}

/// One argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Argument<'a> {
    /// Its C name.
    pub name: &'static str,
    /// What the program gave.
    pub value: Value<'a>,
}

/// The value of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// A number.
    Int(i64),
    /// A handle of this C type.
    Handle(&'static str, usize),
    /// A message buffer.
    Buffer(usize),
    /// Where a result goes, an array or a function.
    Address(usize),
    /// Text that goes in; `None` for NULL.
    Text(Option<&'a CStr>),
}

impl<const N: usize> Given<N> {
    /// A function with these arguments, one for each of the signature.
    ///
    /// # Safety
    /// The contract of this crate, for each value whose word is `text`: NULL or a NUL-terminated string.
    pub const unsafe fn new(signature: &'static str, values: [u64; N]) -> Given<N> {
        Given { signature, values }
    }

    /// The call that it describes.
    pub fn call(&self) -> Call<'_> {
        Call { signature: self.signature, values: &self.values }
    }
}

impl<'a> Call<'a> {
    /// The name of the function.
    pub fn function(&self) -> &'static str {
        self.signature.split(' ').next().unwrap_or(self.signature)
    }

    /// Its arguments in order.
    pub fn arguments(&self) -> impl Iterator<Item = Argument<'a>> {
        let words = self.signature.split(' ').skip(1).filter_map(|argument| argument.split_once(':'));
        words.zip(self.values).map(|((name, word), &value)| Argument { name, value: Value::new(word, value) })
    }
}

impl Value<'_> {
    fn new(word: &'static str, value: u64) -> Self {
        match word {
            "int" => Value::Int(value as i64),
            "buffer" => Value::Buffer(value as usize),
            "text" if value == 0 => Value::Text(None),
            // SAFETY: not NULL, and a NUL-terminated string by the promise given to `Given::new`.
            "text" => Value::Text(Some(unsafe { CStr::from_ptr(value as usize as *const c_char) })),
            handle if handle.starts_with("MPI_") => Value::Handle(handle, value as usize),
            _ => Value::Address(value as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_follow_the_signature() {
        let key = c"wdir";
        let values = [0x10, key.as_ptr() as u64, -1i64 as u64, 0x104];
        // SAFETY: the second value is a string.
        let given = unsafe { Given::new("MPI_X buf:buffer key:text n:int comm:MPI_Comm", values) };
        assert_eq!(given.call().function(), "MPI_X");
        let seen: Vec<_> = given.call().arguments().map(|argument| (argument.name, argument.value)).collect();
        assert_eq!(
            seen,
            [
                ("buf", Value::Buffer(0x10)),
                ("key", Value::Text(Some(key))),
                ("n", Value::Int(-1)),
                ("comm", Value::Handle("MPI_Comm", 0x104)),
            ]
        );
    }

    #[test]
    fn a_function_without_arguments_has_none() {
        // SAFETY: there is no string.
        let given = unsafe { Given::new("MPI_Finalize", []) };
        let call = given.call();
        assert_eq!((call.function(), call.arguments().count()), ("MPI_Finalize", 0));
    }
}
