//! What a tool wants to know of all hosts of a job, and their answers.

/// A page that a tool wants of each host: of its own command, which runs there and sees that host's ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// `alhena queues`, with so many lines of each rank at most.
    Queues(u32),
    /// `alhena stacks`; whether also the frames inside the library are wanted.
    Stacks(bool),
    /// `alhena top`: milliseconds between its two looks, and whether ranks may be stopped for their stacks.
    Top(u32, bool),
}

impl Question {
    /// The words of the command that answers it.
    pub fn words(&self) -> Vec<String> {
        let text = match *self {
            Question::Queues(lines) => format!("queues --lines {lines}"),
            Question::Stacks(false) => "stacks".to_owned(),
            Question::Stacks(true) => "stacks --full".to_owned(),
            Question::Top(milliseconds, stacks) => {
                let interval = f64::from(milliseconds) / 1e3;
                format!("top --interval {interval}{}", if stacks { "" } else { " --no-stacks" })
            }
        };
        text.split(' ').map(str::to_owned).collect()
    }

    /// As text.
    pub fn encode(&self) -> String {
        self.words().join(" ")
    }

    /// Reads such text; `None`: it is none.
    pub fn decode(text: &str) -> Option<Question> {
        let interval = |text: &str| {
            let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=3600.0).contains(seconds))?;
            Some((seconds * 1e3).round() as u32)
        };
        Some(match text.split(' ').collect::<Vec<_>>()[..] {
            ["queues", "--lines", lines] => Question::Queues(lines.parse().ok()?),
            ["stacks"] => Question::Stacks(false),
            ["stacks", "--full"] => Question::Stacks(true),
            ["top", "--interval", seconds] => Question::Top(interval(seconds)?, true),
            ["top", "--interval", seconds, "--no-stacks"] => Question::Top(interval(seconds)?, false),
            _ => return None,
        })
    }
}

/// What a host has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The host.
    pub host: String,
    /// The page that its command has printed, or why there is none.
    pub page: Result<Vec<u8>, String>,
}

impl Answer {
    /// All answers as bytes.
    pub fn encode(all: &[Answer]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Answer { host, page } in all {
            let (word, page) = match page {
                Ok(page) => ("page", &page[..]),
                Err(why) => ("none", why.as_bytes()),
            };
            bytes.extend_from_slice(
                format!("{}\t{word}\t{}\n", crate::description::plain(host), page.len()).as_bytes(),
            );
            bytes.extend_from_slice(page);
        }
        bytes
    }

    /// Reads such bytes; `None`: they are none.
    pub fn decode(mut bytes: &[u8]) -> Option<Vec<Answer>> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let end = bytes.iter().position(|&byte| byte == b'\n')?;
            let line = std::str::from_utf8(&bytes[..end]).ok()?;
            let [host, word, length] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
            let (page, rest) = bytes[end + 1..].split_at_checked(length.parse().ok()?)?;
            let page = match word {
                "page" => Ok(page.to_vec()),
                "none" => Err(String::from_utf8_lossy(page).into_owned()),
                _ => return None,
            };
            all.push(Answer { host: host.to_owned(), page });
            bytes = rest;
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_as_they_were_written_and_nothing_else_is_run() {
        for question in [
            Question::Queues(20),
            Question::Stacks(true),
            Question::Stacks(false),
            Question::Top(200, true),
            Question::Top(1000, false),
        ] {
            assert_eq!(Question::decode(&question.encode()), Some(question));
        }
        for other in
            ["", "queues", "queues --lines 1;reboot", "stacks --full x", "top --interval -1", "worker h:1"]
        {
            assert_eq!(Question::decode(other), None, "{other}");
        }
    }

    #[test]
    fn answers_are_read_as_they_were_written() {
        let all = vec![
            Answer { host: "n1".into(), page: Ok(b"[\n1]".to_vec()) },
            Answer { host: "n2".into(), page: Err("no answer".into()) },
            Answer { host: "n3".into(), page: Ok(Vec::new()) },
        ];
        let bytes = Answer::encode(&all);
        assert_eq!(Answer::decode(&bytes).as_ref(), Some(&all));
        (1..bytes.len()).for_each(|end| assert_ne!(Answer::decode(&bytes[..end]).as_ref(), Some(&all)));
        assert_eq!(Answer::decode(b"n1\tpage\t99\nx"), None);
    }
}
