//! A rank's connection with our own `mpiexec`: a round trip for each exchange of what ranks put.

use crate::wireup::WireupTable;
use platform::memory_file::MemoryFile;

use crate::Error;
use crate::connection::Connection;
use crate::foreign::put_line;
use crate::protocol::{FENCE, REPORT, STATE, TABLE};
use crate::wire::escape;

const STEP: &str = "MPI_Init";

/// The connection with the proxy of this node.
#[derive(Debug)]
pub(crate) struct Native {
    pub(crate) connection: Connection,
    /// What was put since the last exchange, as lines.
    unsent: String,
    /// What each exchange has brought, the last one first: files in memory that the ranks of this node share.
    tables: Vec<MemoryFile>,
}

impl Native {
    pub(crate) fn new(connection: Connection) -> Native {
        Native { connection, unsent: String::new(), tables: Vec::new() }
    }

    pub(crate) fn put(&mut self, key: &str, value: &str) {
        self.unsent += &put_line(key, value);
    }

    /// Gives what was put, waits for all ranks, and takes the table of what they have put.
    pub(crate) fn fence(&mut self) -> Result<(), Error> {
        let step = "fence";
        let lines = std::mem::take(&mut self.unsent) + &format!("cmd={FENCE}\n");
        let reply = self.connection.request(step, &lines, TABLE)?;
        if reply.line().number::<usize>("bytes") != Some(0) {
            let fd =
                self.connection.take_descriptor().ok_or_else(|| Error::protocol(step, "no table came"))?;
            self.tables.insert(0, MemoryFile::adopt(fd).map_err(Error::io(step))?);
        }
        Ok(())
    }

    /// What the rank at `place` of `node` has put under `key`.
    pub(crate) fn get(&self, node: u32, place: u32, key: &str) -> Option<String> {
        let found = self.tables.iter().find_map(|file| {
            let read = |at, into: &mut [u8]| file.read(at, into).is_ok();
            WireupTable::new(read, file.bytes)?.get(node, place, key)
        });
        String::from_utf8(found?).ok()
    }

    /// Has the proxy print `text` together with what the other ranks report.
    pub(crate) fn report(&mut self, text: &str) -> Result<(), Error> {
        self.connection.send(STEP, &format!("cmd={REPORT} text={}\n", escape(text)))
    }

    /// Reports whether MPI is initialized.
    pub(crate) fn tell_state(&mut self, step: &'static str, active: bool) -> Result<(), Error> {
        self.connection.send(step, &format!("cmd={STATE} active={}\n", u8::from(active)))
    }
}

/// Name of the key-value space of a native job.
pub fn kvs_name(job_id: u64) -> String {
    format!("alhena_{job_id:016x}")
}
