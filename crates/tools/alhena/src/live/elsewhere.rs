//! The ranks of other hosts: each host's own `alhena` makes the page of its ranks, and the one that the user has started joins them.

use std::io;
use std::time::Duration;

use live::{Answer, Asked, Connection, Question};
use serde::de::DeserializeOwned;

/// The pages of other hosts, and a line for each host without one.
#[derive(Debug, PartialEq)]
pub struct Pages<T> {
    /// The pages.
    pub pages: Vec<T>,
    /// A line for each host whose ranks are left out.
    pub missing: Vec<String>,
}

impl<T> Default for Pages<T> {
    fn default() -> Pages<T> {
        Pages { pages: Vec::new(), missing: Vec::new() }
    }
}

/// Longer than any question takes.
const LONG: Duration = Duration::from_secs(86_400);

/// A question to all other hosts; `None`: there are none, or only this one is wanted.
pub struct Elsewhere(Option<io::Result<Asked>>);

impl Elsewhere {
    /// Asks none.
    pub fn none() -> Elsewhere {
        Elsewhere(None)
    }

    /// Asks all other hosts of a job.
    pub fn ask(connection: &Connection, question: Question, patience: Duration) -> Elsewhere {
        Elsewhere((connection.description.hosts > 1).then(|| connection.ask(question, patience)))
    }

    /// Waits for what they answer.
    pub fn take<T: DeserializeOwned>(mut self, connection: &Connection) -> Pages<T> {
        // Each host has its time: so this is no loop for long.
        std::iter::repeat_with(|| self.look(connection, LONG)).flatten().next().unwrap_or_default()
    }

    /// What they have answered, for which they are waited for so long at most; `None`: they have not.
    pub fn look<T: DeserializeOwned>(
        &mut self,
        connection: &Connection,
        at_most: Duration,
    ) -> Option<Pages<T>> {
        let outcome = match self.0.take() {
            None => return Some(Pages::default()),
            Some(Err(error)) => Err(error),
            Some(Ok(asked)) => match connection.answers(&asked, at_most) {
                Ok(None) => {
                    self.0 = Some(Ok(asked));
                    return None;
                }
                Ok(Some(answers)) => Ok(answers),
                Err(error) => Err(error),
            },
        };
        Some(match outcome {
            Ok(answers) => read(answers),
            Err(error) => {
                let why = format!("ranks of other hosts are left out: mpiexec does not answer: {error}");
                Pages { pages: Vec::new(), missing: vec![why] }
            }
        })
    }
}

fn read<T: DeserializeOwned>(answers: Vec<Answer>) -> Pages<T> {
    let mut pages = Pages::default();
    for Answer { host, page } in answers {
        let page = page.and_then(|page| serde_json::from_slice(&page).map_err(|_| reason(&page)));
        match page {
            Ok(page) => pages.pages.push(page),
            Err(why) => pages.missing.push(format!("host {host}: its ranks are left out: {why}")),
        }
    }
    pages
}

/// What a command has printed instead of a page: three lines, of which the second one has what was seen.
fn reason(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line =
        text.lines().find_map(|line| line.trim().strip_prefix("seen: ")).or_else(|| text.lines().next());
    let line = line.unwrap_or("its alhena has printed nothing");
    live::plain(&line.chars().take(200).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_without_a_page_are_named_with_the_reason() {
        let answer = |host: &str, page: Result<&str, &str>| Answer {
            host: host.into(),
            page: page.map(|text| text.as_bytes().to_vec()).map_err(str::to_owned),
        };
        let pages: Pages<Vec<u32>> = read(vec![
            answer("n1", Ok("[1, 2]")),
            answer("n2", Ok("taking the stacks: not possible\n  seen: no \x1bptrace\n  next: nothing")),
            answer("n3", Err("it has not answered within 10 s")),
            answer("n4", Ok("")),
        ]);
        assert_eq!(pages.pages, [vec![1, 2]]);
        let words = ["no ?ptrace", "it has not answered within 10 s", "its alhena has printed nothing"];
        let missing = ["n2", "n3", "n4"].into_iter().zip(words);
        let missing: Vec<String> =
            missing.map(|(host, why)| format!("host {host}: its ranks are left out: {why}")).collect();
        assert_eq!(pages.missing, missing);
    }
}
