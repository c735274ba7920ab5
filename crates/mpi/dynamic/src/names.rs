//! Names of ports (MPI-5.0 section 11.8.4): a file for each in a folder that the jobs of a user share.
//!
//! The folder is one of the host, or what the parameter `dynamic_names` says, on a file system that several hosts have. A
//! file names the process that has published it; an entry whose process is gone counts as none. Whether a process of another
//! host is gone shows at its port.

use std::ffi::CStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use abi::{Error, Result};
use ffi::StrOut;
use objects::domain::Token;
use objects::wait::make_progress;
use platform::process_stat::Stat;

use crate::call::dynamic_params;
use crate::port::Name;
use crate::table::TABLE;

/// The first line of an entry.
const MARK: &str = "alhena name 1";
/// How long an address of a port of another host may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// `MPI_Publish_name`
pub fn publish_name(t: &mut Token, service: &CStr, info: abi::Info, port: &CStr) -> Result<()> {
    let (service, port) = (text(service)?, text(port)?);
    make_progress(t);
    let folder = folder(t, info)?;
    let entry = format!("{MARK}\n{}\n{service}\n{port}\n", Owner::own().encode());
    publish(&folder, &service, &entry).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::new(abi::ERR_SERVICE, "the name is published already"),
        _ => Error::new(abi::ERR_SERVICE, "the name cannot be published")
            .described(|| format!("the name cannot be published in {}: {error}", folder.display())),
    })?;
    TABLE.get_mut(&mut t.lock().tables).names.insert(service, folder);
    Ok(())
}

/// `MPI_Unpublish_name`
pub fn unpublish_name(t: &mut Token, service: &CStr, info: abi::Info, _port: &CStr) -> Result<()> {
    let service = text(service)?;
    let folder = folder(t, info)?;
    let known = TABLE.get_mut(&mut t.lock().tables).names.remove(&service);
    let missing = Error::new(abi::ERR_SERVICE, "this process has published no such name");
    known.ok_or(missing)?;
    fs::remove_file(file(&folder, &service)).map_err(|_| missing)
}

/// `MPI_Lookup_name`: programs call it again and again until a name is there, or has gone, and meanwhile nothing else.
pub fn lookup_name(t: &mut Token, service: &CStr, info: abi::Info, mut port: StrOut<'_>) -> Result<()> {
    let service = text(service)?;
    make_progress(t);
    let folder = folder(t, info)?;
    let found = find(&file(&folder, &service), &service);
    port.set(&found.ok_or(Error::new(abi::ERR_NAME, "no process has published the name"))?);
    Ok(())
}

/// Takes all names back that this process has published.
pub(crate) fn forget_all(t: &mut Token) {
    let names = std::mem::take(&mut TABLE.get_mut(&mut t.lock().tables).names);
    for (service, folder) in names {
        // It may have gone with the folder.
        let _ = fs::remove_file(file(&folder, &service));
    }
}

fn text(text: &CStr) -> Result<String> {
    let text = text.to_string_lossy();
    match text.is_empty() || text.contains('\n') {
        true => Err(Error::new(abi::ERR_ARG, "a name of a service is empty or has several lines")),
        false => Ok(text.into_owned()),
    }
}

fn folder(t: &mut Token, info: abi::Info) -> Result<PathBuf> {
    let state = t.lock();
    state.infos.hints(info)?;
    let chosen = dynamic_params(&state.params.values)?.names;
    let folder = match chosen.is_empty() {
        true => std::env::temp_dir().join(format!("alhena-names-{}", user())),
        false => PathBuf::from(chosen),
    };
    let bad = |seen: String| {
        Error::new(abi::ERR_SERVICE, "the folder of names cannot be used").described(|| {
            format!(
                "the folder of names {} cannot be used: {seen}; see the parameter dynamic_names",
                folder.display()
            )
        })
    };
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(bad(error.to_string())),
        _ => {}
    }
    let found = fs::symlink_metadata(&folder).map_err(|error| bad(error.to_string()))?;
    // A folder of another user would hand out ports of theirs.
    match found.is_dir() && found.uid() == user() && found.mode() & 0o022 == 0 {
        true => Ok(folder),
        false => Err(bad("it is another user's, or others may write there".to_owned())),
    }
}

fn user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |own| own.uid())
}

/// The file of a name: its letters and digits, and all other bytes by their numbers.
fn file(folder: &Path, service: &str) -> PathBuf {
    let mut name = String::from("n");
    for byte in service.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => name.push(char::from(byte)),
            _ => name += &format!("_{byte:02x}"),
        }
    }
    if name.len() > 200 {
        // What is cut off is part of a sum, and the entry has the whole name.
        let sum = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        name.truncate(180);
        name += &format!("__{sum:016x}");
    }
    folder.join(name)
}

/// Writes an entry that none but a dead process's is in the way of. It appears whole.
fn publish(folder: &Path, service: &str, entry: &str) -> io::Result<()> {
    let file = file(folder, service);
    let draft = folder.join(format!(".{}-{:016x}", std::process::id(), platform::random::number()?));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut draft| draft.write_all(entry.as_bytes()));
    let mut linked = written.and_then(|()| fs::hard_link(&draft, &file));
    let is_taken = |linked: &io::Result<()>| {
        linked.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
    };
    if is_taken(&linked) && find(&file, service).is_none() {
        // Should another process do the same, one of the two links fails.
        let _ = fs::remove_file(&file);
        linked = fs::hard_link(&draft, &file);
    }
    let _ = fs::remove_file(&draft);
    linked
}

/// The port of an entry, whose process lives.
fn find(file: &Path, service: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines();
    let is_entry = lines.next() == Some(MARK);
    let owner = Owner::parse(lines.next()?)?;
    let is_named = lines.next() == Some(service);
    let port = lines.next()?;
    (is_entry && is_named && owner.lives(port)).then(|| port.to_owned())
}

/// The process of an entry.
#[derive(PartialEq, Eq, Debug)]
struct Owner {
    host: String,
    pid: u32,
    /// When it was started, by the clock of its host.
    started: u64,
}

impl Owner {
    fn own() -> Owner {
        let pid = std::process::id();
        Owner { host: host(), pid, started: started(pid).unwrap_or(0) }
    }

    fn encode(&self) -> String {
        format!("{} {} {}", self.pid, self.started, self.host)
    }

    fn parse(line: &str) -> Option<Owner> {
        let mut words = line.splitn(3, ' ');
        let (pid, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Owner { pid, started, host: words.next()?.to_owned() })
    }

    /// Whether the process lives that has published this port.
    fn lives(&self, port: &str) -> bool {
        match self.host == host() {
            true => started(self.pid) == Some(self.started),
            false => Name::parse(port).is_none_or(|name| !is_closed(&name, has_address)),
        }
    }
}

/// Whether the host of a port refuses connections there, and no address of it takes one. Of a host that does not answer nothing is known;
/// nor does it say anything that this host refuses, where the port has an address that this host has, too (`is_own`).
fn is_closed(port: &Name, is_own: impl Fn(IpAddr) -> bool) -> bool {
    let mut refused = false;
    for place in &port.places {
        match TcpStream::connect_timeout(place, PATIENCE) {
            Ok(_) => return false,
            Err(error) => {
                refused |= error.kind() == io::ErrorKind::ConnectionRefused && !is_own(place.ip());
            }
        }
    }
    refused
}

/// Whether this host has an address.
fn has_address(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

fn host() -> String {
    platform::host::name().unwrap_or_default()
}

/// When a process began, in the system's ticks since its own start.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Stat::parse(&text)?.number(22)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_owner_that_lives() {
        let folder = std::env::temp_dir().join(format!("alhena-names-test-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let entry = |owner: &Owner, port: &str| format!("{MARK}\n{}\na b/c\n{port}\n", owner.encode());
        let dead = Owner { started: 1, ..Owner::own() };
        publish(&folder, "a b/c", &entry(&dead, "old")).unwrap();
        assert_eq!(find(&file(&folder, "a b/c"), "a b/c"), None);
        publish(&folder, "a b/c", &entry(&Owner::own(), "new")).unwrap();
        assert_eq!(find(&file(&folder, "a b/c"), "a b/c").as_deref(), Some("new"));
        let again = publish(&folder, "a b/c", &entry(&Owner::own(), "newer"));
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(find(&file(&folder, "a"), "a"), None);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no draft is left");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_port_of_another_host_is_closed_where_that_refuses() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let name = Name::parse(&format!("alhena1_1_1_{port}_127.0.0.1")).unwrap();
        assert!(!is_closed(&name, |_| false));
        drop(listener);
        assert!(is_closed(&name, |_| false));
        assert!(!is_closed(&name, has_address), "this host refuses, and not the other one");
        assert!(has_address([127, 0, 0, 1].into()));
    }

    #[test]
    fn a_name_of_another_host_stays_where_nothing_is_known_of_it() {
        let folder = std::env::temp_dir().join(format!("alhena-names-far-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let far = Owner { host: "another host".to_owned(), ..Owner::own() };
        publish(&folder, "s", &format!("{MARK}\n{}\ns\nno port of ours\n", far.encode())).unwrap();
        assert_eq!(find(&file(&folder, "s"), "s").as_deref(), Some("no port of ours"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_of_different_names_differ() {
        let folder = Path::new("/");
        let long = "x".repeat(300);
        let names = ["a", "a_", "A", "a b", &long, &format!("{long}y"), "_", ".", "..", "/"];
        let files: std::collections::BTreeSet<PathBuf> =
            names.iter().map(|name| file(folder, name)).collect();
        assert_eq!(files.len(), names.len());
        assert!(
            files.iter().all(|file| file.file_name().unwrap().len() <= 255 && file.parent() == Some(folder))
        );
    }
}
