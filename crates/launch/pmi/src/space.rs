//! The key space of a launcher of others.

use crate::Error;
use crate::pmi1::Server;
use crate::pmix::Pmix;
use crate::star::Star;
use crate::wire::{MAX_KEY, MAX_PUT, escape, unescape};

/// The key space of a launcher of others, and the launcher behind it.
pub(crate) enum Space {
    Pmi(Server),
    Pmix(Box<Pmix>),
    /// Rank 0 keeps it, because the launcher has none.
    Star(Star),
}

impl Space {
    pub(crate) fn put(&mut self, rank: u32, key: &str, value: &str) -> Result<(), Error> {
        let (key, value) = (format!("{}-{rank}", escape(key)), escape(value));
        for (text, limit) in [(key.as_str(), MAX_KEY), (&value, MAX_PUT)] {
            if text.len() >= limit {
                return Err(Error::TooLong { what: text.to_owned(), limit: limit - 1 });
            }
        }
        match self {
            Space::Pmi(server) | Space::Star(Star { server, .. }) => server.put(&key, &value),
            Space::Pmix(client) => client.put(&key, &value),
        }
    }

    /// What `rank` has put under `key` before the last fence. A caller asks only for what each rank of its kind puts: some
    /// launchers wait for other keys for ever.
    pub(crate) fn get(&mut self, rank: u32, key: &str) -> Result<String, Error> {
        let key = format!("{}-{rank}", escape(key));
        let value = match self {
            Space::Pmi(server) | Space::Star(Star { server, .. }) => {
                let missing = || format!("key {key} is missing after the fence");
                server.get(&key)?.ok_or_else(|| Error::protocol("get", &missing()))?
            }
            Space::Pmix(client) => client.get(rank, &key)?,
        };
        Ok(unescape(&value).into_owned())
    }

    pub(crate) fn fence(&mut self) -> Result<(), Error> {
        match self {
            Space::Pmi(server) | Space::Star(Star { server, .. }) => {
                server.connection.request("fence", "cmd=barrier_in\n", "barrier_out").map(drop)
            }
            Space::Pmix(client) => client.fence(),
        }
    }

    pub(crate) fn finalized(&mut self) -> Result<(), Error> {
        match self {
            Space::Pmi(server) => server.finalize(),
            Space::Pmix(client) => client.finalize(),
            Space::Star(star) => star.finalize(),
        }
    }
}

impl std::fmt::Debug for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Space::Pmi(server) => server.fmt(f),
            Space::Pmix(_) => f.write_str("Pmix"),
            Space::Star(star) => star.server.fmt(f),
        }
    }
}
