//! The pure fold of one execution's log: events in, its state, attempts and last token out.
//!
//! It is strict: an event that cannot follow what stands before it is an error, so that a log that folds tells a history that
//! can have happened. It compares tokens, not names of workers: the token is the fence.

use thiserror::Error;

use super::event::{Event, State, Word};

/// What a log comes to: what the row of its execution must say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Folded {
    pub(super) state: State,
    /// Claims, without those that were given back.
    pub(super) attempts: i64,
    /// The last token that was given; 0 before the first.
    pub(super) token: i64,
}

/// A log that tells no possible history.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum FoldError {
    /// Nothing is there.
    #[error("its log is empty")]
    Empty,
    /// A number is missing, there twice, or out of turn.
    #[error("event {found} ({event}) stands where event {expected} must stand")]
    Gap {
        /// The number that must stand there.
        expected: i64,
        /// The one that does.
        found: i64,
        /// What it is.
        event: String,
    },
    /// It cannot follow.
    #[error("event {seq} ({event}) cannot follow: {because}")]
    Impossible {
        /// Its number.
        seq: i64,
        /// What it is.
        event: String,
        /// What stands against it.
        because: String,
    },
    /// Something must follow.
    #[error("it ends with event {seq} ({event}), and {needs} must follow")]
    Unfinished {
        /// The last number.
        seq: i64,
        /// What it is.
        event: String,
        /// What must follow.
        needs: &'static str,
    },
}

/// How an execution stands between two events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Submitted,
    Ready,
    Running,
    Expired,
    Failing,
    RetryWait,
    Completed,
    Failed,
    Cancelled,
}

impl Stage {
    /// The state in which it can stay, or what must follow.
    fn at_rest(self) -> Result<State, &'static str> {
        match self {
            Self::Submitted => Err("`ready`"),
            Self::Ready => Ok(State::Ready),
            Self::Running => Ok(State::Running),
            Self::Expired => Err("`ready` or a terminal `failed`"),
            Self::Failing => Err("`retry_scheduled`"),
            Self::RetryWait => Ok(State::RetryWait),
            Self::Completed => Ok(State::Completed),
            Self::Failed => Ok(State::Failed),
            Self::Cancelled => Ok(State::Cancelled),
        }
    }
}

/// What the events so far come to.
#[derive(Debug)]
struct History {
    stage: Stage,
    attempts: i64,
    /// Every token that was given, the last one last: they increase.
    tokens: Vec<i64>,
}

/// What the numbered events of one execution come to, in the order of the log.
pub(super) fn fold(log: &[(i64, Event<'_>)]) -> Result<Folded, FoldError> {
    let mut so_far: Option<History> = None;
    for ((seq, event), expected) in log.iter().zip(1..) {
        if *seq != expected {
            let (found, event) = (*seq, event.to_string());
            return Err(FoldError::Gap { expected, found, event });
        }
        let followed = match so_far {
            None => begin(event),
            Some(history) => history.followed_by(event),
        };
        so_far = Some(followed.map_err(|because| FoldError::Impossible {
            seq: *seq,
            event: event.to_string(),
            because,
        })?);
    }
    let (Some(history), Some((seq, last))) = (so_far, log.last()) else {
        return Err(FoldError::Empty);
    };
    let state = history.stage.at_rest().map_err(|needs| FoldError::Unfinished {
        seq: *seq,
        event: last.to_string(),
        needs,
    })?;
    Ok(Folded {
        state,
        attempts: history.attempts,
        token: history.last_token(),
    })
}

fn begin(event: &Event<'_>) -> Result<History, String> {
    if event.word != Word::Submitted {
        return Err("a log begins with `submitted`".to_owned());
    }
    Ok(History {
        stage: Stage::Submitted,
        attempts: 0,
        tokens: Vec::new(),
    })
}

impl History {
    fn last_token(&self) -> i64 {
        self.tokens.last().copied().unwrap_or_default()
    }

    fn followed_by(mut self, event: &Event<'_>) -> Result<Self, String> {
        self.stage = self.next_stage(event)?;
        if let (Word::Claimed, Some(token)) = (event.word, event.token) {
            self.attempts += 1;
            self.tokens.push(token);
        }
        if event.is_given_back() {
            self.attempts -= 1;
        }
        Ok(self)
    }

    fn next_stage(&self, event: &Event<'_>) -> Result<Stage, String> {
        match event.word {
            Word::Submitted => Err("it has been submitted before, and a repeat is `duplicate_detected`".to_owned()),
            Word::Ready if event.is_given_back() => self.by_holder(event, Stage::Ready),
            Word::Ready => self.only_from(&[Stage::Submitted, Stage::Expired, Stage::RetryWait], Stage::Ready),
            Word::Claimed => self.claimed(event),
            Word::Heartbeat => self.by_holder(event, Stage::Running),
            Word::Completed => self.by_holder(event, Stage::Completed),
            Word::LeaseExpired => self.by_holder(event, Stage::Expired),
            // Nobody holds it when the lease of the last attempt has expired.
            Word::Failed if event.is_terminal() && self.stage == Stage::Expired => {
                self.about_last_token(event, Stage::Failed)
            }
            Word::Failed if event.is_terminal() => self.by_holder(event, Stage::Failed),
            Word::Failed => self.by_holder(event, Stage::Failing),
            Word::RetryScheduled => self.only_from(&[Stage::Failing], Stage::RetryWait),
            Word::Cancelled => self.only_from(&[Stage::Ready, Stage::Running, Stage::RetryWait], Stage::Cancelled),
            Word::StaleRejected => self.stale(event),
            Word::DuplicateDetected => Ok(self.stage),
        }
    }

    fn only_from(&self, stages: &[Stage], next: Stage) -> Result<Stage, String> {
        if stages.contains(&self.stage) {
            return Ok(next);
        }
        Err(self.words())
    }

    fn claimed(&self, event: &Event<'_>) -> Result<Stage, String> {
        self.only_from(&[Stage::Ready], Stage::Running)?;
        let last = self.last_token();
        match event.token {
            Some(token) if token > last => Ok(Stage::Running),
            Some(_) if self.tokens.is_empty() => Err("the first token must be larger than 0".to_owned()),
            Some(_) => Err(format!(
                "its token must be larger than {last}, the last one that was given"
            )),
            None => Err("a claim needs a token".to_owned()),
        }
    }

    /// What only the holder of the lease can do, or what only its lease can come to.
    fn by_holder(&self, event: &Event<'_>, next: Stage) -> Result<Stage, String> {
        self.only_from(&[Stage::Running], next)?;
        self.about_last_token(event, next)
    }

    fn about_last_token(&self, event: &Event<'_>, next: Stage) -> Result<Stage, String> {
        if event.token == Some(self.last_token()) {
            return Ok(next);
        }
        Err(format!("the token must be {}, the last one given", self.last_token()))
    }

    /// Who is refused as stale held it once, and does no longer.
    fn stale(&self, event: &Event<'_>) -> Result<Stage, String> {
        let Some(token) = event.token else {
            return Err("it must say which token was refused".to_owned());
        };
        if self.tokens.binary_search(&token).is_err() {
            return Err(format!("token {token} was never given"));
        }
        if self.stage == Stage::Running && token == self.last_token() {
            return Err(format!("token {token} still holds it, so it is not stale"));
        }
        Ok(self.stage)
    }

    /// How it stands, for people.
    fn words(&self) -> String {
        let words = match self.stage {
            Stage::Submitted => "it was submitted and is not ready yet",
            Stage::Ready => "it is ready, and nobody holds it",
            Stage::Running => return format!("token {} holds it", self.last_token()),
            Stage::Expired => "its lease has expired, and it is not ready yet",
            Stage::Failing => "its attempt has failed, and no retry is scheduled yet",
            Stage::RetryWait => "it waits for a retry",
            Stage::Completed => "it is completed",
            Stage::Failed => "it has failed for good",
            Stage::Cancelled => "it is cancelled",
        };
        words.to_owned()
    }
}
