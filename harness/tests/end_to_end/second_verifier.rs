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
use serde_json::{Value, json};

use crate::support::forge::{change, change_observation, change_record, copy, seal_again, seal_proof_again};
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
struct Second {
    python: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Second {
    fn start() -> Self {
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

    fn ask(&mut self, evidence: &Path) -> (i32, String) {
        writeln!(self.questions, "{}", evidence.display()).unwrap();
        let answer = self.answers.next().expect("an answer for each question").unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn end(mut self) {
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
fn believes_the_archive_of(done: &Done, evidence: &str) {
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
struct Subject {
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
    fn of_sqlite() -> Self {
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

    fn both_asking(
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

/// A change to evidence, and what it is about.
type Lie = (&'static str, fn(&Path));

const VERDICT: &str = "cases/lost-reply/verdict.json";

/// What was counted, concluded or withheld is another thing, and all digests are right.
#[test]
fn a_lie_with_right_digests_is_noticed_by_both() {
    if !has_python("a lie is noticed by both verifiers") {
        return;
    }
    let lies: [Lie; 18] = [
        ("a check that broke, as not judged", |root| {
            change(root, VERDICT, |json| json["checks"][3]["outcome"] = json!("not-judged"));
        }),
        ("another query", |root| {
            change_end(root, |end| {
                end["operations"]["A"]["effects"]["query"]["sql"] = json!("SELECT 1")
            });
        }),
        ("another marker", |root| {
            change_end(root, |end| {
                end["operations"]["A"]["effects"]["query"]["parameters"]["marker"] = json!("mk-none");
            });
        }),
        ("a reading less", |root| {
            change_end(root, |end| {
                let readings = end["operations"]["A"].as_object_mut().unwrap();
                readings.remove("ledger").expect("the ledger was read");
            });
        }),
        ("no read copy", |root| {
            change_end(root, |end| {
                end["read"]["store"]["databases"][0]["read_copy"] = json!(null)
            });
        }),
        ("a whole store, as one that cannot be read", unreadable),
        ("no database", |root| {
            change_end(root, |end| end["read"]["store"]["databases"] = json!([]));
        }),
        ("a living store where a frozen one is planned", |root| {
            change_end(root, |end| end["read"] = json!({ "from": "live" }));
        }),
        ("a surface less", |root| {
            change_record(root, "lost-reply", |event| {
                if let Some(surfaces) = event["plan"]["surfaces"].as_array_mut() {
                    surfaces.retain(|surface| surface != "read.effects");
                }
            });
            change(root, VERDICT, |json| {
                json["verdict"] = json!("unsupported");
                json["checks"] = json!([]);
            });
            change(root, "run.json", |json| {
                json["verdicts"]["lost-reply"]["verdict"] = json!("unsupported");
            });
        }),
        ("the verdict", |root| {
            change(root, VERDICT, |json| json["verdict"] = json!("fail"));
        }),
        ("a check", |root| {
            change(root, VERDICT, |json| json["checks"][3]["outcome"] = json!("broken"));
        }),
        ("a check left out", |root| {
            change(root, VERDICT, |json| {
                drop(json["checks"].as_array_mut().unwrap().remove(3));
            });
        }),
        ("a count among the facts", |root| {
            change(root, VERDICT, |json| json["facts"]["end"]["effects"]["A"] = json!(2));
        }),
        ("a verdict of the run", |root| {
            change(root, "run.json", |json| {
                json["verdicts"]["lost-reply"]["verdict"] = json!("unguarded");
            });
        }),
        ("rows", |root| {
            change_observation(root, "lost-reply", "end", |json| {
                json["operations"]["A"]["effects"]["outcome"]["rows"]["rows"] = json!([]);
            });
        }),
        ("a withheld reply", |root| {
            change_record(root, "lost-reply", |event| {
                if event["withheld"] == true {
                    event["withheld"] = json!(false);
                }
            });
        }),
        ("a number of the record", |root| {
            change_record(root, "lost-reply", |event| {
                if event["kind"] == "case-ended" {
                    event["seq"] = json!(99);
                }
            });
        }),
        ("the case", |root| {
            let file = root.join("cases/lost-reply/case.toml");
            let text = fs::read_to_string(&file).unwrap();
            fs::write(file, text.replace("\"end.effects.A\" = 1", "\"end.effects.A\" = 2")).unwrap();
            seal_again(root);
        }),
    ];
    let subject = Subject::of_sqlite();
    let mut second = Second::start();
    for (what, lie) in lies {
        let [(harness, findings), (python, text)] = subject.both_asking(|evidence| second.ask(evidence), lie);
        assert_eq!((harness, python), (1, 1), "{what}: {findings}, {text}");
        assert!(text.contains("DIFFERS"), "{what}: {text}");
    }
    second.end();
}

/// Changes the last observation of the case.
fn change_end(root: &Path, by: impl FnOnce(&mut Value)) {
    change_observation(root, "lost-reply", "end", by);
}

/// The store of the last observation is said to have a problem, and nothing to have been read there.
fn unreadable(root: &Path) {
    let copy = "cases/lost-reply/stores/end/store.sqlite3.read.sqlite3";
    fs::remove_file(root.join(copy)).unwrap();
    change_end(root, |end| {
        let database = &mut end["read"]["store"]["databases"][0];
        database["read_copy"] = json!(null);
        database["problem"] = json!("database disk image is malformed");
        let seen = end["operations"].as_object_mut().unwrap().values_mut();
        for seen in seen {
            let (mut names, more) = (vec!["effects", "ledger"], seen["more"].clone());
            names.retain(|name| seen.get(*name).is_some());
            for name in names {
                seen[name]["outcome"] = json!({ "unreadable": { "reason": "malformed" } });
            }
            for name in more.as_object().into_iter().flat_map(|more| more.keys()) {
                seen["more"][name]["outcome"] = json!({ "unreadable": { "reason": "malformed" } });
            }
        }
    });
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
fn a_proof_is_believed_and_its_matrix_compared() {
    if !has_python("a proof is believed by the second verifier") {
        return;
    }
    let done = Harness::new()
        .words(&[
            "--case",
            "identical-retry",
            "--defect",
            "no-ledger",
            "--evidence",
            "proof",
        ])
        .call(&["prove"]);
    done.exits(0);
    let root = done.path("proof");
    let (code, text) = second(&root);
    assert_eq!(code, 0, "{text}");
    believes_the_archive_of(&done, "proof");
    let lies: [Lie; 9] = [
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| {
                matrix["defects"][0]["verdicts"]["identical-retry"] = json!("pass")
            });
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| {
                matrix["defects"][0]["kills"][0]["outcome"] = json!("held")
            });
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| matrix["defects"] = json!([]));
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| drop(matrix["runs"].as_array_mut().unwrap().pop()));
        }),
        ("matrix.json: no-ledger", |root| {
            change_matrix(root, |matrix| matrix["runs"][1]["sums_sha256"] = json!("0".repeat(64)));
        }),
        ("matrix.json: no-ledger", |root| {
            fs::remove_dir_all(root.join("no-ledger")).unwrap();
            seal_proof_again(root);
        }),
        ("matrix.json: no-ledger", |root| {
            change_run_of_proof(root, |run| run["defect"] = json!(null));
        }),
        ("matrix.json: no-ledger", |root| {
            change_run_of_proof(root, |run| run["harness"]["sha256"] = json!("0".repeat(64)));
        }),
        ("matrix.json: no-ledger", |root| {
            change_run_of_proof(root, |run| run["target"]["command"] = json!(["another"]));
        }),
    ];
    let mut second = Second::start();
    for (number, (told, lie)) in lies.into_iter().enumerate() {
        let copied = tempfile::tempdir().unwrap();
        copy(&root, copied.path());
        lie(copied.path());
        let (code, text) = second.ask(copied.path());
        assert_eq!(code, 1, "{number}: {text}");
        assert!(text.contains(told), "{number}: {text}");
        assert_eq!(done.verify(copied.path()).code, 1, "{number}");
    }
    second.end();
}

/// Changes the matrix of a proof, and seals it again.
fn change_matrix(root: &Path, by: impl FnOnce(&mut Value)) {
    change(root, "matrix.json", by);
    seal_proof_again(root);
}

/// Changes what the run with the defect says of itself; the matrix and both seals are made to fit.
fn change_run_of_proof(root: &Path, by: impl FnOnce(&mut Value)) {
    let run = root.join("no-ledger");
    change(&run, "run.json", by);
    let digest = harness::digest::sha256_file(&run.join("SHA256SUMS")).unwrap();
    change_matrix(root, |matrix| {
        for kept in matrix["runs"].as_array_mut().unwrap() {
            if kept["folder"] == "no-ledger" {
                kept["sums_sha256"] = json!(digest);
            }
        }
    });
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
