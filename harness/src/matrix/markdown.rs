//! The matrix as a Markdown document. Nothing in it differs from run to run: no times, no collateral.

use std::fmt::Write as _;

use super::{CaseColumn, Matrix, NamedKill, Row};
use crate::counted::counted;
use crate::record::Verdict;

const HEAD: &str = "
Written by `harness prove --format markdown`. Each planted defect breaks the server in one thing, in its own code path, and names
the checks that must notice it; each of these checks is what its case is about.
";

impl Matrix {
    /// The matrix as Markdown.
    pub fn to_markdown(&self) -> String {
        let (named, happened) = self.kills();
        let mut text = format!(
            "# What each case has been seen to notice on {}\n{HEAD}",
            escaped(&self.target)
        );
        let _ = write!(
            text,
            "\n{} × {}: {happened} of {} happened.\n{}.\n",
            counted(self.defects.len(), "defect", "defects"),
            counted(self.cases.len(), "case", "cases"),
            counted(named, "named kill", "named kills"),
            self.without_a_defect(),
        );
        let left = self.left();
        if !self.problems.is_empty() || !left.is_empty() {
            text.push_str("\n## This is no proof\n\n");
            for problem in &self.problems {
                let _ = writeln!(text, "- {}", escaped(&problem.to_string()));
            }
            if !left.is_empty() {
                let _ = writeln!(text, "- It did not come to its end: {} of it is left.", left.join(", "));
            }
        }
        text.push_str("\n## Defects\n\n| defect | what goes wrong | noticed by |\n|---|---|---|\n");
        for row in &self.defects {
            let kills: Vec<String> = row.kills.iter().map(|kill| marked(row, kill)).collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                row.defect,
                escaped(&row.says),
                kills.join(", ")
            );
        }
        text.push_str("\n## Cases\n\n| case | proves | has noticed |\n|---|---|---|\n");
        for case in &self.cases {
            let _ = writeln!(
                text,
                "| `{}/{}` | {} | {} |",
                case.family,
                case.case,
                escaped(&case.title),
                self.noticed_by(case)
            );
        }
        text
    }

    fn without_a_defect(&self) -> String {
        let all = self.cases.len();
        let passed = self
            .baseline
            .values()
            .filter(|verdict| **verdict == Verdict::Pass)
            .count();
        match (passed == all, all) {
            (true, 1) => "On the server without a defect it passes".to_owned(),
            (true, _) => "On the server without a defect every case passes".to_owned(),
            (false, _) => format!(
                "On the server without a defect {passed} of {} pass",
                counted(all, "case", "cases")
            ),
        }
    }

    fn noticed_by(&self, case: &CaseColumn) -> String {
        let notices = |row: &&Row| {
            row.kills
                .iter()
                .any(|kill| kill.kill.case == case.case && kill.happened())
        };
        let defects: Vec<String> = self
            .defects
            .iter()
            .filter(notices)
            .map(|row| format!("`{}`", row.defect))
            .collect();
        match defects.as_slice() {
            [] if case.is_control => "(a control: it shows that the read-back counts)".to_owned(),
            [] => "**nothing**".to_owned(),
            some => some.join(", "),
        }
    }
}

fn marked(row: &Row, kill: &NamedKill) -> String {
    let name = &kill.kill;
    match row.why_unknown(kill) {
        Some(why) => format!("**{why}** `{name}`"),
        None if kill.happened() => format!("`{name}`"),
        None => format!("**not** `{name}`"),
    }
}

/// What a list of somebody else says must not end a cell, a line or a paragraph, and brings no markup of its own.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '<' | '>' | '[' | ']' | '*' | '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
