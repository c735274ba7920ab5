//! How a process names a rank that it has lost, in the message with which it ends the job. Its launcher looks for what
//! happened to that rank before it believes that the rank is lost.

/// What follows the rank's name.
pub const IS_LOST: &str = "is lost";

/// The rank of this job that a line of such a message names.
pub fn rank(line: &str) -> Option<u32> {
    let (rank, rest) = line.strip_prefix("rank ")?.split_once(' ')?;
    rest.starts_with(IS_LOST).then(|| rank.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_read_as_it_was_written() {
        assert_eq!(rank(&format!("rank 17 {IS_LOST}: messages do not arrive")), Some(17));
        for other in ["rank 3 of the job 77 is lost", "rank x is lost", "MPI_Send failed", "rank 3"] {
            assert_eq!(rank(other), None, "{other}");
        }
    }
}
