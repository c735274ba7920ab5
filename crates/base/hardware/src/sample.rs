//! A machine that exists only as files, for tests.

use std::fs;
use std::ops::Deref;
use std::path::PathBuf;

use crate::{CpuSet, Topology};

/// A machine described in a temporary folder, which goes with it.
pub struct Sample {
    topology: Topology,
    root: PathBuf,
}

impl Sample {
    /// A machine of two packages with two cores of two threads each, numbered as Linux does: thread 0 of all cores
    /// first. Package 0 has cores {0,4} {1,5}, package 1 has {2,6} {3,7}. `name` distinguishes the folders of one
    /// process's samples.
    ///
    /// # Panics
    /// When the folder cannot be written, or `allowed` is no list of processors.
    pub fn two_packages(name: &str, allowed: &str) -> Sample {
        let root = std::env::temp_dir().join(format!("alhena-machine-{name}-{}", std::process::id()));
        let write = |path: String, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("it lies in the folder"))
                .expect("the folder is writable");
            fs::write(path, text).expect("the folder is writable");
        };
        for cpu in 0..8u32 {
            let core = cpu % 4;
            let package = if core < 2 { "0-1,4-5\n" } else { "2-3,6-7\n" };
            write(format!("cpu/cpu{cpu}/topology/core_cpus_list"), &format!("{core},{}\n", core + 4));
            write(format!("cpu/cpu{cpu}/topology/package_cpus_list"), package);
            write(format!("cpu/cpu{cpu}/cache/index0/level"), "3\n");
            write(format!("cpu/cpu{cpu}/cache/index0/type"), "Unified\n");
            write(format!("cpu/cpu{cpu}/cache/index0/shared_cpu_list"), package);
        }
        write("node/node0/cpulist".to_owned(), "0-1,4-5\n");
        write("node/node1/cpulist".to_owned(), "2-3,6-7\n");
        let allowed = CpuSet::parse(allowed).expect("a list of processors");
        Sample { topology: Topology::described_in(root.clone(), allowed), root }
    }
}

impl Deref for Sample {
    type Target = Topology;

    fn deref(&self) -> &Topology {
        &self.topology
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
