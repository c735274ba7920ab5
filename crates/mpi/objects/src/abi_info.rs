//! What a program can ask about the ABI, and set for its Fortran compiler (MPI-5.0 chapter 20).

use std::sync::{Mutex, MutexGuard, PoisonError};

use abi::{Address, Error, Result};
use mem::UserMem;

use crate::domain::Token;
use crate::info::Info;

/// `MPI_Abi_get_version`
pub fn get_version(_t: &mut Token, major: &mut i32, minor: &mut i32) -> Result<()> {
    *major = abi::ABI_VERSION;
    *minor = abi::ABI_SUBVERSION;
    Ok(())
}

/// `MPI_Abi_get_info`: the sizes of the integer types in bytes.
pub fn get_info(t: &mut Token, info: &mut abi::Info) -> Result<()> {
    let sizes = [
        ("mpi_aint_size", size_of::<abi::Aint>()),
        ("mpi_count_size", size_of::<abi::Count>()),
        ("mpi_offset_size", size_of::<abi::Offset>()),
    ];
    let sizes: Info = sizes.iter().map(|(key, size)| ((*key).to_owned(), size.to_string())).collect();
    *info = t.lock().infos.add(sizes)?;
    Ok(())
}

/// What the program has set for Fortran; each part can be set once in the life of the process.
struct Fortran {
    info: Option<Info>,
    booleans: [Option<Booleans>; SIZES.len()],
}

/// `.TRUE.` and `.FALSE.` of a `LOGICAL`, in its bytes.
struct Booleans {
    yes: Vec<u8>,
    no: Vec<u8>,
}

/// What a `LOGICAL` has in bytes.
const SIZES: [usize; 5] = [1, 2, 4, 8, 16];

static FORTRAN: Mutex<Fortran> = Mutex::new(Fortran { info: None, booleans: [const { None }; SIZES.len()] });

fn fortran() -> MutexGuard<'static, Fortran> {
    FORTRAN.lock().unwrap_or_else(PoisonError::into_inner)
}

const SET_BEFORE: Error = Error::new(abi::ERR_ABI, "the properties of the Fortran compiler are already set");

/// `MPI_Abi_get_fortran_info`: `MPI_INFO_NULL` until the program has set something.
pub fn get_fortran_info(t: &mut Token, info: &mut abi::Info) -> Result<()> {
    *info = match fortran().info.clone() {
        Some(known) => t.lock().infos.add(known)?,
        None => abi::INFO_NULL,
    };
    Ok(())
}

/// `MPI_Abi_set_fortran_info`
pub fn set_fortran_info(t: &mut Token, info: abi::Info) -> Result<()> {
    let said = t.lock().infos.get(info)?.clone();
    match &mut fortran().info {
        Some(_) => Err(SET_BEFORE),
        unknown => {
            *unknown = Some(said);
            Ok(())
        }
    }
}

/// `MPI_Abi_get_fortran_booleans`: writes the two values if they are known for a `LOGICAL` of `size` bytes.
pub fn get_fortran_booleans(
    _t: &mut Token,
    size: i32,
    yes: Address,
    no: Address,
    is_set: &mut i32,
) -> Result<()> {
    let (which, yes, no) = logicals(size, yes, no)?;
    let known = &fortran().booleans[which];
    if let Some(booleans) = known {
        crate::memory::of_vec(&booleans.yes).copy_to(yes);
        crate::memory::of_vec(&booleans.no).copy_to(no);
    }
    *is_set = i32::from(known.is_some());
    Ok(())
}

/// `MPI_Abi_set_fortran_booleans`: once for each size.
pub fn set_fortran_booleans(_t: &mut Token, size: i32, yes: Address, no: Address) -> Result<()> {
    let (which, yes, no) = logicals(size, yes, no)?;
    match &mut fortran().booleans[which] {
        Some(_) => Err(SET_BEFORE),
        unknown => {
            *unknown = Some(Booleans { yes: yes.as_bytes().to_vec(), no: no.as_bytes().to_vec() });
            Ok(())
        }
    }
}

/// Which of [`SIZES`] that is, and the memory of two such `LOGICAL`s.
fn logicals(size: i32, yes: Address, no: Address) -> Result<(usize, UserMem, UserMem)> {
    let which = SIZES.iter().position(|known| usize::try_from(size) == Ok(*known));
    let which = which.ok_or(Error::new(abi::ERR_ARG, "no LOGICAL has that many bytes"))?;
    let len = SIZES[which];
    if yes.0 == 0 || no.0 == 0 {
        return Err(Error::new(abi::ERR_ARG, "the address of a LOGICAL is NULL"));
    }
    Ok((which, crate::memory::of_user(yes, len), crate::memory::of_user(no, len)))
}
