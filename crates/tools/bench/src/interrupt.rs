//! Signals that end a campaign: the first one ends it with what it has measured, the next one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::error::Error;

/// Exit code after a second signal, as shells give it for SIGINT.
const EXIT: i32 = 130;

/// Whether the process was asked to end.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches SIGINT and SIGTERM from now on.
    pub fn catch() -> Result<Self, Error> {
        let come = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, EXIT, Arc::clone(&come)).map_err(Error::Signals)?;
            flag::register(signal, Arc::clone(&come)).map_err(Error::Signals)?;
        }
        Ok(Self(come))
    }

    /// Whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_noted() {
        let interrupt = Interrupt::catch().unwrap();
        assert!(!interrupt.has_come());
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert!(interrupt.has_come());
    }
}
