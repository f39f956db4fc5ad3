//! A run that was kept, repeated against a server now: the only answer to a forgery, and nothing that a stranger names is run
//! unless the user says so.

use std::fs;
use std::path::Path;

use harness::digest::sha256_file;
use serde_json::{Value, json};

use crate::support::forge::{change, seal_again};
use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Done, Harness};

const CASE: &str = "lost-reply";

fn rerun(done: &Done, words: &[&str]) -> Done {
    done.then().words(words).call(&["rerun"])
}

#[track_caller]
fn document(said: &Done) -> Value {
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_eq!(document["exit"], said.code);
    document
}

fn run_json(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap()
}

/// A run of the plain server by this profile, in the folder `kept`.
fn kept(profile: &Profile) -> Done {
    let harness = Harness::new().target(profile).case(CASE);
    let done = harness.words(&["--evidence", "kept", "--seed", "7"]).run_human();
    assert!(done.path("kept/SHA256SUMS").exists(), "{done:?}");
    done
}

/// What a forger writes who wants this case to have passed.
fn forge_pass(folder: &Path) {
    change(folder, &format!("cases/{CASE}/verdict.json"), |verdict| {
        verdict["verdict"] = json!("pass");
        verdict["reason"] = Value::Null;
        for check in verdict["checks"].as_array_mut().unwrap() {
            check["outcome"] = json!("held");
            check["findings"] = json!([]);
        }
    });
    change(folder, "run.json", |run| {
        run["verdicts"][CASE]["verdict"] = json!("pass");
        run["verdicts"][CASE]["reason"] = Value::Null;
    });
}

#[test]
fn the_reference_server_comes_to_the_same_again() {
    let words = [
        "--case",
        "lost-reply,identical-retry",
        "--evidence",
        "kept",
        "--seed",
        "7",
        "--timeout",
        "60",
    ];
    let done = Harness::new().words(&words).run_human();
    done.exits(0);
    let said = rerun(&done, &["kept", "--evidence", "again"]);
    said.exits(0);
    for part in [
        "repeats   kept, begun ",
        "target    reference-server (built in, contract guarded)",
        "PASS         retry/lost-reply (03)",
        "result    the same verdicts in 3 cases; and nothing else that a case did differs",
    ] {
        assert!(said.stdout.contains(part), "{part:?} is not in:\n{}", said.stdout);
    }
    let (before, after) = (run_json(&done.path("kept")), run_json(&done.path("again")));
    for key in ["requested", "named", "executed", "timeout_ms"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    assert_eq!(
        (&after["naming"]["seed"], &after["timeout_ms"]),
        (&json!(7), &json!(60_000))
    );
    assert_ne!(before["naming"]["nonce"], after["naming"]["nonce"]);
    let expected = json!({
        "started_at": before["started_at"],
        "sums_sha256": sha256_file(&done.path("kept/SHA256SUMS")).unwrap(),
        "archive_sha256": null,
    });
    assert_eq!((&after["rerun_of"], &before["rerun_of"]), (&expected, &Value::Null));
    let verified = done.verify(&done.path("again"));
    assert_eq!((verified.code, verified.findings()), (0, vec![]));
}

#[test]
fn an_archive_is_repeated_like_its_folder_and_one_case_of_it_too() {
    let harness = Harness::new().case("lost-reply,identical-retry");
    let done = harness.words(&["--evidence", "kept"]).run_human();
    done.then()
        .words(&["kept", "-o", "kept.zip"])
        .call(&["export"])
        .exits(0);
    let words = ["kept.zip", "--case", "03", "--evidence", "again", "--format", "json"];
    let said = rerun(&done, &words);
    said.exits(0);
    let document = document(&said);
    assert_eq!(document["diff"]["cases_in_both"], 2, "with its control");
    assert_eq!(document["run"]["totals"]["pass"], 1);
    let after = run_json(&done.path("again"));
    assert_eq!((&after["requested"], &after["named"]), (&json!([CASE]), &json!([CASE])));
    assert_eq!(
        after["rerun_of"]["archive_sha256"],
        json!(sha256_file(&done.path("kept.zip")).unwrap())
    );
    rerun(&done, &["kept.zip", "--case", "crash-after-commit"])
        .exits(2)
        .says_only(&["this run has no case `crash-after-commit`"]);
}

/// Digests that fit are no proof; the server is.
#[test]
fn a_verdict_that_was_forged_to_pass_comes_out_as_it_is() {
    let harness = Harness::new().defect("same-reply-two-effects").case(CASE);
    let done = harness.words(&["--evidence", "kept"]).run_human();
    done.exits(1);
    forge_pass(&done.path("kept"));
    let said = rerun(&done, &["kept", "--evidence", "again"]);
    said.exits(1);
    assert!(
        said.stdout.contains("FAIL         lost-reply  pass → fail"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("one-effect  held → broken"), "{}", said.stdout);

    let done = kept(&Profile::plain().flags("--dedupe none"));
    forge_pass(&done.path("kept"));
    let said = rerun(&done, &["kept", "--run-archived-command", "--format", "json"]);
    let document = document(said.exits(1));
    let change = &document["diff"]["verdicts"][0];
    assert_eq!(
        (&change["case"], &change["a"], &change["b"]),
        (&json!(CASE), &json!("pass"), &json!("fail"))
    );
}

#[test]
fn a_profile_that_was_kept_is_run_as_it_was_once_the_user_says_so() {
    let profile = Profile::with_status().env("SETTING", "of the profile");
    let done = kept(&profile);
    fs::remove_file(done.path("profile.toml")).unwrap();
    let refused = rerun(&done, &["kept"]);
    refused.exits(2);
    assert_eq!(refused.stdout, "");
    for part in [
        "it names: command ",
        "plain-server",
        "it names: variable SETTING=of the profile",
        "nothing was run",
    ] {
        assert!(refused.stderr.contains(part), "{part:?} is not in:\n{}", refused.stderr);
    }
    assert!(!done.path("evidence").exists(), "something was run");
    let said = rerun(&done, &["kept", "--run-archived-command", "--evidence", "again"]);
    said.exits(0);
    let (before, after) = (run_json(&done.path("kept")), run_json(&done.path("again")));
    assert_eq!(before["target"]["kept"], after["target"]["kept"]);
    assert_eq!(before["target"], after["target"]);
}

/// A run of a server that is named by a path from its folder.
fn by_a_path() -> Done {
    let line = format!("#!/bin/sh\nexec {} \"$@\"\n", plain_server().display());
    let harness = Harness::new()
        .file("serve.sh", &line)
        .target(&Profile::plain().launcher(&["sh", "./serve.sh"]));
    let done = harness.case(CASE).words(&["--evidence", "kept"]).run_human();
    done.exits(0);
    done
}

/// Where nobody said where the server works, that is no folder of the machine on which the run was made.
#[test]
fn the_working_directory_is_kept_where_somebody_said_which() {
    let done = by_a_path();
    assert_eq!(run_json(&done.path("kept"))["target"]["kept"]["cwd"], Value::Null);
    let said = rerun(&done, &["kept", "--run-archived-command", "--evidence", "again"]);
    said.exits(0);

    let harness = Harness::new().target(&Profile::plain());
    fs::create_dir(harness.path("sub")).unwrap();
    let done = harness
        .words(&["--cwd", "sub", "--evidence", "kept"])
        .case(CASE)
        .run_human();
    done.exits(0);
    let cwd = run_json(&done.path("kept"))["target"]["kept"]["cwd"].clone();
    assert!(cwd.as_str().is_some_and(|cwd| cwd.ends_with("/sub")), "{cwd}");
    let asked = rerun(&done, &["kept"]);
    assert!(
        asked.stderr.contains("it names: working directory /"),
        "{}",
        asked.stderr
    );
    let said = rerun(&done, &["kept", "--run-archived-command", "--evidence", "again"]);
    said.exits(0);
    assert_eq!(run_json(&done.path("again"))["target"]["kept"]["cwd"], cwd);
}

/// Evidence of an older harness names the folder that it was called in.
#[test]
fn a_working_directory_that_is_not_here_is_told_with_the_way_out() {
    let done = by_a_path();
    change(&done.path("kept"), "run.json", |run| {
        run["target"]["kept"]["cwd"] = json!("/nowhere/of/another/machine");
    });
    rerun(&done, &["kept", "--run-archived-command"])
        .exits(2)
        .says_only(&["the working directory /nowhere/of/another/machine, which is not here; add --cwd DIR (`--cwd .`"]);
    assert!(!done.path("evidence").exists());
    let words = ["kept", "--run-archived-command", "--cwd", ".", "--format", "json"];
    let document = document(rerun(&done, &words).exits(0));
    let repeat = document["run"]["cases"][0]["repeat"].as_str().unwrap();
    assert!(repeat.ends_with(" --cwd . --run-archived-command"), "{repeat}");
}

#[test]
fn a_command_in_place_of_the_one_that_was_kept() {
    let done = kept(&Profile::plain());
    let server = plain_server().display().to_string();
    let command = [&server, "--database", "{data}/orders.sqlite3"];
    let sound = done.then().words(&["kept"]).server(&command).call(&["rerun"]);
    sound.exits(0);
    let broken = done
        .then()
        .words(&["kept"])
        .server(&command)
        .server(&["--dedupe", "none"]);
    let broken = broken.call(&["rerun"]);
    broken.exits(1);
    assert!(broken.stdout.contains("lost-reply  pass → fail"), "{}", broken.stdout);
    // What the evidence would add to the command is asked for too.
    let done = kept(&Profile::plain().env("LD_PRELOAD_OF_A_STRANGER", "evil.so"));
    let refused = done.then().words(&["kept"]).server(&command).call(&["rerun"]);
    refused.exits(2);
    assert!(
        refused
            .stderr
            .contains("it names: variable LD_PRELOAD_OF_A_STRANGER=evil.so"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("it names: command"), "{}", refused.stderr);
}

/// What a forger does to `run.json`.
type Change = fn(&mut Value);

/// A variable that is said to be one of defects, of failpoints or of a secret is a variable like any other.
#[test]
fn no_variable_is_set_under_another_name_for_it() {
    let done = kept(&Profile::plain());
    let server = plain_server().display().to_string();
    let before = fs::read(done.path("kept/run.json")).unwrap();
    let named: [(Change, &str); 3] = [
        (
            |run| {
                run["target"]["kept"]["defects_env"] = json!("LD_PRELOAD");
                run["defect"] = json!("/tmp/evil.so");
            },
            "it names: variable LD_PRELOAD=/tmp/evil.so",
        ),
        (
            |run| run["target"]["kept"]["failpoints_env"] = json!("LD_PRELOAD"),
            "it names: variable LD_PRELOAD with the failpoint of a case",
        ),
        (
            |run| run["target"]["kept"]["secrets"] = json!({"PATH": {"random": 32}}),
            "it names: variable PATH with 32 random bytes",
        ),
    ];
    for (name, told) in named {
        fs::write(done.path("kept/run.json"), &before).unwrap();
        change(&done.path("kept"), "run.json", name);
        let command = [&server, "--database", "{data}/orders.sqlite3"];
        let said = done.then().words(&["kept"]).server(&command).call(&["rerun"]);
        said.exits(2);
        assert!(said.stderr.contains(told), "{told:?} is not in:\n{}", said.stderr);
    }
    assert!(!done.path("evidence").exists(), "something was run");
}

#[test]
fn a_profile_in_place_of_the_one_that_was_kept() {
    let done = kept(&Profile::plain());
    let profile = Profile::plain().flags("--dedupe none");
    let said = done.then().target(&profile).words(&["kept"]).call(&["rerun"]);
    said.exits(1);
    // Evidence that does not say enough of its target still has its cases and its seed.
    change(&done.path("kept"), "run.json", |run| {
        run["target"].as_object_mut().unwrap().remove("kept");
    });
    rerun(&done, &["kept", "--run-archived-command"])
        .exits(2)
        .says_only(&["does not keep enough of the target", "--target FILE"]);
    let sound = done.then().target(&Profile::plain()).words(&["kept"]).call(&["rerun"]);
    sound.exits(0);
}

/// Evidence says which programs to run, and anybody can write evidence.
#[test]
fn nothing_that_a_stranger_names_is_run() {
    let done = kept(&Profile::plain());
    let ran = done.path("it-was-run");
    let evil = json!(["touch", ran.display().to_string()]);
    let mine = plain_server().display().to_string();
    let named: [fn(&mut Value, Value); 4] = [
        |target, evil| target["command"] = evil,
        |target, evil| target["kill"] = evil,
        |target, evil| target["processes"] = json!({ "worker": evil }),
        |target, evil| target["kept"]["reconcile"] = evil,
    ];
    for name in named {
        change(&done.path("kept"), "run.json", |run| {
            name(&mut run["target"], evil.clone());
        });
        rerun(&done, &["kept"]).exits(2);
    }
    let beside = done
        .then()
        .words(&["kept"])
        .server(&[&mine, "--database", "{data}/orders.sqlite3"]);
    beside.call(&["rerun"]).exits(2);
    // As the built-in server it is the built-in server, whatever command stands there.
    change(&done.path("kept"), "run.json", |run| {
        run["target"]["source"] = json!("built-in");
    });
    rerun(&done, &["kept"])
        .exits(2)
        .says_only(&["plain is no server that this harness carries"]);
    change(&done.path("kept"), "run.json", |run| {
        run["target"]["name"] = json!("reference-server");
    });
    let said = rerun(&done, &["kept", "--evidence", "again"]);
    assert!(
        said.stdout
            .contains("note      the reference server of this harness is run as this harness has it")
    );
    assert!(!ran.exists(), "a command of the evidence was run");
}

#[test]
fn a_case_that_is_not_as_it_was_frozen_is_not_run() {
    let done = Harness::new().case(CASE).words(&["--evidence", "kept"]).run_human();
    let file = done.path("kept").join("cases").join(CASE).join("case.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}\n# as it pleases me\n")).unwrap();
    seal_again(&done.path("kept"));
    rerun(&done, &["kept"])
        .exits(2)
        .says_only(&["case.toml: it is not revision", "as it was frozen"]);
    assert!(!done.path("evidence").exists());
    // A case of the user's own is taken from the evidence, with its controls.
    let own = text.replace("\"lost-reply\"", "\"mine\"").replace("number   = 3\n", "");
    let done = Harness::new()
        .file("mine.toml", &own)
        .defect("same-reply-two-effects")
        .words(&["--case-file", "mine.toml", "--evidence", "kept"]);
    let done = done.run_human();
    done.exits(1);
    fs::remove_file(done.path("mine.toml")).unwrap();
    let said = rerun(&done, &["kept", "--evidence", "again"]);
    said.exits(0);
    for part in [
        "the same verdicts in 2 cases",
        "mine: the case that the evidence holds is run; the file that it came from (mine.toml) is not read",
        // A file that is here, and what the exit means although a case fails.
        "explain       harness explain --case-file again/cases/mine/case.toml\n",
        "exit      0: the verdicts are equal, whatever they are\n",
    ] {
        assert!(said.stdout.contains(part), "{part:?} is not in:\n{}", said.stdout);
    }
    let copy = ["explain", "--case-file", "again/cases/mine/case.toml"];
    done.then().call(&copy).exits(0);
    assert_eq!(
        run_json(&done.path("again"))["case_files"],
        json!({"mine": "mine.toml"})
    );
}

/// Secrets are in no file, so they have to come again.
#[test]
fn a_secret_that_is_missing_is_named() {
    let profile = Profile::plain().part("launch.secrets", "TOKEN = \"env:MY_TOKEN\"");
    let harness = Harness::new()
        .target(&profile)
        .case(CASE)
        .env("MY_TOKEN", "a-secret-of-mine");
    let done = harness.words(&["--evidence", "kept"]).run_human();
    done.exits(0);
    let kept = fs::read_to_string(done.path("kept/run.json")).unwrap();
    assert!(!kept.contains("a-secret-of-mine"));
    let refused = rerun(&done, &["kept"]);
    assert!(
        refused
            .stderr
            .contains("variable TOKEN with the value of your MY_TOKEN"),
        "{}",
        refused.stderr
    );
    let words = ["kept", "--run-archived-command"];
    rerun(&done, &words)
        .exits(2)
        .says_only(&["launch.secrets.TOKEN", "the environment variable MY_TOKEN is not set"]);
    let said = done.then().words(&words).env("MY_TOKEN", "another").call(&["rerun"]);
    said.exits(0);
}

#[test]
fn a_server_that_does_not_start_any_more_is_inconclusive() {
    let done = kept(&Profile::plain());
    let server = plain_server().display().to_string();
    let dead = [
        &server,
        "--database",
        "{data}/orders.sqlite3",
        "--misbehave",
        "die-at-start",
    ];
    let said = done
        .then()
        .words(&["kept", "--format", "json"])
        .server(&dead)
        .call(&["rerun"]);
    let document = document(said.exits(3));
    assert!(document["run"]["did_not_start"].is_string());
    assert_eq!(document["diff"], Value::Null);
    rerun(&done, &["nowhere"])
        .exits(2)
        .says_only(&["nowhere is not evidence"]);
}
