//! Declarations, sources and messages as a crate and a user see them.

use std::fs;
use std::path::PathBuf;

use mca::{Registry, Scope, Source, Values};

mca::choice! {
    /// Single-copy mechanisms.
    enum SingleCopy { Auto = "auto", Off = "none" }
}

mca::params! {
    /// A crate's parameters.
    struct Params("btl_vader_") {
        /// Largest message copied through shared memory.
        ///
        /// Longer ones take another path.
        eager_limit: mca::Size = "4k", unit "bytes", range 64 to 65536, scope AllEq, level Tuner, alias "btl_sm_eager_limit";
        /// Copy together.
        cooperative: mca::Bool = "true";
        /// Mechanism.
        single_copy: SingleCopy = "auto";
        /// Signed.
        bias: mca::Int = "-1";
        /// Words.
        include: mca::List = "a,b";
        /// Text.
        label: mca::Text = "";
    }
}

/// A file of this test process that goes away with its guard.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mca-{}-{name}", std::process::id()));
        fs::write(&path, text).expect("the temporary directory is writable");
        Self(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn defaults_are_as_declared() {
    let params = Params::default();
    let expected = Params {
        eager_limit: 4096,
        cooperative: true,
        single_copy: SingleCopy::Auto,
        bias: -1,
        include: vec!["a".to_string(), "b".to_string()],
        label: String::new(),
    };
    assert_eq!(params, expected);
}

#[test]
fn declarations_carry_everything() {
    let param = &Params::PARAMS[0];
    assert_eq!(param.name, "btl_vader_eager_limit");
    assert_eq!(param.variable(), "ALHENA_MCA_btl_vader_eager_limit");
    assert_eq!((param.unit, param.scope, param.default), ("bytes", Scope::AllEq, "4k"));
    assert_eq!(
        param.description(),
        "Largest message copied through shared memory.\n\nLonger ones take another path."
    );
    assert_eq!(Params::PARAMS[2].kind, mca::Kind::Choice(&["auto", "none"]));
}

#[test]
fn sources_in_order_of_strength() {
    let file = TemporaryFile::new("order.toml", "[btl.vader]\neager_limit = \"1k\"\nbias = 7\nlabel = 'x'\n");
    let mut values = Values::from_variables([
        ("PATH", "/bin"),
        ("OMPI_MCA_btl_sm_eager_limit", "2k"),
        ("OMPI_MCA_btl_vader_bias", "5"),
        ("ALHENA_MCA_btl_vader_eager_limit", "3k"),
    ]);
    values.add_file(&file.0).expect("the file is understood");
    let params = Params::read(&values).expect("all values fit");
    assert_eq!((params.eager_limit, params.bias, params.label.as_str()), (3072, 5, "x"));

    let source = |index: usize| values.setting(&Params::PARAMS[index]).source;
    assert_eq!(source(0), Source::Environment("ALHENA_MCA_btl_vader_eager_limit".to_string()));
    assert_eq!(source(1), Source::Default);
    assert_eq!(source(3), Source::Environment("OMPI_MCA_btl_vader_bias".to_string()));
    assert_eq!(source(5), Source::File { path: file.0.clone(), line: 4 });

    values.set(&Params::PARAMS[0], "128").expect("128 fits");
    assert_eq!(Params::read(&values).expect("all values fit").eager_limit, 128);
    assert_eq!(values.setting(&Params::PARAMS[0]).source, Source::Tool);
}

#[test]
fn an_alias_counts_only_behind_its_own_prefix() {
    let values = Values::from_variables([("ALHENA_MCA_btl_sm_eager_limit", "2k")]);
    assert_eq!(Params::read(&values).expect("nothing else is set").eager_limit, 4096);
    assert_eq!(Registry::new(&[Params::PARAMS]).unknown(&values).len(), 1);
}

#[test]
fn a_foreign_value_that_does_not_fit_is_left_alone() {
    let values = Values::from_variables([("OMPI_MCA_btl_vader_single_copy", "knem")]);
    assert_eq!(Params::read(&values).expect("it is meant for Open MPI").single_copy, SingleCopy::Auto);
}

#[test]
fn bad_values_say_three_things() {
    let values = Values::from_variables([("ALHENA_MCA_btl_vader_eager_limit", "4q")]);
    let message = Params::read(&values).expect_err("4q is no size").to_string();
    assert_eq!(
        message,
        "alhena: reading the parameter btl_vader_eager_limit failed\n  \
         seen: \"4q\" from environment variable ALHENA_MCA_btl_vader_eager_limit; \
         expected a size such as 4096, 64k, 1M or 2G, from 64 to 65536\n  \
         next: correct it there, or run `alhena info --param btl_vader_eager_limit` for its description"
    );
}

#[test]
fn out_of_range_and_wrong_words_are_refused() {
    for (name, text) in
        [("eager_limit", "63"), ("eager_limit", "65537"), ("single_copy", "Auto"), ("bias", "1.5")]
    {
        let values = Values::from_variables([(format!("ALHENA_MCA_btl_vader_{name}"), text)]);
        assert!(Params::read(&values).is_err(), "{name}={text}");
    }
    let mut values = Values::default();
    assert!(values.set(&Params::PARAMS[0], "1").is_err());
    assert_eq!(values, Values::default());
}

#[test]
fn unknown_names_get_a_suggestion() {
    let registry = Registry::new(&[Params::PARAMS]);
    let values = Values::from_variables([
        ("ALHENA_MCA_btl_vadre_eager_limit", "1"),
        ("ALHENA_MCA_quux", "1"),
        ("OMPI_MCA_plm_rsh_agent", "ssh"),
        ("ALHENA_MCA_btl_vader_bias", "1"),
    ]);
    let lines: Vec<String> = registry.unknown(&values).iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "alhena: there is no parameter btl_vadre_eager_limit (environment variable \
             ALHENA_MCA_btl_vadre_eager_limit); did you mean btl_vader_eager_limit?",
            "alhena: there is no parameter quux (environment variable ALHENA_MCA_quux); \
             `alhena info --params` lists them",
        ]
    );
}

#[test]
fn names_of_open_mpi_are_translated() {
    let registry = Registry::new(&[Params::PARAMS]);
    assert_eq!(
        registry.translate("btl_sm_eager_limit").map(|param| param.name),
        Some("btl_vader_eager_limit")
    );
    assert_eq!(registry.translate("btl_vader_bias").map(|param| param.name), Some("btl_vader_bias"));
    assert_eq!(registry.translate("plm_rsh_agent"), None);
}

#[test]
fn files_report_their_line_and_absence_is_fine() {
    let file = TemporaryFile::new("bad.toml", "btl_vader_bias = 1\nbtl_vader_label = x\n");
    let mut values = Values::default();
    let error = values.add_file(&file.0).expect_err("x needs quotes");
    assert_eq!(error.line, 2);
    assert!(error.to_string().contains("line 2: `x` is neither"), "{error}");
    values.add_file(&file.0.with_extension("absent")).expect("no file is no error");
    assert!(values.add_file(&std::env::temp_dir()).is_err(), "a directory is no file");
}
