//! Observations in a script, and what they wait for.

use super::{Refused, Script};
use crate::case::log_words::columns_of;
use crate::case::step::{Condition, ObserveStep, Step, When};
use crate::case::surface::Surface;
use crate::case::written::StepWritten;
use crate::document;

/// No reading has more rows than this.
const CONDITION_ROWS_MAX: u32 = 10_000;

impl Script {
    pub(super) fn observe(&mut self, label: &str, written: &StepWritten) -> Result<Step, Refused> {
        let when = written.when.unwrap_or(When::Now);
        if when == When::Quiet && !self.alive.is_empty() {
            return Err("when = \"quiet\" needs every process stopped or killed before"
                .to_owned()
                .into());
        }
        let on_a_copy = [
            ("doubled", written.doubled.is_some()),
            ("tampered", written.tampered.is_some()),
        ];
        if let Some((key, _)) = on_a_copy.iter().find(|(_, set)| *set && when == When::Now) {
            return Err(format!("`{key}` works on a frozen copy: add when = \"quiet\"").into());
        }
        if let Some(until) = &written.until {
            let fits = self.require_condition(until.get_ref(), when);
            fits.map_err(Refused::at(until.span()))?;
        }
        let label = self.new_name(label)?;
        Ok(Step::Observe(ObserveStep {
            label,
            when,
            doubled: written.doubled,
            until: written.until.as_ref().map(|until| until.get_ref().clone()),
            tampered: written.tampered.unwrap_or_default(),
        }))
    }

    fn require_condition(&self, until: &Condition, when: When) -> Result<(), String> {
        if when == When::Quiet {
            return Err("`until` waits for something in the living store: leave out when = \"quiet\"".to_owned());
        }
        if Surface::of_reading(&until.read).is_none() {
            let near = near(&until.read, Surface::readings());
            return Err(format!(
                "until: read = \"{0}\": there is no [read.{0}] in a profile{near}",
                until.read
            ));
        }
        if !(1..=CONDITION_ROWS_MAX).contains(&until.rows) {
            return Err(format!(
                "until: rows = {}: none are always there, and more than {CONDITION_ROWS_MAX} are never read; wait for 1 to \
                 {CONDITION_ROWS_MAX}",
                until.rows
            ));
        }
        require_columns(until)?;
        self.require_written("until: of", &until.of)
    }
}

/// What a case waits for in a reading whose columns have names must be able to stand there. Of other readings the profile
/// alone knows the columns.
fn require_columns(until: &Condition) -> Result<(), String> {
    let Some(columns) = columns_of(&until.read) else {
        return Ok(());
    };
    for (column, value) in &until.holds {
        let Some((_, cell)) = columns.iter().find(|(name, _)| name == column) else {
            let names = columns.iter().map(|(name, _)| *name);
            let near = near(column, names.clone());
            let names: Vec<&str> = names.collect();
            return Err(format!(
                "until: where: `{column}` is no column of [read.{}], which has {}{near}",
                until.read,
                names.join(", ")
            ));
        };
        if !cell.takes(value) {
            let near = match (cell.words(), value.as_str()) {
                (Some(words), Some(word)) => near(word, words.iter().copied()),
                (Some(_), None) | (None, _) => String::new(),
            };
            return Err(format!(
                "until: where: `{column}` is never {value}: it is {}{near}",
                cell.in_words()
            ));
        }
    }
    Ok(())
}

fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    document::nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
