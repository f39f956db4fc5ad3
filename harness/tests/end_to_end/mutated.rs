//! Evidence in which anything was changed, with every digest made anew: `verify` never crashes, and what it believes all the
//! same is what `evidence/README.md` says is the runner's word.
//!
//! Nothing is left to chance. Every file is damaged in every way. In documents every key is changed twice, at the first place
//! where it stands in documents of its kind: a little, and in another way by turns. Records and lists repeat the same few keys
//! hundreds of times, and all places in all ways would take an hour. At the first places of each file every way is tried once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use harness::digest::sha256_hex;
use harness::record::Evidence;
use harness::verify::{Verified, verify};
use serde_json::{Value, json};

use crate::support::forge::SUMS;
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, Report};

/// One value in one document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    /// The line, where the file is a record.
    line: usize,
    pointer: String,
}

/// What is done there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    /// A little another value.
    Nudge,
    /// It is not there.
    Remove,
    /// It stands there twice, or something unknown beside it.
    Add,
    /// Something else, out of a list of evil things.
    Replace(usize),
}

/// So many evil things there are.
const EVIL: usize = 13;

/// A key that nobody knows.
const UNKNOWN: &str = "unknown";

/// Finished evidence, and what is in it.
struct Subject {
    _done: Done,
    root: PathBuf,
    kept: BTreeMap<String, Vec<u8>>,
}

/// Files of an evidence in the place of others; none where one is gone.
type Changed = BTreeMap<String, Option<Vec<u8>>>;

impl Subject {
    /// A run with a doubled effect, found by a search in this store.
    fn searched(store: &str, flags: &[&str]) -> Self {
        let write = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
        let program = crate::support::profile::plain_server().display().to_string();
        let harness = Harness::new().words(&["--write", write, "--store", store, "--evidence", "run"]);
        let Report { done, .. } = harness
            .case("lost-reply")
            .server(&[&program, "--database", store, "--dedupe", "none"])
            .server(flags)
            .run();
        Self::of(done)
    }

    fn searched_sqlite() -> Self {
        Self::searched("{data}/o.sqlite3", &[])
    }

    /// A run of which a profile says what is counted.
    fn told() -> Self {
        let harness = Harness::new().target(&Profile::with_status()).case("lost-reply");
        let Report { done, .. } = harness.words(&["--evidence", "run"]).run();
        Self::of(done)
    }

    /// The same of a server that keeps JSON Lines: nothing has to be recovered, which is most of the time, so most is tried here.
    fn of_lines() -> Self {
        let path = "{data}/orders.jsonl";
        let profile = Profile::plain()
            .database(path)
            .flags("--keep-in lines --dedupe none")
            .part("store", &format!("kind = \"files\"\npath = \"{path}\""))
            .part("read.effects", "jsonl = true");
        let harness = Harness::new().target(&profile).case("lost-reply");
        let Report { done, .. } = harness.words(&["--evidence", "run"]).run();
        Self::of(done)
    }

    fn of(done: Done) -> Self {
        let root = done.path("run");
        let names = crate::support::run::files(&root).into_iter();
        let read = |name: String| {
            let bytes = fs::read(root.join(&name)).unwrap();
            (name, bytes)
        };
        let kept = names.map(read).collect();
        let subject = Self {
            _done: done,
            root,
            kept,
        };
        assert!(is_whole(&subject.verified(&Changed::new())), "it is whole before");
        subject
    }

    fn text(&self, file: &str) -> &str {
        std::str::from_utf8(&self.kept[file]).unwrap()
    }

    /// The documents of a file: every line of a record, the whole of another one, none of what is no document.
    fn documents(&self, file: &str) -> Vec<Value> {
        let parse = |text: &str| serde_json::from_str(text).unwrap();
        match file.rsplit_once('.') {
            Some((_, "jsonl")) => self.text(file).lines().map(parse).collect(),
            Some((_, "json")) => vec![parse(self.text(file))],
            _ => Vec::new(),
        }
    }

    /// The mutations that are tried of these files.
    fn mutations(&self, is_wanted: impl Fn(&str) -> bool) -> BTreeSet<(Place, Act)> {
        let others = [Act::Remove, Act::Add].into_iter().chain((0..EVIL).map(Act::Replace));
        let all: Vec<Act> = [Act::Nudge].into_iter().chain(others).collect();
        let mut tried = BTreeSet::new();
        let mut keys = BTreeSet::new();
        let mut evil = (0..EVIL).cycle();
        for file in self.kept.keys().filter(|name| is_wanted(name)) {
            let mut in_file = 0;
            for (line, document) in self.documents(file).iter().enumerate() {
                pointers(document, String::new(), &mut |pointer| {
                    let key = key(file, document, &pointer);
                    let place = Place {
                        file: file.clone(),
                        line,
                        pointer,
                    };
                    if let Some(act) = all.get(in_file) {
                        tried.insert((place.clone(), *act));
                    }
                    in_file += 1;
                    if keys.insert(key) {
                        let more = match keys.len() % 3 {
                            0 => Act::Remove,
                            1 => Act::Add,
                            _ => Act::Replace(evil.next().unwrap()),
                        };
                        tried.extend([Act::Nudge, more].map(|act| (place.clone(), act)));
                    }
                });
            }
        }
        tried
    }

    /// A document before and after, and the files in which that is so; none where nothing is changed.
    fn mutated(&self, place: &Place, act: Act) -> Option<(Value, Value, Changed)> {
        let mut documents = self.documents(&place.file);
        let before = documents[place.line].clone();
        mutate(&mut documents[place.line], &place.pointer, act);
        let after = documents[place.line].clone();
        if after == before {
            return None;
        }
        let lines = documents.iter().map(|document| format!("{document}\n"));
        let bytes = lines.collect::<String>().into_bytes();
        let mut changed = Changed::new();
        // A forger lets the record name what an observation is now.
        if let Some((folder, label)) = observation(&place.file) {
            let digest = sha256_hex(&bytes);
            let record = format!("{folder}/record.jsonl");
            let mut events = self.documents(&record);
            for event in &mut events {
                if event["kind"] == "observed" && event["label"] == label {
                    event["sha256"] = json!(digest);
                }
            }
            let lines = events.iter().map(|event| format!("{event}\n"));
            changed.insert(record, Some(lines.collect::<String>().into_bytes()));
        }
        changed.insert(place.file.clone(), Some(bytes));
        Some((before, after, changed))
    }

    /// What comes of these files in the place of those that are kept, with every digest made anew. Everything is put back.
    fn verified(&self, changed: &Changed) -> Verified {
        let kept = |name: &String| (name.clone(), self.kept.get(name).cloned());
        let mut all: Changed = self.kept.keys().map(kept).collect();
        all.extend(changed.clone());
        let line = |(name, bytes): (&String, &Option<Vec<u8>>)| {
            let digest = sha256_hex(bytes.as_ref()?);
            (name != SUMS).then(|| format!("{digest}  {name}\n"))
        };
        let mut changed = changed.clone();
        let sums = || all.iter().filter_map(line).collect::<String>();
        changed
            .entry(SUMS.to_owned())
            .or_insert_with(|| Some(sums().into_bytes()));
        self.put(&changed);
        let verified = verify(&Evidence::open(&self.root).unwrap());
        self.put(&changed.keys().map(kept).collect());
        verified.unwrap()
    }

    fn put(&self, files: &Changed) {
        for (name, bytes) in files {
            let path = self.root.join(name);
            match bytes {
                Some(bytes) => fs::write(path, bytes).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
        }
    }
}

/// The folder of the case and the label of an observation's file.
fn observation(file: &str) -> Option<(&str, &str)> {
    let (folder, label) = file.split_once("/observations/")?;
    Some((folder, label.strip_suffix(".json")?))
}

/// What a place is called where all elements of a list are called alike, and all documents of a kind.
fn key(file: &str, document: &Value, pointer: &str) -> String {
    let kind = match observation(file) {
        Some(_) => "observation",
        None => file.rsplit('/').next().unwrap_or_default(),
    };
    let event = document["kind"].as_str().unwrap_or_default();
    let generalised = |name: &str| if name.parse::<usize>().is_ok() { "*" } else { name }.to_owned();
    let names: Vec<String> = pointer.split('/').map(generalised).collect();
    format!("{kind} {event} {}", names.join("/"))
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
    assert_eq!(all.len(), EVIL);
    all[index].clone()
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
            Value::Object(members) => drop(members.insert(UNKNOWN.to_owned(), json!(1))),
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

/// Without what says nothing: members that are null are as good as absent, and nobody reads keys that nobody knows.
fn said(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(said).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .filter(|(key, member)| !member.is_null() && *key != UNKNOWN);
            members.map(|(key, member)| (key.clone(), said(member))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
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
            let follows = [
                "name",
                "contract",
                "replies",
                "identity",
                "command",
                "processes",
                "tampering",
            ];
            !(follows.contains(first) || first.starts_with("read_"))
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

/// Tries every mutation of these files, each one in evidence that is whole otherwise.
fn try_all(subject: &Subject, is_wanted: impl Fn(&str) -> bool) {
    let mut believed = Vec::new();
    let mutations = subject.mutations(is_wanted);
    let acts: BTreeSet<Act> = mutations.iter().map(|(_, act)| *act).collect();
    assert_eq!(acts.len(), 3 + EVIL, "everything is done somewhere");
    for (place, act) in mutations {
        let Some((before, after, changed)) = subject.mutated(&place, act) else {
            continue;
        };
        let verified = subject.verified(&changed);
        let pointer: Vec<&str> = place.pointer.split('/').skip(1).collect();
        let event = before["kind"].as_str().unwrap_or_default();
        if is_whole(&verified) && said(&before) != said(&after) && !is_runners_word(&place, &pointer, event) {
            believed.push(format!("{place:?} {act:?}"));
        }
    }
    assert!(believed.is_empty(), "not found: {believed:#?}");
}

#[test]
fn every_key_of_a_search() {
    let lines = Subject::searched("{data}/o.jsonl", &["--keep-in", "lines"]);
    try_all(&lines, |file| file.starts_with("calibration") || file == "run.json");
    try_all(&Subject::searched_sqlite(), |file| file.ends_with("/searched.json"));
}

#[test]
fn every_key_of_what_is_read_of_sqlite_stores() {
    try_all(&Subject::told(), |file| file.contains("/observations/"));
}

#[test]
fn every_key_of_a_run() {
    try_all(&Subject::of_lines(), |file| !file.starts_with("probe/"));
}

#[test]
fn every_file() {
    for subject in [Subject::searched_sqlite(), Subject::told()] {
        let mut believed = Vec::new();
        for (name, bytes) in &subject.kept {
            let more = format!("{name}.more");
            let mut tried = vec![(more.clone(), Some(b"x".to_vec()))];
            tried.extend(damages(name, bytes).into_iter().map(|damaged| (name.clone(), damaged)));
            for (file, damaged) in tried {
                let how = damaged
                    .as_ref()
                    .map_or("gone".to_owned(), |bytes| format!("{} bytes", bytes.len()));
                let verified = subject.verified(&[(file.clone(), damaged)].into());
                let is_noted = verified.notes.iter().any(|note| note.contains(&file));
                if is_whole(&verified) && !is_noted && !is_runners_file(&file, &how) {
                    believed.push(format!("{file}: {how}, of {}", bytes.len()));
                }
            }
        }
        assert!(believed.is_empty(), "not found: {believed:#?}");
    }
}

/// What a file is damaged to; none where it is gone. Documents are not flipped: their values are changed one by one.
fn damages(name: &str, bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
    let half = bytes.len() / 2;
    let grown = bytes.iter().copied().chain([b'x']).collect();
    let mut all = vec![None, Some(grown)];
    if !bytes.is_empty() {
        all.extend([Vec::new(), bytes[..half].to_vec()].map(Some));
    }
    if !(name.contains(".json") || bytes.is_empty()) {
        let mut flipped = bytes.to_vec();
        flipped[half] ^= 1;
        all.push(Some(flipped));
    }
    all
}

/// Whether nothing else in the evidence says what a file holds; that it is there follows from the record.
fn is_runners_file(file: &str, how: &str) -> bool {
    file.starts_with("probe/") || (file.contains("/stderr/") && !file.contains(".more") && how != "gone")
}
