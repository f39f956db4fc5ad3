//! Servers that make of their store what it was not: a link to somebody's files, more files than can be frozen. And seeds.

use std::fs;

use nix::sys::stat::Mode;

use crate::support::profile::{Profile, plain_server};
use crate::support::run::{Done, Harness, files};

/// The store is the folder around the server's database.
const STORE: &str = "path = \"{data}/orders\"";
const EFFECTS: &str = "path = \"o.sqlite3\"\nsql = \"SELECT id, note FROM orders WHERE note = $marker\"";

/// Starts the plain server after a command of a shell, in which `$DATA` is the case's folder.
fn after(script: &str) -> Vec<String> {
    let script = format!("{script}; exec \"$@\"");
    let server = plain_server().display().to_string();
    ["sh", "-c", &script, "sh", &server].map(str::to_owned).to_vec()
}

fn profile(script: &str) -> Profile {
    let words = after(script);
    Profile::plain().launcher(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn holds_no_secret(done: &Done) {
    let root = done.path("run");
    for file in files(&root) {
        let bytes = fs::read(root.join(&file)).unwrap();
        let is_in = bytes.windows(6).any(|window| window == b"SECRET");
        assert!(!is_in, "the secret is in {file}");
    }
    assert_eq!(done.verify(&root).code, 0, "it is sealed and whole");
}

/// A folder of somebody else, to which the store becomes a link.
#[test]
fn a_store_that_leads_out_of_the_case_is_not_read_and_nothing_is_copied() {
    let harness = Harness::new().file("outside/id_rsa", "SECRET");
    let outside = harness.path("outside").display().to_string();
    let profile = profile(&format!("ln -s {outside} {{data}}/orders"))
        .database("{data}/orders/o.sqlite3")
        .part("store", STORE)
        .part("read.effects", EFFECTS);
    let words = ["--evidence", "run"];
    let run = harness.target(&profile).case("lost-reply").words(&words).run();
    run.exits(3);
    let reason = run.reason("sees-duplicates");
    assert!(
        reason.contains("leads out of the case's own folder ({data}), to "),
        "{reason}"
    );
    assert!(reason.contains("nothing was read or copied there"), "{reason}");
    holds_no_secret(&run.done);
}

#[test]
fn a_search_does_not_follow_it_either() {
    let harness = Harness::new().file("outside/id_rsa", "SECRET");
    let outside = harness.path("outside").display().to_string();
    let write = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
    let words = ["--write", write, "--store", "{data}/orders", "--evidence", "run"];
    let command = after(&format!("ln -s {outside} {{data}}/orders"));
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let server = ["--database", "{data}/orders/o.sqlite3"];
    let done = harness.words(&words).server(&command).server(&server).run_human();
    done.exits(3);
    assert!(
        done.stdout.contains("leads out of the case's own folder"),
        "{}",
        done.stdout
    );
    holds_no_secret(&done);
}

/// More files than can be frozen are no end of the run: it is inconclusive, and its evidence is sealed.
#[test]
fn too_many_files_in_the_store_are_inconclusive_and_the_evidence_is_sealed() {
    // Links of a hundred files: ten thousand new files would take a busy disk half a minute.
    let script =
        "mkdir -p {data}/orders/0; (cd {data}/orders; seq -f 0/%g 100 | xargs touch; seq 100 | xargs -n 1 cp -lr 0)";
    let write = "create_order={\"note\":\"{marker}\",\"qty\":1,\"key\":\"{operation}\"}";
    let words = ["--write", write, "--store", "{data}/orders", "--evidence", "run"];
    let command = after(script);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let server = ["--database", "{data}/orders/o.sqlite3"];
    let done = Harness::new()
        .words(&words)
        .server(&command)
        .server(&server)
        .run_human();
    done.exits(3);
    assert!(
        done.stdout.contains("more than 10000 files and folders"),
        "{}",
        done.stdout
    );
    assert_eq!(done.verify(&done.path("run")).code, 0);

    let profile = profile(script)
        .database("{data}/orders/o.sqlite3")
        .part("store", STORE)
        .part("read.effects", EFFECTS);
    let run = Harness::new()
        .target(&profile)
        .case("lost-reply")
        .words(&["--evidence", "run"])
        .run();
    run.exits(3);
    let reason = run.reason("sees-duplicates");
    assert!(reason.contains("more than 10000 files and folders"), "{reason}");
    assert_eq!(run.done.verify(&run.done.path("run")).code, 0);
}

#[test]
fn a_pipe_or_a_link_in_a_seed_is_refused_before_anything_is_started() {
    let seeded = |kind: &str| {
        let profile = Profile::plain()
            .database("{data}/orders.jsonl")
            .flags("--keep-in lines")
            .part("store", "kind = \"files\"\npath = \"{data}\"\nseed = \"seed\"")
            .part("read.effects", "path = \"orders.jsonl\"\njsonl = true");
        let harness = Harness::new().file("seed/orders.jsonl", "").target(&profile);
        let odd = harness.path("seed/odd");
        if kind == "pipe" {
            nix::unistd::mkfifo(&odd, Mode::S_IRWXU).unwrap();
        } else {
            std::os::unix::fs::symlink("/etc/hostname", &odd).unwrap();
        }
        harness.case("lost-reply").run_human()
    };
    let done = seeded("pipe");
    done.exits(2)
        .says_only(&["store.seed", "seed/odd is neither a file nor a folder"]);
    done.wrote_nothing();
    let done = seeded("link");
    done.exits(2)
        .says_only(&["store.seed", "seed/odd is a link", "put what it leads to in its place"]);
    done.wrote_nothing();
}

#[test]
fn an_endless_glob_is_refused() {
    let profile = Profile::plain()
        .part("store", "kind = \"files\"\npath = \"{data}/orders\"")
        .part("read.effects", &format!("files = \"{}\"", "?".repeat(200_000)));
    let done = Harness::new().target(&profile).run_human();
    done.exits(2);
    assert!(
        done.stderr.contains("it has 200000 bytes, more than 1024"),
        "{}",
        &done.stderr[..done.stderr.len().min(500)]
    );
    assert!(done.stderr.len() < 2_000, "{} bytes", done.stderr.len());
}
