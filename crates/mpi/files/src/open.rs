//! Opening, closing and deleting files (MPI-5.0 sections 14.2.1 to 14.2.3).
//!
//! ```text
//!   rank 0                                   the others
//!   modes, hints  ◄──── compared ────►       modes, hints
//!   opens; makes the file, and the shared pointer's word
//!   class, device, inode, block, stripes,
//!   word ──────────────────────────────────► open what exists; the same file?
//!            ◄──── one agreement on the error ────►
//! ```
//! Each process opens the file itself: processes with one open file description would share its locks
//! (page of the crate, *Descriptors are not passed on*).

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abi::{Error, Result};
use datatype::Datatype;
use io::{Hints, How, Posix, Stripes, View};

use super::datarep::Representation;
use super::query::added;
use super::shared::{SharedPointer, WORDS, shares_host};
use super::{FILES, File, Grain, agree, elsewhere, failed, file_of, of_member};
use collectives::{gather_words, largest, share_words};
use communicators::{free, private_copy};
use objects::domain::Token;
use objects::info::Info;

const OPEN_FAILED: &str = "the system could not open the file";
const DELETE_FAILED: &str = "the system could not delete the file";

/// `MPI_File_open`
pub fn open(
    t: &mut Token,
    comm: abi::Comm,
    filename: &CStr,
    amode: i32,
    info: abi::Info,
    fh: &mut abi::File,
) -> Result<()> {
    *fh = abi::FILE_NULL;
    let given = {
        let state = t.lock();
        let found = state.comm(comm)?;
        if found.is_inter() {
            return Err(Error::new(abi::ERR_COMM, "files cannot be opened by an inter-communicator"));
        }
        state.infos.hints(info)
    };
    // What one process alone has wrong must not leave the others waiting.
    let own = given.and_then(|given| check_mode(amode).map(|()| given));
    let mut duplicate = private_copy(t, comm)?;
    match open_on(t, duplicate, path_of(filename), amode, own) {
        Ok(mut file) => {
            // A stage may make a file of its own, which may block.
            let writable = file.amode & abi::MODE_RDONLY == 0;
            let stage = if writable { file.hints.staging.stage() } else { None };
            let mut state = t.lock();
            *fh = FILES.get_mut(&mut state.tables).add(file)?;
            super::staged::set_up(&mut state, *fh, stage)?;
            let serves = file_of(&state, *fh)?.staged.is_some() && state.comm(duplicate)?.size() > 1;
            drop(state);
            // Others may ask for what is staged here while the program computes.
            if serves {
                super::collective::help(t, *fh)?;
            }
            Ok(())
        }
        Err(error) => {
            FILES.get_mut(&mut t.lock().tables).unopened = Some(path_of(filename));
            free(t, &mut duplicate)?;
            Err(of_member(error))
        }
    }
}

/// Exactly one way of access, and only combinations that section 14.2.1 allows.
fn check_mode(amode: i32) -> Result<()> {
    let has = |bits: i32| amode & bits != 0;
    let access = amode & (abi::MODE_RDONLY | abi::MODE_RDWR | abi::MODE_WRONLY);
    let others = abi::MODE_CREATE
        | abi::MODE_EXCL
        | abi::MODE_DELETE_ON_CLOSE
        | abi::MODE_UNIQUE_OPEN
        | abi::MODE_SEQUENTIAL
        | abi::MODE_APPEND;
    let wrong = if access.count_ones() != 1 {
        "exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY must be given"
    } else if amode & !(access | others) != 0 {
        "the mode has unknown bits"
    } else if has(abi::MODE_RDONLY) && has(abi::MODE_CREATE | abi::MODE_EXCL) {
        "MPI_MODE_CREATE and MPI_MODE_EXCL need a file that is written"
    } else if has(abi::MODE_RDWR) && has(abi::MODE_SEQUENTIAL) {
        "MPI_MODE_SEQUENTIAL and MPI_MODE_RDWR exclude each other"
    } else {
        return Ok(());
    };
    Err(Error::new(abi::ERR_AMODE, wrong))
}

/// The path in a file name, without the prefix that names a kind of file system.
fn path_of(name: &CStr) -> PathBuf {
    let bytes = name.to_bytes();
    let prefixes: [&[u8]; 3] = [b"ufs:", b"nfs:", b"lustre:"];
    let path = prefixes.iter().find_map(|&prefix| bytes.strip_prefix(prefix)).unwrap_or(bytes);
    Path::new(OsStr::from_bytes(path)).to_owned()
}

/// Opens the file on all processes of `comm` or on none.
fn open_on(t: &mut Token, comm: abi::Comm, path: PathBuf, amode: i32, own: Result<Info>) -> Result<File> {
    let (size, rank) = {
        let state = t.lock();
        let comm = state.comm(comm)?;
        (comm.size(), comm.rank)
    };
    let own = own.map(|info| {
        let mut hints = Hints::new(u64::from(size));
        hints.staging = t.lock().params.staging.clone();
        hints_of_system().iter().for_each(|(key, value)| hints.take(key, value, u64::from(size)));
        added(&hints, &info, u64::from(size))
    });
    let mut hints = alike(t, comm, amode, own)?;
    let (storage, shared, grain) = if size == 1 {
        let storage = opened(t, &path, amode, &hints, true)?;
        let grain = Grain::of(&storage);
        (storage, SharedPointer::alone(), grain)
    } else {
        open_together(t, comm, rank, &path, amode, &hints)?
    };
    if let Some(stripes) = grain.stripes {
        hints.fit(stripes.factor, u64::from(size));
    }
    let byte = Datatype::predefined(abi::BYTE).ok_or(Error::new(abi::ERR_INTERN, "MPI_BYTE is missing"))?;
    let offset = if amode & abi::MODE_APPEND != 0 {
        let size = storage.calls(&t.may_block()).size().map_err(failed("the size of the file is not known"));
        let size = agree(t, comm, size)?;
        if rank == 0 {
            shared.set(size as i64);
        }
        collectives::barrier(t, collectives::Mode::Own, comm)?;
        size as i64
    } else {
        0
    };
    let mut state = t.lock();
    let initial = FILES.get(&state.tables).initial;
    let errhandler = state.errhandlers.acquire(initial);
    Ok(File {
        comm,
        storage: Arc::new(storage),
        grain,
        path,
        amode,
        view: Arc::new(View::of_bytes(byte)),
        etype: byte.clone(),
        filetype: byte.clone(),
        displacement: 0,
        representation: Representation::Native,
        offset,
        shared,
        atomic: false,
        errhandler,
        hints,
        written: Arc::new(AtomicBool::new(false)),
        collectives: Default::default(),
        described: false,
        views: None,
        reaches: None,
        helped: false,
        failure: None,
        staged: None,
    })
}

/// The hints of the file that the environment variable `ROMIO_HINTS` names, one a line: a key and a value, apart by
/// blanks. The program's own hints go before them.
fn hints_of_system() -> Vec<(String, String)> {
    let text = std::env::var_os("ROMIO_HINTS").and_then(|path| std::fs::read_to_string(path).ok());
    let pair = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        words.next().filter(|key| !key.starts_with('#')).zip(words.next())
    };
    text.unwrap_or_default().lines().filter_map(pair).collect()
}

/// Compares what must be the same on all processes.
///
/// # Errors
/// `MPI_ERR_NOT_SAME`, or what one of them has found wrong before.
fn alike(t: &mut Token, comm: abi::Comm, amode: i32, own: Result<Hints>) -> Result<Hints> {
    let class = own.as_ref().err().map_or(0, |error| error.class as u64);
    let digest = own.as_ref().map_or(0, Hints::digest);
    let all = gather_words(t, comm, &[class, amode as u64, digest])?;
    let hints = own?;
    if let Some(rank) = all.chunks(3).find(|rank| rank[0] != 0) {
        return Err(elsewhere(rank[0]));
    }
    if all.chunks(3).any(|rank| rank[1] != amode as u64) {
        return Err(Error::new(abi::ERR_NOT_SAME, "the processes give different modes"));
    }
    if all.chunks(3).any(|rank| rank[2] != digest) {
        return Err(Error::new(
            abi::ERR_NOT_SAME,
            "the processes give different values for hints on collective access",
        ));
    }
    Ok(hints)
}

fn opened(t: &mut Token, path: &Path, amode: i32, hints: &Hints, first: bool) -> Result<Posix> {
    let has = |bits: i32| amode & bits != 0;
    let how = How {
        read: has(abi::MODE_RDONLY | abi::MODE_RDWR),
        write: has(abi::MODE_RDWR | abi::MODE_WRONLY),
        create: first && has(abi::MODE_CREATE),
        exclusive: first && has(abi::MODE_EXCL),
        permissions: hints.permissions.unwrap_or(0o666),
        stripes: (hints.stripes != Stripes::default()).then_some(hints.stripes),
    };
    Posix::open(path, how, &t.may_block()).map_err(failed(OPEN_FAILED))
}

/// Rank 0 opens first, the others what it has opened.
fn open_together(
    t: &mut Token,
    comm: abi::Comm,
    rank: u32,
    path: &Path,
    amode: i32,
    hints: &Hints,
) -> Result<(Posix, SharedPointer, Grain)> {
    let mut words = [0u64; 5 + WORDS];
    let mut mine = None;
    if rank == 0 {
        match opened(t, path, amode, hints, true) {
            Ok(storage) => {
                words[1..3].copy_from_slice(&storage.identity());
                let pointer = SharedPointer::create(t, comm);
                words[3..5].copy_from_slice(&Grain::of(&storage).words());
                words[5..].copy_from_slice(&pointer.words());
                mine = Some((storage, pointer));
            }
            Err(error) => words[..2].copy_from_slice(&[error.class as u64, error.errno as u64]),
        }
    }
    share_words(t, comm, 0, &mut words)?;
    if words[0] != 0 {
        return Err(Error::new(elsewhere(words[0]).class, OPEN_FAILED).of_system(words[1] as i32));
    }
    let mine = match mine {
        Some(mine) => Ok(mine),
        None => opened(t, path, amode, hints, false).and_then(|storage| {
            if storage.identity() != words[1..3] && shares_host(&t.lock(), comm) {
                return Err(Error::new(abi::ERR_NOT_SAME, "the processes name different files"));
            }
            let pointer = SharedPointer::open(t, comm, &words[5..]);
            Ok((storage, pointer))
        }),
    };
    // One agreement for two: the error of a process, and that one cannot reach the word, so that all ask for it.
    let class = mine.as_ref().err().map_or(0, |error| error.class as u64);
    let reached = mine.as_ref().is_ok_and(|(_, pointer)| pointer.is_there());
    let agreed = largest(t, comm, class << 1 | u64::from(!reached))?;
    let (storage, mut pointer) = mine?;
    if agreed >> 1 != 0 {
        return Err(elsewhere(agreed >> 1));
    }
    if agreed != 0 {
        FILES.get_mut(&mut t.lock().tables).pages.give_back(&pointer);
        pointer = SharedPointer::by_messages(t, comm, rank)?;
    }
    Ok((storage, pointer, Grain::from_words([words[3], words[4]])))
}

/// `MPI_File_close`. Other hosts see what was written when it returns. On a file system of this host alone that needs
/// nothing; to have it on the device there, a program calls `MPI_File_sync` (which section 14.2.2 of MPI-5.0 likens the
/// close to; no other library waits for the device).
pub fn close(t: &mut Token, fh: &mut abi::File) -> Result<()> {
    let comm = file_of(&t.lock(), *fh)?.comm;
    super::staged::drain_together(t, *fh)?;
    let mut file = FILES.get_mut(&mut t.lock().tables).remove(*fh)?;
    *fh = abi::FILE_NULL;
    if file.helped {
        engine::release_progress(t);
    }
    let kept = file.storage.kind() != io::Kind::Local && file.amode & abi::MODE_DELETE_ON_CLOSE == 0;
    let synced = match kept && file.written.load(Ordering::Relaxed) {
        true => file
            .storage
            .calls(&t.may_block())
            .sync()
            .map_err(failed("the system could not write the file to its device")),
        false => Ok(()),
    };
    let synced = super::staged::outcome(&file).and(synced);
    let closed = agree(t, comm, synced);
    super::staged::forget(&mut t.lock(), &file);
    let File { storage, .. } = file;
    // Operations that the program has left behind keep it open until they are over.
    drop(storage);
    let deleted = match file.amode & abi::MODE_DELETE_ON_CLOSE {
        0 => Ok(()),
        _ => delete_once(t, comm, &file.path),
    };
    FILES.get_mut(&mut t.lock().tables).pages.give_back(&file.shared);
    t.lock().errhandlers.release(file.errhandler);
    free(t, &mut file.comm)?;
    let done = closed.and(deleted);
    if done.is_err() {
        FILES.get_mut(&mut t.lock().tables).unopened = Some(file.path);
    }
    done
}

fn delete_once(t: &mut Token, comm: abi::Comm, path: &Path) -> Result<()> {
    let first = t.lock().comm(comm)?.rank == 0;
    let done = match first {
        true => std::fs::remove_file(path).map_err(failed(DELETE_FAILED)),
        false => Ok(()),
    };
    agree(t, comm, done)
}

/// `MPI_File_delete`
pub fn delete(t: &mut Token, filename: &CStr, info: abi::Info) -> Result<()> {
    t.lock().infos.hints(info)?;
    let path = path_of(filename);
    let deleted = std::fs::remove_file(&path).map_err(failed(DELETE_FAILED));
    if deleted.is_err() {
        FILES.get_mut(&mut t.lock().tables).unopened = Some(path);
    }
    deleted
}
