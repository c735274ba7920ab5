//! What a check has found.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Jobs run, but slower or with less help than they could.
    Warning,
    /// Jobs will fail.
    Problem,
}

/// One finding.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// What was examined.
    pub check: String,
    pub verdict: Verdict,
    /// What was observed.
    pub seen: String,
    /// The command, or what else mends it.
    pub next: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn ok(check: &str, seen: impl Into<String>) -> Finding {
        Finding { check: check.to_owned(), verdict: Verdict::Ok, seen: seen.into(), next: None }
    }

    /// Something could be better.
    pub fn warning(check: &str, seen: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Warning, next: Some(next.into()), ..Finding::ok(check, seen) }
    }

    /// Something is broken.
    pub fn problem(check: &str, seen: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding { verdict: Verdict::Problem, next: Some(next.into()), ..Finding::ok(check, seen) }
    }
}

/// What one host has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Its name.
    pub host: String,
    pub findings: Vec<Finding>,
}

impl Report {
    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.host);
        for finding in &self.findings {
            let verdict = match finding.verdict {
                Verdict::Ok => "ok",
                Verdict::Warning => "warning",
                Verdict::Problem => "PROBLEM",
            };
            let _ = writeln!(text, "  {verdict:8} {:18} {}", finding.check, finding.seen);
            if let Some(next) = &finding.next {
                let _ = writeln!(text, "{:30}next: {next}", "");
            }
        }
        text
    }

    /// The worst of its findings.
    pub fn verdict(&self) -> Verdict {
        self.findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_as_bad_as_its_worst_finding() {
        let findings =
            vec![Finding::ok("a", "x"), Finding::problem("b", "y", "run z"), Finding::warning("c", "", "")];
        let report = Report { host: "h".to_owned(), findings };
        assert_eq!(report.verdict(), Verdict::Problem);
        assert!(report.text().contains("next: run z"));
        let json = serde_json::to_string(&report).unwrap();
        assert!(json.contains("\"problem\""), "{json}");
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap().text(), report.text());
    }
}
