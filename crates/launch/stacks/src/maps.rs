//! What a process has mapped of files that hold code (`/proc/PID/maps`).

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

/// A part of a file, mapped for execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The file, as the process names it; `[vdso]`: the kernel's own.
    pub path: PathBuf,
    /// The addresses of this part.
    pub range: Range<u64>,
    /// Where in the file it begins, in bytes.
    pub from: u64,
    /// The file's number in its file system.
    pub inode: u64,
}

/// The name of the code that the kernel gives to each process.
pub const VDSO: &str = "[vdso]";

/// All of them; none if the process has ended.
pub fn objects(pid: i32) -> Vec<Object> {
    let text = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(object).collect()
}

fn object(line: &str) -> Option<Object> {
    let mut words = line.splitn(6, ' ');
    let (range, rights, from, _device, inode) =
        (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
    let path = words.next().unwrap_or("").trim_start();
    if !rights.contains('x') || !(path.starts_with('/') || path == VDSO) {
        return None;
    }
    let (first, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(Object {
        path: PathBuf::from(path),
        range: number(first)?..number(end)?,
        from: number(from)?,
        inode: inode.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line =
            "55e8a0001000-55e8a0002000 r-xp 00001000 08:02 173521                     /usr/bin/a program";
        let object = super::object(line).unwrap();
        assert_eq!(object.path, PathBuf::from("/usr/bin/a program"));
        assert_eq!(
            (object.range, object.from, object.inode),
            (0x55e8a0001000..0x55e8a0002000, 0x1000, 173_521)
        );
        assert_eq!(super::object("7ffd-7ffe rw-p 00000000 00:00 0                          [stack]"), None);
        assert_eq!(super::object(""), None);
        let here = lines_of_the_kernel_are_read as *const () as u64;
        assert!(objects(std::process::id() as i32).iter().any(|object| object.range.contains(&here)));
    }
}
