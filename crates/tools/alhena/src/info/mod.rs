//! `alhena info`.

mod components;
mod markdown;
mod program;
mod report;
mod text;

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;

use bench::prefix;
use clap::Args;
use mca::{Param, Registry, Values};

use report::Report;

/// What to show.
#[derive(Args)]
pub struct Arguments {
    /// A program: which MPI library's ABI it was built for, and what happens when it starts
    #[arg(conflicts_with_all = ["params", "param", "json", "markdown"])]
    program: Option<PathBuf>,
    /// All parameters instead of those that differ from their default
    #[arg(long)]
    params: bool,
    /// Parameters of a framework and component (`--param btl vader`, `--param btl`, `--param all`), or one by its name
    #[arg(long, num_args = 1..=2, value_names = ["FRAMEWORK|NAME", "COMPONENT"])]
    param: Option<Vec<String>>,
    /// Everything, as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// The page docs/parameters.md
    #[arg(long)]
    markdown: bool,
}

/// Prints what was asked for.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let registry = parameters::registry();
    let mut out = io::stdout().lock();
    if arguments.markdown {
        out.write_all(markdown::page(&registry).as_bytes())?;
        return Ok(());
    }

    let prefix = prefix::of_this_program();
    if let Some(program) = &arguments.program {
        out.write_all(program::describe(program, prefix.as_deref())?.as_bytes())?;
        return Ok(());
    }
    let values = Values::load(prefix.as_deref())?;
    for unknown in registry.unknown(&values) {
        eprintln!("{unknown}");
    }
    let chosen = match &arguments.param {
        Some(words) => choose(&registry, words)?,
        None => registry.all().to_vec(),
    };
    let report = Report::new(prefix.as_deref(), &values, &chosen);
    let text = if arguments.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else if arguments.param.is_some() {
        text::details(&report.parameters)
    } else {
        text::overview(&report, arguments.params)
    };
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// The parameters that the words of `--param` name.
fn choose(registry: &Registry, words: &[String]) -> Result<Vec<&'static Param>, Box<dyn Error>> {
    // `btl_ugni_` as pages have it, `btl_ugni`, and `btl ugni` as Open MPI's users write.
    let joined = words.join("_");
    let prefix = joined.trim_end_matches('_');
    let belongs = |param: &Param| match param.name.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || rest.starts_with('_'),
        None => words[0] == "all",
    };
    let chosen: Vec<_> = registry.all().iter().copied().filter(|param| belongs(param)).collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let next = match registry.nearest(prefix) {
        Some(nearest) => format!("did you mean {nearest}? `alhena info --params` lists all"),
        None => "run `alhena info --params` for all of them".to_string(),
    };
    Err(format!("alhena: choosing parameters failed\n  seen: no parameter is called {prefix} or starts so\n  next: {next}")
        .into())
}
