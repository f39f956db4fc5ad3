//! Where nobody said how effects are counted: writes one, looks for it, and counts what was found from then on.

use tokio::sync::watch;

use super::Conductor;
use crate::case::calibrations;
use crate::conduct::lost_writes;
use crate::conduct::request::{ConductError, Progress};
use crate::drive::{Calibrated, DriveError, StageError, Written, calibrate};
use crate::judge::judge;
use crate::protocol::Era;
use crate::record::{Evidence, Record, Verdict};
use crate::report::RunReport;

/// What came of looking for the effect.
pub(super) enum Looked {
    /// Effects can be counted.
    CanCount,
    /// They cannot.
    Blind {
        /// Why.
        reason: String,
        /// The case in which that showed.
        case: String,
    },
    /// The user stopped it.
    Interrupted,
}

impl Conductor {
    /// Where nobody said how effects are counted: writes one, and looks for it. What is found is used as if the profile had
    /// said it.
    pub(super) async fn look_for_effect(
        &mut self,
        era: Era,
        stopped: &mut watch::Receiver<bool>,
        report: &mut RunReport,
        tell: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Looked, ConductError> {
        let target = &self.setting.target;
        if target.read_effects.is_some() || target.write.is_none() || target.store.is_none() {
            return Ok(Looked::CanCount);
        }
        let [once, twice] = calibrations();
        let mut done = Vec::new();
        for case in [once, twice] {
            let plan = self.plan(case)?;
            self.plans.insert(case.id.clone(), plan.clone());
            let folder = self.evidence.calibration(&case.id);
            let work = self.work(era, Vec::new());
            let interrupted = Box::pin(work.drive(case, &folder, None, stopped)).await?;
            let verdict = judge(case, &Record::read(&folder)?);
            Evidence::write_json(&folder.verdict_file(), &verdict)?;
            if interrupted {
                return Ok(Looked::Interrupted);
            }
            if verdict.verdict != Verdict::Pass {
                let reason = verdict.reason;
                return Ok(Looked::Blind {
                    reason: reason.unwrap_or_else(|| "the write could not be done".to_owned()),
                    case: case.id.clone(),
                });
            }
            done.push((plan, folder, verdict));
        }
        let twice_id = twice.id.clone();
        let [once, twice] = [0, 1].map(|index| Written {
            plan: &done[index].0,
            folder: &done[index].1,
        });
        match calibrate(&self.setting, once, twice) {
            // What the server made of its store is no trouble of the machine's.
            Err(error @ (DriveError::Freeze(_) | DriveError::Stage(StageError::Outside { .. }))) => Ok(Looked::Blind {
                reason: error.to_string(),
                case: twice_id,
            }),
            Err(error) => Err(ConductError::Machine(error)),
            Ok(Calibrated::NotFound(reason)) => Ok(Looked::Blind { reason, case: twice_id }),
            Ok(Calibrated::Nowhere(lost)) => {
                let written = done
                    .iter()
                    .map(|(plan, _, verdict)| (plan, verdict))
                    .collect::<Vec<_>>();
                Ok(Looked::Blind {
                    reason: lost_writes::nowhere(&self.setting, &written, &lost),
                    case: done[lost.written].0.case.clone(),
                })
            }
            Ok(Calibrated::Found(selector)) => {
                tell(Progress::EffectFound(&selector));
                report.read_effects = Some(selector.to_string());
                self.run.target.read_effects = Some(selector.clone());
                self.target().read_effects = Some(selector);
                self.plan_again()?;
                self.save()?;
                Ok(Looked::CanCount)
            }
        }
    }
}
