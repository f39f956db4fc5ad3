//! One trial per case file: the built-in server passes it. And one per broken server that a case has to catch: without a
//! twin that fails, a case shows nothing.

#![allow(
    clippy::unwrap_used,
    reason = "a test: a panic is its failure, and it has no `#[test]` by which the lint could tell"
)]

#[path = "support/mod.rs"]
mod support;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use reference_server::defect::Defect;
use support::profile::Profile;
use support::run::{Harness, Report};

/// How a server is broken.
#[derive(Debug, Clone, Copy)]
enum Broken {
    /// The built-in server with a planted defect.
    Defect(&'static str),
    /// The built-in server for submitted writes with a planted defect.
    Execution(&'static str),
    /// The plain server with these flags.
    Plain(&'static str),
    /// The plain server as it should be, read back with this query.
    Query(&'static str),
}

/// The built-in target whose write is submitted.
const EXECUTION: &str = "reference-execution";

/// Case, what is broken, and the check that has to say so: beside what each planted defect says of itself.
const TWINS: &[(&str, Broken, &str)] = &[
    (
        "sees-duplicates",
        Broken::Query("SELECT DISTINCT note FROM orders WHERE note = $marker"),
        "sees-two",
    ),
    (
        "sees-duplicates",
        Broken::Query("SELECT id FROM nothing WHERE note = $marker"),
        "sees-one",
    ),
    (
        "sees-duplicates",
        Broken::Query("SELECT key FROM orders WHERE note = $marker GROUP BY key"),
        "sees-a-doubled-row",
    ),
    ("identical-retry", Broken::Plain("--dedupe none"), "one-effect"),
    ("lost-reply", Broken::Plain("--dedupe none"), "one-effect"),
    ("changed-input", Broken::Plain("--conflict ignore"), "is-refused"),
    ("changed-input", Broken::Plain("--conflict apply"), "no-new-data"),
    ("fresh-identity", Broken::Plain("--dedupe content"), "second-effect"),
    (
        "reply-means-done",
        Broken::Plain("--misbehave asynchronous-write"),
        "effect-is-there",
    ),
];

fn main() -> ExitCode {
    let files = case_files();
    let mut trials: Vec<Trial> = files.iter().map(|file| passes(file, usual_target(file))).collect();
    // The same cases on a write of another form: submitted, and done later.
    let submitted = files.iter().filter(|file| file.starts_with("retry/"));
    trials.extend(submitted.map(|file| passes(file, EXECUTION)));
    let twins: Vec<_> = TWINS.iter().copied().chain(defects()).collect();
    trials.extend(
        twins
            .iter()
            .map(|&(case, broken, check)| is_caught(case, broken, check)),
    );
    trials.push(Trial::test("every case has a twin that fails it", move || {
        let lonely = |file: &&String| !twins.iter().any(|(case, ..)| file.ends_with(&format!("/{case}")));
        match files.iter().find(lonely) {
            Some(file) => Err(Failed::from(format!("no broken server is listed that {file} catches"))),
            None => Ok(()),
        }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// What each planted defect has to be caught by.
fn defects() -> impl Iterator<Item = (&'static str, Broken, &'static str)> {
    fn of(
        defect: &Defect,
        broken: fn(&'static str) -> Broken,
    ) -> impl Iterator<Item = (&'static str, Broken, &'static str)> {
        let kills = defect.killed_by().iter().filter_map(|kill| kill.split_once(':'));
        let broken = broken(defect.name());
        kills.map(move |(case, check)| (case, broken, check))
    }
    let single = Defect::ALL.iter().flat_map(|defect| of(defect, Broken::Defect));
    single.chain(
        Defect::EXECUTION
            .iter()
            .flat_map(|defect| of(defect, Broken::Execution)),
    )
}

/// The built-in target on which a case has everything that it needs.
fn usual_target(file: &str) -> &'static str {
    if file.starts_with("execution/") {
        EXECUTION
    } else {
        "reference-server"
    }
}

/// `family/id` of every case file.
fn case_files() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
    let files = support::run::files(&root).into_iter();
    let names = files.filter_map(|file| file.strip_suffix(".toml").map(str::to_owned));
    names.collect()
}

fn passes(name: &str, target: &'static str) -> Trial {
    let name = name.to_owned();
    Trial::test(format!("{name} on {target}"), move || {
        let run = Harness::new().words(&["--target", target]).case(&name).run();
        let id = name.rsplit('/').next().unwrap_or(&name);
        run.exits(0);
        assert_eq!(run.verdict(id), "pass");
        comes_out_the_same(&run);
        Ok(())
    })
}

fn is_caught(case: &'static str, broken: Broken, check: &'static str) -> Trial {
    let what = match broken {
        Broken::Defect(name) | Broken::Execution(name) => name.to_owned(),
        Broken::Plain(flags) => format!("plain-server {flags}"),
        Broken::Query(sql) => sql.to_owned(),
    };
    Trial::test(format!("{case} catches {what}"), move || {
        let harness = Harness::new().case(case);
        let (run, code, verdict, outcome) = match broken {
            Broken::Defect(name) => (harness.defect(name).run(), 1, "fail", "broken"),
            Broken::Execution(name) => {
                let run = harness.words(&["--target", EXECUTION]).defect(name).run();
                (run, 1, "fail", "broken")
            }
            Broken::Plain(flags) => (
                harness.target(&Profile::plain().flags(flags)).run(),
                1,
                "fail",
                "broken",
            ),
            Broken::Query(sql) => {
                let run = harness.target(&Profile::plain().effects(sql)).run();
                (run, 3, "inconclusive", "inconclusive")
            }
        };
        run.exits(code);
        assert_eq!(run.verdict(case), verdict, "{}", run.reason(case));
        assert_eq!(run.check(case, check), outcome);
        comes_out_the_same(&run);
        Ok(())
    })
}

/// Judged again from the evidence, everything is as it was.
fn comes_out_the_same(run: &Report) {
    let verified = run.done.verify(&run.evidence());
    assert_eq!(verified.findings(), [""; 0]);
    assert_eq!(verified.code, 0);
    for case in run.json["cases"].as_array().expect("a list of cases") {
        let id = case["case"].as_str().expect("an id");
        assert_eq!(verified.json["judged"][id], case["verdict"], "{id}");
    }
}
