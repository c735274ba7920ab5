//! Questions of tools for all hosts (`alhena top` and others): asked, gathered, sent back in one message.
//!
//! A host that does not answer within the patience of the question is named instead. The ranks of the tool's own host are none of
//! this: it sees them itself.

use std::time::{Duration, Instant};

use live::Answer;

use super::asked::Asked;
use super::{Head, Phase};
use crate::messages::Down;
use crate::wire::Bytes;

/// Questions that are open at a time.
const MOST: usize = 64;

impl Head {
    /// The moment at which the next question has had its time.
    pub(super) fn questions_end(&self) -> Option<Instant> {
        self.questions.iter().map(|asked| asked.until).min()
    }

    /// A tool on `host` asks all others.
    pub(super) fn ask_hosts(
        &mut self,
        host: usize,
        (place, number): (u32, u64),
        patience: Duration,
        words: &str,
    ) {
        let tool = (host, place, number);
        if self.questions.len() >= MOST {
            let answers = Bytes(Answer::encode(&[]));
            return self.tell(host, &Down::Answers(place, number, answers));
        }
        let is_asked = |&other: &usize| other != host && self.hosts[other].phase == Phase::Running;
        let open: Vec<usize> = (0..self.hosts.len()).filter(is_asked).collect();
        self.question = self.question.wrapping_add(1);
        for &other in &open {
            self.tell(other, &Down::Ask(self.question, patience, words.to_owned()));
        }
        let until = Instant::now() + patience;
        self.questions.push(Asked {
            number: self.question,
            tool,
            open,
            answers: Vec::new(),
            until,
            patience,
        });
        self.send_answers();
    }

    /// A host has answered.
    pub(super) fn take_answer(&mut self, host: usize, number: u32, why: Option<String>, page: Vec<u8>) {
        let is_it = |asked: &&mut Asked| asked.number == number && asked.open.contains(&host);
        if let Some(asked) = self.questions.iter_mut().find(is_it) {
            asked.take(host, why.map_or(Ok(page), Err));
            self.send_answers();
        }
    }

    /// A host answers no more: its ranks are over, or it is lost.
    pub(super) fn answers_no_more(&mut self, host: usize) {
        self.questions.retain(|asked| asked.tool.0 != host);
        for asked in &mut self.questions {
            if asked.open.contains(&host) {
                asked.take(host, Err("nothing of the job runs there any more".to_owned()));
            }
        }
        self.send_answers();
    }

    /// Questions whose time is over are answered without the hosts that are late.
    pub(super) fn end_late_questions(&mut self, now: Instant) {
        for asked in self.questions.iter_mut().filter(|asked| asked.until <= now) {
            for host in std::mem::take(&mut asked.open) {
                asked.take(
                    host,
                    Err(format!("it has not answered within {} s", asked.patience.as_secs_f32())),
                );
            }
        }
        self.send_answers();
    }

    /// Sends answers that are whole.
    fn send_answers(&mut self) {
        let whole: Vec<Asked> = self.questions.extract_if(.., |asked| asked.open.is_empty()).collect();
        for Asked { tool: (host, place, number), answers, .. } in whole {
            let answer = |(host, page): (usize, _)| Answer { host: self.hosts[host].name.clone(), page };
            let answers: Vec<Answer> = answers.into_iter().map(answer).collect();
            self.tell(host, &Down::Answers(place, number, Bytes(Answer::encode(&answers))));
        }
    }
}
