//! A step as people are told it: in `explain`, in a dry run, and in the record.

use super::start::{OutsideKey, Role, Settings, StartStep};
use super::step::{From, Inputs, ObserveStep, Round, Rounds, State, Step, Until, When, WriteStep};

impl Step {
    /// The step in words, such as `write A as attempt; its reply is withheld until …`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Start(start) => started(start),
            Self::Stop { process } => format!("stop `{process}`: tell it to end and wait for its exit"),
            Self::Kill { process } => format!("kill `{process}`: SIGKILL its whole process tree"),
            Self::Pause { process } => {
                format!(
                    "pause `{process}`: SIGSTOP for its whole process tree, while it does not hold the store's write lock"
                )
            }
            Self::Resume { process } => format!("resume `{process}`: SIGCONT for its whole process tree"),
            Self::Open { operation } => format!("open the gate that holds the execution of {operation}"),
            Self::Observe(observe) => observed(observe),
            Self::CancelExecution { operation, name, .. } => {
                format!("ask for the end of the execution of {operation} as `{name}`")
            }
            Self::Write(write) => written(write),
            Self::Send(send) => format!(
                "send the last request of {} as `{}` to `{}`, and go on without its reply",
                send.operation, send.name, send.process
            ),
            Self::Await { sent } => format!("wait for the reply to `{sent}`"),
            Self::Cancel { sent } => format!("cancel `{sent}`"),
            Self::Status { operation, name, .. } => format!("ask for the status of {operation} as `{name}`"),
            Self::Advance { seconds } => format!("move the server's clock by {seconds} s"),
            Self::Hold { .. } => "hold the store's write lock in another process".to_owned(),
            Self::Release { .. } => {
                "release the store's write lock, once every process has taken in what was sent to it and is at rest"
                    .to_owned()
            }
            Self::Reconcile { operation, .. } => format!("let the operator settle {operation}"),
        }
    }
}

fn observed(observe: &ObserveStep) -> String {
    let label = &observe.label;
    let mut words = match (observe.when, &observe.until) {
        (When::Now, None) => format!("observe `{label}` in the living store"),
        (When::Now, Some(until)) => format!("wait in the living store for {}: observe `{label}`", until.in_words()),
        (When::Quiet, _) => format!("freeze the store and observe `{label}`"),
    };
    if observe.tampered {
        words += ", and try to change its event log on a copy";
    }
    words
}

fn started(start: &StartStep) -> String {
    let what = match start.role {
        Role::Server => "the server",
        Role::Worker => "a worker",
        Role::Reaper => "a reaper",
    };
    let more = [
        start
            .principal
            .as_ref()
            .map(|principal| format!(", for the principal {principal}")),
        start
            .failpoint
            .as_ref()
            .map(|failpoint| format!(", with the failpoint {failpoint}")),
        start
            .rotate
            .map(|rotation| format!(", with another {}", rotation.name().replace('-', " "))),
    ];
    let more: String = more.into_iter().flatten().collect();
    format!("start {what} as `{}`{more}{}", start.process, lengths(&start.settings))
}

fn lengths(settings: &Settings) -> String {
    let lengths = [
        ("authority", settings.authority_s, "s"),
        ("retention", settings.retention_s, "s"),
        ("request state", settings.state_s, "s"),
        ("busy timeout", settings.busy_ms, "ms"),
        ("lease", settings.lease_s, "s"),
        ("heartbeat", settings.heartbeat_s, "s"),
        ("backoff", settings.backoff_s, "s"),
    ];
    let told = lengths
        .into_iter()
        .filter_map(|(name, length, unit)| length.map(|length| format!(", {name} {length} {unit}")));
    let counts = [
        ("workers of its own", settings.workers),
        ("attempts", settings.attempts),
    ];
    let counted = counts
        .into_iter()
        .filter_map(|(name, count)| count.map(|count| format!(", with {count} {name}")));
    let unkeyed = settings.outside_key == Some(OutsideKey::None);
    let key = unkeyed.then(|| ", which gives effects outside the store no key".to_owned());
    told.chain(counted).chain(key).collect()
}

fn written(write: &WriteStep) -> String {
    let (operation, name) = (&write.operation, &write.name);
    let mut words = match (write.from, write.changed) {
        (From::Start, _) => format!("write {operation} as `{name}`"),
        (From::Repeat, false) => format!("write {operation} as `{name}`, the last request again"),
        (From::Repeat, true) => format!("write {operation} as `{name}`, the last request again with changed data"),
        (From::Continuation, _) => format!("continue {operation} as `{name}`"),
    };
    match (&write.of, write.from) {
        (Some(of), From::Continuation) => words.extend([", with the request state of `", of, "`"]),
        (Some(of), From::Start | From::Repeat) => words.extend([" of `", of, "`"]),
        (None, _) => {}
    }
    words += match write.state {
        State::AsIssued => "",
        State::Changed => ", one character of it changed",
        State::None => ", which is left out",
    };
    words += match write.inputs {
        Inputs::AsPlanned => "",
        Inputs::None => ", without any answer",
        Inputs::Extra => ", with an answer that nobody asked for beside",
        Inputs::Declined => ", declined",
        Inputs::Cancelled => ", cancelled",
        Inputs::Mistyped => ", with answers of the wrong type",
    };
    words += match write.rounds {
        Rounds::All => "",
        Rounds::FirstOnly => ", the first round only",
        Rounds::AllButLast => ", all rounds but the last",
        Rounds::Submit => ", and do not wait for its execution",
    };
    if write.copies > 1 {
        words.extend([
            ", ",
            &write.copies.to_string(),
            " times, each under an identity of its own",
        ]);
    }
    if write.without_capabilities {
        words += ", from a client that declares no capability";
    }
    if let Some(fault) = write.fault {
        words += match (fault.at, fault.until) {
            (Round::LastRound, Until::EffectVisible) => {
                "; its reply is withheld until the effect is visible, then SIGKILL the tree"
            }
            (Round::LastRound, Until::ReplyInPipe) => "; its reply is withheld, then SIGKILL the tree",
            (Round::FirstRound, _) => "; the reply of the first round is withheld, then SIGKILL the tree",
        };
    }
    words
}
