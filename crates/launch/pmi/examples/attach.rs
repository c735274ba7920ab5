//! Joins its job, exchanges one key with every rank and prints what it knows. For trying launchers by hand:
//! `mpiexec -n 4 target/debug/examples/attach`.
//!
//! Arguments: `exit CODE` leaves before finalize, `abort CODE` aborts, `die SIGNAL` kills itself, each done
//! by the last rank only; `sleep SECONDS` sleeps between init and finalize; `quiet` prints nothing.

use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let began = Instant::now();
    let mut job = match pmi::attach(|local_size| (local_size as u64) << 20) {
        Ok(job) => job,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let attached = began.elapsed();
    if let Err(error) = exchange(&mut job) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = arguments.first().map_or("", String::as_str);
    let number = arguments.get(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    if word != "quiet" {
        println!(
            "rank {} of {}, node ranks {:?}, pid known: {}, memory {:?} bytes, proxy {:?}, app {}, \
             oversubscribed {}, attached in {attached:?}",
            job.rank,
            job.size,
            job.local_ranks,
            job.local_pids.contains(&(std::process::id() as i32)),
            job.segment.as_ref().map(|s| s.bytes),
            job.proxy_pid,
            job.app_num,
            job.oversubscribed
        );
    }
    if word == "sleep" {
        std::thread::sleep(Duration::from_secs(number as u64));
    }
    if job.rank + 1 == job.size {
        match word {
            "exit" => std::process::exit(number),
            "abort" => job.abort().run(number, format_args!("the last rank was told to abort")),
            // SAFETY: raise takes a number and is always callable.
            "die" => drop(unsafe { libc::raise(number) }),
            _ => {}
        }
    }
    if matches!(word, "exit" | "abort" | "die") {
        std::thread::sleep(Duration::from_secs(60));
    }
    match job.finalized() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn exchange(job: &mut pmi::Job) -> Result<(), pmi::Error> {
    let (rank, size) = (job.rank, job.size);
    job.put("test", &format!("from rank {rank}"))?;
    job.fence()?;
    for other in 0..size {
        let value = job.get(other, "test")?;
        assert_eq!(value, Some(format!("from rank {other}")));
    }
    Ok(())
}
