//! `run.json` as it is before anything was run.

use std::collections::BTreeMap;

use super::request::Request;
use crate::case::Catalogue;
use crate::drive::RunSetting;
use crate::drive::clock;
use crate::judge::JUDGE_VERSION;
use crate::record::{HarnessSummary, Host, RUN_FORMAT, Run, RunState, ServerSeen, TargetSummary};

/// The kind of faults that this version can set.
const TIER: &str = "stdio-boundary";

/// `run.json` as it is before anything was run.
pub(super) fn describe(request: &Request, setting: &RunSetting) -> Run {
    let target = &setting.target;
    Run {
        format: RUN_FORMAT,
        state: RunState::Running,
        harness: HarnessSummary {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sha256: None,
            judge: JUDGE_VERSION,
        },
        started_at: clock::utc_now().to_string(),
        ended_at: None,
        host: Host {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")
                .ok()
                .map(|text| text.trim().to_owned()),
        },
        tier: TIER.to_owned(),
        target: TargetSummary::of(target),
        server: None::<ServerSeen>,
        naming: request.naming.clone(),
        rerun_of: request.rerun_of.clone(),
        timeout_ms: request.timeout_ms,
        defect: request.defect.clone(),
        catalogue: Catalogue::embedded().all().iter().map(|case| case.id.clone()).collect(),
        case_files: own_files(request),
        requested: request.selection.requested.clone(),
        named: request.selection.named.iter().cloned().collect(),
        executed: request.selection.execute.clone(),
        nothing_run: None,
        baseline: request.baseline.clone(),
        verdicts: BTreeMap::new(),
        secrets_search: None,
    }
}

/// The files of the user's own cases that are run, by id.
fn own_files(request: &Request) -> BTreeMap<String, String> {
    let own = request.catalogue.own().filter(|id| {
        let executed = &request.selection.execute;
        executed.iter().any(|executed| executed == id)
    });
    let file = |id: &str| Some((id.to_owned(), request.catalogue.file_of(id)?.to_owned()));
    own.filter_map(file).collect()
}
