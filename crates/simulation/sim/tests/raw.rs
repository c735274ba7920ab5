//! Gemini itself, beside MPI over it.

use sim::experiments::{latency, raw_latency};
use sim::paper;
use sim::raw::Carrier;

/// Each carrier takes a time, the more the longer the message is, and MPI is not faster than the fastest of them.
#[test]
fn messages_of_gemini_itself() {
    let setup = paper::as_in_the_paper(paper::setup(paper::FITTED));
    for bytes in [0, 64, 1024, 8192] {
        let carriers = Carrier::ALL.into_iter().filter(|carrier| carrier.takes(bytes));
        let raw: Vec<f64> =
            carriers.map(|carrier| raw_latency(&setup, carrier, bytes).expect("it ends")).collect();
        let mpi = latency(&setup, bytes, 0).expect("it ends").nanoseconds;
        println!("{bytes:5} B: SMSG, FMA put, BTE put {raw:8.0?} ns, MPI {mpi:.0} ns");
        let least = raw.iter().copied().fold(f64::MAX, f64::min);
        assert!(least > 500.0 && mpi >= least, "{bytes} bytes: {raw:?}, MPI {mpi}");
    }
    let put = |bytes| raw_latency(&setup, Carrier::Bte, bytes).expect("it ends");
    assert!(put(1 << 20) > 10.0 * put(64));
}
