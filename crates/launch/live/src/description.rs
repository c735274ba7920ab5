//! What a job is, in words.

/// A rank of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankOf {
    /// Its number in the job.
    pub rank: u32,
    /// Its process; of a rank behind a wrapper that of the MPI program, once that has called `MPI_Init`.
    pub pid: i32,
    /// It has ended.
    pub is_over: bool,
    /// Its program.
    pub program: String,
}

/// The part of a job that runs on this host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The process id of mpiexec, or of its daemon: the number of the job on this host.
    pub number: i32,
    /// The number of the job on all hosts.
    pub job: u64,
    /// The host.
    pub host: String,
    /// When it began, in seconds since 1970.
    pub began: u64,
    /// Ranks on all hosts.
    pub size: u32,
    /// Hosts.
    pub hosts: u32,
    /// The ranks of this host, in the order of their sections.
    pub ranks: Vec<RankOf>,
}

impl Description {
    /// The programs of the ranks, of neighbours with the same one once.
    pub fn programs(&self) -> Vec<&str> {
        let mut programs: Vec<&str> = self.ranks.iter().map(|rank| &*rank.program).collect();
        programs.dedup();
        programs
    }

    /// As text: a line for the job, and one for each rank.
    pub fn encode(&self) -> String {
        let Description { number, job, host, began, size, hosts, ranks } = self;
        let mut text = format!("{number}\t{job:016x}\t{}\t{began}\t{size}\t{hosts}\n", plain(host));
        for RankOf { rank, pid, is_over, program } in ranks {
            text += &format!("{rank}\t{pid}\t{}\t{}\n", u8::from(*is_over), plain(program));
        }
        text
    }

    /// Reads such text; `None`: it is none.
    pub fn decode(text: &str) -> Option<Description> {
        let mut lines = text.lines();
        let mut words = lines.next()?.split('\t');
        let mut next = || words.next();
        let first = Description {
            number: next()?.parse().ok()?,
            job: u64::from_str_radix(next()?, 16).ok()?,
            host: next()?.to_owned(),
            began: next()?.parse().ok()?,
            size: next()?.parse().ok()?,
            hosts: next()?.parse().ok()?,
            ranks: Vec::new(),
        };
        let rank = |line: &str| {
            let mut words = line.split('\t');
            Some(RankOf {
                rank: words.next()?.parse().ok()?,
                pid: words.next()?.parse().ok().filter(|&pid| pid > 0)?,
                is_over: words.next()? == "1",
                program: words.next()?.to_owned(),
            })
        };
        Some(Description { ranks: lines.map(rank).collect::<Option<_>>()?, ..first })
    }
}

/// Text without what would end its field, or move a terminal's cursor.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let rank = |rank| RankOf {
            rank,
            pid: 100 + rank as i32,
            is_over: rank == 1,
            program: "./a\tb\x1b[2J\n".into(),
        };
        let job = Description {
            number: 99,
            job: u64::MAX,
            host: "node 1".into(),
            began: 1_700_000_000,
            size: 8,
            hosts: 2,
            ranks: (0..3).map(rank).collect(),
        };
        let read = Description::decode(&job.encode()).unwrap();
        assert_eq!((&*read.ranks[2].program, read.programs()), ("./a?b?[2J?", vec!["./a?b?[2J?"]));
        assert_eq!(
            (read.number, read.job, read.size, read.ranks.len(), read.ranks[1].is_over),
            (99, u64::MAX, 8, 3, true)
        );
        for text in
            ["", "1\t2", "a\tb\tc\td\te\tf\n", "1\t2\th\t4\t5\t6\n0\t-1\t0\tx\n", "1\t2\th\t4\t5\t6\n\n"]
        {
            assert_eq!(Description::decode(text), None, "{text}");
        }
    }
}
