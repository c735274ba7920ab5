//! One of two processes that exchange messages by the calls of a network interface: it joins the job that mpiexec has
//! started, and times as the programs of `bench/` do.

use std::time::Instant;

use clap::{Args, ValueEnum};
use sim::raw::Carrier;

use super::exchange::Exchange;
use super::{gemini, portals};
use crate::error::Error;

/// What to time.
#[derive(Args)]
pub struct Arguments {
    /// What carries messages
    #[arg(long, value_enum)]
    what: What,
    /// Smallest message in bytes
    #[arg(long, default_value_t = 0)]
    min: usize,
    /// Largest message in bytes
    #[arg(long, default_value_t = 256 << 10)]
    max: usize,
    /// From each size to the next
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..))]
    factor: u32,
    /// Seconds spent on one size
    #[arg(long, default_value_t = 0.05)]
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum What {
    Portals,
    Smsg,
    Fma,
    Bte,
}

/// Blocks that are timed of each size; the fastest counts.
const BLOCKS: u32 = 7;
/// Messages of a block, at most.
const MOST: u32 = 100_000_000;

/// Joins the job, times each size, prints its line.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    measure(arguments).map_err(|seen| Error::Raw(seen.trim_end().into()))
}

fn measure(arguments: &Arguments) -> Result<(), String> {
    let mut job = pmi::attach(btl_vader::segment_bytes).map_err(|error| error.to_string())?;
    if job.size != 2 {
        return Err(format!("the job has {} processes, and two exchange messages", job.size));
    }
    let values = mca::Values::load(crate::prefix::of_this_program().as_deref());
    let values = values.map_err(|error| error.to_string())?;
    let most = arguments.max;
    let carrier = match arguments.what {
        What::Portals => None,
        What::Smsg => Some(Carrier::Smsg),
        What::Fma => Some(Carrier::Fma),
        What::Bte => Some(Carrier::Bte),
    };
    let mut pair: Box<dyn Exchange> = match carrier {
        None => Box::new(portals::open(&mut job, &values, most)?),
        Some(carrier) => Box::new(gemini::open(&mut job, carrier, most)?),
    };
    let mut together = Together { job, told: 0 };
    for bytes in sizes(arguments) {
        let half = half_trip(pair.as_mut(), &mut together, bytes, arguments.seconds)?;
        if together.is_first() {
            println!("{bytes} {half:.9} us");
        }
    }
    // Neither process leaves while the other may still need an answer.
    together.fence()?;
    together.job.finalized().map_err(|error| error.to_string())
}

fn sizes(arguments: &Arguments) -> impl Iterator<Item = usize> + use<> {
    let &Arguments { min, max, factor, .. } = arguments;
    let powers = std::iter::successors(Some(min.max(1).next_power_of_two()), move |size| {
        size.checked_mul(factor as usize)
    });
    (min == 0).then_some(0).into_iter().chain(powers.take_while(move |size| *size <= max))
}

/// The two processes by way of their launcher, which takes no part in what is timed.
struct Together {
    job: pmi::Job,
    /// Numbers that the first has sent the second.
    told: u32,
}

impl Together {
    fn is_first(&self) -> bool {
        self.job.rank == 0
    }

    fn fence(&mut self) -> Result<(), String> {
        self.job.fence().map_err(|error| error.to_string())
    }

    /// The first one's number, in both.
    fn agree(&mut self, number: u32) -> Result<u32, String> {
        let key = format!("alhena-raw-{}", self.told);
        self.told += 1;
        if self.is_first() {
            self.job.put(&key, &number.to_string()).map_err(|error| error.to_string())?;
        }
        self.fence()?;
        let told = self.job.get(0, &key).map_err(|error| error.to_string())?;
        told.and_then(|text| text.parse().ok()).ok_or_else(|| "the first process has told no number".into())
    }
}

/// Microseconds of half a round trip: the fastest of several blocks, each of as many messages as fill its time.
fn half_trip(
    pair: &mut dyn Exchange,
    together: &mut Together,
    bytes: usize,
    seconds: f64,
) -> Result<f64, String> {
    pair.fill(bytes);
    together.fence()?;
    pair.exchange(bytes, 2)?;
    if !pair.is_intact(bytes) {
        return Err(format!("a message of {bytes} bytes came with other bytes than were sent"));
    }
    let timed = |pair: &mut dyn Exchange, together: &mut Together, messages| {
        together.fence()?;
        let begun = Instant::now();
        pair.exchange(bytes, messages)?;
        Ok::<f64, String>(begun.elapsed().as_secs_f64())
    };
    let block = seconds / f64::from(BLOCKS);
    let mut messages = 1;
    loop {
        let took = timed(pair, together, messages)?;
        let more = if took < block / 16.0 { 8.0 } else { (block / took).max(1.0) };
        let next = (f64::from(messages) * more).ceil().min(f64::from(MOST)) as u32;
        let next = together.agree(if took > 0.7 * block { messages } else { next })?;
        if next == messages {
            break;
        }
        messages = next;
    }
    let mut best = f64::MAX;
    for _ in 0..BLOCKS {
        best = best.min(timed(pair, together, messages)?);
    }
    Ok(best / f64::from(messages) / 2.0 * 1e6)
}

#[cfg(test)]
mod tests {
    use super::{Arguments, What, sizes};

    #[test]
    fn sizes_are_those_of_the_programs() {
        let of = |min, max, factor| {
            let arguments = Arguments { what: What::Portals, min, max, factor, seconds: 0.0 };
            sizes(&arguments).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 64, 8), [0, 1, 8, 64]);
        assert_eq!(of(3, 20, 2), [4, 8, 16]);
    }
}
