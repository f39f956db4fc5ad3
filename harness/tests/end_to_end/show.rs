//! What happened in a run is shown from whatever is left of its evidence, and nothing in it is trusted.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::command_line::prints;
use super::hostile::is_tame;
use super::kills::hanging;
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, files};

/// One event of every kind, in a case that says that it is unfinished business. Times and names are fixed.
const EVERY_EVENT: &str = include_str!("show/every-event.jsonl");

/// Control sequences, a forged line, and a command to a build log.
const WILD: &str = "\u{1b}[2J\r\n::error::forged\nPASS  forged\u{202e}\u{9b}2K";

fn show(done: &Done, words: &[&str]) -> Done {
    done.then().words(words).call(&["show"])
}

fn passed(case: &str) -> Done {
    let done = Harness::new().case(case).run_human();
    done.exits(0);
    done
}

/// A folder of evidence made by hand, with one case in it.
fn by_hand(record: &str) -> (Done, PathBuf) {
    let harness = Harness::new();
    let case = harness.path("run/cases/lost-reply");
    fs::create_dir_all(case.join("observations")).unwrap();
    fs::create_dir_all(case.join("stderr")).unwrap();
    fs::write(case.join("record.jsonl"), record).unwrap();
    fs::write(harness.path("run/run.json"), "{}").unwrap();
    let done = Done::new(&harness, 0, String::new(), String::new());
    (done, case)
}

#[track_caller]
fn line<'a>(done: &'a Done, part: &str) -> &'a str {
    let mut lines = done.stdout.lines();
    let found = lines.find(|line| line.contains(part));
    found.unwrap_or_else(|| panic!("{part:?} is not in:\n{}", done.stdout))
}

#[test]
fn a_run_and_a_case_of_it() {
    let done = Harness::new()
        .target(&Profile::plain().flags("--dedupe none"))
        .case("identical-retry")
        .run_human();
    done.exits(1);
    prints("show-run", &show(&done, &["latest"]));
    prints("show-case", &show(&done, &["latest", "retry/identical-retry"]));
    prints("show-unknown-case", &show(&done, &["latest", "identical-replay"]));
}

#[test]
fn every_kind_of_event() {
    let (done, case) = by_hand(EVERY_EVENT);
    fs::write(case.join("stderr/first.log"), "one line\nanother\n").unwrap();
    prints("show-every-event", &show(&done, &["run", "lost-reply"]));
    prints("show-frames", &show(&done, &["run", "lost-reply", "--frames"]));
    prints("show-frame", &show(&done, &["run", "lost-reply", "--frame", "5"]));
    prints(
        "show-frame-oversize",
        &show(&done, &["run", "lost-reply", "--frame", "7"]),
    );
    prints("show-no-frame", &show(&done, &["run", "lost-reply", "--frame", "6"]));
    let both = show(&done, &["run", "lost-reply", "--pretty", "--stderr"]);
    assert!(
        both.stdout
            .contains("\n                  {\n                    \"jsonrpc\": \"2.0\",")
    );
    assert!(both.stdout.contains("\n  | one line\n  | another\n"), "{}", both.stdout);
    assert!(!both.stdout.contains("left out"), "{}", both.stdout);
}

#[test]
fn the_withheld_reply_is_marked_by_a_word_and_no_other_frame_is() {
    let done = passed("lost-reply");
    for word in ["lost-reply", "retry/lost-reply", "03", "3"] {
        let shown = show(&done, &["latest", word]);
        shown.exits(0);
        assert_eq!(shown.stdout.matches("WITHHELD").count(), 1, "{}", shown.stdout);
        let withheld = line(&shown, "WITHHELD");
        assert!(withheld.contains("← #3 result"), "{withheld}");
        assert!(withheld.contains(r#"{"operation_id":"op-"#), "{withheld}");
        line(&shown, "SIGKILL to 1 process");
        line(&shown, "observed `after-kill` in a frozen copy: A effects 1, ledger 1");
    }
}

/// `jsonl` is the record itself, `json` the same events in one document.
#[test]
fn programs_get_the_events_as_recorded() {
    let done = passed("lost-reply");
    let record = fs::read_to_string(done.latest().join("cases/lost-reply/record.jsonl")).unwrap();
    assert_eq!(
        show(&done, &["latest", "lost-reply", "--format", "jsonl"]).stdout,
        record
    );

    let document = show(&done, &["latest", "lost-reply", "--format", "json", "--stderr"]);
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(document["case"], "lost-reply");
    assert_eq!(document["verdict"]["verdict"], "pass");
    assert_eq!(document["events"].as_array().unwrap().len(), record.lines().count());
    assert_eq!(document["stderr"].as_array().unwrap().len(), 2);

    let frames = show(&done, &["latest", "lost-reply", "--format", "jsonl", "--frames"]);
    assert!(frames.stdout.lines().count() > 8);
    assert!(frames.stdout.lines().all(|line| line.contains(r#""kind":"message""#)));

    let run: Value = serde_json::from_str(&show(&done, &["latest", "--format", "json"]).stdout).unwrap();
    assert_eq!(run["cases"][1]["case"], "lost-reply");
    assert_eq!(run["cases"][1]["record"]["withheld"], 1);
    assert_eq!(run["run"]["state"], "finished");
}

#[test]
fn a_run_is_named_by_latest_by_its_folder_and_by_a_beginning() {
    let done = passed("lost-reply");
    let name = fs::read_link(done.path("evidence/runs/latest")).unwrap();
    let name = name.to_str().unwrap();
    for word in ["latest", name, &name[..12], "evidence/runs/latest"] {
        for command in ["show", "verify"] {
            let said = done.then().words(&[word]).call(&[command]);
            said.exits(0);
            let first = said.stdout.lines().next().unwrap();
            let is_named = first.ends_with(name) || word == "evidence/runs/latest";
            assert!(
                first.starts_with("evidence  evidence/runs/") && is_named,
                "{command} {word}: {first}"
            );
        }
    }
    fs::create_dir(done.path("evidence/runs").join(format!("{}-other", &name[..12]))).unwrap();
    for command in ["show", "verify"] {
        let said = done.then().words(&[&name[..12]]).call(&[command]);
        said.exits(2).says_only(&["begins the names of 2 runs", name, "-other"]);
        let said = Harness::new().words(&["latest"]).call(&[command]);
        said.exits(2)
            .says_only(&["there is no run here yet", "`harness run` makes one"]);
        let said = done.then().words(&["nowhere"]).call(&[command]);
        said.exits(2).says_only(&["nowhere is not evidence", "`latest`"]);
    }
}

#[test]
fn a_run_that_was_killed_shows_what_it_had_done() {
    let running = hanging();
    running.signal(running.run(), Signal::KILL);
    let done = running.end();
    let overview = show(&done, &["latest"]);
    overview.exits(0);
    line(&overview, "INCOMPLETE there is no SHA256SUMS");
    line(&overview, "PASS         control/sees-duplicates");
    line(&overview, "CUT OFF      retry/identical-retry (01)");
    line(&overview, "NOT BEGUN    lost-reply");

    let case = show(&done, &["latest", "identical-retry"]);
    case.exits(0);
    line(&case, "→ #2 tools/call create_order");
    line(&case, "CUT OFF the record ends here, after event");
    let nothing = show(&done, &["latest", "lost-reply"]);
    nothing.exits(0);
    line(&nothing, "the run did not come to it");

    // And a record whose last line is a half.
    let record = done.latest().join("cases/identical-retry/record.jsonl");
    let bytes = fs::read(&record).unwrap();
    fs::write(&record, &bytes[..bytes.len() - 9]).unwrap();
    let cut = show(&done, &["latest", "identical-retry"]);
    cut.exits(0);
    line(&cut, "the file ends in the middle of the line");
    assert!(!cut.stdout.contains("→ #2 tools/call"), "{}", cut.stdout);
    line(&show(&done, &["latest"]), "record.jsonl: line ");
    fs::remove_file(done.latest().join("run.json")).unwrap();
    fs::write(done.latest().join("SHA256SUMS"), "").unwrap();
    let headless = show(&done, &["latest"]);
    headless.exits(0);
    line(&headless, "DAMAGED   run.json: it is not there");
    line(&headless, "PASS         control/sees-duplicates");
}

#[test]
fn what_a_server_wrote_is_shown_escaped_and_is_never_a_line_of_its_own() {
    let done = Harness::new()
        .target(&Profile::with_status().misbehave("hostile-text,banner-on-stdout"))
        .case("lost-reply")
        .run_human();
    done.exits(0);
    for words in [
        &["latest"][..],
        &["latest", "probe", "--pretty", "--stderr"],
        &["latest", "lost-reply"],
        &["latest", "lost-reply", "--pretty", "--stderr"],
        &["latest", "lost-reply", "--format", "json", "--stderr"],
        &["latest", "lost-reply", "--format", "jsonl"],
    ] {
        let shown = show(&done, words);
        shown.exits(0);
        is_tame(&shown);
    }
    line(&show(&done, &["latest", "lost-reply"]), "NOT JSON  plain-server: ready");
    line(&show(&done, &["latest", "lost-reply"]), "an empty line");
}

/// Everything that a record can hold, written by somebody who wants to speak to the reader's terminal.
#[test]
fn evidence_from_a_stranger_is_shown_escaped() {
    let mut lines = Vec::new();
    for (index, event) in EVERY_EVENT.lines().enumerate() {
        let mut event: Value = serde_json::from_str(event).unwrap();
        spoil(&mut event);
        event["seq"] = json!(index + 1);
        lines.push(event.to_string() + "\n");
    }
    let (done, case) = by_hand(&lines.concat());
    fs::write(case.join("stderr").join(format!("{WILD}.log").replace('/', "")), WILD).unwrap();
    fs::create_dir(case.parent().unwrap().join(WILD)).unwrap();
    for words in [
        &["run"][..],
        &["run", "lost-reply"],
        &["run", "lost-reply", "--pretty", "--stderr"],
        &["run", "lost-reply", "--frame", "5"],
        &["run", "lost-reply", "--story"],
        &["run", "lost-reply", "--format", "json", "--stderr"],
        &["run", "--format", "json"],
        &["run", WILD],
    ] {
        let shown = show(&done, words);
        shown.exits(0);
        is_tame(&shown);
    }
    is_tame(&show(&done, &["run", &format!("{WILD}?")]));
    is_tame(&show(&done, &[WILD]));
    let wild = show(&done, &["run", "lost-reply"]).stdout.matches("forged").count();
    assert!(wild > 15, "it is shown: {wild}");
}

/// Makes every text of an event wild, and leaves what says which event it is.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(WILD),
        Value::Array(items) => items.iter_mut().for_each(spoil),
        Value::Object(members) => {
            for (key, member) in members {
                if !["kind", "direction", "transport", "how", "bytes"].contains(&key.as_str()) {
                    spoil(member);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A link could lead to a file of the reader's own, a device never ends, and a pipe never begins.
#[test]
fn links_devices_pipes_and_names_that_lead_out_are_not_opened() {
    let done = passed("lost-reply");
    let root = done.latest();
    let secret = done.path("secret");
    fs::write(&secret, "a secret of the reader's\n").unwrap();
    let put = |file: &str, place: &dyn Fn(&Path)| {
        let path = root.join(file);
        let kept = done.path("kept");
        fs::rename(&path, &kept).unwrap();
        place(&path);
        let said = show(&done, &["latest", "lost-reply", "--stderr"]);
        is_tame(&said);
        assert!(
            !said.stdout.contains("a secret") && !said.stderr.contains("a secret"),
            "{said:?}"
        );
        assert!(
            format!("{}{}", said.stdout, said.stderr).contains("no plain file"),
            "{said:?}"
        );
        show(&done, &["latest"]).exits(0);
        fs::remove_file(&path).unwrap();
        fs::rename(&kept, &path).unwrap();
        said.code
    };
    let link = |path: &Path| std::os::unix::fs::symlink(&secret, path).unwrap();
    let device = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).unwrap();
    let pipe = |path: &Path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for place in [&link as &dyn Fn(&Path), &device, &pipe] {
        assert_eq!(put("cases/lost-reply/record.jsonl", place), 2);
        assert_eq!(put("cases/lost-reply/observations/end.json", place), 0);
        assert_eq!(put("cases/lost-reply/stderr/first.log", place), 0);
    }

    let mut run: Value = serde_json::from_slice(&fs::read(root.join("run.json")).unwrap()).unwrap();
    run["executed"] = json!(["lost-reply", "../../../..", "/etc"]);
    fs::write(root.join("run.json"), run.to_string()).unwrap();
    let overview = show(&done, &["latest"]);
    overview.exits(0);
    assert_eq!(
        overview.stdout.matches("leads out of the evidence").count(),
        1,
        "{}",
        overview.stdout
    );
}

#[test]
fn a_changed_observation_is_not_believed() {
    let done = passed("lost-reply");
    let file = done.latest().join("cases/lost-reply/observations/end.json");
    fs::write(&file, fs::read_to_string(&file).unwrap() + " ").unwrap();
    line(
        &show(&done, &["latest", "lost-reply"]),
        "observed `end`: its file is not the one",
    );
}

#[test]
fn a_line_of_fifty_mebibytes_is_shown_by_its_head() {
    let done = Harness::new()
        .target(&Profile::plain().misbehave_in("identical-retry", "big-line"))
        .case("identical-retry")
        .run_human();
    let shown = show(&done, &["latest", "identical-retry"]);
    let big = line(&shown, "too long to be kept: 52428800 bytes, SHA-256");
    assert!(big.contains("it begins  xxxx") && big.ends_with(" bytes"), "{big}");
    assert!(shown.stdout.len() < 10_000);
}

#[test]
fn showing_writes_nothing() {
    let done = passed("lost-reply");
    let state = || -> Vec<(String, Vec<u8>)> {
        let read = |file: String| (file.clone(), fs::read(done.latest().join(file)).unwrap());
        files(&done.latest()).into_iter().map(read).collect()
    };
    let before = state();
    show(&done, &["latest"]).exits(0);
    show(&done, &["latest", "lost-reply", "--stderr", "--pretty"]).exits(0);
    assert!(state() == before, "show wrote into the evidence");
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let done = passed("fresh-identity");
    for words in [
        &["latest", "--frames"][..],
        &["latest", "--frame", "1"],
        &["latest", "--pretty"],
        &["latest", "fresh-identity", "--frame", "4", "--frames"],
        &["latest", "fresh-identity", "--frame", "x"],
        &["latest", "fresh-identity", "--stderr", "--format", "jsonl"],
        &[],
    ] {
        show(&done, words).exits(2);
    }
}
