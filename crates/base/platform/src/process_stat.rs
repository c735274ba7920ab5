//! What the system says of a process or thread in one line: its file `stat`.

/// The line of a process or thread: `number (name) state …`. Fields are numbered as in `proc_pid_stat(5)`, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Stat<'t> {
    /// Its name, which may hold blanks and parentheses.
    pub name: &'t str,
    /// From the third field on.
    fields: &'t str,
}

impl<'t> Stat<'t> {
    /// The content of the file; `None`: it is no such line.
    pub fn parse(text: &'t str) -> Option<Stat<'t>> {
        let (head, fields) = text.rsplit_once(')')?;
        Some(Stat { name: head.split_once('(')?.1, fields })
    }

    fn field(&self, number: usize) -> Option<&'t str> {
        self.fields.split_ascii_whitespace().nth(number.checked_sub(3)?)
    }

    /// A number from the fourth field on, one that is not negative.
    pub fn number(&self, field: usize) -> Option<u64> {
        self.field(field)?.parse().ok()
    }

    /// Processor time that was used so far, by the program and for it by the system, in the system's ticks.
    pub fn ticks(&self) -> Option<u64> {
        Some(self.number(14)? + self.number(15)?)
    }

    /// The letter of its state: R, S, D, T, Z and others.
    pub fn state(&self) -> Option<char> {
        self.field(3)?.chars().next()
    }

    /// It sleeps until something wakes it; a stopped one, or one that waits for a disk, does not.
    pub fn sleeps(&self) -> bool {
        self.state() == Some('S')
    }

    /// It has ended, and may not be reaped yet.
    pub fn has_ended(&self) -> bool {
        matches!(self.state(), Some('Z' | 'X'))
    }
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn a_line_is_read_whatever_the_name() {
        let text = "7 (a) S (b) S 1 7 7 0 -1 4194304 1 2 3 4 50 6 0 0 20 0";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.name, stat.ticks(), stat.number(4)), ("a) S (b", Some(56), Some(1)));
        assert!(stat.sleeps() && !stat.has_ended());
        let other = |state: &str| text.replace(") S 1", &format!(") {state} 1"));
        assert!(!Stat::parse(&other("T")).unwrap().sleeps());
        assert!(Stat::parse(&other("Z")).unwrap().has_ended());
        assert_eq!(Stat::parse("7 (a) S 1").unwrap().ticks(), None);
        assert!(Stat::parse("").is_none());
    }

    #[test]
    fn the_line_of_this_process_is_read() {
        let text = std::fs::read_to_string("/proc/self/stat").unwrap();
        let stat = Stat::parse(&text).unwrap();
        assert_eq!(stat.number(4), Some(u64::from(std::os::unix::process::parent_id())));
        assert!(!stat.has_ended());
    }
}
