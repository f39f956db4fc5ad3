//! Evidence in which anything was changed, with every digest made anew: `verify` never crashes, and what it believes all the
//! same is what `evidence/README.md` says is the runner's word.

use std::fs;
use std::path::PathBuf;

use harness::record::Evidence;
use harness::verify::{Verified, verify};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::forge::{SUMS, name_again, seal_again};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, Report};

/// So many mutations are tried of each evidence.
const TRIED: u32 = 120;

/// One place in one document.
#[derive(Debug, Clone)]
struct Place {
    file: String,
    /// The line, where the file is a record.
    line: usize,
    pointer: String,
}

/// What is done there.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A little another value.
    Nudge,
    /// It is not there.
    Remove,
    /// Something else, out of a list of evil things.
    Replace(usize),
    /// It stands there twice, or something unknown beside it.
    Add,
}

struct Subject {
    _done: Done,
    root: PathBuf,
    /// The files that are put back: name and bytes.
    kept: Vec<(String, Vec<u8>)>,
    places: Vec<Place>,
}

impl Subject {
    /// A run with a doubled effect, found by a search; every place of its documents.
    fn searched() -> Self {
        let write = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
        let store = "{data}/o.sqlite3";
        let program = crate::support::profile::plain_server().display().to_string();
        let harness = Harness::new().words(&["--write", write, "--store", store, "--evidence", "run"]);
        let Report { done, .. } = harness
            .case("lost-reply")
            .server(&[&program, "--database", store])
            .run();
        Self::of(done)
    }

    /// The same with a profile that says what is counted.
    fn told() -> Self {
        let harness = Harness::new().target(&Profile::with_status()).case("lost-reply");
        let Report { done, .. } = harness.words(&["--evidence", "run"]).run();
        Self::of(done)
    }

    fn of(done: Done) -> Self {
        let root = done.path("run");
        let names = crate::support::run::files(&root);
        let names = names.into_iter().filter(|name| name.contains(".json") || name == SUMS);
        let kept: Vec<(String, Vec<u8>)> = names
            .map(|name| (name.clone(), fs::read(root.join(&name)).unwrap()))
            .collect();
        let mut places = Vec::new();
        for (file, bytes) in kept
            .iter()
            .filter(|(name, _)| name != SUMS && !name.starts_with("probe/"))
        {
            let text = std::str::from_utf8(bytes).unwrap();
            let documents: Vec<&str> = if file.ends_with('l') {
                text.lines().collect()
            } else {
                vec![text]
            };
            for (line, document) in documents.iter().enumerate() {
                let value: Value = serde_json::from_str(document).unwrap();
                pointers(&value, String::new(), &mut |pointer| {
                    places.push(Place {
                        file: file.clone(),
                        line,
                        pointer,
                    });
                });
            }
        }
        Self {
            _done: done,
            root,
            kept,
            places,
        }
    }

    /// The document in which a place is, as it was.
    fn document(&self, place: &Place) -> Value {
        let (_, bytes) = self.kept.iter().find(|(name, _)| *name == place.file).unwrap();
        let text = std::str::from_utf8(bytes).unwrap();
        let is_record = place.file.ends_with('l');
        let document = if is_record {
            text.lines().nth(place.line).unwrap()
        } else {
            text
        };
        serde_json::from_str(document).unwrap()
    }

    /// What comes of a mutation; none where it changes nothing. Everything is put back.
    fn tried(&self, place: &Place, act: Act) -> Option<Verified> {
        let path = self.root.join(&place.file);
        let text = fs::read_to_string(&path).unwrap();
        let is_record = place.file.ends_with('l');
        let mut documents: Vec<String> = if is_record {
            text.lines().map(str::to_owned).collect()
        } else {
            vec![text]
        };
        let mut value: Value = serde_json::from_str(&documents[place.line]).unwrap();
        let before = value.clone();
        mutate(&mut value, &place.pointer, act);
        if value == before {
            return None;
        }
        documents[place.line] = value.to_string();
        fs::write(&path, documents.join("\n") + "\n").unwrap();
        if let Some((case, label)) = observation(&place.file) {
            name_again(&self.root, case, label);
        }
        seal_again(&self.root);
        let verified = verify(&Evidence::open(&self.root).unwrap());
        for (name, bytes) in &self.kept {
            fs::write(self.root.join(name), bytes).unwrap();
        }
        Some(verified.unwrap())
    }
}

/// The case and the label of an observation's file.
fn observation(file: &str) -> Option<(&str, &str)> {
    let (case, label) = file.strip_prefix("cases/")?.split_once("/observations/")?;
    Some((case, label.strip_suffix(".json")?))
}

fn pointers(value: &Value, at: String, see: &mut impl FnMut(String)) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, format!("{at}/{index}"), see);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(member, format!("{at}/{key}"), see);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    see(at);
}

fn evil(index: usize) -> Value {
    let nested = (0..100).fold(json!("x"), |inside, _| json!([inside]));
    let keys = (0..60).fold(
        json!({}),
        |inside, _| json!({ "places": inside, "shown": { "sql": "SELECT 1" } }),
    );
    let all = [
        Value::Null,
        json!([]),
        json!({}),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e308),
        json!(-0.0),
        json!("?".repeat(200_000)),
        json!("../../../../etc/passwd"),
        json!("\u{0}\u{202e}"),
        nested,
        keys,
        json!("{".repeat(500) + "a" + &"}".repeat(500)),
    ];
    all[index % all.len()].clone()
}

fn mutate(whole: &mut Value, pointer: &str, act: Act) {
    let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", ""));
    let key = key.replace("~1", "/").replace("~0", "~");
    match act {
        Act::Remove if pointer.is_empty() => {}
        Act::Remove => match whole.pointer_mut(parent).unwrap() {
            Value::Array(items) => drop(items.remove(key.parse::<usize>().unwrap())),
            Value::Object(members) => drop(members.shift_remove(&key)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => unreachable!("a parent"),
        },
        Act::Replace(index) => *whole.pointer_mut(pointer).unwrap() = evil(index),
        Act::Add => match whole.pointer_mut(pointer).unwrap() {
            Value::Array(items) => items.extend(items.last().cloned()),
            Value::Object(members) => drop(members.insert("unknown".to_owned(), json!(1))),
            single @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => *single = json!([single]),
        },
        Act::Nudge => match whole.pointer_mut(pointer).unwrap() {
            Value::Null => *whole.pointer_mut(pointer).unwrap() = json!("x"),
            Value::Bool(is) => *is = !*is,
            number @ Value::Number(_) => *number = json!(number.as_u64().unwrap_or_default() + 1),
            Value::String(text) => text.push('x'),
            Value::Array(items) => drop(items.pop()),
            Value::Object(members) => members.retain({
                let mut left = members.len();
                move |_, _| {
                    left -= 1;
                    left > 0
                }
            }),
        },
    }
}

fn is_whole(verified: &Verified) -> bool {
    verified.sealed && verified.finished && verified.findings.is_empty()
}

/// Whether nothing else in the evidence says what stands there; only asked of single values.
fn is_runners_word(place: &Place, pointer: &[&str], event: &str) -> bool {
    let file = place.file.rsplit('/').next().unwrap_or_default();
    match (file, pointer) {
        ("run.json", [first, ..]) if ["format", "state", "naming", "executed"].contains(first) => false,
        ("run.json", ["harness", "judge"] | ["verdicts", _, "verdict" | "reason"]) => false,
        ("run.json", ["target", first, ..]) => {
            !(["name", "contract", "replies", "identity"].contains(first) || first.starts_with("read_"))
        }
        ("run.json", _) => true,
        ("verdict.json", _) => false,
        ("record.jsonl", ["seq"]) => false,
        ("record.jsonl", ["format" | "step"]) => false,
        ("record.jsonl", ["label" | "sha256"]) => event != "observed",
        ("record.jsonl", ["plan", first, ..])
            if ["case", "revision", "digest", "target", "naming", "steps", "identity"].contains(first) =>
        {
            false
        }
        ("record.jsonl", ["plan", "operations", _, name]) => {
            !["identity", "marker", "input", "changed_input"].contains(name)
        }
        ("record.jsonl", _) => true,
        // In words only: that something is missing, or cannot be read or recovered.
        (_, [.., "missing" | "reason" | "problem"]) => true,
        (_, [.., "folders" | "strangers", _]) => true,
        _ => false,
    }
}

/// Tries many mutations, each one in evidence that is whole otherwise.
fn try_all(subject: &Subject) {
    let acts = prop_oneof![
        Just(Act::Nudge),
        Just(Act::Remove),
        Just(Act::Add),
        any::<usize>().prop_map(Act::Replace)
    ];
    // Documents of few places are tried as often as records.
    let mut files: Vec<&String> = subject.places.iter().map(|place| &place.file).collect();
    files.dedup();
    let files: Vec<String> = files.into_iter().cloned().collect();
    let config = Config {
        cases: TRIED,
        failure_persistence: None,
        ..Config::default()
    };
    let tried = TestRunner::new(config).run(&(select(files), any::<Index>(), acts), |(file, index, act)| {
        let places: Vec<&Place> = subject.places.iter().filter(|place| place.file == file).collect();
        let place = places[index.index(places.len())];
        let Some(verified) = subject.tried(place, act) else {
            return Ok(());
        };
        let document = subject.document(place);
        let single = document.pointer(&place.pointer).unwrap();
        let is_single = !(single.is_null() || single.is_array() || single.is_object());
        let pointer: Vec<&str> = place.pointer.split('/').skip(1).collect();
        let event = document["kind"].as_str().unwrap_or_default();
        if is_single && is_whole(&verified) {
            prop_assert!(
                is_runners_word(place, &pointer, event),
                "{place:?} {act:?} was not found"
            );
        }
        Ok(())
    });
    tried.unwrap();
}

#[test]
fn evidence_of_a_search() {
    try_all(&Subject::searched());
}

#[test]
fn evidence_of_a_profile() {
    try_all(&Subject::told());
}
