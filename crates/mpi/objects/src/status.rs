//! What a status holds (MPI-5.0 sections 3.2.5, 3.8.4, 5.1.11 and 13.3).

use abi::{Count, Datatype, Error, Result, Status};
use ffi::CountMut;

use crate::domain::Token;

/// `MPI_Get_count`: whole items received, or `MPI_UNDEFINED`.
pub fn get_count(t: &mut Token, status: &Status, datatype: Datatype, mut count: CountMut<'_>) -> Result<()> {
    let size = t.lock().types.get(datatype)?.size();
    match datatype::count_of(size, status.bytes()) {
        Some(items) => count.set(items as Count),
        None => count.set(Count::from(abi::UNDEFINED)),
    }
    Ok(())
}

/// `MPI_Get_elements`: basic elements received.
pub fn get_elements(
    t: &mut Token,
    status: &Status,
    datatype: Datatype,
    mut count: CountMut<'_>,
) -> Result<()> {
    let elements = t.lock().types.get(datatype)?.signature().elements_in(status.bytes());
    count.set(elements.map_or(Count::from(abi::UNDEFINED), |elements| elements as Count));
    Ok(())
}

/// `MPI_Get_elements_x` (deprecated)
pub fn get_elements_x(t: &mut Token, status: &Status, datatype: Datatype, count: &mut Count) -> Result<()> {
    let elements = t.lock().types.get(datatype)?.signature().elements_in(status.bytes());
    *count = elements.map_or(Count::from(abi::UNDEFINED), |elements| elements as Count);
    Ok(())
}

/// `MPI_Status_set_elements` and its twins
pub fn set_elements(t: &mut Token, status: &mut Status, datatype: Datatype, count: Count) -> Result<()> {
    let elements = u64::try_from(count).map_err(|_| Error::new(abi::ERR_COUNT, "the count is negative"))?;
    let bytes = t.lock().types.get(datatype)?.signature().bytes_of(elements);
    status.set_bytes(bytes.ok_or(Error::new(abi::ERR_COUNT, "the elements exceed 2^63 bytes"))?);
    Ok(())
}

/// `MPI_Test_cancelled`
pub fn test_cancelled(_t: &mut Token, status: &Status, flag: &mut i32) -> Result<()> {
    *flag = i32::from(status.cancelled());
    Ok(())
}

/// `MPI_Status_set_cancelled`
pub fn set_cancelled(_t: &mut Token, status: &mut Status, flag: i32) -> Result<()> {
    status.set_cancelled(flag != 0);
    Ok(())
}

/// `MPI_Status_get_source`
pub fn get_source(_t: &mut Token, status: &Status, source: &mut i32) -> Result<()> {
    *source = status.source;
    Ok(())
}

/// `MPI_Status_set_source`
pub fn set_source(_t: &mut Token, status: &mut Status, source: i32) -> Result<()> {
    status.source = source;
    Ok(())
}

/// `MPI_Status_get_tag`
pub fn get_tag(_t: &mut Token, status: &Status, tag: &mut i32) -> Result<()> {
    *tag = status.tag;
    Ok(())
}

/// `MPI_Status_set_tag`
pub fn set_tag(_t: &mut Token, status: &mut Status, tag: i32) -> Result<()> {
    status.tag = tag;
    Ok(())
}

/// `MPI_Status_get_error`
pub fn get_error(_t: &mut Token, status: &Status, error: &mut i32) -> Result<()> {
    *error = status.error;
    Ok(())
}

/// `MPI_Status_set_error`
pub fn set_error(_t: &mut Token, status: &mut Status, error: i32) -> Result<()> {
    status.error = error;
    Ok(())
}
