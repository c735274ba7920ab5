//! `alhena top`: what the ranks of a running job do, again and again on a terminal, or once.
//!
//! ```text
//!   sample   counts of the observation memory, /proc, stacks ─► Moment
//!   table    two moments ─► a row for each rank: state, call and place, bytes/s, messages/s, share of waiting
//!   page     rows as text, picture  screen   rows on a terminal, keys
//! ```

mod page;
mod picture;
mod sample;
mod screen;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use sample::Sampler;
use table::{Order, Table};

use live::Question;

use super::Which;
use super::elsewhere::Elsewhere;
use super::error::Error;

/// Shows what the ranks of a running job do
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Seconds between two looks
    #[arg(long, default_value_t = 1.0, value_parser = |text: &str| super::seconds(text, 0.1..=3600.0))]
    interval: f64,
    /// What the rows are ordered by
    #[arg(long, value_enum, default_value_t = Order::Rank)]
    sort: Order,
    /// One page, also on a terminal
    #[arg(long)]
    once: bool,
    /// One page as JSON
    #[arg(long)]
    json: bool,
    /// One page, and STEM.svg and STEM.png of it: the share of waiting of each rank
    #[arg(long, value_name = "STEM")]
    picture: Option<PathBuf>,
    /// Do not stop the ranks, for microseconds, to see where they are: only what has waited for a second has a place
    #[arg(long)]
    no_stacks: bool,
}

impl Arguments {
    /// Asks the other hosts for what their ranks do in the next interval.
    fn ask_elsewhere(&self, sampler: &Sampler) -> Elsewhere {
        let question = Question::Top((self.interval * 1e3) as u32, !self.no_stacks);
        self.which.ask_elsewhere(sampler.connection(), question)
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let connection = arguments.which.open()?;
    let interval = Duration::from_secs_f64(arguments.interval);
    let mut sampler = Sampler::new(connection, !arguments.no_stacks);
    let mut out = io::stdout();
    let once = arguments.once || arguments.json || arguments.picture.is_some();
    if !once && out.is_terminal() && io::stdin().is_terminal() {
        return Ok(screen::run(sampler, arguments)?);
    }
    let asked = arguments.ask_elsewhere(&sampler);
    let before = sampler.sample();
    std::thread::sleep(interval);
    let now = sampler.sample();
    if sampler.is_over() {
        return Err(Error::Ended { job: sampler.description().number }.into());
    }
    let others = asked.take(sampler.connection());
    let table = Table::new(sampler.description(), (&before, &now), &others, arguments.sort);
    if let Some(stem) = &arguments.picture {
        let [svg, png] = picture::draw(stem, &table)?;
        eprintln!("alhena top: picture: {} {}", svg.display(), png.display());
    }
    match arguments.json {
        true => Ok(writeln!(out, "{}", serde_json::to_string_pretty(&table)?)?),
        false => Ok(out.write_all(page::page(&table).as_bytes())?),
    }
}
