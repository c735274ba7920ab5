//! Whatever stands in a parameter file, it is understood or refused with the slot that is wrong.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mca::Values;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("alhena-fuzz-{}.toml", std::process::id()));
    std::fs::write(&path, bytes).expect("the temporary folder is writable");
    let mut values = Values::default();
    let _ = values.add_file(&path).map_err(|error| error.to_string());
});
