//! Pseudo-terminals for the output of ranks: the C library then writes line by line, so that what a rank
//! printed before it crashed is not lost in a buffer.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};

/// A pseudo-terminal that changes nothing of what is written: our side and the rank's. It has the size of
/// `terminal` and is nobody's controlling terminal.
pub fn open(terminal: impl AsFd) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    let mut modes = tcgetattr(&theirs)?;
    modes.output_modes -= OutputModes::OPOST;
    modes.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    copy_size(terminal, &ours);
    Ok((ours, theirs))
}

/// Gives `pty` the size of `terminal`.
pub fn copy_size(terminal: impl AsFd, pty: impl AsFd) {
    // A size that is not known is no reason to fail.
    if let Ok(size) = tcgetwinsize(terminal) {
        let _ = tcsetwinsize(pty, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_unchanged_and_the_end_is_seen() {
        let (ours, theirs) = open(std::io::stdin()).unwrap();
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
