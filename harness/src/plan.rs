//! target + case + seed → plan: a value that says everything a case will send, before anything is started.
//!
//! Pure. The plan is the first event of a record, so that the judge needs neither profile nor environment.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::case::{Bounds, Case, Mode, OperationUse, Role, Step, Surface};
use crate::digest;
use crate::readback::{Query, Selector};
use crate::target::{Contract, Identity, PlaceholderError, Replies, Submitted, Target, TargetSource, Values};

/// Whom the server takes the caller for.
pub const PRINCIPAL: &str = "alice";

/// Where the injected clock starts, in Unix seconds.
pub const CLOCK_START_UNIX: i64 = 1_790_035_200;

/// What a run adds to everything it names: the same seed on a store that persists must not collide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Naming {
    /// Where identities and markers come from; `--seed` repeats it.
    pub seed: u64,
    /// Fresh for each run.
    pub nonce: String,
}

impl Naming {
    /// The name of one launch: of this process on the stage of this case, in this run.
    pub fn launch(&self, case: &str, process: &str) -> String {
        self.name(&[case, process, "launch"])
    }

    /// The names of one operation of a case.
    pub fn operation(&self, case: &Case, name: &str, used: &OperationUse) -> Names {
        let suffix = self.name(&[&case.id, &used.marked_as, "input"]);
        Names {
            identity: format!("op-{}", self.name(&[&case.id, name, "operation"])),
            marker: format!("mk-{}", self.name(&[&case.id, &used.marked_as, "marker"])),
            input: format!("alpha-{suffix}"),
            changed_input: format!("beta-{suffix}"),
        }
    }

    /// A name made of seed, nonce and the given words: 12 hexadecimal digits.
    fn name(&self, words: &[&str]) -> String {
        let text = format!("{}\n{}\n{}", self.seed, self.nonce, words.join("\n"));
        digest::sha256_hex(text.as_bytes())[..12].to_owned()
    }
}

/// The names of one operation, which follow from seed, nonce and case alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The operation identity.
    pub identity: String,
    /// The marker.
    pub marker: String,
    /// The input.
    pub input: String,
    /// The changed input.
    pub changed_input: String,
}

/// Everything that one case will do on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Plan {
    /// The case.
    pub case: String,
    /// Its revision.
    pub revision: u32,
    /// SHA-256 of its file.
    pub digest: String,
    /// The target's name.
    pub target: String,
    /// The surfaces that the target offers.
    pub surfaces: BTreeSet<Surface>,
    /// What the target promises.
    pub contract: Contract,
    /// Whether flags describe it and no profile: advice names what the user can change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_flags: bool,
    /// How its replies are read.
    pub replies: Replies,
    /// Where its identity travels.
    pub identity: Identity,
    /// Where the names come from.
    pub naming: Naming,
    /// Every wait, by name.
    pub bounds: Bounds,
    /// The operations, filled in.
    pub operations: BTreeMap<String, Operation>,
    /// The steps, without those for which a surface is missing.
    pub steps: Vec<Step>,
}

/// One logical write, filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Operation {
    /// The operation identity that retries reuse.
    pub identity: String,
    /// The text by which read-back finds the written data.
    pub marker: String,
    /// The input, and what it becomes where a step changes it.
    pub input: String,
    /// The changed input.
    pub changed_input: String,
    /// Whether the changed input shows in the written data, so that a row can be told by it.
    pub input_is_written: bool,
    /// The write; absent where the target has none.
    pub write: Option<Call>,
    /// The same write with changed data, where it can be changed.
    pub changed: Option<Call>,
    /// The status call, where the target has one.
    pub status: Option<StatusCall>,
    /// How its execution is followed, where the write is only submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Submitted>,
    /// Whether its execution is held at a gate until a step opens it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_gated: bool,
}

/// One tool call and the answers to what the server asks meanwhile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Answers to input requests, by key; inside a call (legacy era) they are told by their content.
    pub responses: Map<String, Value>,
    /// Members of `_meta` beside those of the protocol: the identity, where it travels there.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Members of `params` beside the arguments: the identity, where it travels there.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
}

/// A status call and how its answer is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatusCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// JSON pointer of the observation in the result.
    pub result: String,
    /// JSON pointer, in the observation's stored result, of what a reply holds as its result; absent where that is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<String>,
    /// The scope that an authoritative observation must have.
    pub scope: Map<String, Value>,
}

impl Operation {
    /// What read-back asks of it.
    pub fn query(&self, selector: &Selector) -> Query {
        Query::new(
            selector.clone(),
            [
                ("marker", self.marker.as_str()),
                ("operation", self.identity.as_str()),
                ("principal", PRINCIPAL),
            ],
        )
    }

    /// What stands for the path of its gate in the plan, which knows no folder.
    pub fn gate(&self) -> String {
        gate_of(&self.identity)
    }

    /// Its names.
    pub fn names(&self) -> Names {
        Names {
            identity: self.identity.clone(),
            marker: self.marker.clone(),
            input: self.input.clone(),
            changed_input: self.changed_input.clone(),
        }
    }
}

fn gate_of(identity: &str) -> String {
    format!("gate-of-{identity}")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Plan {
    /// The steps of a case on a target with these surfaces.
    pub fn steps_of(case: &Case, surfaces: &BTreeSet<Surface>) -> Vec<Step> {
        let wanted = |step: &&Step| step.only().is_none_or(|surface| surfaces.contains(&surface));
        case.steps.iter().filter(wanted).cloned().collect()
    }

    /// What the case needs and the target lacks, in the order of the case.
    pub fn missing(&self, case: &Case) -> Vec<Surface> {
        let needs = case.needs.iter().copied();
        needs.filter(|surface| !self.surfaces.contains(surface)).collect()
    }

    /// What kind of process it is that a step starts under this name; a server where none does.
    pub fn role(&self, process: &str) -> Role {
        let started = self.steps.iter().find_map(|step| {
            let Step::Start(start) = step else { return None };
            (start.process == process).then_some(start.role)
        });
        started.unwrap_or_default()
    }

    /// Whether it kills a server that serves.
    pub fn kills(&self) -> bool {
        let kills = |step: &Step| {
            if let Step::Write(write) = step {
                return write.fault.is_some();
            }
            matches!(step, Step::Kill { .. })
        };
        self.steps.iter().any(kills)
    }

    /// The marker that an operation's data carries.
    pub fn marker(&self, operation: &str) -> Option<&str> {
        self.operations
            .get(operation)
            .map(|operation| operation.marker.as_str())
    }
}

/// Plans one case on one target.
pub fn plan(target: &Target, case: &Case, naming: &Naming) -> Result<Plan, PlaceholderError> {
    let surfaces: BTreeSet<Surface> = Surface::ALL
        .iter()
        .copied()
        .filter(|&surface| target.has(surface))
        .collect();
    let mut operations = BTreeMap::new();
    for (name, used) in &case.operations {
        operations.insert(name.clone(), operation(target, case, naming, name, used)?);
    }
    Ok(Plan {
        case: case.id.clone(),
        revision: case.revision,
        digest: case.digest.clone(),
        target: target.name.clone(),
        by_flags: target.source == TargetSource::Command,
        contract: target.contract.clone(),
        replies: target.replies.clone(),
        identity: target.identity.clone(),
        naming: naming.clone(),
        bounds: case.bounds,
        operations,
        steps: Plan::steps_of(case, &surfaces),
        surfaces,
    })
}

fn operation(
    target: &Target,
    case: &Case,
    naming: &Naming,
    name: &str,
    used: &OperationUse,
) -> Result<Operation, PlaceholderError> {
    let Names {
        identity,
        marker,
        input,
        changed_input,
    } = naming.operation(case, name, used);
    let values = common_values(naming)
        .with("operation", &identity)
        .with("marker", &marker)
        .with("gate", gate_of(&identity))
        .with("mode", used.mode.name());
    let call = |input: &str, change: bool| -> Result<Option<Call>, PlaceholderError> {
        let Some(write) = &target.write else { return Ok(None) };
        let values = values.clone().with("input", input);
        let mut arguments = values.fill_map(&write.arguments)?;
        if change {
            arguments.extend(values.fill_map(&write.change)?);
        }
        if used.mode == Mode::Failing {
            arguments.extend(values.fill_map(&write.failing)?);
        }
        let mut meta = values.fill_map(&write.meta)?;
        if let Identity::Meta(key) = &target.identity {
            meta.insert(key.clone(), identity.clone().into());
        }
        Ok(Some(Call {
            tool: write.tool.clone(),
            arguments,
            responses: values.fill_map(&write.responses)?,
            meta,
            params: match &target.identity {
                Identity::Params(key) => Map::from_iter([(key.clone(), identity.clone().into())]),
                Identity::Argument(_) | Identity::Meta(_) | Identity::Natural(_) | Identity::None => Map::new(),
            },
        }))
    };
    let changed = if target.has(Surface::WriteChange) {
        call(&changed_input, true)?
    } else {
        None
    };
    let status = match &target.status {
        None => None,
        Some(status) => Some(StatusCall {
            tool: status.tool.clone(),
            arguments: values.fill_map(&status.arguments)?,
            result: status.result.clone(),
            stored: status.stored.clone(),
            scope: values.fill_map(&status.scope)?,
        }),
    };
    Ok(Operation {
        write: call(&input, false)?,
        changed,
        status,
        submitted: target.write.as_ref().and_then(|write| write.submitted.clone()),
        is_gated: used.is_gated,
        input_is_written: target.write.as_ref().is_some_and(|write| write.takes_input),
        identity,
        marker,
        input,
        changed_input,
    })
}

/// The placeholders that mean the same everywhere in a run.
pub fn common_values(naming: &Naming) -> Values {
    Values::default()
        .with("run", &naming.nonce)
        .with("principal", PRINCIPAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Catalogue;
    use crate::target::{TargetWords, command_only, locate};

    fn naming(nonce: &str) -> Naming {
        Naming {
            seed: 7,
            nonce: nonce.to_owned(),
        }
    }

    fn built_in() -> Target {
        let words = TargetWords {
            has_built_in: true,
            ..TargetWords::default()
        };
        locate(&words, std::path::Path::new("/nowhere")).expect("the built-in target")
    }

    fn case(id: &str) -> &'static Case {
        Catalogue::embedded().get(id).expect("an embedded case")
    }

    #[test]
    fn the_same_seed_and_nonce_give_the_same_plan_and_another_nonce_other_names() {
        let target = built_in();
        let first = plan(&target, case("lost-reply"), &naming("n1")).expect("a plan");
        assert_eq!(plan(&target, case("lost-reply"), &naming("n1")), Ok(first.clone()));
        let other = plan(&target, case("lost-reply"), &naming("n2")).expect("a plan");
        assert_ne!(first.operations["A"].identity, other.operations["A"].identity);
        assert_ne!(first.operations["A"].marker, other.operations["A"].marker);
    }

    #[test]
    fn two_operations_share_a_marker_where_the_case_says_so() {
        let plan = plan(&built_in(), case("sees-duplicates"), &naming("n1")).expect("a plan");
        assert_eq!(plan.marker("A"), plan.marker("B"));
        assert_ne!(plan.operations["A"].identity, plan.operations["B"].identity);
    }

    #[test]
    fn a_target_without_a_status_tool_loses_the_step_and_not_the_case() {
        let mut target = built_in();
        target.status = None;
        let plan = plan(&target, case("lost-reply"), &naming("n1")).expect("a plan");
        assert!(plan.missing(case("lost-reply")).is_empty());
        assert!(!plan.steps.iter().any(|step| matches!(step, Step::Status { .. })));
        assert_eq!(plan.missing(case("crash-after-commit")), [Surface::Status]);
    }

    #[test]
    fn a_bare_command_lacks_what_every_effect_case_needs() {
        let target = command_only(vec!["server".to_owned()]);
        let plan = plan(&target, case("lost-reply"), &naming("n1")).expect("a plan");
        assert_eq!(plan.missing(case("lost-reply")), [Surface::Write, Surface::ReadEffects]);
    }

    #[test]
    fn a_changed_write_differs_in_its_input_and_nowhere_else() {
        let plan = plan(&built_in(), case("changed-input"), &naming("n1")).expect("a plan");
        let operation = &plan.operations["A"];
        let (write, changed) = (operation.write.as_ref(), operation.changed.as_ref());
        let (write, changed) = (write.expect("a write"), changed.expect("a changed write"));
        assert_eq!(write.arguments, changed.arguments);
        assert_ne!(write.responses, changed.responses);
    }
}
