//! The matrix from made-up verdicts on real cases.

use std::collections::BTreeMap;

use super::*;
use crate::case::Catalogue;
use crate::record::{CheckOutcome, CheckResult, VERDICT_FORMAT};

/// A control and two cases, each with the check that it is about.
const CASES: [(&str, &str); 3] = [
    ("sees-duplicates", "sees-two"),
    ("identical-retry", "one-effect"),
    ("lost-reply", "one-effect"),
];

fn cases() -> Vec<&'static Case> {
    let catalogue = Catalogue::embedded();
    CASES
        .map(|(id, _)| catalogue.get(id).expect("a case of the catalogue"))
        .to_vec()
}

fn planted(name: &str, kills: &[&str]) -> Planted {
    Planted {
        name: name.to_owned(),
        says: format!("what {name} does"),
        kills: kills.iter().map(|kill| kill.parse().expect("a kill")).collect(),
    }
}

fn alone(list: &[Planted]) -> Lists {
    Lists::alone(list.to_vec())
}

/// Everything passes, but for these checks, which are broken.
fn ran(broken: &[&str]) -> Ran {
    let mut verdicts = BTreeMap::new();
    for case in cases() {
        let is_broken = |check: &str| broken.contains(&format!("{}:{check}", case.id).as_str());
        let checks: Vec<CheckResult> = (case.checks.iter())
            .map(|check| CheckResult {
                id: check.id.clone(),
                basis: check.basis,
                about: check.about,
                say: None,
                outcome: if is_broken(&check.id) {
                    CheckOutcome::Broken
                } else {
                    CheckOutcome::Held
                },
                findings: Vec::new(),
                whose: None,
            })
            .collect();
        let is_red = checks.iter().any(|check| check.outcome == CheckOutcome::Broken);
        let verdict = CaseVerdict {
            format: VERDICT_FORMAT,
            judge: 1,
            case: case.id.clone(),
            revision: case.revision,
            verdict: if is_red { Verdict::Fail } else { Verdict::Pass },
            reason: is_red.then(|| "a promise is broken".to_owned()),
            checks,
            notes: Vec::new(),
            warnings: Vec::new(),
            rows: Vec::new(),
            facts: serde_json::Map::new(),
        };
        verdicts.insert(case.id.clone(), verdict);
    }
    Ran {
        verdicts,
        cut_short: None,
        micros: 1,
    }
}

/// The matrix of a list of defects, all wanted, with what each broke.
fn matrix(list: &[Planted], baseline: &Ran, runs: &[Ran]) -> Matrix {
    let (cases, catalogue) = (cases(), Catalogue::embedded().all());
    let expected = Expected::of(&alone(list), |_| true, &catalogue, &cases, &cases);
    let runs: Vec<Option<Ran>> = runs.iter().cloned().map(Some).collect();
    Matrix::of("a server", &expected, &cases, &catalogue, baseline, &runs)
}

fn told(matrix: &Matrix) -> Vec<String> {
    matrix.problems.iter().map(ToString::to_string).collect()
}

fn both() -> [Planted; 1] {
    [planted(
        "twice",
        &["identical-retry:one-effect", "lost-reply:one-effect"],
    )]
}

#[test]
fn a_proof_is_complete_when_every_named_check_broke_and_every_case_is_named() {
    let noticed = ran(&[
        "identical-retry:one-effect",
        "lost-reply:one-effect",
        "lost-reply:first-result",
    ]);
    let matrix = matrix(&both(), &ran(&[]), &[noticed]);
    assert_eq!(told(&matrix), [""; 0]);
    assert_eq!(matrix.kills(), (2, 2));
    assert_eq!(matrix.defects[0].collateral, ["lost-reply:first-result"]);
    assert_eq!(matrix.defects[0].verdicts["lost-reply"], Verdict::Fail);
    let document = matrix.to_markdown();
    let head = "# What each case has been seen to notice on a server\n";
    assert!(document.starts_with(head), "{document}");
    assert!(document.contains("| `twice` | what twice does | `identical-retry:one-effect`, `lost-reply:one-effect` |"));
    assert!(
        document.contains("| `retry/lost-reply` | one effect after a lost reply | `twice` |"),
        "{document}"
    );
    assert!(
        !document.contains("first-result") && !document.contains("no proof"),
        "{document}"
    );
}

#[test]
fn a_named_check_that_holds_is_a_problem_whatever_else_breaks() {
    let elsewhere = ran(&["identical-retry:one-effect", "lost-reply:first-result"]);
    let matrix = matrix(&both(), &ran(&[]), &[elsewhere]);
    assert_eq!(
        told(&matrix),
        ["`lost-reply:one-effect` did not notice `twice`: the check is held, the case fail"]
    );
    assert_eq!(matrix.kills(), (2, 1));
    assert!(matrix.to_markdown().contains("**not** `lost-reply:one-effect`"));
}

/// What is wrong with a list is known before anything is run.
#[test]
fn a_list_that_proves_nothing_is_refused_in_words() {
    let (cases, catalogue) = (cases(), Catalogue::embedded().all());
    let problems = |list: &[Planted]| -> Vec<String> {
        let expected = Expected::of(&alone(list), |_| true, &catalogue, &cases, &cases);
        expected.problems.iter().map(ToString::to_string).collect()
    };
    let lonely = |case: &str| format!("no defect has to be noticed by `{case}`, so nothing shows that it can fail");
    assert_eq!(
        problems(&[]),
        [
            "no defect was planted, so nothing is shown".to_owned(),
            lonely("identical-retry"),
            lonely("lost-reply")
        ]
    );
    let with = |name: &str, kills: &[&str]| [both().as_slice(), &[planted(name, kills)]].concat();
    assert_eq!(
        problems(&with("idle", &[])),
        ["`idle` names no check that has to notice it"]
    );
    assert_eq!(
        problems(&with("typo", &["lost-replay:one-effect"])),
        ["`typo` names `lost-replay:one-effect`, and there is no such case"]
    );
    assert_eq!(
        problems(&with("typo", &["lost-reply:two-effects"])),
        ["`typo` names `lost-reply:two-effects`, and there is no such check"]
    );
    assert_eq!(
        problems(&with("machine", &["lost-reply:fault-landed"])),
        ["`machine` names `lost-reply:fault-landed`, which is not marked `about`"]
    );
    assert_eq!(
        problems(&[planted("half", &["lost-reply:one-effect"])]),
        [lonely("identical-retry")],
        "the control is not named either, and need not be"
    );
}

#[test]
fn a_baseline_that_is_not_green_or_not_there_is_no_proof() {
    let noticed = ran(&["identical-retry:one-effect", "lost-reply:one-effect"]);
    let red = matrix(
        &both(),
        &ran(&["lost-reply:one-effect"]),
        std::slice::from_ref(&noticed),
    );
    assert_eq!(
        told(&red),
        ["without a defect, `lost-reply` is fail, so a fail with one shows nothing: a promise is broken"]
    );
    let mut cut = ran(&[]);
    cut.verdicts.remove("lost-reply");
    assert_eq!(
        told(&matrix(&both(), &cut, std::slice::from_ref(&noticed))),
        ["the server without a defect: `lost-reply` was not judged"]
    );
    let mut dead = ran(&[]);
    dead.cut_short = Some(CutShort::NotRun {
        reason: "it did not start".to_owned(),
    });
    assert_eq!(
        told(&matrix(&both(), &ran(&[]), &[dead])),
        ["twice: it did not start"],
        "said once, not for every check"
    );
}

/// Only what was chosen is asked for; whether a case can fail stays a matter of the whole list.
#[test]
fn a_choice_of_cases_and_defects_asks_for_no_more() {
    let list = [
        planted("twice", &["identical-retry:one-effect", "lost-reply:one-effect"]),
        planted("late", &["reply-means-done:effect-is-there"]),
    ];
    let catalogue = Catalogue::embedded().all();
    let chosen = [Catalogue::embedded().get("lost-reply").expect("a case")];
    let list = alone(&list);
    let expected = Expected::of(&list, |_| true, &catalogue, &chosen, &chosen);
    assert_eq!(expected.planted, [planted("twice", &["lost-reply:one-effect"])]);
    assert_eq!(
        (expected.left_out, expected.problems),
        (vec!["late".to_owned()], vec![])
    );
    let expected = Expected::of(&list, |name| name == "late", &catalogue, &chosen, &chosen);
    assert_eq!(expected.problems, [Problem::NoDefect]);
}

/// A server of two that share the cases: the first notices one, the second another, and nobody the third.
fn shared() -> Lists {
    Lists {
        own: vec![planted("twice", &["identical-retry:one-effect"])],
        others: vec![planted("lost", &["lost-reply:one-effect"])],
    }
}

#[test]
fn a_server_is_proved_by_what_its_list_names_and_by_what_no_list_names() {
    let get = |id| Catalogue::embedded().get(id).expect("a case");
    let asked = [cases(), vec![get("fresh-identity"), get("stale-fencing")]].concat();
    let chosen = |has: &dyn Fn(&Case) -> bool| -> Vec<&str> {
        let chosen = shared().choose(&asked, has);
        chosen.iter().map(|case| case.id.as_str()).collect()
    };
    let has_no_worker = |case: &Case| case.id != "stale-fencing";
    assert_eq!(
        chosen(&has_no_worker),
        ["sees-duplicates", "identical-retry", "fresh-identity"]
    );
    // What is named and cannot be run must not go unseen.
    assert_eq!(chosen(&|_| false), ["identical-retry"]);
}

/// The defect of another server shows that a case can fail; what no list names is told, also where it cannot be run.
#[test]
fn whether_a_case_can_fail_is_asked_of_all_lists_together() {
    let lists = shared();
    let catalogue = Catalogue::embedded().all();
    let get = |id| Catalogue::embedded().get(id).expect("a case");
    let asked = [cases(), vec![get("stale-fencing")]].concat();
    let chosen = lists.choose(&asked, |_| false);
    let expected = Expected::of(&lists, |_| true, &catalogue, &asked, &chosen);
    assert_eq!(expected.planted, lists.own);
    let lonely = Problem::Lonely {
        case: "stale-fencing".to_owned(),
    };
    assert_eq!(expected.problems, [lonely]);
    let expected = Expected::of(&lists, |_| true, &catalogue, &cases(), &chosen);
    assert_eq!(expected.problems, []);
}

/// The case that was broken off, and those behind it, have noticed nothing and missed nothing.
#[test]
fn of_a_run_that_is_unfinished_only_what_ended_counts() {
    let mut cut = ran(&["identical-retry:one-effect"]);
    cut.cut_short = Some(CutShort::Unfinished);
    let missed = "`lost-reply:one-effect` did not notice `twice`: the check is held, the case pass";
    assert_eq!(told(&matrix(&both(), &ran(&[]), std::slice::from_ref(&cut))), [missed]);
    let broken_off = cut.verdicts.get_mut("lost-reply").expect("a verdict");
    broken_off.verdict = Verdict::Inconclusive;
    let whole = matrix(&both(), &ran(&[]), std::slice::from_ref(&cut));
    assert_eq!((told(&whole), whole.left()), (vec![], vec!["twice"]));
    let says = "noticed by identical-retry:one-effect; not known: lost-reply:one-effect";
    assert_eq!(whole.defects[0].in_words(), says);
    let document = whole.to_markdown();
    for text in [
        "- It did not come to its end: twice of it is left.",
        "**not known** `lost-reply:one-effect`",
    ] {
        assert!(document.contains(text), "{document}");
    }
    cut.verdicts.remove("lost-reply");
    let baseline = matrix(&both(), &cut, &[]);
    assert_eq!(
        (baseline.not_begun.len(), baseline.problems.len()),
        (1, 1),
        "a check broke without a defect"
    );
    let mut silent = ran(&[]);
    silent.verdicts.remove("lost-reply");
    silent.cut_short = Some(CutShort::Unfinished);
    assert_eq!(told(&matrix(&both(), &silent, &[])), [""; 0]);
    assert!(!Matrix::is_baseline_green(&cases(), &silent));
}

#[test]
fn an_interrupted_proof_tells_the_defects_that_were_done() {
    let list = [both()[0].clone(), planted("second", &["lost-reply:one-effect"])];
    let noticed = ran(&["identical-retry:one-effect", "lost-reply:one-effect"]);
    let matrix = matrix(&list, &ran(&[]), &[noticed]);
    assert_eq!(matrix.defects.len(), 1);
    assert_eq!(told(&matrix), [""; 0]);
}

/// A case has three names here as everywhere.
#[test]
fn a_file_of_defects_is_read() {
    for (one, other) in [
        ("identical-retry:one-effect", "lost-reply:one-effect"),
        ("retry/identical-retry:one-effect", "03:one-effect"),
    ] {
        let text = format!(
            "format = 1\n[[defect]]\nname = \"twice\"\nsays = \"what twice does\"\nkills = [{one:?}, {other:?}]\n"
        );
        let list = parse("defects.toml", &text, Catalogue::embedded());
        assert_eq!(list.expect("a list"), both());
    }
}

#[test]
fn what_is_wrong_in_a_file_of_defects_is_told_with_its_place() {
    let refused = |text: &str| {
        let list = parse("defects.toml", text, Catalogue::embedded());
        list.expect_err("it is wrong").to_string()
    };
    assert_eq!(
        refused("format = 2"),
        "defects.toml:1:10: format = 2: this harness reads format 1"
    );
    for (defect, told) in [
        (
            "name = \"a\"\nkill = []",
            "4:1: unknown key `kill`; did you mean `kills`?",
        ),
        ("name = \"../a\"", "3:8: defect `../a`: a name has letters"),
        ("name = \"baseline\"", "3:8: defect `baseline`: a name has letters"),
        ("name = \"sha256sums\"", "3:8: defect `sha256sums`: a name has letters"),
        (
            "name = \"a\"\nkills = [\"03:one-effect\"]\n[[defect]]\nname = \"A\"",
            "6:8: defect `A`: it is listed twice; names that differ only in case",
        ),
        ("name = \"a\"\nkills = []", "3:8: defect `a`: no check has to notice it"),
        ("name = \"a\"", "3:8: defect `a`: no check has to notice it"),
        (
            "name = \"a\"\nkills = [\"03:one-effect\"]\n[[defect]]\nname = \"a\"",
            "6:8: defect `a`: it is listed twice",
        ),
        (
            "name = \"a\"\nkills = [\"lost-reply\"]",
            "4:10: defect `a`: `lost-reply` is not written `case:check`",
        ),
        (
            "name = \"a\"\nkills = [\n  \"lost-reply:one-effect\",\n  \"lost-replay:one-effect\"]",
            "6:3: defect `a`: there is no case `lost-replay`; did you mean `lost-reply`?",
        ),
        (
            "name = \"a\"\nkills = [\"retry/lost-reply:one-efect\"]",
            "4:10: defect `a`: `lost-reply` has no check `one-efect`; did you mean `one-effect`?",
        ),
        (
            "name = \"a\"\nkills = [\"lost-reply:fault-landed\"]",
            "4:10: defect `a`: `lost-reply:fault-landed` is not what its case is about",
        ),
        (
            "name = \"a\"\nkills = [\"lost-reply:one-effect\", \"03:one-effect\"]",
            "4:35: defect `a`: `lost-reply:one-effect` is named twice",
        ),
    ] {
        let said = refused(&format!("format = 1\n[[defect]]\n{defect}\n"));
        assert!(said.starts_with(&format!("defects.toml:{told}")), "{said}");
    }
}

/// The words of somebody else's list stay in their cell.
#[test]
fn markdown_cannot_be_broken_by_a_list() {
    let mut list = both();
    list[0].says = "a | b\n# <script>".to_owned();
    let noticed = ran(&["identical-retry:one-effect", "lost-reply:one-effect"]);
    let document = matrix(&list, &ran(&[]), &[noticed]).to_markdown();
    assert!(document.contains("| a \\| b # \\<script\\> |"), "{document}");
}
