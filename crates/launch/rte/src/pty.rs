//! Pseudo-terminals for the output of ranks: the C library then writes line by line, so that what a rank
//! printed before it crashed is not lost in a buffer.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// A pseudo-terminal that changes nothing of what is written: our side and the rank's. It has the size of
/// our terminal and is no process's controlling terminal.
pub fn open(size: Option<Winsize>) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    let mut modes = tcgetattr(&theirs)?;
    modes.output_modes -= OutputModes::OPOST;
    modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    set_size(size, &ours);
    Ok((ours, theirs))
}

/// Gives `pty` a size, if that is known.
pub fn set_size(size: Option<Winsize>, pty: impl AsFd) {
    if let Some(size) = size {
        // A wrong size is no reason to fail.
        let _ = tcsetwinsize(pty, size);
    }
}

/// The size of `terminal`; `None` where it is not known.
pub fn size_of(terminal: impl AsFd) -> Option<Winsize> {
    tcgetwinsize(terminal).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_unchanged_and_the_end_is_seen() {
        let (ours, theirs) = open(None).unwrap();
        assert!(rustix::termios::isatty(&theirs));
        rustix::io::write(&theirs, b"one\ntwo\x03").unwrap();
        drop(theirs);
        let mut text = Vec::new();
        let mut buffer = [0; 64];
        while let Ok(n) = rustix::io::read(&ours, &mut buffer) {
            text.extend_from_slice(&buffer[..n]);
        }
        assert_eq!(text, b"one\ntwo\x03");
    }
}
