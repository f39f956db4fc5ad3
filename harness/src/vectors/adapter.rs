//! An implementation that is a program of its own: started once, asked one line at a time, answering one line at a time.
//!
//! It is the user's own program and no server under test, so it gets the caller's whole environment. Every wait and every line
//! has a bound; what keeps none of them is [`Unusable`], after which nothing more is asked: whose answer a late line would
//! be, nobody could tell.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::drive::clock::Clock;
use crate::drive::framing::{FrameKind, RawFrame};
use crate::drive::process::{Exit, ExitWait, Launch, LaunchError, LaunchSpec, Launched};
use crate::drive::transport::{EndReason, Incoming, StdioLimits};
use crate::plain_file;

/// The longest answer that is read, in bytes.
pub const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The most of an adapter's standard error that is kept, in bytes.
const STDERR_BYTES_MAX: u64 = 1024 * 1024;

/// How much of it is shown, in lines, and read for that, in bytes.
const LAST_WORDS_LINES: usize = 8;
const LAST_WORDS_BYTES: u64 = 16 * 1024;

/// How much of a line that is no answer is shown, in characters.
const SHOWN_CHARS: usize = 80;

/// How long an adapter may take to end after its last answer.
const END_TIME_MAX: Duration = Duration::from_secs(5);

/// How long its last output may take to reach us, and its death after the end of its output.
const OUTPUT_TIME_MAX: Duration = Duration::from_secs(1);

/// An adapter that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The program could not be launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// No folder to start it in.
    #[error("find the current folder: {0}")]
    Folder(io::Error),
}

/// Why an adapter can no longer be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// No answer came in time.
    #[error("it gave no answer within {} ms", waited.as_millis())]
    Silent {
        /// The bound.
        waited: Duration,
    },
    /// It ended, or closed its output.
    #[error("{how} before it answered")]
    Ended {
        /// In words.
        how: String,
    },
    /// It did not take the question.
    #[error("it did not read the question: {reason}")]
    NotRead {
        /// What came of the sending.
        reason: String,
    },
    /// A line that is no JSON object.
    #[error("it answered with what is no JSON object: {line}")]
    Garbage {
        /// How the line begins.
        line: String,
    },
    /// A line without end.
    #[error("its answer has {bytes} bytes; an answer has at most {ANSWER_BYTES_MAX}")]
    Oversize {
        /// How long it was.
        bytes: u64,
    },
    /// The answer does not repeat the name of the question.
    #[error("its answer is out of step: the `name` in it is {name}")]
    OutOfStep {
        /// The name that it has, as JSON.
        name: String,
    },
    /// It wrote a line that nobody had asked for.
    #[error("it wrote another line after the last answer: {line}")]
    Unasked {
        /// How the line begins.
        line: String,
    },
}

/// A running adapter; dropping it kills its whole tree.
#[derive(Debug)]
pub struct Adapter {
    launched: Launched,
    answer_time_max: Duration,
    stderr_file: PathBuf,
}

impl Adapter {
    /// Starts an adapter. `stderr_file` must not exist; no answer is waited for longer than `answer_time_max`. Must be called
    /// within a runtime that has io and time.
    pub fn start(
        program: &str,
        arguments: &[String],
        stderr_file: PathBuf,
        answer_time_max: Duration,
    ) -> Result<Self, AdapterError> {
        let spec = LaunchSpec {
            program: program.into(),
            args: arguments.iter().map(OsString::from).collect(),
            env: std::env::vars_os().collect(),
            cwd: std::env::current_dir().map_err(AdapterError::Folder)?,
            stderr_file: stderr_file.clone(),
            stderr_bytes_max: STDERR_BYTES_MAX,
        };
        let limits = StdioLimits {
            line_bytes_max: ANSWER_BYTES_MAX,
            ..StdioLimits::default()
        };
        let launched = Launch::default().start(&spec, limits, Clock::start().stamp_fn())?;
        Ok(Self {
            launched,
            answer_time_max,
            stderr_file,
        })
    }

    /// Asks one question, and returns the answer: an object that repeats the question's name.
    pub async fn ask(&mut self, question: &Value) -> Result<Value, Unusable> {
        let sent = self
            .launched
            .transport
            .send(line(question).as_bytes(), self.answer_time_max)
            .await;
        let frame = match self.launched.transport.receive(self.answer_time_max).await {
            Some(Incoming::Frame { frame, .. }) => frame,
            Some(Incoming::End { reason, .. }) => return Err(self.ended(&reason).await),
            None => {
                return Err(match sent {
                    Ok(()) => Unusable::Silent {
                        waited: self.answer_time_max,
                    },
                    Err(error) => Unusable::NotRead {
                        reason: error.to_string(),
                    },
                });
            }
        };
        if let FrameKind::Oversize { length, .. } = frame.kind {
            return Err(Unusable::Oversize { bytes: length });
        }
        let answer: Option<Value> = serde_json::from_slice(&frame.bytes).ok().filter(Value::is_object);
        let answer = answer.ok_or_else(|| Unusable::Garbage {
            line: beginning(&frame),
        })?;
        if answer.get("name") != question.get("name") {
            let name = answer
                .get("name")
                .map_or("missing".to_owned(), |name| shortened(&name.to_string()));
            return Err(Unusable::OutOfStep { name });
        }
        Ok(answer)
    }

    /// Ends the adapter after its last answer. What it says beyond that is an error, how it ends is told.
    pub async fn end(&mut self) -> Result<Option<String>, Unusable> {
        let exit = self.launched.close_stdin_and_wait(END_TIME_MAX).await;
        // What it wrote before its death may still be on its way; a child of its own may keep the pipe open.
        if let Some(Incoming::Frame { frame, .. }) = self.launched.transport.receive(OUTPUT_TIME_MAX).await {
            return Err(Unusable::Unasked {
                line: beginning(&frame),
            });
        }
        Ok(match exit {
            ExitWait::Ended(Exit::Code(0)) => None,
            ExitWait::Ended(exit) => Some(format!("{} after its last answer", ended(exit))),
            ExitWait::StillRunning => Some(format!(
                "it did not end within {} ms after the end of its input, and was killed",
                END_TIME_MAX.as_millis()
            )),
        })
    }

    /// Kills it, and returns the last lines of its standard error.
    pub async fn last_words(&mut self) -> Vec<String> {
        self.launched.process.kill_tree().await;
        self.launched.process.finish_stderr(OUTPUT_TIME_MAX).await;
        let tail = plain_file::open_unlinked(&self.stderr_file).and_then(|mut file| {
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(LAST_WORDS_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let tail = String::from_utf8_lossy(&tail.unwrap_or_default()).into_owned();
        let lines: Vec<&str> = tail.lines().collect();
        let from = lines.len().saturating_sub(LAST_WORDS_LINES);
        lines[from..].iter().map(|line| (*line).to_owned()).collect()
    }

    async fn ended(&mut self, reason: &EndReason) -> Unusable {
        let how = match (reason, self.launched.process.wait(OUTPUT_TIME_MAX).await) {
            (EndReason::Failed(message), _) => format!("its output could not be read ({message})"),
            (EndReason::Closed, ExitWait::Ended(exit)) => ended(exit),
            (EndReason::Closed, ExitWait::StillRunning) => "it closed its standard output".to_owned(),
        };
        Unusable::Ended { how }
    }
}

fn ended(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("it exited with code {code}"),
        Exit::Signal(signal) => format!("signal {signal} ended it"),
        Exit::Unobserved => "it ended".to_owned(),
    }
}

/// A question as one line of ASCII, so that no locale of an adapter can change it.
fn line(question: &Value) -> String {
    let mut line = String::new();
    for character in question.to_string().chars() {
        if character.is_ascii() {
            line.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // What is not ASCII stands inside of JSON strings only.
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
    line
}

fn beginning(frame: &RawFrame) -> String {
    if frame.bytes.is_empty() {
        return "an empty line".to_owned();
    }
    shortened(&String::from_utf8_lossy(&frame.bytes))
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_is_one_line_of_ascii_and_means_the_same() {
        let question = json!({"é\n": "😀\u{2028}\u{7f}", "b": [1, "\\u00e9"]});
        let line = line(&question);
        assert!(line.is_ascii() && !line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON"), question);
    }
}
