//! Secrets that a server wrote down: evidence with them is not handed on, or masked, and says so. Whose it is can be signed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::digest::sha256_file;
use harness::record::ArchiveFile;
use serde_json::{Value, json};

use crate::support::forge::{change, seal_again};
use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Done, Harness, Report, files};

/// The server, behind a shell that says its key first, the way that `say` has it.
fn talkative(say: &str) -> Profile {
    let line = format!("{say} >&2; exec {} \"$@\"", plain_server().display());
    Profile::plain().launcher(&["sh", "-c", &line, "sh"])
}

/// A run whose server wrote down its key in a log, and a password wherever it wrote.
fn leaking() -> Done {
    let url = ["{marker} see postgres://app:", "hunter2-hunter2@db/x"].concat();
    let write = format!(
        "tool = \"create_order\"\narguments = {{ note = {url:?}, qty = 1, key = \"{{operation}}\" }}\nchange = {{ qty = 2 }}"
    );
    let profile = talkative("echo \"key=<$API_KEY>\"")
        .secret("API_KEY", "random:32")
        .part("write", &write)
        .effects("SELECT id, note, qty, key FROM orders WHERE instr(note, $marker) > 0");
    let report = Harness::new()
        .target(&profile)
        .case("lost-reply")
        .words(&["--evidence", "run"])
        .run();
    report.exits(0);
    report.done
}

/// The key that nobody knows after the run, but for the log.
fn key(done: &Done) -> String {
    let log = fs::read_to_string(done.path("run/cases/lost-reply/stderr/first.log")).unwrap();
    let (_, key) = log.split_once("key=<").expect("the key");
    key.split_once('>').expect("its end").0.to_owned()
}

fn export(done: &Done, words: &[&str]) -> Done {
    done.then()
        .words(&["run", "-o", "run.zip"])
        .words(words)
        .call(&["export"])
}

fn digests(folder: &Path) -> Vec<(String, String)> {
    let digest = |file: String| (file.clone(), sha256_file(&folder.join(file)).unwrap());
    files(folder).into_iter().map(digest).collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn that_a_secret_was_written_down_is_told_when_the_run_ends() {
    let profile = talkative("echo \"key=<$API_KEY>\"").secret("API_KEY", "random:32");
    let harness = Harness::new().target(&profile).case("lost-reply");
    let done = harness.words(&["--evidence", "run"]).run_human();
    done.exits(0);
    let told: Vec<&str> = done.stdout.lines().filter(|line| line.starts_with("secret ")).collect();
    assert_eq!(told.len(), 1, "{}", done.stdout);
    for part in ["the value of API_KEY was written down in ", "change it", "--redact"] {
        assert!(told[0].contains(part), "{part:?} is not in {}", told[0]);
    }
    assert!(!done.stdout.contains(&key(&done)));
    let quiet = Harness::new().target(&Profile::plain().secret("API_KEY", "random:32"));
    let quiet = quiet.case("lost-reply").run_human();
    quiet.exits(0);
    assert!(!quiet.stdout.contains("was written down"), "{}", quiet.stdout);
}

#[test]
fn evidence_with_a_secret_is_not_handed_on_and_the_secret_is_not_told() {
    let done = leaking();
    let key = key(&done);
    assert_eq!(key.len(), 64);
    let refused = export(&done, &[]);
    refused.exits(1);
    for part in [
        "SECRET    cases/lost-reply/stderr/first.log:1:6: the value of API_KEY, as it is (",
        "…, 64 bytes)",
        "cases/lost-reply/record.jsonl:",
        "cases/lost-reply/stores/end/orders.sqlite3: byte ",
        "a password in a URL (hu…, 15 bytes)",
    ] {
        assert!(refused.stdout.contains(part), "{part:?} is not in:\n{}", refused.stdout);
    }
    assert!(
        refused.stderr.contains("nothing was written") && refused.stderr.contains("--redact"),
        "{}",
        refused.stderr
    );
    let json = export(&done, &["--format", "json"]);
    json.exits(1);
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(document["secrets"].as_array().is_some_and(|secrets| secrets.len() > 5));
    for said in [&refused.stdout, &refused.stderr, &json.stdout, &json.stderr] {
        assert!(!said.contains(&key) && !said.contains("hunter2"), "{said}");
    }
    assert!(!done.path("run.zip").exists() && !done.path("run.zip.sha256").exists());
    let run: Value = serde_json::from_slice(&fs::read(done.path("run/run.json")).unwrap()).unwrap();
    assert!(
        run["secrets_search"]["found"]
            .as_array()
            .is_some_and(|found| !found.is_empty())
    );
}

#[test]
fn masked_evidence_is_judged_alike_and_tells_what_was_masked() {
    let done = leaking();
    let key = key(&done);
    let before = digests(&done.path("run"));
    let judged = done.verify(&done.path("run")).json["judged"].clone();
    let exported = export(&done, &["--redact"]);
    exported.exits(0);
    assert!(exported.stdout.contains("masked    "), "{}", exported.stdout);
    assert_eq!(digests(&done.path("run")), before, "the run itself was changed");

    let archive = fs::read(done.path("run.zip")).unwrap();
    assert!(!contains(&archive, &key) && !contains(&archive, "hunter2"));
    let masked = done.verify(&done.path("run.zip"));
    assert_eq!(masked.code, 0, "{masked:?}");
    assert_eq!(masked.json["judged"], judged);
    assert!(masked.json["counted_again"].as_u64().is_some_and(|counted| counted > 0));
    let redacted = masked.json["redacted"].as_array().unwrap();
    let log = "cases/lost-reply/stderr/first.log";
    let (_, sha256) = before.iter().find(|(file, _)| file == log).unwrap();
    let told = format!("{log}: the value of API_KEY, as it is, 1 place; sha256 before {sha256}");
    assert!(
        redacted.iter().any(|line| line == &json!(told)),
        "{told} is not in {redacted:#?}"
    );

    // The archive that is made twice is the same, and holds nothing that would be found.
    let again = done
        .then()
        .words(&["run", "-o", "again.zip", "--redact"])
        .call(&["export"]);
    again.exits(0);
    assert!(fs::read(done.path("again.zip")).unwrap() == archive);
}

/// A server that gives out its key as the receipt of an order: what a reply disclosed is a fact, and a mask is none.
fn telling() -> Profile {
    let line = format!(
        r#"{} "$@" | sed -u "s/\(receipt[\\]*\":[\\]*\"\)[0-9a-f]*/\1$API_KEY/g""#,
        plain_server().display()
    );
    (Profile::plain().launcher(&["sh", "-c", &line, "sh"])).secret("API_KEY", "random:32")
}

fn disclosing() -> Done {
    let report = Harness::new()
        .target(&telling())
        .case("lost-reply")
        .words(&["--evidence", "run"])
        .run();
    report.exits(0);
    let disclosed = report.fact("lost-reply", "/retry/disclosed");
    assert_eq!(disclosed[0].as_str().map(str::len), Some(64), "{disclosed}");
    report.done
}

#[test]
fn a_fact_made_of_what_is_masked_comes_out_of_the_masked_record() {
    let done = disclosing();
    let before = sha256_file(&done.path("run/cases/lost-reply/verdict.json")).unwrap();
    export(&done, &["--redact"]).exits(0);
    let masked = done.verify(&done.path("run.zip"));
    assert_eq!((masked.code, masked.findings()), (0, vec![]));
    let told = format!("cases/lost-reply/verdict.json: judged again, from what is masked; sha256 before {before}");
    let redacted = masked.json["redacted"].as_array().unwrap();
    assert!(redacted.contains(&json!(told)), "{told} is not in {redacted:#?}");

    let folder = done.path("unpacked");
    fs::create_dir(&folder).unwrap();
    let archive = ArchiveFile::open(&done.path("run.zip")).unwrap();
    archive.unpack(&folder).unwrap();
    let verdict = |folder: &Path| -> Value {
        serde_json::from_slice(&fs::read(folder.join("cases/lost-reply/verdict.json")).unwrap()).unwrap()
    };
    let (was, now) = (verdict(&done.path("run")), verdict(&folder));
    for key in ["verdict", "reason", "checks"] {
        assert_eq!(was[key], now[key], "{key}");
    }
    assert_eq!(now["facts"]["retry"]["disclosed"], json!([]));
    assert_eq!(was["facts"]["end"], now["facts"]["end"]);
    // A fact that is another one is named.
    change(&folder, "cases/lost-reply/verdict.json", |verdict| {
        verdict["facts"]["retry"]["disclosed"] = json!(["x"]);
    });
    let findings = done.verify(&folder).findings().join("\n");
    assert!(findings.contains("it differs in facts (retry.disclosed)"), "{findings}");
}

/// A check is about what was disclosed: without the text nothing would have been.
#[test]
fn what_would_be_judged_otherwise_without_the_secret_is_not_handed_on() {
    let text = &harness::case::Catalogue::embedded().get("lost-reply").unwrap().text;
    let own = text
        .replace("\"lost-reply\"", "\"tells\"")
        .replace("number   = 3\n", "");
    let check = "[[check]]\nid = \"tells-nothing\"\nbasis = \"contract\"\nsay = \"the retry tells\"\nexpect = { \"retry.disclosed\" = [] }\n";
    let report = Harness::new()
        .file("tells.toml", &format!("{own}{check}"))
        .target(&telling())
        .words(&["--case-file", "tells.toml", "--evidence", "run"])
        .run();
    report.exits(1);
    let refused = export(&report.done, &["--redact"]);
    refused.exits(1);
    refused.says_only(&["tells: it would be pass and not fail", "nothing is handed on"]);
    assert!(!report.done.path("run.zip").exists());
}

#[test]
fn whoever_reads_masked_evidence_is_told_that_it_was_masked() {
    let done = leaking();
    export(&done, &["--redact"]).exits(0);
    let told = "masked before this was handed on";
    for (command, words) in [
        ("show", vec!["run.zip"]),
        ("show", vec!["run.zip", "lost-reply"]),
        ("report", vec!["run.zip"]),
        ("report", vec!["run.zip", "--html", "-"]),
    ] {
        let said = done.then().words(&words).call(&[command]);
        said.exits(0);
        assert_eq!(
            said.stdout.matches(told).count(),
            1,
            "{command} {words:?}: {}",
            said.stdout
        );
        let plain: Vec<&str> = words
            .iter()
            .map(|word| if *word == "run.zip" { "run" } else { word })
            .collect();
        let said = done.then().words(&plain).call(&[command]);
        assert!(!said.stdout.contains(told), "{command} {plain:?}");
    }
}

/// Who changes a masked file, and makes the digests fit, is found out by the list of what was masked.
#[test]
fn what_is_said_to_be_masked_has_to_be_masked() {
    let done = leaking();
    export(&done, &["--redact"]).exits(0);
    let folder = done.path("unpacked");
    fs::create_dir(&folder).unwrap();
    ArchiveFile::open(&done.path("run.zip"))
        .unwrap()
        .unpack(&folder)
        .unwrap();
    assert_eq!(done.verify(&folder).code, 0);

    let log = folder.join("cases/lost-reply/stderr/first.log");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("<*", "<x", 1)).unwrap();
    seal_again(&folder);
    let verification = done.verify(&folder);
    assert_eq!(verification.code, 1);
    let findings = verification.findings().join("\n");
    assert!(
        findings.contains("redactions.json: cases/lost-reply/stderr/first.log has another digest"),
        "{findings}"
    );

    let list = folder.join("redactions.json");
    let mut redactions: Value = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    for file in redactions["files"].as_array_mut().unwrap() {
        let path = folder.join(file["path"].as_str().unwrap());
        file["sha256_now"] = json!(sha256_file(&path).unwrap());
    }
    fs::write(&list, redactions.to_string()).unwrap();
    seal_again(&folder);
    let findings = done.verify(&folder).findings().join("\n");
    assert!(
        findings.contains("first.log: bytes 5 to 69 are not masked"),
        "{findings}"
    );
}

/// Evidence from before the search, and values that come from the environment: the name leads to the value, where it is set.
#[test]
fn a_value_that_is_set_here_is_found_and_one_that_is_not_is_told() {
    let profile = talkative("printf '%s' \"xy$API_KEY\" | base64").secret("API_KEY", "env:TOKEN");
    let harness = Harness::new().env("TOKEN", "correct horse battery");
    let report = harness
        .target(&profile)
        .case("lost-reply")
        .words(&["--evidence", "run"])
        .run();
    report.exits(0);
    let Report { done, .. } = report;
    let path = done.path("run/run.json");
    let mut run: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let search = run.as_object_mut().unwrap().remove("secrets_search").unwrap();
    assert_eq!(search["names"], json!(["API_KEY"]));
    fs::write(&path, run.to_string()).unwrap();
    seal_again(&done.path("run"));

    let set = done
        .then()
        .env("API_KEY", "correct horse battery")
        .words(&["run", "-o", "run.zip"])
        .call(&["export"]);
    set.exits(1);
    let line = "first.log:1:3: the value of API_KEY, in base64 (";
    assert!(set.stdout.contains(line), "{line} is not in:\n{}", set.stdout);
    let unset = export(&done, &[]);
    unset.exits(0);
    assert!(
        unset.stdout.contains("the value of API_KEY was not looked for: "),
        "{}",
        unset.stdout
    );
}

/// A key, and a list that allows it to sign as `alice`.
fn signer(done: &Done) -> (PathBuf, PathBuf) {
    let (key, signers) = (done.path("key"), done.path("allowed_signers"));
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key)
        .status();
    assert!(made.expect("ssh-keygen is installed").success());
    let public = fs::read_to_string(done.path("key.pub")).unwrap();
    fs::write(
        &signers,
        format!("alice@example.org namespaces=\"harness-evidence\" {public}"),
    )
    .unwrap();
    (key, signers)
}

#[test]
fn an_archive_is_signed_and_attested_and_one_that_is_not_says_so() {
    let server = plain_server().display().to_string();
    let profile = Profile::plain().artifact(&server);
    let report = Harness::new()
        .target(&profile)
        .case("lost-reply")
        .words(&["--evidence", "run"])
        .run();
    report.exits(0);
    let Report { done, .. } = report;
    let (key, signers) = signer(&done);
    let (key, signers) = (key.display().to_string(), signers.display().to_string());
    let exported = export(&done, &["--sign", &key, "--attest", "statement.json"]);
    exported.exits(0);
    let statement: Value = serde_json::from_slice(&fs::read(done.path("statement.json")).unwrap()).unwrap();
    assert_eq!(
        statement["subject"][0]["digest"]["sha256"],
        sha256_file(Path::new(&server)).unwrap()
    );
    let archive = sha256_file(&done.path("run.zip")).unwrap();
    assert_eq!(statement["predicate"]["configuration"][0]["digest"]["sha256"], archive);
    assert_eq!(statement["predicate"]["result"], "PASSED");
    assert_eq!(
        statement["predicate"]["passedTests"],
        json!(["lost-reply", "sees-duplicates"])
    );

    let verify = |words: &[&str]| done.then().words(&["run.zip"]).words(words).call(&["verify"]);
    let signed = verify(&["--signers", &signers]);
    signed.exits(0);
    assert!(
        signed.stdout.contains("signed    by alice@example.org"),
        "{}",
        signed.stdout
    );
    verify(&["--signers", &signers, "--identity", "alice@example.org"]).exits(0);
    let is_refused = |done: &Done| {
        let line = "signed    a signature was asked for and none holds, so nothing shows who made it\n";
        assert!(done.stdout.contains(line), "{}", done.stdout);
        assert!(!done.stdout.contains("no signature was checked"), "{}", done.stdout);
    };
    let other = verify(&["--signers", &signers, "--identity", "mallory@example.org"]);
    other.exits(1);
    assert!(
        other
            .stdout
            .contains("its signature does not hold for mallory@example.org"),
        "{}",
        other.stdout
    );
    is_refused(&other);
    let unchecked = verify(&[]);
    unchecked.exits(0);
    assert!(
        unchecked.stdout.contains("no signature was checked"),
        "{}",
        unchecked.stdout
    );
    fs::remove_file(done.path("run.zip.sig")).unwrap();
    let missing = verify(&["--signers", &signers]);
    missing.exits(1);
    assert!(
        missing.stdout.contains("run.zip.sig: there is no such signature"),
        "{}",
        missing.stdout
    );
    is_refused(&missing);
}

#[test]
fn of_a_planted_defect_nothing_is_attested() {
    let profile = Profile::plain()
        .artifact(&plain_server().display().to_string())
        .part("defects", "env = \"DEFECT\"");
    let report = Harness::new()
        .target(&profile)
        .case("lost-reply")
        .defect("anything")
        .words(&["--evidence", "run"])
        .run();
    let refused = export(&report.done, &["--attest", "statement.json"]);
    refused.exits(2);
    refused.says_only(&["--attest: the run has the planted defect `anything`, so it says nothing about the artifact"]);
    assert!(!report.done.path("run.zip").exists() && !report.done.path("statement.json").exists());
}

#[test]
fn without_an_artifact_nothing_is_attested_and_nothing_written() {
    let report = Harness::new()
        .target(&Profile::plain())
        .case("lost-reply")
        .words(&["--evidence", "run"])
        .run();
    let refused = export(&report.done, &["--attest", "statement.json"]);
    refused.exits(2);
    refused.says_only(&[
        "--attest: run.json has no digest of what was launched",
        "[launch] artifact",
    ]);
    assert!(!report.done.path("run.zip").exists() && !report.done.path("statement.json").exists());
    let keyless = export(&report.done, &["--sign", "nothing"]);
    keyless.exits(2);
    keyless.says_only(&["--sign nothing: there is no such key"]);
}
