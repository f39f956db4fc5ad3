//! A step as people are told it: in `explain`, in a dry run, and in the record.

use super::step::{From, Inputs, Round, Rounds, Settings, StartStep, State, Step, Until, When, WriteStep};

impl Step {
    /// The step in words, such as `write A as attempt; its reply is withheld until …`.
    pub fn in_words(&self) -> String {
        match self {
            Self::Start(start) => started(start),
            Self::Stop { process } => format!("stop `{process}`: close its standard input and wait for its exit"),
            Self::Kill { process } => format!("kill `{process}`: SIGKILL its whole process tree"),
            Self::Observe { label, when, .. } => match when {
                When::Now => format!("observe `{label}` in the living store"),
                When::Quiet => format!("freeze the store and observe `{label}`"),
            },
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

fn started(start: &StartStep) -> String {
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
    format!(
        "start the server as `{}`{more}{}",
        start.process,
        lengths(&start.settings)
    )
}

fn lengths(settings: &Settings) -> String {
    let lengths = [
        ("authority", settings.authority_s, "s"),
        ("retention", settings.retention_s, "s"),
        ("request state", settings.state_s, "s"),
        ("busy timeout", settings.busy_ms, "ms"),
    ];
    let told = lengths
        .into_iter()
        .filter_map(|(name, length, unit)| length.map(|length| format!(", {name} {length} {unit}")));
    told.collect()
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
    };
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
