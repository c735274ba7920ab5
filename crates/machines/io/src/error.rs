//! From the system's errors to MPI's classes (MPI-5.0 section 14.8): the one place.

use std::io;

/// The class of a system's error: `MPI_ERR_IO` where the standard has no word for it.
pub fn class_of(error: &io::Error) -> i32 {
    use io::ErrorKind as Is;
    match error.kind() {
        Is::NotFound => abi::ERR_NO_SUCH_FILE,
        Is::AlreadyExists => abi::ERR_FILE_EXISTS,
        Is::PermissionDenied => abi::ERR_ACCESS,
        Is::ReadOnlyFilesystem => abi::ERR_READ_ONLY,
        Is::StorageFull | Is::FileTooLarge => abi::ERR_NO_SPACE,
        Is::QuotaExceeded => abi::ERR_QUOTA,
        Is::InvalidFilename | Is::IsADirectory | Is::NotADirectory => abi::ERR_BAD_FILE,
        Is::ExecutableFileBusy | Is::ResourceBusy => abi::ERR_FILE_IN_USE,
        Is::Unsupported => abi::ERR_UNSUPPORTED_OPERATION,
        Is::OutOfMemory => abi::ERR_NO_MEM,
        _ => abi::ERR_IO,
    }
}

#[cfg(test)]
mod tests {
    use super::class_of;
    use std::io::Error;

    #[test]
    fn numbers_of_the_system_have_their_classes() {
        // ENOENT, EEXIST, EACCES, EROFS, ENOSPC, EDQUOT, ENAMETOOLONG, EISDIR, ETXTBSY, EIO of Linux.
        let expected = [
            (2, abi::ERR_NO_SUCH_FILE),
            (17, abi::ERR_FILE_EXISTS),
            (13, abi::ERR_ACCESS),
            (30, abi::ERR_READ_ONLY),
            (28, abi::ERR_NO_SPACE),
            (122, abi::ERR_QUOTA),
            (36, abi::ERR_BAD_FILE),
            (21, abi::ERR_BAD_FILE),
            (26, abi::ERR_FILE_IN_USE),
            (5, abi::ERR_IO),
        ];
        for (number, class) in expected {
            assert_eq!(class_of(&Error::from_raw_os_error(number)), class, "errno {number}");
        }
    }
}
