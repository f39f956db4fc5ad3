//! What two runs differ in before any case: what was run, on what, by whom. Pure.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::record::{ArtifactDigest, Run};

/// Something that is said of both runs, and not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AboutDifference {
    /// What it is.
    pub what: String,
    /// What is said of the first run; absent where nothing is.
    pub a: Option<String>,
    /// What is said of the second.
    pub b: Option<String>,
}

/// What two runs differ in. Times, nonces and what was asked for are another run's, and no difference.
pub(super) fn differences(a: &Run, b: &Run) -> Vec<AboutDifference> {
    let (said_a, said_b) = (said(a), said(b));
    let both = said_a.into_iter().zip(said_b);
    let differing = both.filter(|((_, a), (_, b))| a != b);
    let told = differing.map(|((what, a), (_, b))| AboutDifference {
        what: what.to_owned(),
        a,
        b,
    });
    told.collect()
}

/// What is said of a run, always in the same order.
fn said(run: &Run) -> Vec<(&'static str, Option<String>)> {
    let (target, server, harness) = (&run.target, run.server.as_ref(), &run.harness);
    let command = |words: &Vec<String>| words.join(" ");
    let as_text = |value: serde_json::Result<String>| value.ok();
    let json = |value: &serde_json::Value| Some(value.to_string());
    let env: Vec<String> = target
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    vec![
        ("target", Some(target.title())),
        ("command", Some(command(&target.command))),
        ("kill command", target.kill.as_ref().map(command)),
        ("variables", (!env.is_empty()).then(|| env.join(" "))),
        (
            "secrets",
            (!target.secrets.is_empty()).then(|| target.secrets.join(" ")),
        ),
        ("artifacts", artifacts(&target.artifacts)),
        ("server", server.and_then(|server| server.name.clone())),
        ("server version", server.and_then(|server| server.version.clone())),
        ("revision", server.map(|server| server.protocol.clone())),
        ("contract", json(&serde_json::json!(target.contract))),
        ("identity", json(&serde_json::json!(target.identity))),
        ("replies", json(&serde_json::json!(target.replies))),
        ("effects", target.read_effects.as_ref().map(ToString::to_string)),
        ("ledger", target.read_ledger.as_ref().map(ToString::to_string)),
        ("other readings", as_text(serde_json::to_string(&target.read_more))),
        ("other processes", as_text(serde_json::to_string(&target.processes))),
        ("planted defect", run.defect.clone()),
        ("seed", Some(run.naming.seed.to_string())),
        ("harness", Some(harness.version.clone())),
        ("harness digest", harness.sha256.clone()),
        ("judge", Some(harness.judge.to_string())),
        ("kind of faults", Some(run.tier.clone())),
        ("machine", Some(format!("{} {}", run.host.os, run.host.arch))),
        (
            "no case, because",
            run.nothing_run.as_ref().map(|nothing| nothing.kind.word().to_owned()),
        ),
    ]
}

/// Digests only: the same program may lie elsewhere.
fn artifacts(artifacts: &[ArtifactDigest]) -> Option<String> {
    let digests: BTreeSet<&str> = artifacts
        .iter()
        .map(|artifact| artifact.sha256.as_deref().unwrap_or("unread"))
        .collect();
    let digests: Vec<&str> = digests.into_iter().collect();
    (!digests.is_empty()).then(|| digests.join(" "))
}
