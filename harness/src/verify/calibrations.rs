//! The search for the effect, judged again: it lies beside the cases, and only where nobody said how effects are counted.

use super::{Verified, first_difference, read_json};
use crate::case;
use crate::document;
use crate::judge::{JUDGE_VERSION, judge};
use crate::record::{CaseFolder, CaseVerdict, Evidence, Record, Run};

/// Judges what there is of it again, and compares the verdicts.
pub(super) fn compare(evidence: &Evidence, run: &Run, verified: &mut Verified) {
    for id in case::calibrations().iter().map(|case| case.id.as_str()) {
        let folder = evidence.calibration(id);
        if !folder.case_file().exists() {
            continue;
        }
        match rejudge(&folder, id, run) {
            Ok((verdict, finding)) => {
                verified.judged.insert(id.to_owned(), verdict.verdict.name().to_owned());
                // A run that was killed leaves a record without a verdict.
                let is_whole = verified.finished || folder.verdict_file().exists();
                verified.findings.extend(finding.filter(|_| is_whole));
            }
            Err(reason) => verified.findings.push(format!("{id}: {reason}")),
        }
    }
}

fn rejudge(folder: &CaseFolder, id: &str, run: &Run) -> Result<(CaseVerdict, Option<String>), String> {
    let text = document::read(&folder.case_file()).map_err(|error| error.to_string())?;
    let case = case::parse("case.toml", &text).map_err(|error| error.to_string())?;
    if case.id != id {
        return Err(format!("case.toml is the case {}", case.id));
    }
    let record = Record::read(folder).map_err(|error| error.to_string())?;
    if record
        .plan()
        .is_some_and(|plan| plan.target != run.target.name || plan.naming != run.naming)
    {
        return Err("record.jsonl: it was planned for another run than run.json names".to_owned());
    }
    let now = judge(&case, &record);
    let finding = match read_json::<CaseVerdict>(&folder.verdict_file()) {
        Err(reason) => Some(reason),
        Ok(then) if then.judge != JUDGE_VERSION || then == now => None,
        Ok(then) if then.verdict != now.verdict => Some(format!(
            "it says {}, and judged again it is {}",
            then.verdict.name(),
            now.verdict.name()
        )),
        Ok(then) => Some(first_difference(&then, &now)),
    };
    Ok((now, finding.map(|finding| format!("{id}/verdict.json: {finding}"))))
}
