//! The page `docs/parameters.md`.

use std::fmt::Write;

use mca::Registry;

use super::report::scope_name;

const HEAD: &str = "# Parameters

<!-- Written by `cargo run -p alhena -- info --markdown > docs/parameters.md`; a test fails when it is out of date. -->

Every parameter can be given, strongest first, as

- `mpiexec --mca NAME VALUE` or the environment variable `ALHENA_MCA_NAME`
- `OMPI_MCA_NAME`, with this name or one of the other names listed
- a line `NAME = VALUE` in the TOML file that `$ALHENA_PARAM_FILE` names, in `~/.config/alhena/mca.toml`, or in
  `PREFIX/etc/alhena.toml`; the table `[btl.vader]` with a key `eager_limit` means `btl_vader_eager_limit`

and read through MPI_T as a control variable. Sizes take the suffixes k, M, G and T (powers of 1024). An unknown name gets
a warning with the nearest known one; a value that does not fit ends the program with a message. `alhena info --params`
shows the values in force and where each comes from.
";

/// The whole page.
pub fn page(registry: &Registry) -> String {
    let mut text = HEAD.to_string();
    for param in registry.all() {
        let default =
            if param.default.is_empty() { "empty".to_string() } else { format!("`{}`", param.default) };
        let unit = if param.unit.is_empty() { String::new() } else { format!(" {}", param.unit) };
        writeln!(text, "\n## {}\n\n{}\n", param.name, param.description()).expect("a string takes text");
        writeln!(text, "- {}: {}", param.kind.name(), param.expectation()).expect("a string takes text");
        writeln!(text, "- default {default}{unit}").expect("a string takes text");
        writeln!(text, "- {}", scope_name(param.scope)).expect("a string takes text");
        if !param.aliases.is_empty() {
            writeln!(text, "- other names behind `OMPI_MCA_`: {}", param.aliases.join(", "))
                .expect("a string takes text");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_in_docs_is_current() {
        let current = super::page(&parameters::registry());
        assert!(
            current == include_str!("../../../../../docs/parameters.md"),
            "run: cargo run -p alhena -- info --markdown > docs/parameters.md"
        );
    }

    #[test]
    fn every_default_fits_its_declaration() {
        for param in parameters::registry().all() {
            assert!(param.accepts(param.default), "{}", param.name);
            assert!(!param.description().is_empty(), "{}", param.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let registry = parameters::registry();
        let mut names: Vec<&str> = registry
            .all()
            .iter()
            .flat_map(|p| p.aliases.iter().copied().filter(|alias| *alias != p.name).chain([p.name]))
            .collect();
        names.sort_unstable();
        let before = names.len();
        names.dedup_by(|a, b| a == b);
        assert_eq!(names.len(), before, "a name or alias is declared twice");
    }
}
