//! Datatype handles, and how a buffer argument becomes data that the message layer can move.
//!
//! The types themselves are the crate `datatype`.

use std::sync::Arc;

use abi::{Address, Count, Error, Result};
use coll::Layout;
use datatype::Datatype;
use mem::UserMem;
use pml::Data;

use crate::handle::{self, Kind, Objects};
use crate::memory::Items;
use crate::stream::TypedStream;
use crate::tables::attributes::Attributes;

/// A datatype that has a handle.
pub struct TypeObject {
    pub datatype: Arc<Datatype>,
    pub name: String,
    pub attributes: Attributes,
}

/// Datatypes by handle.
pub struct Types {
    slab: Objects<TypeObject>,
    /// Names and attributes that the program gave to predefined types.
    named: std::collections::BTreeMap<usize, TypeObject>,
}

const INVALID: Error = Error::new(abi::ERR_TYPE, "the handle names no datatype");

impl Types {
    pub const fn new() -> Types {
        Types { slab: Objects::new(), named: std::collections::BTreeMap::new() }
    }

    /// The datatype behind a handle, predefined or not.
    pub fn get(&self, handle: abi::Datatype) -> Result<&Arc<Datatype>> {
        if let Some(key) = handle::key(Kind::Datatype, handle.0) {
            return self.slab.get(key).map(|object| &object.datatype).ok_or(INVALID);
        }
        Datatype::predefined(handle).ok_or(INVALID)
    }

    /// The object behind a handle, to name it or to attach attributes.
    pub fn object(&mut self, handle: abi::Datatype) -> Result<&mut TypeObject> {
        if let Some(key) = handle::key(Kind::Datatype, handle.0) {
            return self.slab.get_mut(key).ok_or(INVALID);
        }
        let datatype = Datatype::predefined(handle).ok_or(INVALID)?;
        Ok(self.named.entry(handle.0).or_insert_with(|| TypeObject {
            datatype: datatype.clone(),
            name: datatype.predefined_name().unwrap_or_default().to_owned(),
            attributes: Attributes::default(),
        }))
    }

    pub fn attributes(&mut self, handle: abi::Datatype) -> Result<&mut Attributes> {
        Ok(&mut self.object(handle)?.attributes)
    }

    /// A handle for a datatype. A named type keeps its own; a predefined one without name has one, always the same, since it
    /// is never freed; of a derived one it is a new one.
    pub fn add(&mut self, datatype: Arc<Datatype>) -> Result<abi::Datatype> {
        let kept = datatype.named_handle().or_else(|| self.unnamed_handle(&datatype));
        if let Some(handle) = kept {
            return Ok(handle);
        }
        let object = TypeObject { datatype, name: String::new(), attributes: Attributes::default() };
        let key = self
            .slab
            .insert(object)
            .map_err(|_| Error::new(abi::ERR_OTHER, "more than 2^20 datatypes exist"))?;
        Ok(abi::Datatype(handle::make(Kind::Datatype, key)))
    }

    /// `handle` if it still names the type, else a new one, which is the library's to free; whether it is. See
    /// `types::with_live_handle`.
    pub fn lend(&mut self, handle: abi::Datatype, datatype: &Arc<Datatype>) -> Result<(abi::Datatype, bool)> {
        match self.get(handle) {
            Ok(found) if Arc::ptr_eq(found, datatype) => Ok((handle, false)),
            _ => Ok((self.add(datatype.clone())?, !datatype.is_predefined())),
        }
    }

    /// The handle of a predefined type without name, once it has one.
    fn unnamed_handle(&self, datatype: &Arc<Datatype>) -> Option<abi::Datatype> {
        if !datatype.is_predefined() {
            return None;
        }
        let same = |(_, object): &(u32, &TypeObject)| Arc::ptr_eq(&object.datatype, datatype);
        self.slab.iter().find(same).map(|(key, _)| abi::Datatype(handle::make(Kind::Datatype, key)))
    }

    /// Takes a derived type's handle away.
    pub fn remove(&mut self, handle: abi::Datatype) -> Result<TypeObject> {
        handle::key(Kind::Datatype, handle.0).and_then(|key| self.slab.remove(key)).ok_or(INVALID)
    }

    /// The type behind a handle, checked to be ready for communication, in a form that outlives the handle.
    pub fn resolve(&self, handle: abi::Datatype) -> Result<TypeRef> {
        if let Some(size) = datatype::predefined_dense_size(handle) {
            return Ok(TypeRef::Dense(size));
        }
        Ok(TypeRef::Derived(self.committed(handle)?.clone()))
    }

    fn committed(&self, handle: abi::Datatype) -> Result<&Arc<Datatype>> {
        let datatype = self.get(handle)?;
        if !datatype.is_committed() {
            return Err(Error::new(abi::ERR_TYPE, "the datatype is not committed"));
        }
        Ok(datatype)
    }

    /// The type, number of items and length in bytes of a buffer argument, for use within the call.
    ///
    /// # Errors
    /// As [`TypeRef::data`], and `MPI_ERR_TYPE`.
    pub fn items(&self, buf: Address, count: Count, handle: abi::Datatype) -> Result<Items<'_>> {
        if let Some(size) = datatype::predefined_dense_size(handle) {
            dense(buf, count, size)?;
        }
        let count = u64::try_from(count).map_err(|_| bad_count(count))?;
        let datatype = self.committed(handle)?;
        let len = datatype::total_size(datatype.size(), count)? as usize;
        Ok(Items { datatype, count, len })
    }
}

/// A datatype in use by an operation.
#[derive(Clone)]
pub enum TypeRef {
    /// Elements of this many bytes, back to back.
    Dense(u32),
    /// Any other type.
    Derived(Arc<Datatype>),
}

impl TypeRef {
    /// The data of a buffer argument.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT`, `MPI_ERR_BUFFER`, `MPI_ERR_ARG` when the size does not fit 63 bits.
    pub fn data(&self, buf: Address, count: Count) -> Result<Data> {
        match self {
            TypeRef::Dense(size) => dense(buf, count, *size).map(Data::Contiguous),
            TypeRef::Derived(datatype) => derived(datatype, buf, count),
        }
    }
}

/// The memory of a buffer argument of a predefined type; `None` where that takes a second look or is an error.
#[inline(always)]
pub fn simple(buf: Address, count: Count, datatype: abi::Datatype) -> Option<UserMem> {
    simple_within(buf, count, datatype, isize::MAX as usize)
}

/// As [`simple`], if it has at most `most` bytes, which is below `2^63`.
#[inline(always)]
pub fn simple_within(buf: Address, count: Count, datatype: abi::Datatype, most: usize) -> Option<UserMem> {
    let size = datatype::predefined_dense_size(datatype)?;
    // A negative count becomes a huge length.
    let len = count.checked_mul(i64::from(size))? as u64;
    (len <= most as u64 && buf.0 != 0).then(|| crate::memory::of_user(buf, len as usize))
}

#[inline(always)]
pub(crate) fn dense(buf: Address, count: Count, size: u32) -> Result<UserMem> {
    // One multiplication: a negative count becomes a huge one and overflows as well.
    let Some(len) = (count as u64).checked_mul(u64::from(size)).filter(|&len| len <= i64::MAX as u64) else {
        return Err(bad_count(count));
    };
    if buf.0 == 0 && len != 0 {
        return Err(null_buffer());
    }
    Ok(crate::memory::of_user(buf, len as usize))
}

#[cold]
fn bad_count(count: Count) -> Error {
    Error::new(
        abi::ERR_COUNT,
        if count < 0 { "the count is negative" } else { "the buffer exceeds 2^63 bytes" },
    )
}

#[cold]
fn null_buffer() -> Error {
    Error::new(abi::ERR_BUFFER, "the buffer is null and the count is not 0")
}

fn derived(datatype: &Arc<Datatype>, buf: Address, count: Count) -> Result<Data> {
    let count = u64::try_from(count).map_err(|_| bad_count(count))?;
    if datatype.is_contiguous_for(count) {
        let len = datatype::total_size(datatype.size(), count)? as usize;
        let address = Address(buf.0.wrapping_add_signed(datatype.true_lb() as isize));
        return Ok(Data::Contiguous(crate::memory::of_user(address, len)));
    }
    Ok(Data::Typed(Box::new(TypedStream::new(datatype, count, buf)?)))
}

/// All bytes of a buffer, in pack order.
///
/// # Errors
/// `MPI_ERR_NO_MEM`.
pub fn packed(data: Data) -> Result<Vec<u8>> {
    let mut bytes = crate::memory::zeroed(data.total() as usize)?;
    match data {
        Data::Contiguous(memory) => {
            memory.as_bytes().copy_to(&mut bytes);
        }
        Data::Typed(mut stream) => stream.fill(mem::PeerSpace::of(&mut bytes)),
    }
    Ok(bytes)
}

impl TypeRef {
    /// Packed bytes of an element.
    pub fn size(&self) -> u64 {
        match self {
            TypeRef::Dense(size) => u64::from(*size),
            TypeRef::Derived(datatype) => datatype.size(),
        }
    }

    /// Distance of elements in bytes.
    pub fn extent(&self) -> i64 {
        match self {
            TypeRef::Dense(size) => i64::from(*size),
            TypeRef::Derived(datatype) => datatype.extent(),
        }
    }

    /// The layout of `count` elements.
    pub fn layout(&self, count: u64) -> Layout {
        match self {
            TypeRef::Dense(size) => Layout::contiguous(count, u64::from(*size)),
            TypeRef::Derived(datatype) => Layout {
                count,
                size: datatype.size(),
                extent: datatype.extent(),
                true_lb: datatype.true_lb(),
                true_extent: datatype.true_extent() as u64,
            },
        }
    }
}
