//! A run as an in-toto Statement v1 with a test result (predicate `test-result/v0.1`): what policy engines read. Pure.
//!
//! The statement is not signed here; whoever wants it signed puts it into an envelope of his own tools.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{ArtifactDigest, Run, RunState, Verdict};

/// What the statement is: <https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>.
const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// What it says: <https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md>.
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// Why nothing can be attested of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttestationError {
    /// Nothing says what was tested.
    #[error(
        "run.json has no digest of what was launched, so there is nothing that a statement could be about; name it in the \
         profile, `[launch] artifact`, and run again"
    )]
    NoSubject,
    /// An artifact was named, and could not be digested.
    #[error(
        "run.json has no digest of {0}, which could not be read when the run ended; run again with a path that is there"
    )]
    Unread(String),
    /// What was tested is not what the artifact does by itself.
    #[error(
        "the run has the planted defect `{0}`, so it says nothing about the artifact; run it again without --defect"
    )]
    Defect(String),
    /// The run has no result.
    #[error("the run has no result: {0}")]
    NoResult(String),
}

/// The statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: &'static str,
    subject: Vec<Resource>,
    #[serde(rename = "predicateType")]
    predicate_type: &'static str,
    predicate: TestResult,
}

/// A thing with a digest, as in-toto describes one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Resource {
    name: String,
    digest: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<&'static str, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    result: &'static str,
    configuration: Vec<Resource>,
    passed_tests: Vec<String>,
    warned_tests: Vec<String>,
    failed_tests: Vec<String>,
}

/// An archive, as it is named in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedArchive {
    /// Its name, without folders.
    pub name: String,
    /// Its SHA-256.
    pub sha256: String,
}

/// What a run says of the artifacts that were launched. A case that is neither a pass nor a fail is a warning: nothing red, and
/// nothing to rely on.
pub fn attestation(run: &Run, archive: &NamedArchive) -> Result<Statement, AttestationError> {
    if run.state != RunState::Finished {
        return Err(AttestationError::NoResult("it did not come to its end".to_owned()));
    }
    if let Some(nothing) = &run.nothing_run {
        return Err(AttestationError::NoResult(nothing.reason.clone()));
    }
    if let Some(defect) = &run.defect {
        return Err(AttestationError::Defect(defect.clone()));
    }
    let subject = run
        .target
        .artifacts
        .iter()
        .map(subject)
        .collect::<Result<Vec<_>, _>>()?;
    if subject.is_empty() {
        return Err(AttestationError::NoSubject);
    }
    let (mut passed, mut warned, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for (case, summary) in &run.verdicts {
        let list = match summary.verdict {
            Verdict::Pass => &mut passed,
            Verdict::Fail => &mut failed,
            // Naming a case makes it a gate, here as for the exit code.
            Verdict::Unguarded if run.named.contains(case) => &mut failed,
            Verdict::Unguarded | Verdict::Unsupported | Verdict::Inconclusive => &mut warned,
        };
        list.push(case.clone());
    }
    let result = match (failed.is_empty(), warned.is_empty()) {
        (false, _) => "FAILED",
        (true, false) => "WARNED",
        (true, true) => "PASSED",
    };
    Ok(Statement {
        kind: STATEMENT,
        subject,
        predicate_type: TEST_RESULT,
        predicate: TestResult {
            result,
            configuration: vec![configuration(run, archive)],
            passed_tests: passed,
            warned_tests: warned,
            failed_tests: failed,
        },
    })
}

fn subject(artifact: &ArtifactDigest) -> Result<Resource, AttestationError> {
    let unread = || AttestationError::Unread(artifact.path.clone());
    let sha256 = artifact.sha256.clone().ok_or_else(unread)?;
    Ok(Resource {
        name: file_name(&artifact.path).to_owned(),
        digest: BTreeMap::from([("sha256", sha256)]),
        annotations: BTreeMap::new(),
    })
}

/// A path of somebody's machine tells nobody else anything.
fn file_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// The archive holds everything by which the run was configured.
fn configuration(run: &Run, archive: &NamedArchive) -> Resource {
    let mut annotations = BTreeMap::from([
        ("harnessVersion", run.harness.version.clone()),
        ("target", run.target.name.clone()),
        ("contract", run.target.contract.preset.name().to_owned()),
    ]);
    if let Some(sha256) = &run.harness.sha256 {
        annotations.insert("harnessSha256", sha256.clone());
    }
    // A name in the catalogue says what a case is; that of a case of the runner's own does not.
    if !run.case_files.is_empty() {
        let own = run
            .case_files
            .iter()
            .map(|(id, file)| format!("{id} ({})", file_name(file)));
        annotations.insert("caseFiles", own.collect::<Vec<_>>().join(", "));
    }
    Resource {
        name: archive.name.clone(),
        digest: BTreeMap::from([("sha256", archive.sha256.clone())]),
        annotations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn run(artifacts: &Value, verdicts: &[(&str, &str)]) -> Run {
        let verdict = |(case, verdict): &(&str, &str)| {
            let summary = json!({"verdict": verdict, "reason": null, "micros": 1});
            ((*case).to_owned(), summary)
        };
        let verdicts: serde_json::Map<String, Value> = verdicts.iter().map(verdict).collect();
        let run = json!({
            "format": 1, "state": "finished",
            "harness": {"version": "0.1.0", "sha256": "aa", "judge": 1},
            "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:01Z",
            "host": {"os": "linux", "arch": "x86_64", "kernel": null},
            "tier": "stdio-boundary",
            "target": {
                "name": "orders", "source": "command", "command": ["orders"], "env": {}, "secrets": [],
                "contract": {"preset": "at-most-once", "claimed_in": null, "conflict": null},
                "replies": {"result": null, "replayed": null, "refusal": {"error": null, "tool_error": null}},
                "identity": "none", "read_effects": null, "read_ledger": null, "artifacts": artifacts,
            },
            "server": null, "naming": {"seed": 1, "nonce": "n"}, "defect": null, "catalogue": [],
            "requested": [], "named": ["lost-reply"], "executed": [], "nothing_run": null, "verdicts": verdicts,
        });
        serde_json::from_value(run).expect("a run")
    }

    fn archive() -> NamedArchive {
        NamedArchive {
            name: "run.zip".to_owned(),
            sha256: "bb".to_owned(),
        }
    }

    fn attested(run: &Run) -> Value {
        serde_json::to_value(attestation(run, &archive()).expect("a statement")).expect("JSON")
    }

    #[test]
    fn the_statement_is_what_policy_engines_read() {
        let artifacts = json!([{"path": "/somewhere/bin/orders", "sha256": "cc"}]);
        let verdicts = [
            ("changed-input", "unsupported"),
            ("identical-retry", "pass"),
            ("lost-reply", "fail"),
        ];
        let expected = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "orders", "digest": {"sha256": "cc"}}],
            "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
            "predicate": {
                "result": "FAILED",
                "configuration": [{
                    "name": "run.zip",
                    "digest": {"sha256": "bb"},
                    "annotations": {
                        "contract": "at-most-once", "harnessSha256": "aa", "harnessVersion": "0.1.0", "target": "orders",
                    },
                }],
                "passedTests": ["identical-retry"],
                "warnedTests": ["changed-input"],
                "failedTests": ["lost-reply"],
            },
        });
        assert_eq!(attested(&run(&artifacts, &verdicts)), expected);
    }

    #[test]
    fn the_result_is_the_worst_of_the_verdicts() {
        let artifacts = json!([{"path": "orders", "sha256": "cc"}]);
        for (verdicts, result) in [
            (vec![("a", "pass")], "PASSED"),
            (vec![("a", "pass"), ("b", "unguarded")], "WARNED"),
            (vec![("a", "inconclusive")], "WARNED"),
            (vec![("lost-reply", "unguarded")], "FAILED"),
        ] {
            assert_eq!(
                attested(&run(&artifacts, &verdicts))["predicate"]["result"],
                result,
                "{verdicts:?}"
            );
        }
    }

    #[test]
    fn cases_of_the_runner_s_own_are_named() {
        let mut own = run(&json!([{"path": "orders", "sha256": "cc"}]), &[("mine", "pass")]);
        own.case_files = BTreeMap::from([("mine".to_owned(), "/somewhere/my case.toml".to_owned())]);
        let annotations = &attested(&own)["predicate"]["configuration"][0]["annotations"];
        assert_eq!(annotations["caseFiles"], "mine (my case.toml)");
    }

    #[test]
    fn without_a_digest_or_a_result_there_is_no_statement() {
        let none = attestation(&run(&json!([]), &[("a", "pass")]), &archive());
        assert_eq!(none, Err(AttestationError::NoSubject));
        let unread = json!([{"path": "orders", "sha256": null}]);
        let unread = attestation(&run(&unread, &[("a", "pass")]), &archive());
        assert_eq!(unread, Err(AttestationError::Unread("orders".to_owned())));
        let mut planted = run(&json!([{"path": "orders", "sha256": "cc"}]), &[("a", "fail")]);
        planted.defect = Some("lost".to_owned());
        let planted = attestation(&planted, &archive());
        assert_eq!(planted, Err(AttestationError::Defect("lost".to_owned())));
        let mut stopped = run(&json!([{"path": "orders", "sha256": "cc"}]), &[("a", "pass")]);
        stopped.state = RunState::Interrupted;
        let stopped = attestation(&stopped, &archive());
        assert!(matches!(stopped, Err(AttestationError::NoResult(_))), "{stopped:?}");
    }
}
