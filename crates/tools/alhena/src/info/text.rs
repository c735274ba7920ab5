//! The answer for people.

use std::fmt::Write;

use super::report::{Parameter, Report};

/// Version, build and components, then the parameters that are set, or `all`.
pub fn overview(report: &Report, all: bool) -> String {
    let Report { version, mpi_standard, mpi_abi, prefix, build, host, fortran, components, parameters } =
        report;
    let mut text = format!("Alhena {version}\n");
    let mut line =
        |name: &str, value: &str| writeln!(text, "  {name:<14}{value}").expect("a string takes text");
    line("installed in", prefix.as_deref().unwrap_or("nowhere (running from a build folder)"));
    line("MPI standard", &format!("{mpi_standard}, standard ABI {mpi_abi} (libmpi_abi.so.1)"));
    line("built", &format!("{} for {} by {}", build.profile, build.target, build.rustc));
    if !build.commit.is_empty() {
        line("commit", build.commit);
    }
    let offered = [
        (host.xpmem, "xpmem (--mca btl_vader_single_copy_mechanism xpmem)"),
        (host.userfaultfd, "userfaultfd"),
    ];
    let missing = [(host.xpmem, "xpmem"), (host.userfaultfd, "userfaultfd")];
    line("this host has", &listed(offered.iter().filter(|(there, _)| *there)));
    line("and has not", &listed(missing.iter().filter(|(there, _)| !there)));
    line("languages", "C, Fortran (mpif.h, mpi, mpi_f08), and C++ and Python through C");
    for modules in fortran {
        let of = [modules.compiler.as_str(), &modules.compiler_version].join(": ");
        line("modules for", of.trim_end_matches(": "));
        line("", &modules.folder);
    }
    if fortran.is_empty() {
        line("modules for", "no Fortran compiler yet: mpifort compiles them at its first use");
    }

    text.push_str("\ncomponents\n");
    for component in components {
        writeln!(text, "  {:<10}{:<10}{}", component.framework, component.name, component.description)
            .expect("a string takes text");
    }

    let shown: Vec<&Parameter> = parameters.iter().filter(|param| all || !param.is_default).collect();
    if all {
        text.push_str("\nparameters\n");
    } else {
        let (total, set) = (parameters.len(), shown.len());
        writeln!(
            text,
            "\nparameters: {total}, of which {set} differ from their default (--params shows all)"
        )
        .expect("a string takes text");
    }
    text.push_str(&table(&shown));
    text
}

/// Names after each other.
fn listed<'a>(names: impl Iterator<Item = &'a (bool, &'a str)>) -> String {
    let names: Vec<&str> = names.map(|(_, name)| *name).collect();
    if names.is_empty() { "nothing optional".to_string() } else { names.join(", ") }
}

fn table(parameters: &[&Parameter]) -> String {
    let width =
        |column: fn(&Parameter) -> &str| parameters.iter().map(|p| column(p).len()).max().unwrap_or(0);
    let (names, values) = (width(|param| param.name), width(|param| &param.value));
    let mut text = String::new();
    for param in parameters {
        let value = with_unit(param);
        let problem =
            param.problem.as_deref().map(|problem| format!(" — BAD: {problem}")).unwrap_or_default();
        // Units start one column behind the longest value.
        let values = values + 1 + "microseconds".len();
        writeln!(text, "  {:<names$}  {value:<values$}  {}{problem}", param.name, param.source)
            .expect("a string takes text");
    }
    text
}

fn with_unit(param: &Parameter) -> String {
    let value = if param.value.is_empty() { "(empty)" } else { &param.value };
    format!("{value} {}", param.unit).trim_end().to_string()
}

/// Each parameter with all its facts.
pub fn details(parameters: &[Parameter]) -> String {
    let mut text = String::new();
    for (index, param) in parameters.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        writeln!(text, "{} = {}  ({})", param.name, with_unit(param), param.source)
            .expect("a string takes text");
        if let Some(problem) = &param.problem {
            writeln!(text, "  BAD: {problem}").expect("a string takes text");
        }
        for line in param.description.lines() {
            writeln!(text, "  {line}").expect("a string takes text");
        }
        writeln!(text, "  {}: {}; default {}", param.kind, param.expectation, or_empty(param.default))
            .expect("a string takes text");
        writeln!(
            text,
            "  set by {} or `mpiexec --mca {} VALUE`; {}",
            param.variable, param.name, param.scope
        )
        .expect("a string takes text");
    }
    text
}

fn or_empty(text: &str) -> &str {
    if text.is_empty() { "empty" } else { text }
}
