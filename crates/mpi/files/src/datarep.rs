//! Data representations (MPI-5.0 section 14.5): `native`, `internal`, `external32` and those that the program registers.
//!
//! `internal` is native. In another representation an access goes through bytes of the library's own, as they are in the
//! file; the view is made of types as they are there.
//!
//! ```text
//!   write   program's memory ──convert──► bytes as in the file ──► file
//!   read    file ──► bytes as in the file ──convert──► program's memory
//! ```
//!
//! The program's functions are called with the state unlocked.

use std::ffi::CStr;
use std::sync::Arc;

use abi::{Address, Count, Error, Result};
use datatype::{Basic, Datatype};
use ffi::{DatarepConversionFunction, DatarepConversionFunctionC, DatarepExtentFunction};

use super::FILES;
use super::buffer::Buffer;
use objects::domain::Token;
use objects::memory::{of_vec, of_vec_mut, pack_external, unpack_external_part, zeroed};

/// How data are represented in a file.
#[derive(Clone)]
pub enum Representation {
    Native,
    /// The same under another name.
    Internal,
    External32,
    User(Arc<Datarep>),
}

/// A representation of the program.
pub struct Datarep {
    name: String,
    read: Option<Convert>,
    write: Option<Convert>,
    extent: DatarepExtentFunction,
    extra_state: Address,
}

#[derive(Clone, Copy)]
enum Convert {
    Int(DatarepConversionFunction),
    Large(DatarepConversionFunctionC),
}

/// The representations that the program has registered; they stay.
pub struct Datareps {
    all: Vec<Arc<Datarep>>,
}

impl Datareps {
    pub const fn new() -> Datareps {
        Datareps { all: Vec::new() }
    }

    /// The representation of a name.
    ///
    /// # Errors
    /// `MPI_ERR_UNSUPPORTED_DATAREP`.
    pub fn find(&self, name: &CStr) -> Result<Representation> {
        match name.to_bytes() {
            b"native" => Ok(Representation::Native),
            b"internal" => Ok(Representation::Internal),
            b"external32" => Ok(Representation::External32),
            name => {
                let found = self.all.iter().find(|datarep| datarep.name.as_bytes() == name);
                found.cloned().map(Representation::User).ok_or(Error::new(
                    abi::ERR_UNSUPPORTED_DATAREP,
                    "no data representation of that name is registered",
                ))
            }
        }
    }
}

/// `MPI_Register_datarep`
pub fn register(
    t: &mut Token,
    name: &CStr,
    read: Option<DatarepConversionFunction>,
    write: Option<DatarepConversionFunction>,
    extent: DatarepExtentFunction,
    extra_state: Address,
) -> Result<()> {
    add(t, name, read.map(Convert::Int), write.map(Convert::Int), extent, extra_state)
}

/// `MPI_Register_datarep_c`
pub fn register_large(
    t: &mut Token,
    name: &CStr,
    read: Option<DatarepConversionFunctionC>,
    write: Option<DatarepConversionFunctionC>,
    extent: DatarepExtentFunction,
    extra_state: Address,
) -> Result<()> {
    add(t, name, read.map(Convert::Large), write.map(Convert::Large), extent, extra_state)
}

fn add(
    t: &mut Token,
    name: &CStr,
    read: Option<Convert>,
    write: Option<Convert>,
    extent: DatarepExtentFunction,
    extra_state: Address,
) -> Result<()> {
    let len = name.count_bytes();
    if len == 0 || len >= abi::MAX_DATAREP_STRING as usize {
        return Err(Error::new(abi::ERR_ARG, "the name of the data representation is empty or too long"));
    }
    let mut state = t.lock();
    if FILES.get(&state.tables).datareps.find(name).is_ok() {
        return Err(Error::new(abi::ERR_DUP_DATAREP, "a data representation of that name exists"));
    }
    let name = name.to_string_lossy().into_owned();
    FILES.get_mut(&mut state.tables).datareps.all.push(Arc::new(Datarep {
        name,
        read,
        write,
        extent,
        extra_state,
    }));
    Ok(())
}

impl Representation {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Representation::Native => "native",
            Representation::Internal => "internal",
            Representation::External32 => "external32",
            Representation::User(datarep) => &datarep.name,
        }
    }

    /// A number that differs where names do.
    pub fn digest(&self) -> u64 {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        self.name().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// Whether data in the file are as in memory.
    pub fn is_native(&self) -> bool {
        matches!(self, Representation::Native | Representation::Internal)
    }

    /// A type as it is in the file.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION` if the program's function gives none; `MPI_ERR_ARG`.
    pub fn of(&self, unlocked: &mut Token, datatype: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        if self.is_native() {
            return Ok(datatype.clone());
        }
        let mut known: Vec<(Basic, u64)> = Vec::new();
        datatype.represented(&mut |basic| match known.iter().find(|known| known.0 == basic) {
            Some(&(_, size)) => Ok(size),
            None => {
                let size = self.size_of(unlocked, basic)?;
                known.push((basic, size));
                Ok(size)
            }
        })
    }

    fn size_of(&self, _unlocked: &mut Token, basic: Basic) -> Result<u64> {
        let Representation::User(datarep) = self else { return Ok(basic.external_size()) };
        let mut extent = 0;
        let code = datarep.extent.call(basic.handle(), &mut extent, datarep.extra_state);
        let bad = Error::new(abi::ERR_CONVERSION, "the extent function of the data representation failed");
        if code != abi::SUCCESS {
            return Err(bad);
        }
        u64::try_from(extent).map_err(|_| bad)
    }
}

/// The conversion of one access.
pub struct Conversion {
    representation: Representation,
    buf: Address,
    count: u64,
    datatype: Arc<Datatype>,
    /// The program's handle, which it may free while the access is under way.
    handle: abi::Datatype,
    /// Bytes of an item in the file.
    item: u64,
}

impl Conversion {
    /// For `count` items at `buf`, with room for them as they are in the file.
    ///
    /// # Errors
    /// Those of [`Representation::of`]; `MPI_ERR_NO_MEM`.
    pub fn new(
        t: &mut Token,
        representation: Representation,
        buf: Address,
        count: Count,
        datatype: Arc<Datatype>,
        handle: abi::Datatype,
    ) -> Result<(Conversion, Vec<u8>)> {
        let item = representation.of(t, &datatype)?.size();
        let count = u64::try_from(count).map_err(|_| Error::new(abi::ERR_COUNT, "the count is negative"))?;
        let room = zeroed(datatype::total_size(item, count)? as usize)?;
        Ok((Conversion { representation, buf, count, datatype, handle, item }, room))
    }

    /// Converts the program's data to `staged`.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION`.
    pub fn encode(&self, t: &mut Token, staged: &mut [u8]) -> Result<()> {
        match &self.representation {
            Representation::User(datarep) => match datarep.write {
                Some(convert) => {
                    let file = of_vec_mut(staged).address();
                    self.call(t, convert, self.handle, datarep.extra_state, file, self.count)
                }
                None => self.copy(Buffer::User(self.data()?), staged, true).map(drop),
            },
            _ => pack_external(&self.datatype, self.count, self.buf, of_vec_mut(staged)).map(drop),
        }
    }

    /// What so many bytes of the file are in memory, without an item that is cut in two.
    pub(crate) fn in_memory(&self, bytes: u64) -> u64 {
        bytes.checked_div(self.item).unwrap_or(0).min(self.count) * self.datatype.size()
    }

    /// Whether [`Conversion::decode`] calls the program.
    pub(crate) fn calls_program(&self) -> bool {
        matches!(&self.representation, Representation::User(datarep) if datarep.read.is_some())
    }

    /// Converts what was read, which may be less than was asked for; bytes that the program's memory got.
    ///
    /// # Errors
    /// `MPI_ERR_CONVERSION`.
    pub fn decode(&self, t: &mut Token, staged: &mut [u8]) -> Result<u64> {
        let Representation::User(datarep) = &self.representation else { return self.decode_unaided(staged) };
        let Some(convert) = datarep.read else { return self.decode_unaided(staged) };
        // An item that the end of the file cuts in two is left out.
        let items = (staged.len() as u64).checked_div(self.item).unwrap_or(0).min(self.count);
        let file = of_vec(staged).address();
        objects::types::with_live_handle(t, self.handle, &self.datatype, |t, handle| {
            self.call(t, convert, handle, datarep.extra_state, file, items)
        })??;
        Ok(items * self.datatype.size())
    }

    /// As [`Conversion::decode`], where that does not call the program.
    ///
    /// # Errors
    /// `MPI_ERR_ARG`.
    pub(crate) fn decode_unaided(&self, staged: &mut [u8]) -> Result<u64> {
        match &self.representation {
            Representation::External32 => {
                unpack_external_part(of_vec(staged), &self.datatype, self.count, self.buf)
            }
            _ => self.copy(Buffer::User(self.data()?), staged, false),
        }
    }

    fn data(&self) -> Result<pml::Data> {
        objects::datatype::TypeRef::Derived(self.datatype.clone()).data(self.buf, self.count as Count)
    }

    /// `MPI_CONVERSION_FN_NULL`: the bytes are as they are in memory (section 14.5.3).
    fn copy(&self, mut data: Buffer, staged: &mut [u8], out: bool) -> Result<u64> {
        use io::Memory;
        let len = staged.len().min(data.total() as usize);
        match out {
            true => data.pack(0, mem::PeerSpace::of(&mut staged[..len])),
            false => data.unpack(0, mem::PeerBytes::of(&staged[..len])),
        }
        Ok(len as u64)
    }

    /// Calls the program for `items` items, as many at a time as its function can count.
    fn call(
        &self,
        _unlocked: &mut Token,
        convert: Convert,
        handle: abi::Datatype,
        extra_state: Address,
        staged: usize,
        items: u64,
    ) -> Result<()> {
        let mut done = 0;
        while done < items {
            let offset = (done as i64).wrapping_mul(self.datatype.extent());
            let user = Address(self.buf.0.wrapping_add_signed(offset as isize));
            let file = Address(staged + (done * self.item) as usize);
            let piece = match convert {
                Convert::Int(_) => (items - done).min(i32::MAX as u64),
                Convert::Large(_) => items - done,
            };
            let code = match convert {
                Convert::Int(function) => function.call(user, handle, piece as i32, file, 0, extra_state),
                Convert::Large(function) => function.call(user, handle, piece as i64, file, 0, extra_state),
            };
            if code != abi::SUCCESS {
                return Err(Error::new(
                    abi::ERR_CONVERSION,
                    "the conversion function of the data representation failed",
                ));
            }
            done += piece;
        }
        Ok(())
    }
}
