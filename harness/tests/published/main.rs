//! Servers that were published by others, as they are: the same verdicts as for a server of ours, with nothing of theirs
//! changed.
//!
//! `install`, beside this file, installs them. Whoever lacks a package is told so on standard error, and the trials that
//! need it are reported as ignored; with `HARNESS_PUBLISHED=required` they fail instead.
//!
//! | file | what it shows |
//! |---|---|
//! | `sqlite.rs` | two servers that run the SQL they are given: both doubles, by profile, by flags, and through `npx` |
//! | `memory.rs` | a server whose own natural key keeps a retry from writing again |
//! | `confirmations.rs` | servers that ask before they write: what an SDK's sealed request state guarantees |
//! | `ten_lines.rs` | ten lines on an SDK that promise nothing: the control of the retained evidence |
//! | `parts.rs` | what is installed, and where |

#![allow(
    clippy::unwrap_used,
    reason = "a test: a panic is its failure, and it has no `#[test]` by which the lint could tell"
)]

#[path = "../support/mod.rs"]
mod support;

mod confirmations;
mod memory;
mod parts;
mod sqlite;
mod ten_lines;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use parts::{Installed, Part};
use support::run::Report;

/// A trial: its name, the part that it cannot do without, and what it does.
type Test = (&'static str, Part, fn());

fn main() -> ExitCode {
    let installed = Installed::look();
    let trial = |&(name, part, test): &Test| {
        let (is_there, ignored) = (installed.has(part), installed.ignores(part));
        let run = move || {
            assert!(is_there, "{} is not installed: run {}", part.name(), parts::INSTALL);
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(ignored)
    };
    let tests = [sqlite::TESTS, memory::TESTS, confirmations::TESTS, ten_lines::TESTS].concat();
    let outcome = libtest_mimic::run(&Arguments::from_args(), tests.iter().map(trial).collect());
    outcome.exit_code()
}

/// Fails unless the case ended with two rows that nobody had promised to prevent, one made by the first attempt and one
/// by its retry, each by a `tools/call` that stands in the record.
#[track_caller]
fn is_doubled(run: &Report, case: &str) {
    assert_eq!(run.verdict(case), "unguarded", "{case}: {}", run.reason(case));
    assert_eq!(run.check(case, "one-effect"), "unguarded");
    assert_eq!(run.fact(case, "/end/effects/A"), 2);
    let record = run.record(case);
    let rows = run.case(case)["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    for (row, step) in rows.iter().zip(["attempt", "retry"]) {
        let made_by = &row["made_by"][0];
        assert_eq!(made_by["step"], step, "{row}");
        let frame = record.iter().find(|event| event["seq"] == made_by["seq"]).unwrap();
        assert_eq!(frame["payload"]["method"], "tools/call", "{frame}");
    }
}

/// Fails unless the verdicts come out the same from the evidence alone.
#[track_caller]
fn is_verified(run: &Report) {
    let verified = run.done.verify(&run.evidence());
    assert_eq!(verified.findings(), [""; 0]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
}
