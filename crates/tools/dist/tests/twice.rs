//! A small tree, packed twice: the same bytes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A tree whose library and program are this test.
fn tree(root: &Path) {
    let write = |path: &str, bytes: &[u8], mode: u32| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    write("lib/libmpi_abi.so.1", &program, 0o755);
    write("bin/mpiexec", &program, 0o700);
    write("bin/mpi-wrapper", &program, 0o755);
    write("include/mpi.h", b"/* header */\n", 0o600);
    write("etc/alhena.toml", b"# settings\n", 0o644);
    write("share/man/man3/MPI_Send.3", b".TH MPI_Send 3\n", 0o644);
    write("share/man/man3/MPI_Send_c.3", b".so man3/MPI_Send.3\n", 0o644);
    symlink("mpi-wrapper", root.join("bin/mpicc")).unwrap();
    symlink("libmpi_abi.so.1", root.join("lib/libmpi_abi.so")).unwrap();
}

fn pack(tree: &Path, out: &Path) -> Vec<(String, Vec<u8>)> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let done = Command::new(env!("CARGO_BIN_EXE_alhena-dist"))
        .args(["--level", "1", "--epoch", "1000000000", "--sources"])
        .args([sources.as_path(), tree, out])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut files: Vec<_> = fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn the_same_tree_gives_the_same_bytes_and_a_strange_file_stops_it() {
    if Command::new("objcopy").arg("--version").output().is_err() {
        println!("skip: there is no objcopy");
        return;
    }
    let folder = Folder(std::env::temp_dir().join(format!("dist-{}", std::process::id())));
    let (one, two) = (folder.0.join("one"), folder.0.join("a second one"));
    tree(&one);
    // Made in another order, at another time.
    std::thread::sleep(std::time::Duration::from_millis(5));
    tree(&two);
    let (first, second) = (pack(&one, &folder.0.join("out-1")), pack(&two, &folder.0.join("out-2")));
    assert_eq!(first.len(), 12, "{:?}", first.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for ((name, bytes), (other, others)) in first.iter().zip(&second) {
        assert_eq!(name, other);
        assert!(bytes == others, "{name} differs");
    }

    fs::write(one.join("lib/strange.o"), b"").unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_alhena-dist"))
        .arg("--sources")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."))
        .args([&one, &folder.0.join("out-3")])
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && message.contains("no rule names lib/strange.o"), "{message}");
}
