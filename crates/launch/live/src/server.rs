//! The side of the job.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use platform::memory_file::MemoryFile;
use pmi::{scm, socket};

use crate::directory;

/// What a message to a tool begins with.
pub const GREETING: &[u8] = b"alhena live 1\n";

/// What the message with the answers to the question of this number consists of, beside a file.
pub fn heading(number: u64) -> String {
    format!("alhena answer {number}\n")
}

/// The socket of a job.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Opens the socket of the job `number`, which no tool waits for.
    ///
    /// # Errors
    /// The system's. A job runs as well without it.
    pub fn open(number: i32) -> io::Result<Listener> {
        let path = directory::own()?.join(number.to_string());
        // What a killed job with the same number has left.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        Ok(Listener { listener, path })
    }

    /// The next tool that has connected, if it is of the same user; `None`: there is none now. Its connection never blocks.
    ///
    /// # Errors
    /// No descriptor is left for it: tools go on waiting, and the socket stays readable.
    pub fn accept(&self) -> io::Result<Option<OwnedFd>> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let is_ours = socket::peer_of_same_user(stream.as_fd()).is_ok();
                    if is_ours && stream.set_nonblocking(true).is_ok() {
                        return Ok(Some(stream.into()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // It may be gone with its directory, at the end of the user's session.
        let _ = fs::remove_file(&self.path);
    }
}

/// Sends a tool what there is of a job: its description and its observation memory, if the ranks have one.
///
/// # Errors
/// The system's; then the tool gets nothing, or is gone.
pub fn send(to: BorrowedFd<'_>, description: &str, memory: Option<&MemoryFile>) -> io::Result<()> {
    hand_over(to, GREETING, [Some(&file(description.as_bytes())?), memory])
}

/// Sends a tool what all hosts have answered to its question ([`crate::Answer::encode`]).
///
/// # Errors
/// The system's; then the tool gets nothing, or is gone.
pub fn answer(to: BorrowedFd<'_>, number: u64, answers: &[u8]) -> io::Result<()> {
    hand_over(to, heading(number).as_bytes(), [Some(&file(answers)?), None])
}

fn file(content: &[u8]) -> io::Result<MemoryFile> {
    let file = MemoryFile::create(content.len() as u64)?;
    file.allocate()?;
    file.write(0, content)?;
    Ok(file)
}

fn hand_over(to: BorrowedFd<'_>, text: &[u8], files: [Option<&MemoryFile>; 2]) -> io::Result<()> {
    let files: Vec<BorrowedFd<'_>> = files.into_iter().flatten().map(|file| file.fd.as_fd()).collect();
    match scm::send(to, text, &files)? {
        sent if sent == text.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}
