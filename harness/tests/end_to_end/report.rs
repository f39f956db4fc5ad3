//! A run of the past as a page and as text: whole, harmless, and in agreement with what `harness run` said.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::support::page::{Page, unescaped};
use crate::support::profile::Profile;
use crate::support::run::{Done, Harness, Report, names};

/// The page of the newest run.
fn page(done: &Done) -> Page {
    let written = done
        .then()
        .words(&["latest", "--html", "page.html", "--force"])
        .call(&["report"]);
    written.exits(0);
    assert!(
        written.stdout.starts_with("report    page.html  "),
        "{}",
        written.stdout
    );
    Page::read(&fs::read_to_string(done.path("page.html")).unwrap())
}

fn lost_reply() -> Done {
    let done = Harness::new()
        .defect("same-reply-two-effects")
        .case("lost-reply")
        .run_human();
    done.exits(1);
    done
}

#[test]
fn the_page_of_a_lost_reply_shows_what_happened_and_why() {
    let done = lost_reply();
    let page = page(&done);
    page.shows(&[
        "1 failed",
        "same-reply-two-effects",
        "1: a case failed",
        "one-effect is broken: the retry wrote again, or the write was lost.",
        "A retry after the effect was committed and the reply was lost writes nothing more",
        "the target's contract",
        "end.effects.A",
        "write A as attempt; its reply is withheld until the effect is visible, then SIGKILL the tree",
        "NEVER REACHED THE CLIENT",
        "it never reached the client",
        "it has no reply, and cannot know whether A was done",
        "\"method\": \"tools/call\"",
        "effects 2, ledger 1",
        "withheld",
        "ended by signal 9 (SIGKILL)",
    ]);
    // Both rows, each with a link to the frame that made it.
    for step in ["attempt [", "retry ["] {
        assert!(page.text.contains(step), "{step}");
    }
    page.has_what_its_links_name();
    for class in [
        "arrow broken",
        "cross",
        "kill",
        "strike",
        "flag",
        "flag good",
        "lane paused",
    ] {
        let is_there = page.tags.iter().any(|tag| tag.attribute("class") == Some(class));
        assert_eq!(is_there, class != "lane paused", "{class}");
    }
}

/// The flags at the store are what the picture is for: on a phone too they are on it, or it says where they are.
#[test]
fn a_narrow_page_shows_the_store_and_code_is_no_backtick() {
    let page = page(&lost_reply());
    let style = page.style.as_deref().unwrap();
    let narrow = style.split("max-width: 60rem").nth(1).expect("a rule for narrow pages");
    assert!(
        narrow.contains(".sideways { display: block; }")
            && narrow.contains(".picture { width: 100%; min-width: 28rem;")
    );
    page.shows(&["the store, and what was counted in it, is at the right edge"]);
    assert!(page.source.contains("the target's contract <code>guarded</code>"));
    assert!(page.source.contains("write A as <code>attempt</code>;"));
}

/// A control that nobody named is in the table and not in the totals; the page says so, and so its numbers agree.
#[test]
fn the_numbers_of_a_page_agree() {
    let run = Harness::new().case("retry/*,control/*").run();
    run.exits(0);
    let kept: Value = serde_json::from_slice(&fs::read(run.evidence().join("run.json")).unwrap()).unwrap();
    let asked = kept["requested"].as_array().unwrap().len();
    let page = page(&run.done);
    let heading = format!("{} passed", asked - 1);
    page.shows(&[
        &heading,
        &format!("{asked} asked for, one of them a control, which is not counted above;"),
        "a control, not counted above",
    ]);
}

#[test]
fn a_command_to_paste_is_quoted() {
    let text = &harness::case::Catalogue::embedded().get("lost-reply").unwrap().text;
    let own = text.replace("\"lost-reply\"", "\"mine\"").replace("number   = 3\n", "");
    let words = [
        "--case-file",
        "my case.toml",
        "--case",
        "lost-reply",
        "--evidence",
        "a b",
    ];
    let harness = Harness::new().file("my case.toml", &own).words(&words);
    let done = harness.defect("same-reply-two-effects").run_human();
    done.exits(1);
    let printed = |command: &str, words: &[&str]| done.then().words(words).call(&[command]).stdout;
    for (said, part) in [
        (done.stdout.clone(), "harness show 'a b' lost-reply\n"),
        (done.stdout.clone(), "harness explain --case-file 'my case.toml'\n"),
        (printed("report", &["a b"]), "harness show 'a b' lost-reply\n"),
        (printed("show", &["a b"]), "harness show 'a b' CASE shows"),
        (
            printed("show", &["a b", "lost-reply"]),
            ": harness show 'a b' lost-reply --frame SEQ",
        ),
    ] {
        assert!(said.contains(part), "{part:?} is not in:\n{said}");
    }
    fs::write(done.path("a b/more"), "").unwrap();
    let refused = done.then().words(&["a b", "-o", "c.zip"]).call(&["export"]);
    assert!(refused.stderr.contains("`harness verify 'a b'`"), "{}", refused.stderr);
}

#[test]
fn pauses_and_clocks_are_drawn() {
    let run = Harness::new()
        .words(&["--target", "reference-execution"])
        .case("stale-fencing")
        .run();
    run.exits(0);
    let page = page(&run.done);
    page.shows(&[
        "paused (SIGSTOP)",
        "goes on (SIGCONT)",
        "the clock is moved by 31 s",
        "reaper",
    ]);
    let paused = page
        .tags
        .iter()
        .filter(|tag| tag.attribute("class") == Some("lane paused"));
    assert_eq!(paused.count(), 1);
}

/// No network, no script, and nothing that is styled but by the one sheet.
#[test]
fn the_page_permits_nothing_and_loads_nothing() {
    let page = page(&lost_reply());
    let style = page.style.as_deref().unwrap();
    let digest = BASE64.encode(Sha256::digest(style.as_bytes()));
    let policy = format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'");
    let policies = page
        .tags
        .iter()
        .filter(|tag| tag.attribute("http-equiv") == Some("Content-Security-Policy"));
    let contents: Vec<_> = policies.map(|tag| tag.attribute("content")).collect();
    assert_eq!(contents, [Some(policy.as_str())]);
    for part in ["url(", "@import", "expression("] {
        assert!(!style.contains(part), "{part}");
    }
    page.is_harmless();
}

#[test]
fn whoever_hears_the_page_or_has_no_mouse_gets_all_of_it() {
    let page = page(&lost_reply());
    for name in ["header", "main", "footer", "h1", "table", "caption", "ol"] {
        assert!(page.tags.iter().any(|tag| tag.name == name), "{name}");
    }
    let pictures: Vec<_> = page.tags.iter().filter(|tag| tag.name == "svg").collect();
    assert!(!pictures.is_empty());
    for picture in pictures {
        assert_eq!(picture.attribute("role"), Some("img"));
        for id in picture.attribute("aria-labelledby").unwrap().split(' ') {
            assert!(page.tags.iter().any(|tag| tag.attribute("id") == Some(id)), "{id}");
        }
    }
    let headings = page.tags.iter().filter(|tag| tag.name == "th");
    for heading in headings {
        assert!(heading.attribute("scope").is_some(), "{heading:?}");
    }
    // What the picture links to is said in the list, where a keyboard gets to it.
    let marks = page.tags.iter().filter(|tag| tag.attribute("class") == Some("mark"));
    assert!(marks.clone().count() > 20);
    for mark in marks {
        assert_eq!(mark.attribute("tabindex"), Some("-1"));
    }
}

#[test]
fn what_a_server_wrote_is_text_and_seen() {
    let effects = "SELECT id, note, char(27, 91, 50, 74, 10) || '</td></table><script>alert(1)</script>' || char(8238) AS \
                   \"<i>text</i>\" FROM orders WHERE note = $marker";
    let profile = Profile::with_status()
        .misbehave("hostile-text,banner-on-stdout")
        .flags("--dedupe none")
        .effects(effects);
    let text = profile
        .text()
        .replacen("\"plain\"", r#""</title><script>alert(2)</script>""#, 1);
    let done = Harness::new().file("target.toml", &text).case("lost-reply").run_human();
    done.exits(1);
    let page = page(&done);
    page.is_harmless();
    page.has_what_its_links_name();
    page.shows(&[
        "</title><script>alert(2)</script>",
        "</title></style></pre><script>document.title='forged'</script><img src=x onerror=alert(1)>",
        "\\u{1b}[2J\\n</td></table><script>alert(1)</script>\\u{202e}",
        "<i>text</i>",
        "::error::forged",
        "\\u{202e}",
    ]);
    let is_unseen = |c: &char| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c);
    assert_eq!(page.source.chars().find(is_unseen), None);
}

#[test]
fn without_a_file_it_prints_what_the_run_printed() {
    let hostile = Harness::new()
        .target(&Profile::plain().misbehave("hostile-text"))
        .case("identical-retry");
    let runs = [
        Harness::new().case("retry/*"),
        Harness::new()
            .defect("memory-ledger")
            .case("lost-reply")
            .case("changed-input"),
        Harness::new()
            .target(&Profile::without_promise().flags("--dedupe none"))
            .case("identical-retry"),
        hostile,
    ];
    for harness in runs {
        let done = harness.run_human();
        let told = done.then().words(&["latest"]).call(&["report"]);
        told.exits(0);
        assert_eq!(told.stdout, done.stdout);
        assert_eq!(told.stderr, "");
    }
}

/// The exit code, and the command that repeats a case, follow from the evidence as the run itself said them.
#[test]
fn exit_code_and_repeat_are_those_of_the_run() {
    let ran: [(Report, &str, &str); 5] = [
        (Harness::new().case("identical-retry").run(), "0", "identical-retry"),
        (
            Harness::new().defect("memory-ledger").case("lost-reply").run(),
            "1",
            "lost-reply",
        ),
        (
            Harness::new()
                .target(&Profile::without_promise().flags("--dedupe none"))
                .case("lost-reply")
                .run(),
            "1",
            "lost-reply",
        ),
        (
            Harness::new()
                .target(&Profile::natural())
                .case("crash-before-commit")
                .run(),
            "3",
            "crash-before-commit",
        ),
        (
            Harness::new()
                .words(&["--target", "reference-execution"])
                .case("stale-fencing")
                .run(),
            "0",
            "stale-fencing",
        ),
    ];
    for (run, code, case) in ran {
        assert_eq!(run.json["exit"].to_string(), code, "{case}");
        let page = page(&run.done);
        let exit = page.after("Exit code");
        assert!(exit.starts_with(code), "{case}: {exit}");
        assert_eq!(page.after("repeat"), *run.case(case)["repeat"].as_str().unwrap());
    }
}

#[test]
fn a_server_that_does_not_start_has_a_page_too() {
    let done = Harness::new()
        .target(&Profile::plain().misbehave("die-at-start"))
        .run_human();
    done.exits(3);
    let page = page(&done);
    page.shows(&["DID NOT START", "3: nothing was run", "the handshake"]);
    let told = done.then().words(&["latest"]).call(&["report"]);
    told.exits(0);
    assert!(told.stdout.contains("DID NOT START"), "{}", told.stdout);
    assert!(told.stdout.contains("probe --stderr"), "{}", told.stdout);
}

#[test]
fn evidence_that_is_not_whole_is_shown_as_far_as_it_goes_and_said_to_be() {
    let done = lost_reply();
    let folder = done.latest();
    fs::remove_file(folder.join("SHA256SUMS")).unwrap();
    fs::remove_file(folder.join("cases/lost-reply/verdict.json")).unwrap();
    let path = folder.join("cases/lost-reply/record.jsonl");
    let record = fs::read(&path).unwrap();
    fs::write(&path, &record[..record.len() / 2]).unwrap();
    let first = page(&done);
    first.shows(&[
        "INCOMPLETE",
        "there is no SHA256SUMS",
        "the file ends in the middle of the line",
    ]);

    let path = folder.join("run.json");
    fs::write(&path, "{").unwrap();
    let second = page(&done);
    second.shows(&[
        "DAMAGED",
        "CUT OFF",
        "not known: run.json cannot be read",
        "the run was cut off",
    ]);
    second.is_harmless();
    let told = done.then().words(&["latest"]).call(&["report"]);
    told.exits(0);
    assert!(told.stdout.contains("DAMAGED"), "{}", told.stdout);
}

#[test]
fn nothing_is_overwritten_by_mistake_and_nothing_is_put_into_evidence() {
    let done = Harness::new().case("identical-retry").run_human();
    let write = |words: &[&str]| done.then().words(&["latest", "--html"]).words(words).call(&["report"]);
    fs::write(done.path("taken.html"), "mine").unwrap();
    write(&["taken.html"])
        .exits(2)
        .says_only(&["taken.html", "exists already", "--force"]);
    assert_eq!(fs::read_to_string(done.path("taken.html")).unwrap(), "mine");
    write(&["taken.html", "--force"]).exits(0);
    assert!(
        fs::read_to_string(done.path("taken.html"))
            .unwrap()
            .starts_with("<!DOCTYPE html>")
    );

    fs::create_dir(done.path("folder")).unwrap();
    symlink("taken.html", done.path("link.html")).unwrap();
    for name in ["folder", "link.html"] {
        write(&[name, "--force"]).exits(2).says_only(&[name, "no plain file"]);
    }
    write(&["nowhere/page.html"]).exits(2).says_only(&["nowhere"]);
    write(&["evidence/runs/latest/page.html"])
        .exits(2)
        .says_only(&["it lies in the evidence"]);
    let inside = done.latest().join("probe/page.html");
    write(&[&inside.display().to_string()])
        .exits(2)
        .says_only(&["it lies in the evidence"]);
    assert_eq!(done.verify(&done.latest()).code, 0);
    assert!(
        !names(done.path(".").as_path())
            .iter()
            .any(|name| name.starts_with(".report-"))
    );
    let alone = done.then().words(&["latest", "--force"]).call(&["report"]);
    alone.exits(2);
}

#[test]
fn a_proof_is_reported_run_by_run() {
    let done = Harness::new().case("identical-retry").run_human();
    let proof = done.path("proof");
    fs::create_dir(&proof).unwrap();
    fs::write(proof.join("matrix.json"), "{}").unwrap();
    fs::rename(done.latest(), proof.join("baseline")).unwrap();
    let report = |run: &Path| {
        let words = [&run.display().to_string(), "--html", "proof.html"];
        done.then().words(&words.map(|word| word as &str)).call(&["report"])
    };
    report(Path::new("proof"))
        .exits(2)
        .says_only(&["is a proof", "proof/baseline", "harness show"]);
    report(Path::new("proof/baseline")).exits(0);
    assert!(unescaped(&fs::read_to_string(done.path("proof.html")).unwrap()).contains("1 passed"));
}

#[test]
fn a_page_goes_to_standard_output_where_a_dash_says_so() {
    let done = lost_reply();
    page(&done);
    let written = done.then().words(&["latest", "--html", "-"]).call(&["report"]);
    written.exits(0);
    assert_eq!(written.stdout, fs::read_to_string(done.path("page.html")).unwrap());
    assert!(!done.path("-").exists());
}
