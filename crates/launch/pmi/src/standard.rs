//! Meeting another launcher by PMI-1: MPICH's Hydra and its relatives, `srun --mpi=pmi2`, Flux.

use std::env;

use crate::connection::Connection;
use crate::pmi1::{JobPlace, Server};
use crate::{Error, mapping};

const STEP: &str = "MPI_Init";
/// A connection and the place in the job that came with it.
pub(crate) struct Contact {
    pub(crate) connection: Connection,
    pub(crate) rank: u32,
    pub(crate) size: u32,
}

/// Finds a PMI-1 server by `PMI_FD` or `PMI_PORT`. `None` where there is none.
pub(crate) fn contact() -> Result<Option<Contact>, Error> {
    let number = |name| env::var(name).ok().and_then(|v| v.trim().parse::<u32>().ok());
    let in_environment = number("PMI_RANK").zip(number("PMI_SIZE"));
    if let (Some(fd), Some((rank, size))) = (number("PMI_FD"), in_environment) {
        let connection = i32::try_from(fd).ok().and_then(Connection::inherit);
        return Ok(connection.map(|connection| Contact { connection, rank, size }));
    }
    match (env::var("PMI_PORT"), number("PMI_ID")) {
        (Ok(address), Some(id)) => by_port(&address, id).map(Some),
        _ => Ok(None),
    }
}

/// Connects to the server at `address`, which gives the process with identifier `id` its place.
fn by_port(address: &str, id: u32) -> Result<Contact, Error> {
    let mut connection =
        Connection::connect(address).map_err(Error::io("MPI_Init: connecting to PMI_PORT"))?;
    connection.request(STEP, &format!("cmd=initack pmiid={id}\n"), "initack")?;
    let (mut rank, mut size) = (None, None);
    while rank.is_none() || size.is_none() {
        let reply = connection.receive(STEP)?;
        let line = reply.line();
        if line.command() != "set" {
            return Err(Error::protocol(STEP, line.text()));
        }
        rank = line.number("rank").or(rank);
        size = line.number("size").or(size);
    }
    Ok(Contact { connection, rank: rank.unwrap_or(0), size: size.unwrap_or(1) })
}

/// Asks a PMI-1 server for the key space, and for this process's place.
pub(crate) fn meet(contact: Contact) -> Result<(Server, JobPlace), Error> {
    let Contact { mut connection, rank, size } = contact;
    if rank >= size {
        return Err(Error::protocol(STEP, &format!("rank {rank} of {size}")));
    }
    let hello = "cmd=init pmi_version=1 pmi_subversion=1\n";
    let reply = connection.request(STEP, hello, "response_to_init")?;
    if reply.line().number::<i32>("rc").unwrap_or(0) != 0 {
        return Err(Error::protocol(STEP, reply.line().text()));
    }
    let kvs = connection
        .request(STEP, "cmd=get_my_kvsname\n", "my_kvsname")?
        .line()
        .get("kvsname")
        .ok_or_else(|| Error::protocol(STEP, "no name of the key-value space"))?
        .to_owned();
    let app_num = connection.request(STEP, "cmd=get_appnum\n", "appnum")?.line().number("appnum");
    let universe = connection.request(STEP, "cmd=get_universe_size\n", "universe_size")?;
    let universe_size =
        universe.line().number::<i64>("size").and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0);

    let mut server = Server { connection, kvs };
    let node_of = node_of(&mut server, size)?;
    Ok((server, JobPlace { rank, size, app_num: app_num.unwrap_or(0), universe_size, node_of }))
}

/// The node of each rank by the launcher's mapping. Where it gives none, every rank is its own node.
fn node_of(server: &mut Server, size: u32) -> Result<Vec<u32>, Error> {
    let text = server.get("PMI_process_mapping")?;
    Ok(match text.and_then(|text| mapping::parse(&text, size as usize)) {
        Some(node_of) => node_of,
        None => (0..size).collect(),
    })
}
