//! The pinned mode between two processes: a registration that was kept too long shows the pages of its time.

mod common;

use gni::{Gni, InstId, JobKey, MemFlags, MemHandle, Modes, PeAddr, PostDescriptor, PostKind, Time};
use gni_soft::host::{self, HostConfig, HostNic};
use gni_soft::{NicConfig, SoftNic};
use mem::UserMem;
use std::process::Command;
use std::time::Instant;

const PE: PeAddr = PeAddr(1);
const OWNER: InstId = InstId(1);
const READER: InstId = InstId(2);
const LEN: usize = 64 << 10;
/// What the reading process must know: the job, and where the memory is.
const TOLD: &str = "ALHENA_TEST_PINNED";

fn attach(job: u32, inst: InstId, pinned: bool) -> SoftNic<HostNic> {
    let config = HostConfig { job, pinned, proxy_pid: Some(-1), ..HostConfig::default() };
    let nic = host::attach(PE, inst, JobKey::for_job(job), Modes::default(), NicConfig::default(), config);
    nic.expect("attaching")
}

/// Anonymous memory full of `byte`, at `address` or anywhere for 0, replacing what was there.
fn map(address: usize, byte: u8) -> UserMem {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: replaces nothing but a mapping of this test, into which there is no reference.
    unsafe {
        let base = libc::mmap(address as *mut _, LEN, protection, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        std::ptr::write_bytes(base.cast::<u8>(), byte, LEN);
        UserMem::new(base as usize, LEN)
    }
}

/// What another process fetches from memory that was registered full of 1 and then replaced by memory full of 2.
fn fetched_after_replacing(pinned: bool) -> u8 {
    let job = std::process::id() * 2 + u32::from(pinned);
    let mut nic = attach(job, OWNER, pinned);
    let memory = map(0, 1);
    let handle = nic.mem_register(memory, None, MemFlags::READWRITE).expect("registering");
    map(memory.address(), 2);
    let told =
        [u64::from(job), memory.address() as u64, handle.0[0], handle.0[1]].map(|n| n.to_string()).join(" ");
    let reader = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "the_reading_process", "--ignored", "--nocapture"])
        .env(TOLD, told)
        .output()
        .expect("starting the reader");
    let said = String::from_utf8_lossy(&reader.stdout).into_owned();
    let byte = said.lines().find_map(|line| line.split_once("fetched ")).map(|(_, byte)| byte.trim().parse());
    byte.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&reader.stderr))).expect("a byte")
}

/// The other process of [`fetched_after_replacing`].
#[test]
#[ignore = "started by the other tests"]
fn the_reading_process() {
    let Ok(told) = std::env::var(TOLD) else { return };
    let told: Vec<u64> = told.split(' ').map(|number| number.parse().expect("a number")).collect();
    let mut nic = attach(told[0] as u32, READER, false);
    let queue = nic.cq_create(16).expect("a queue");
    let ep = nic.ep_create(Some(queue)).expect("an endpoint");
    nic.ep_bind(ep, PE, OWNER).expect("binding");
    let local = map(0, 9);
    let local_handle = nic.mem_register(local, None, MemFlags::READWRITE).expect("registering");
    let get = PostDescriptor {
        local,
        local_handle,
        remote_addr: told[1],
        remote_handle: MemHandle([told[2], told[3]]),
        src_cq: Some(queue),
        ..PostDescriptor::new(PostKind::RdmaGet)
    };
    nic.post_rdma(ep, &get).expect("posting");
    let began = Instant::now();
    let entry = loop {
        nic.progress(Time(began.elapsed().as_nanos() as u64));
        if let Ok(entry) = nic.cq_get_event(queue) {
            break entry;
        }
        assert!(began.elapsed().as_secs() < 20, "no event");
    };
    nic.get_completed(queue, entry).expect("the descriptor");
    let bytes = local.as_bytes().to_vec();
    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
    println!("fetched {}", bytes[0]);
}

#[test]
fn a_stale_registration_shows_old_pages_to_another_process() {
    if !common::can_pin() {
        return;
    }
    assert_eq!(fetched_after_replacing(true), 1);
}

#[test]
fn without_pinning_a_registration_names_addresses() {
    assert_eq!(fetched_after_replacing(false), 2);
}
