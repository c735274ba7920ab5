//! A rank of the doctor's job.
//!
//! The first rank of each host examines the host and listens at a port. All learn the others' addresses from the
//! launcher's key space, and try each.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::finding::{Finding, Report};
use super::{MARK, host_name, network, own_report};

/// Addresses have this long to answer.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes that go to an address and back: many packets of full size, which some networks swallow while small ones pass.
const BULK: usize = 256 << 10;
/// Bulk has this long for each step. Packets that get lost now and then are sent again meanwhile.
const BULK_TIMEOUT: Duration = Duration::from_secs(6);
/// Most callers that are answered at a time.
const MOST_CALLERS: usize = 1024;
/// Clocks may differ by this much, in seconds, before the doctor warns.
const SKEW: f64 = 1.0;
/// Most addresses that a host names: the key space takes 800 bytes.
const MOST: usize = 16;

/// A host as it describes itself.
struct Other {
    name: String,
    addresses: Vec<SocketAddr>,
}

pub fn run() -> Result<(), Box<dyn Error>> {
    let mut job = pmi::attach(|_| 1 << 16)?;
    let nodes = job.node_of.iter().max().map_or(1, |most| most + 1);
    let node = job.node_of[job.rank as usize];
    let is_first = job.local_ranks.first() == Some(&job.rank);
    if is_first && nodes > 1 {
        let port = listen()?;
        let outside = network::addresses().into_iter().filter(|(name, _)| network::leads_outside(name));
        let addresses = outside.map(|(_, address)| SocketAddr::new(address, port).to_string());
        let list: Vec<String> = addresses.take(MOST).collect();
        job.put("doctor", &format!("{} {}", host_name(), list.join(",")))?;
    }
    job.fence()?;
    if is_first {
        let mut report = own_report();
        let native = if job.is_native() { "mpiexec's own" } else { "PMI-1 of another launcher" };
        report
            .findings
            .push(Finding::ok("wire-up", format!("{native}: {} ranks on {nodes} hosts", job.size)));
        for other in (0..nodes).filter(|&other| other != node) {
            let Some(first) = job.node_of.iter().position(|&node| node == other) else { continue };
            let Some(text) = job.get(first as u32, "doctor")? else { continue };
            if let Some(other) = parse(&text) {
                report.findings.extend(try_all(&other));
            }
        }
        println!("{MARK}{}", serde_json::to_string::<Report>(&report)?);
    }
    // No rank leaves before all have tried.
    job.fence()?;
    job.finalized()?;
    Ok(())
}

/// Answers all callers with the time and with what they send, from threads that end with the process.
fn listen() -> Result<u16, Box<dyn Error>> {
    let listener = platform::tcp::listen([0])?;
    listener.set_nonblocking(false)?;
    let port = listener.local_addr()?.port();
    let callers = Arc::new(AtomicUsize::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { continue };
            let callers = Arc::clone(&callers);
            if callers.fetch_add(1, Relaxed) < MOST_CALLERS {
                thread::spawn(move || {
                    let _ = answer(stream);
                    callers.fetch_sub(1, Relaxed);
                });
            } else {
                callers.fetch_sub(1, Relaxed);
            }
        }
    });
    Ok(port)
}

/// Gives a caller the time, and its bulk back.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(BULK_TIMEOUT))?;
    stream.set_write_timeout(Some(BULK_TIMEOUT))?;
    stream.write_all(&now().to_be_bytes())?;
    let mut bulk = vec![0; BULK];
    stream.read_exact(&mut bulk)?;
    stream.write_all(&bulk)
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn parse(text: &str) -> Option<Other> {
    let (name, list) = text.split_once(' ')?;
    let addresses = list.split(',').filter_map(|address| address.parse().ok()).collect();
    Some(Other { name: name.to_owned(), addresses })
}

/// What answered: the own address that was used, round trip and difference of the clocks in seconds.
struct Answer {
    from: IpAddr,
    seconds: f64,
    skew: f64,
    /// Why bulk did not go there and back.
    swallowed: Option<String>,
}

fn call(address: SocketAddr) -> Result<Answer, String> {
    let (began, sent) = (Instant::now(), now());
    let stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(|error| error.to_string())?;
    let seconds = began.elapsed().as_secs_f64();
    let mut bytes = [0; 8];
    let mut stream = stream;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(|error| error.to_string())?;
    stream.read_exact(&mut bytes).map_err(|error| error.to_string())?;
    let middle = f64::midpoint(sent, now());
    let from = stream.local_addr().map_err(|error| error.to_string())?.ip();
    let swallowed = carry(stream).err().map(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("not there and back in {} s", BULK_TIMEOUT.as_secs())
        }
        _ => error.to_string(),
    });
    Ok(Answer { from, seconds, skew: f64::from_be_bytes(bytes) - middle, swallowed })
}

/// Sends bulk and takes it back.
fn carry(mut stream: TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(BULK_TIMEOUT))?;
    stream.set_write_timeout(Some(BULK_TIMEOUT))?;
    let mut bulk = vec![1; BULK];
    stream.write_all(&bulk)?;
    stream.read_exact(&mut bulk)
}

/// Calls all addresses of a host at once.
fn try_all(other: &Other) -> Vec<Finding> {
    let own = network::addresses();
    // An address that both hosts have, that of a bridge for containers for instance, leads to oneself.
    let theirs = other.addresses.iter().filter(|address| own.iter().all(|(_, own)| *own != address.ip()));
    let calls: Vec<_> = theirs.map(|&address| (address, thread::spawn(move || call(address)))).collect();
    let answers: Vec<(SocketAddr, Result<Answer, String>)> = calls
        .into_iter()
        .map(|(address, thread)| (address, thread.join().unwrap_or_else(|_| Err("it broke".to_owned()))))
        .collect();
    let check = format!("to {}", other.name);
    let mut findings = Vec::new();
    let said = |(address, answer): &(SocketAddr, Result<Answer, String>)| match answer {
        Ok(answer) => {
            let plain = match answer.from {
                IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(answer.from, IpAddr::V4),
                from => from,
            };
            let name = own.iter().find(|(_, one)| *one == plain).map_or("?", |(name, _)| name.as_str());
            let mtu = network::mtu(name).map_or(String::new(), |mtu| format!(", MTU {mtu}"));
            let swallowed = answer
                .swallowed
                .as_ref()
                .map_or(String::new(), |why| format!(", but {} KiB are swallowed: {why}", BULK >> 10));
            format!(
                "{plain} ({name}{mtu}) to {} answers in {:.2} ms{swallowed}",
                address.ip(),
                answer.seconds * 1e3
            )
        }
        Err(error) => format!("{} does not answer: {error}", address.ip()),
    };
    let list = answers.iter().map(said).collect::<Vec<_>>().join("; ");
    let works = answers.iter().filter(|(_, answer)| answer.is_ok()).count();
    let black_hole =
        answers.iter().find(|(_, answer)| answer.as_ref().is_ok_and(|answer| answer.swallowed.is_some()));
    findings.push(match works {
        _ if let Some((address, _)) = black_hole => Finding::problem(
            &check,
            list,
            format!(
                "find the longest packet that passes (`ping -M do -s 1472 {0}`, then shorter ones) and give the interfaces \
                 that MTU (`ip link set dev INTERFACE mtu N`), or `sysctl net.ipv4.tcp_mtu_probing=1` on all hosts",
                address.ip()
            ),
        ),
        0 => Finding::problem(
            &check,
            format!("no address answers: {list}"),
            "open the firewall between the hosts for TCP (all ports, or --mca btl_tcp_ports LOW-HIGH), or see `ip route`",
        ),
        _ if works < answers.len() => Finding::warning(
            &check,
            list,
            "nothing: Alhena finds the addresses that answer; --mca btl_tcp_if_include INTERFACE saves the search",
        ),
        _ => Finding::ok(&check, list),
    });
    if let Some(skew) = answers.iter().find_map(|(_, answer)| answer.as_ref().ok().map(|answer| answer.skew))
    {
        let check = format!("clock of {}", other.name);
        findings.push(match skew.abs() > SKEW {
            true => Finding::warning(
                &check,
                format!("{skew:+.3} s from this host's: make and time stamps of files go wrong"),
                "timedatectl set-ntp true (as root), on both",
            ),
            false => Finding::ok(&check, format!("{:+.3} ms from this host's", skew * 1e3)),
        });
    }
    findings
}
