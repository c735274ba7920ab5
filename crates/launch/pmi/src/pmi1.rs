//! What PMI-1 gives a process, and the server that it asks.

use crate::Error;
use crate::connection::Connection;

/// A process's place in its job, as its launcher gives it.
pub(crate) struct JobPlace {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) app_num: i32,
    pub(crate) universe_size: Option<u32>,
    pub(crate) node_of: Vec<u32>,
}

/// A PMI-1 server of another launcher.
pub(crate) struct Server {
    pub(crate) connection: Connection,
    pub(crate) kvs: String,
}

impl Server {
    pub(crate) fn put(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let step = "put";
        let text = format!("cmd=put kvsname={} key={key} value={value}\n", self.kvs);
        let reply = self.connection.request(step, &text, "put_result")?;
        if reply.line().number::<i32>("rc").unwrap_or(0) != 0 {
            return Err(Error::Refused { step, message: reply.line().text().to_owned() });
        }
        Ok(())
    }

    /// The value as it stands in the space.
    pub(crate) fn get(&mut self, key: &str) -> Result<Option<String>, Error> {
        let text = format!("cmd=get kvsname={} key={key}\n", self.kvs);
        let reply = self.connection.request("get", &text, "get_result")?;
        let line = reply.line();
        if line.number::<i32>("rc").unwrap_or(0) != 0 {
            return Ok(None);
        }
        Ok(line.get_rest("value").map(str::to_owned))
    }

    pub(crate) fn finalize(&mut self) -> Result<(), Error> {
        self.connection.request("MPI_Finalize", "cmd=finalize\n", "finalize_ack").map(drop)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("kvs", &self.kvs).finish_non_exhaustive()
    }
}
