//! `evidence/verify.py`, which has nothing but the documents in common with the harness, and `harness verify` notice the same.
//!
//! Mutations are generated: every file of evidence is damaged in each of five ways, with its list of digests as it was and made
//! anew. Where only the harness can know that something differs, it is explained at `only_the_harness_knows`.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use harness::record::Evidence;
use harness::verify::verify;

use crate::support::forge::{copy, seal_again};
use crate::support::profile::Profile;
use crate::support::python::has_python;
use crate::support::run::{Done, Harness, Report, files};

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence/verify.py")
}

/// What the second verifier comes to: its exit code, and what it prints.
pub(super) fn second(evidence: &Path) -> (i32, String) {
    let mut command = Command::new("python3");
    command.arg(program()).arg(evidence);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().unwrap(), texts.concat())
}

/// Asks `evidence/verify.py` again and again in one Python, for each path on a line of its own; it starts from nothing each time.
const ASKING: &str = r#"
import contextlib, io, json, runpy, sys
for line in sys.stdin:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = runpy.run_path(sys.argv[1])["main"](line.removesuffix("\n"))
    print(json.dumps([code, printed.getvalue()]), flush=True)
"#;

/// The second verifier, in one Python for many pieces of evidence.
pub(super) struct Second {
    python: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Second {
    pub(super) fn start() -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", ASKING]).arg(program());
        let mut python = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let questions = python.stdin.take().unwrap();
        let answers = BufReader::new(python.stdout.take().unwrap()).lines();
        Self {
            python,
            questions,
            answers,
        }
    }

    pub(super) fn ask(&mut self, evidence: &Path) -> (i32, String) {
        writeln!(self.questions, "{}", evidence.display()).unwrap();
        let answer = self.answers.next().expect("an answer for each question").unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    pub(super) fn end(mut self) {
        drop(self.questions);
        assert!(self.python.wait().unwrap().success());
    }
}

/// What `harness verify` comes to: the exit code that follows, and the findings.
fn first(evidence: &Path) -> (i32, String) {
    let verified = verify(&Evidence::open(evidence).unwrap()).unwrap();
    let code = match (verified.findings.is_empty(), verified.sealed && verified.finished) {
        (false, _) => 1,
        (true, false) => 3,
        (true, true) => 0,
    };
    (code, format!("{:#?}", verified.findings))
}

/// Fails unless the second verifier believes what is exported of this evidence, and of a byte more, less or other than that
/// finds a difference, as the harness does, or prints a receipt that is not the one that was exported.
pub(super) fn believes_the_archive_of(done: &Done, evidence: &str) {
    let exported = done.then().words(&[evidence, "-o", "all.zip"]).call(&["export"]);
    exported.exits(0);
    let archive = done.path("all.zip");
    let (code, text) = second(&archive);
    let receipt = fs::read_to_string(done.path("all.zip.sha256")).unwrap();
    let receipt = receipt.split(' ').next().unwrap();
    assert_eq!((code, text.contains(receipt)), (0, true), "{text}");
    let bytes = fs::read(&archive).unwrap();
    let flipped = |place: usize| {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1;
        flipped
    };
    let name_bytes = usize::from(bytes[26]);
    let in_a_time = (false, flipped(10));
    let in_a_file = (true, flipped(30 + name_bytes));
    let more = (false, [&bytes[..], b"x"].concat());
    let less = (true, bytes[..bytes.len() - 1].to_vec());
    for (is_noticed, bytes) in [in_a_time, in_a_file, more, less] {
        fs::write(&archive, bytes).unwrap();
        let (code, text) = second(&archive);
        assert_eq!(done.verify(&archive).code, 1);
        assert!(code == 1 || !is_noticed && !text.contains(receipt), "{code}, {text}");
    }
}

/// Finished evidence, which both verifiers believe.
pub(super) struct Subject {
    _report: Report,
    root: PathBuf,
}

impl Subject {
    fn of(harness: Harness) -> Self {
        let report = harness.words(&["--evidence", "run"]).run();
        let root = report.done.path("run");
        let (code, text) = second(&root);
        assert_eq!(code, 0, "{text}");
        assert_eq!(first(&root).0, 0);
        believes_the_archive_of(&report.done, "run");
        Self { _report: report, root }
    }

    /// A reply withheld, a request refused, a store in SQLite.
    pub(super) fn of_sqlite() -> Self {
        Self::of(Harness::new().case("lost-reply,changed-input"))
    }

    /// An effect that doubled, in JSON Lines.
    fn of_lines() -> Self {
        let path = "{data}/orders.jsonl";
        let profile = Profile::plain()
            .database(path)
            .flags("--keep-in lines --dedupe none")
            .part("store", &format!("kind = \"files\"\npath = \"{path}\""))
            .part("read.effects", "jsonl = true");
        Self::of(Harness::new().target(&profile).case("lost-reply"))
    }

    /// Both on a copy in which this was done.
    fn both(&self, change: impl FnOnce(&Path)) -> [(i32, String); 2] {
        self.both_asking(second, change)
    }

    pub(super) fn both_asking(
        &self,
        second: impl FnOnce(&Path) -> (i32, String),
        change: impl FnOnce(&Path),
    ) -> [(i32, String); 2] {
        let copied = tempfile::tempdir().unwrap();
        copy(&self.root, copied.path());
        change(copied.path());
        [first(copied.path()), second(copied.path())]
    }
}

/// Deterministic numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// What is done to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// One bit of one byte is another one.
    Flip,
    Drop,
    /// A new file stands beside it.
    Add,
    Rename,
    Truncate,
}

const ACTS: [Act; 5] = [Act::Flip, Act::Drop, Act::Add, Act::Rename, Act::Truncate];

/// Does that in a copy of the evidence; not where the file is too short for it.
fn mutate(root: &Path, file: &str, act: Act, numbers: &mut Numbers) -> bool {
    let path = root.join(file);
    let mut bytes = fs::read(&path).unwrap();
    if bytes.is_empty() && matches!(act, Act::Flip | Act::Truncate) {
        return false;
    }
    match act {
        Act::Flip => {
            let place = numbers.below(bytes.len());
            bytes[place] ^= 1 << numbers.below(7);
            fs::write(path, bytes).unwrap();
        }
        Act::Drop => fs::remove_file(path).unwrap(),
        Act::Add => fs::write(path.with_file_name("added.json"), "{}\n").unwrap(),
        Act::Rename => fs::rename(&path, path.with_file_name("renamed")).unwrap(),
        Act::Truncate => {
            bytes.truncate(numbers.below(bytes.len()));
            fs::write(path, bytes).unwrap();
        }
    }
    true
}

/// A changed byte under a right digest, which the second verifier has no means to see. It shows as another receipt.
///
/// - In a record: requests, names and steps, which the harness derives again from seed, nonce and case.
/// - In an observation: what is in words, and what became of statements that were tried on copies.
/// - In `verdict.json`: sentences, rows and their origin, and facts that the second verifier does not read again.
/// - In `run.json`: keys and words that the harness refuses because it does not know them.
fn only_the_harness_knows(file: &str, act: Act) -> bool {
    let is_derived = ["record.jsonl", "verdict.json", "run.json"]
        .iter()
        .any(|name| file.ends_with(name));
    act == Act::Flip && (is_derived || file.contains("/observations/"))
}

/// Every act on each of these files, until the two verifiers come to something else. Returns how many were tried.
fn agree(
    subject: &Subject,
    second: &mut Second,
    is_sealed: bool,
    numbers: &mut Numbers,
    is_wanted: impl Fn(&str) -> bool,
) -> usize {
    let mut tried = 0;
    for file in files(&subject.root).into_iter().filter(|file| is_wanted(file)) {
        for act in ACTS {
            let mut is_changed = false;
            let [(harness, findings), (python, text)] = subject.both_asking(
                |evidence| second.ask(evidence),
                |root| {
                    is_changed = mutate(root, &file, act, numbers);
                    if is_changed && is_sealed {
                        seal_again(root);
                    }
                },
            );
            let place = format!("{act:?} of {file}, sealed again: {is_sealed}");
            let is_explained = (harness, python, is_sealed) == (1, 0, true) && only_the_harness_knows(&file, act);
            let says = format!("{place}: the harness {harness}, {findings}; verify.py {python}, {text}");
            assert!(harness == python || is_explained, "{says}");
            assert!(!is_changed || is_sealed || python != 0, "{place}: nobody noticed");
            tried += usize::from(is_changed);
        }
    }
    tried
}

#[test]
fn damage_is_noticed_by_both_or_by_none() {
    if !has_python("damage is noticed by both verifiers") {
        return;
    }
    let mut numbers = Numbers(20_261_130);
    let mut second = Second::start();
    let lines = Subject::of_lines();
    let (_, told) = second.ask(&lines.root);
    assert!(told.contains("are no SQL") && !told.contains("all equal"), "{told}");
    let mut tried = agree(&lines, &mut second, false, &mut numbers, |_| true);
    tried += agree(&lines, &mut second, true, &mut numbers, |file| file != "SHA256SUMS");
    let sqlite = Subject::of_sqlite();
    tried += agree(&sqlite, &mut second, true, &mut numbers, |file| {
        file.contains("/stores/")
    });
    second.end();
    assert!(tried > 200, "{tried} mutations");
}

/// A failing verdict is as equal as a passing one, and so is everything that the built-in targets leave.
#[test]
fn evidence_of_all_kinds_is_believed() {
    if !has_python("evidence of all kinds is believed by the second verifier") {
        return;
    }
    Subject::of(Harness::new());
    Subject::of(Harness::new().defect("same-reply-two-effects").case("retry"));
    Subject::of(Harness::new().words(&["--target", "reference-execution"]));
    Subject::of(Harness::new().target(&Profile::without_promise().flags("--dedupe none")));
    Subject::of(Harness::new().target(&Profile::with_status().flags("--journal delete")));
}

#[test]
fn what_is_no_evidence_and_what_was_cut_off_is_told_apart() {
    if !has_python("the second verifier tells no evidence from evidence that was cut off") {
        return;
    }
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(second(empty.path()).0, 2);
    let text = empty.path().join("notes.txt");
    fs::write(&text, "no archive").unwrap();
    for path in [&text, &empty.path().join("missing")] {
        let (code, told) = second(path);
        assert_eq!((code, told.contains("is no evidence")), (2, true), "{told}");
    }
    let told = Command::new("python3")
        .arg(program())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(told.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&told.stderr).starts_with("usage: "));
    let subject = Subject::of_lines();
    let [(harness, _), (python, text)] = subject.both(|root| fs::remove_file(root.join("SHA256SUMS")).unwrap());
    assert_eq!((harness, python), (3, 3), "{text}");
}

/// So many lines the second verifier may have, blank ones too.
const LINES: usize = 200;

/// An independent verifier is worth as much as somebody reads of it.
#[test]
fn it_can_be_read_in_one_go() {
    let text = fs::read_to_string(program()).unwrap();
    assert!(text.lines().count() <= LINES);
    assert!(text.lines().all(|line| line.chars().count() <= 120));
}
