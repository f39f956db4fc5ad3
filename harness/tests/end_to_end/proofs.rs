//! The folder of a proof: sealed as a whole, verified with its matrix, shown run by run.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::prove::{OWN, own_words};
use crate::support::forge::seal_proof_again;
use crate::support::run::{Done, Harness};

/// One defect that is noticed, and one that is not: its check is another one's.
const DEFECTS: &str = r#"
[[defect]]
name = "no-ledger"
kills = ["identical-retry:one-effect"]
[[defect]]
name = "unbound-input"
kills = ["identical-retry:one-effect"]
"#;

struct Proof {
    done: Done,
    root: PathBuf,
}

impl Proof {
    fn of(defect: &[&str], exit: i32) -> Self {
        let done = own_words(OWN, DEFECTS)
            .words(&["--case", "identical-retry", "--evidence", "proof"])
            .words(defect)
            .call(&["prove"]);
        done.exits(exit);
        let root = done.path("proof");
        Self { done, root }
    }

    /// A proof in which everything is as it should be.
    fn green() -> Self {
        Self::of(&["--defect", "no-ledger"], 0)
    }

    /// `harness show` of what these words name.
    fn show(&self, words: &[&str]) -> Done {
        self.done.then().words(words).call(&["show"])
    }

    /// What `verify` finds, and its exit code.
    fn found(&self) -> (Vec<String>, i32) {
        let verified = self.done.verify(&self.root);
        let found = verified.findings().into_iter().map(str::to_owned).collect();
        (found, verified.code)
    }

    /// What it finds while the matrix is another one, with digests that fit.
    fn forged(&self, by: impl FnOnce(&mut Value)) -> Vec<String> {
        let path = self.root.join("matrix.json");
        let before = fs::read(&path).unwrap();
        let mut matrix: Value = serde_json::from_slice(&before).unwrap();
        by(&mut matrix);
        fs::write(&path, serde_json::to_string_pretty(&matrix).unwrap() + "\n").unwrap();
        seal_proof_again(&self.root);
        let (found, code) = self.found();
        assert_eq!(code, 1, "{found:?}");
        fs::write(&path, before).unwrap();
        seal_proof_again(&self.root);
        found
    }
}

/// Fails unless each of these is the beginning of a line that was printed.
#[track_caller]
fn has_lines(done: &Done, beginnings: &[&str]) {
    for beginning in beginnings {
        let is_there = done.stdout.lines().any(|line| line.starts_with(beginning));
        assert!(is_there, "no line begins {beginning:?}:\n{}", done.stdout);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_proof_is_verified_run_by_run_and_with_its_matrix() {
    let proof = Proof::green();
    let done = proof.done.then().words(&["proof"]).call(&["verify"]);
    done.exits(0);
    has_lines(
        &done,
        &[
            "run       baseline   2 cases judged again",
            "run       no-ledger  2 cases judged again",
            "matrix    1 of 1 named kills happen when they are judged again; 0 verdicts",
            "result    the evidence is whole, and every verdict and the matrix come out the same",
        ],
    );
    let sums = fs::read_to_string(proof.root.join("SHA256SUMS")).unwrap();
    let listed: Vec<&str> = sums.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    assert_eq!(listed, ["baseline/SHA256SUMS", "matrix.json", "no-ledger/SHA256SUMS"]);
    let json = proof.done.verify(&proof.root).json;
    assert_eq!(
        (&json["kills_named"], &json["kills_again"], &json["exit"]),
        (&1.into(), &1.into(), &0.into())
    );
    assert_eq!(json["runs"]["no-ledger"]["judged"]["identical-retry"], "fail");
}

/// What did not happen is no difference: it is what the matrix says.
#[test]
fn a_proof_that_shows_nothing_is_whole_too_and_cannot_be_made_green() {
    let proof = Proof::of(&[], 1);
    assert_eq!(proof.found(), (vec![], 0));
    let told = proof.done.then().words(&["proof"]).call(&["verify"]).stdout;
    assert!(
        told.contains("NOT PROVED it is no proof: the matrix tells 1 problem\n"),
        "{told}"
    );
    let missed = "`identical-retry:one-effect` did not notice `unbound-input`: the check is held, the case pass";
    let make_green = |matrix: &mut Value| {
        assert_eq!(matrix["problems"], json!([missed]));
        matrix["problems"] = json!([]);
        matrix["exit"] = json!(0);
    };
    assert_eq!(
        proof.forged(make_green),
        [format!("matrix.json: it does not say that {missed}")]
    );
    let found = proof.forged(|matrix| {
        make_green(matrix);
        matrix["defects"][1]["kills"][0]["outcome"] = json!("broken");
    });
    let says =
        "matrix.json: unbound-input: it says that `identical-retry:one-effect` is broken, and judged again it is held";
    assert!(found.contains(&says.to_owned()), "{found:?}");
    let not_that = ["matrix.json: its exit code does not follow from its state and its problems"];
    // 3 is of runs that could not be made.
    for exit in [0, 3, 130] {
        assert_eq!(proof.forged(|matrix| matrix["exit"] = json!(exit)), not_that);
    }
}

/// A defect that nothing noticed could be left out otherwise.
#[test]
fn each_run_has_its_row_and_each_row_its_run() {
    let proof = Proof::of(&[], 1);
    let left_out = |matrix: &mut Value| {
        assert_eq!(
            matrix["defects"].as_array_mut().unwrap().remove(1)["defect"],
            "unbound-input"
        );
        matrix["problems"] = json!([]);
        matrix["exit"] = json!(0);
    };
    let no_row = "matrix.json: unbound-input: it has no row of this defect, and there is a run with it";
    assert_eq!(proof.forged(left_out), [no_row]);
    let named_elsewhere = proof.forged(|matrix| {
        left_out(matrix);
        matrix["left_out"] = json!(["unbound-input"]);
    });
    assert_eq!(named_elsewhere, [no_row]);
    let twice = proof.forged(|matrix| {
        let row = matrix["defects"][0].clone();
        matrix["defects"].as_array_mut().unwrap().push(row);
    });
    assert_eq!(twice, ["matrix.json: no-ledger: it names this defect twice"]);

    let matrix = fs::read_to_string(proof.root.join("matrix.json")).unwrap();
    let mut json: Value = serde_json::from_str(&matrix).unwrap();
    left_out(&mut json);
    fs::write(proof.root.join("matrix.json"), json.to_string()).unwrap();
    has_lines(
        &proof.show(&["proof"]),
        &["run       unbound-input  the matrix has no row of it, so nothing says what it came to"],
    );

    // The run is gone, and its row is there.
    json = serde_json::from_str(&matrix).unwrap();
    json["runs"].as_array_mut().unwrap().pop();
    fs::write(proof.root.join("matrix.json"), json.to_string()).unwrap();
    fs::remove_dir_all(proof.root.join("unbound-input")).unwrap();
    seal_proof_again(&proof.root);
    let (found, code) = proof.found();
    let no_run = "matrix.json: unbound-input: it has a row of this defect, and there is no run with it";
    assert!(code == 1 && found.contains(&no_run.to_owned()), "{found:?}");
}

#[test]
fn problems_that_nothing_shows_are_found() {
    let proof = Proof::green();
    for (problem, exit) in [
        ("x", 1),
        ("no-ledger: it did not start", 3),
        (
            "without a defect, `identical-retry` is fail, so a fail with one shows nothing",
            1,
        ),
        (
            "`identical-retry:one-effect` did not notice `no-ledger`: it was not judged",
            1,
        ),
        ("no defect was planted, so nothing is shown", 1),
        (
            "no defect has to be noticed by `identical-retry`, so nothing shows that it can fail",
            1,
        ),
        (
            "`no-ledger` names `identical-retry:one-effect`, and there is no such check",
            1,
        ),
        (
            "`no-ledger` names `identical-retry:one-effect`, which is not marked `about`",
            1,
        ),
        ("`no-ledger` names no check that has to notice it", 1),
    ] {
        let found = proof.forged(|matrix| {
            matrix["problems"] = json!([problem]);
            matrix["exit"] = json!(exit);
        });
        let told = format!("matrix.json: it says that {problem}, and nothing of the runs shows that");
        assert!(found.contains(&told), "{problem}: {found:?}");
    }
    // What is wrong with the list of defects is the runner's word, as the list is.
    let path = proof.root.join("matrix.json");
    let mut matrix: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    matrix["problems"] = json!([
        "no defect has to be noticed by `lost-reply`, so nothing shows that it can fail",
        "`no-ledger` names `gone:check`, and there is no such case",
    ]);
    matrix["exit"] = json!(1);
    fs::write(&path, matrix.to_string()).unwrap();
    seal_proof_again(&proof.root);
    assert_eq!(proof.found(), (vec![], 0));
}

#[test]
fn a_run_that_came_to_its_end_is_not_one_that_could_not_be_made() {
    let proof = Proof::of(&[], 1);
    let found = proof.forged(|matrix| {
        let reason = "it did not start";
        matrix["defects"][1]["cut_short"] = json!({"how": "not-run", "reason": reason});
        matrix["problems"] = json!([format!("unbound-input: {reason}")]);
        matrix["exit"] = json!(3);
    });
    let told = "matrix.json: unbound-input: it says that its run could not be made, and that one came to its end";
    assert_eq!(found, [told]);
}

#[test]
fn whatever_is_forged_in_a_matrix_is_found() {
    let proof = Proof::green();
    let forged =
        |pointer: &str, value: Value| proof.forged(|matrix| *matrix.pointer_mut(pointer).expect(pointer) = value);
    for (pointer, value, told) in [
        (
            "/baseline/identical-retry",
            json!("fail"),
            "baseline: it says that `identical-retry` is fail",
        ),
        (
            "/baseline",
            json!({}),
            "baseline: it has no verdict of `identical-retry`",
        ),
        (
            "/defects/0/verdicts/identical-retry",
            json!("pass"),
            "no-ledger: it says that `identical-retry` is pass",
        ),
        ("/defects/0/collateral", json!([]), "no-ledger: other checks are broken"),
        (
            "/defects/0/defect",
            json!("unbound-input"),
            "it says that `identical-retry:one-effect` is broken",
        ),
        ("/defects", json!([]), "it does not say that no defect was planted"),
        (
            "/cases/1/title",
            json!("other"),
            "`identical-retry` is called otherwise",
        ),
        (
            "/cases/1/is_control",
            json!(true),
            "it says wrongly whether `identical-retry` is a control",
        ),
        (
            "/cases",
            json!([]),
            "its cases are not those of baseline: sees-duplicates, identical-retry",
        ),
        ("/target", json!("another"), "baseline: it is a run on another server"),
        ("/harness", json!("9.9.9"), "by another harness"),
        (
            "/runs/1/sums_sha256",
            json!("00"),
            "no-ledger: it names another digest of its SHA256SUMS",
        ),
        ("/runs", json!([]), "baseline: it does not speak of this run"),
        (
            "/runs/1/folder",
            json!("gone"),
            "gone: it speaks of this run, and there is no evidence of it",
        ),
        ("/state", json!("interrupted"), "its exit code does not follow"),
        ("/format", json!(9), "format 9 is not one this harness reads"),
        ("/more", json!(1), "unknown field `more`"),
        (
            "/not_begun",
            json!(["unbound-input"]),
            "that there are defects which it did not come to",
        ),
    ] {
        let found = if let "/more" | "/not_begun" = pointer {
            proof.forged(|matrix| matrix[&pointer[1..]] = value)
        } else {
            forged(pointer, value)
        };
        let is_told = |found: &String| found.starts_with("matrix.json: ") && found.contains(told);
        assert!(found.iter().any(is_told), "{pointer}: {found:?}");
    }
    let unfinished = |matrix: &mut Value| matrix["defects"][0]["cut_short"] = json!({"how": "unfinished"});
    let found = proof.forged(unfinished);
    let told = "matrix.json: no-ledger: it says that its run did not come to its end, and that one did";
    assert!(found.contains(&told.to_owned()), "{found:?}");
    assert_eq!(proof.found(), (vec![], 0), "the matrix was put back");
}

#[test]
fn what_lies_in_the_folder_is_what_was_sealed() {
    let proof = Proof::green();
    let path = |name: &str| proof.root.join(name);
    let matrix = fs::read_to_string(path("matrix.json")).unwrap();
    fs::write(path("matrix.json"), matrix.replace("\"exit\": 0", "\"exit\":  0")).unwrap();
    assert_eq!(proof.found(), (vec!["changed: matrix.json".to_owned()], 1));
    fs::write(path("matrix.json"), &matrix).unwrap();

    let log = path("no-ledger/cases/identical-retry/case.toml");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{text}\n")).unwrap();
    let (found, code) = proof.found();
    assert!(
        found[0].starts_with("no-ledger: changed: cases/identical-retry/case.toml"),
        "{found:?}"
    );
    assert_eq!(code, 1);
    fs::write(&log, text).unwrap();

    copy(&path("no-ledger"), &path("second"));
    let (found, code) = proof.found();
    assert_eq!((found[0].as_str(), code), ("extra: second/SHA256SUMS", 1));
    fs::remove_dir_all(path("second")).unwrap();

    // Its own list vouches for it, and it shows nothing of the defect.
    fs::remove_dir_all(path("no-ledger")).unwrap();
    copy(&path("baseline"), &path("no-ledger"));
    seal_proof_again(&proof.root);
    let (found, _) = proof.found();
    for told in [
        "no-ledger: it is a run with another defect: none",
        "is broken, and judged again it is held",
    ] {
        assert!(found.iter().any(|found| found.contains(told)), "{found:?}");
    }

    fs::remove_file(path("SHA256SUMS")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", path("link")).unwrap();
    assert_eq!(proof.found(), (vec!["not a file: link".to_owned()], 1));
}

#[test]
fn a_proof_is_shown_run_by_run_with_the_command_for_each() {
    let proof = Proof::of(&[], 1);
    let shown = proof.show(&["proof"]);
    shown.exits(0);
    has_lines(
        &shown,
        &[
            "state     not proved; 1 of 2 named kills by 2 defects",
            "run       baseline  2 of 2 cases passed without a defect",
            "          harness show proof/baseline",
            "run       no-ledger  noticed by identical-retry:one-effect",
            "run       unbound-input  UNNOTICED by identical-retry:one-effect",
            "          harness show proof/unbound-input",
            "one case  harness show proof/unbound-input identical-retry",
            "check all harness verify proof",
        ],
    );
    proof.show(&["proof/unbound-input", "identical-retry"]).exits(0);
    let json: Value = serde_json::from_str(&proof.show(&["proof", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["runs"][1]["command"], "harness show proof/no-ledger");
    assert_eq!(json["matrix"]["exit"], 1);
    for (word, command) in [
        ("no-ledger", "harness show proof/no-ledger"),
        ("identical-retry", "harness show proof/no-ledger identical-retry"),
        ("lost-reply", "harness show proof/baseline lost-reply"),
    ] {
        let refused = proof.show(&["proof", word]);
        refused
            .exits(2)
            .says_only(&["proof is a proof, and has runs and no cases"]);
        assert!(refused.stderr.trim_end().ends_with(command), "{}", refused.stderr);
    }
    fs::write(proof.root.join("matrix.json"), "{").unwrap();
    let damaged = proof.show(&["proof"]);
    damaged.exits(0);
    has_lines(
        &damaged,
        &[
            "DAMAGED   matrix.json cannot be read",
            "          harness show proof/baseline",
        ],
    );
}

/// A proof under `evidence/runs` is named like a run, and is never the latest.
#[test]
fn a_proof_is_named_by_the_beginning_of_its_folder() {
    let done = Harness::new()
        .words(&["--defect", "no-ledger", "--case", "identical-retry"])
        .call(&["prove"]);
    done.exits(0);
    let runs = crate::support::run::names(&done.path("evidence/runs"));
    let name = runs.iter().find(|name| name.contains("-prove-")).unwrap();
    done.then().words(&[&name[..name.len() - 2]]).call(&["verify"]).exits(0);
    done.then().words(&["latest"]).call(&["verify"]).exits(2);
}

#[test]
fn a_markdown_of_ones_own_speaks_of_nobody_elses_build_and_counts_in_words() {
    let done = own_words(OWN, DEFECTS)
        .words(&["--defect", "no-ledger"])
        .words(&["--case", "sees-duplicates,identical-retry", "--format", "markdown"])
        .call(&["prove"]);
    done.exits(0);
    assert!(!done.stdout.contains("integration"), "{}", done.stdout);
    let title = "# What each case has been seen to notice on reference-server (own.toml, contract guarded)\n";
    assert!(done.stdout.starts_with(title), "{}", done.stdout);
    let count = "\n1 defect × 2 cases: 1 of 1 named kill happened.\nOn the server";
    assert!(done.stdout.contains(count), "{}", done.stdout);
}
