//! Every event that is no frame and no observation, in words. What is not told in a way of its own here is told as in the
//! timeline, so that a new kind of event needs nothing more.

use super::told::{Kind, Told};
use super::value::brief;
use crate::case::{Fault, Round, StartStep, Step, Until};
use crate::record::Body;
use crate::report::frame::shortened;
use crate::report::printer::Style;
use crate::report::timeline::{ended, in_words};

/// The label of a fault where it strikes.
pub(super) const FAULT: &str = "FAULT";

/// The label of a fault that did not meet its moment: what is killed after it is only put away.
pub(super) const MISSED: &str = "fault";

/// How much of a command is shown, in characters.
const COMMAND_CHARS_MAX: usize = 160;

/// What a signal or an end means, by the step that it comes in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Setting<'a> {
    /// The step.
    pub(super) step: Option<&'a Step>,
    /// How the process that it is about was started.
    pub(super) started: Option<&'a StartStep>,
    /// What was seen in the living store in this step.
    pub(super) visible: Option<Visible>,
    /// How far the clock has been moved, in seconds.
    pub(super) clock_s: u64,
    /// Whether a fault has struck in this step, or has missed its moment.
    pub(super) is_struck: bool,
}

/// The effect in the living store.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visible {
    pub(super) effects: usize,
    pub(super) before: usize,
}

impl Visible {
    fn in_words(self) -> String {
        format!(" ({}, where there was {} before)", self.effects, self.before)
    }
}

impl<'a> Setting<'a> {
    /// The fault of the step, until it has struck.
    fn fault(self) -> Option<Fault> {
        let Some(Step::Write(write)) = self.step else {
            return None;
        };
        write.fault.filter(|_| !self.is_struck)
    }

    /// The point at which the process ends by itself, where nobody else ends it.
    fn failpoint(self) -> Option<&'a str> {
        let is_ended = matches!(self.step, Some(Step::Stop { .. } | Step::Kill { .. }));
        self.started?.failpoint.as_deref().filter(|_| !is_ended)
    }
}

/// One event in words; nothing where it says nothing to a reader.
pub(super) fn tell(body: &Body, process: Option<&str>, setting: Setting<'_>) -> Option<Told> {
    if let Body::ProcessStarted { .. } = body {
        return None;
    }
    if let Body::Signalled { signal, processes } = body {
        return Some(signalled(signal, *processes, setting).of(process));
    }
    if let Body::ProcessEnded {
        code,
        signal,
        survivors,
        last_words,
    } = body
    {
        let (style, how) = ended(*code, *signal, *survivors);
        let words = last_words.as_ref();
        let words = words.map_or(String::new(), |words| format!("; its last words: “{}”", brief(words)));
        return Some(process_ended(style, process, &format!("{how}{words}"), setting).of(process));
    }
    if let Body::EffectVisible { .. } = body {
        let text = setting.visible.map_or_else(String::new, Visible::in_words);
        let told = Told::new("meanwhile", format!("the effect shows in the store{text}"));
        return Some(told.styled(Style::Good).kind(Kind::Visible));
    }
    if let (Body::KillCommandRun { .. }, Some(fault)) = (body, setting.fault()) {
        let (_, text) = in_words(body);
        let text = format!("{}: {text}", place(fault, setting.visible));
        return Some(Told::new(FAULT, text).styled(Style::Bad));
    }
    if let (Body::StreamEnded, Some(failpoint)) = (body, setting.failpoint()) {
        return Some(
            struck_itself(process, failpoint, "its standard output ended")
                .kind(Kind::StreamEnded)
                .of(process),
        );
    }
    if let Body::OperatorRan { command, code, trouble } = body {
        return Some(operator_ran(command, *code, trouble.as_deref()));
    }
    if let Body::ClockAdvanced { seconds } = body {
        let text = format!(
            "the server's clock was moved by {seconds} s, and stands at T0+{} s",
            setting.clock_s
        );
        return Some(Told::new("clock", text));
    }
    let (style, text) = in_words(body);
    let style = if style == Style::Plain { Style::Dim } else { style };
    let text = process.map_or_else(|| text.clone(), |process| format!("`{}`: {text}", brief(process)));
    let kind = if *body == Body::StreamEnded {
        Kind::StreamEnded
    } else {
        Kind::Plain
    };
    Some(Told::new(label(body), text).styled(style).kind(kind).of(process))
}

fn label(body: &Body) -> &'static str {
    let is_lock = matches!(body, Body::LockHeld | Body::LockReleased { .. });
    let labels = [
        (is_lock, "lock"),
        (matches!(body, Body::TimedOut { .. }), "waited"),
        (matches!(body, Body::FaultMissed { .. }), MISSED),
    ];
    let found = labels.iter().find(|(is_it, _)| *is_it);
    found.map_or("then", |(_, label)| label)
}

fn signalled(signal: &str, processes: usize, setting: Setting<'_>) -> Told {
    let count = match processes {
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    let signal = brief(signal);
    let told = if let Some(fault) = setting.fault() {
        let place = place(fault, setting.visible);
        Told::new(FAULT, format!("{place}: {signal} for {count}")).styled(Style::Bad)
    } else {
        let means = if matches!(setting.step, Some(Step::Pause { .. })) {
            ": it stands still, and does not know it"
        } else if matches!(setting.step, Some(Step::Resume { .. })) {
            ": it goes on where it stood, as if no time had passed"
        } else {
            ""
        };
        Told::new("signal", format!("{signal} for {count}{means}"))
    };
    told.kind(Kind::Signalled)
}

/// Where a fault struck, between which two moments.
fn place(fault: Fault, visible: Option<Visible>) -> String {
    let visible = visible.map(Visible::in_words);
    let (after, before) = match (fault.at, fault.until, visible) {
        (Round::FirstRound, ..) => ("the first question left the server".to_owned(), "it"),
        (Round::LastRound, Until::EffectVisible, Some(seen)) => {
            (format!("the effect was in the store{seen}"), "a reply")
        }
        (Round::LastRound, Until::EffectVisible | Until::ReplyInPipe, _) => {
            ("the whole reply left the server".to_owned(), "it")
        }
    };
    format!("it strikes here, after {after} and before the client saw {before}")
}

fn process_ended(style: Style, process: Option<&str>, how: &str, setting: Setting<'_>) -> Told {
    if let Some(failpoint) = setting.failpoint() {
        return struck_itself(process, failpoint, how);
    }
    let style = if style == Style::Plain { Style::Dim } else { style };
    Told::new("process", format!("{} {how}", named(process))).styled(style)
}

fn struck_itself(process: Option<&str>, failpoint: &str, how: &str) -> Told {
    let text = format!(
        "it strikes here: {} was started with the failpoint {}, and {how}",
        named(process),
        brief(failpoint)
    );
    Told::new(FAULT, text).styled(Style::Bad)
}

fn named(process: Option<&str>) -> String {
    process.map_or_else(|| "the process".to_owned(), |name| format!("`{}`", brief(name)))
}

fn operator_ran(command: &[String], code: Option<i32>, trouble: Option<&str>) -> Told {
    let mut words = command.to_vec();
    if let Some(program) = words.first_mut() {
        *program = program.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let command = shortened(&words.join(" "), COMMAND_CHARS_MAX).0;
    let (style, how) = match (trouble, code) {
        (Some(trouble), _) => (Style::Odd, trouble.to_owned()),
        (None, Some(code)) => (Style::Dim, format!("it exited with code {code}")),
        (None, None) => (Style::Dim, "it ended".to_owned()),
    };
    Told::new("operator", format!("ran `{command}`; {how}")).styled(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Catalogue;

    fn told(body: &Body, setting: Setting<'_>) -> (String, String) {
        let told = tell(body, Some("first"), setting).expect("something to tell");
        (told.label, told.text)
    }

    fn faulty() -> &'static Step {
        let case = Catalogue::embedded().get("lost-reply").expect("a case");
        let mut steps = case.steps.iter();
        steps.find(|step| matches!(step, Step::Write(_))).expect("a write")
    }

    #[test]
    fn a_fault_strikes_once_and_says_where() {
        let kill = Body::KillCommandRun {
            command: vec!["docker".to_owned(), "kill".to_owned()],
            code: Some(0),
            trouble: None,
        };
        let signal = Body::Signalled {
            signal: "SIGKILL".to_owned(),
            processes: 2,
        };
        let setting = Setting {
            step: Some(faulty()),
            ..Setting::default()
        };
        let place = "it strikes here, after the whole reply left the server and before the client saw it";
        let (label, text) = told(&kill, setting);
        assert_eq!(
            (label.as_str(), text),
            (FAULT, format!("{place}: kill command run: docker kill"))
        );
        let seen = Visible { effects: 2, before: 1 };
        let (_, text) = told(
            &signal,
            Setting {
                visible: Some(seen),
                ..setting
            },
        );
        let place = "it strikes here, after the effect was in the store (2, where there was 1 before) and before the client \
                     saw a reply";
        assert_eq!(text, format!("{place}: SIGKILL for 2 processes"));
        let (label, text) = told(
            &signal,
            Setting {
                is_struck: true,
                ..setting
            },
        );
        assert_eq!((label.as_str(), text.as_str()), ("signal", "SIGKILL for 2 processes"));
    }

    /// A kind of event that nobody has thought of here is told all the same.
    #[test]
    fn the_rest_is_told_as_in_the_timeline() {
        let failed = Body::SendFailed {
            reason: "the pipe is closed".to_owned(),
        };
        let (label, text) = told(&failed, Setting::default());
        assert_eq!(
            (label.as_str(), text.as_str()),
            ("then", "`first`: SEND FAILED: the pipe is closed")
        );
    }

    #[test]
    fn the_clock_is_told_with_the_time_that_it_shows() {
        let clock = Body::ClockAdvanced { seconds: 7 };
        let setting = Setting {
            clock_s: 12,
            ..Setting::default()
        };
        let (label, text) = told(&clock, setting);
        assert_eq!(label, "clock");
        assert!(text.ends_with("moved by 7 s, and stands at T0+12 s"), "{text}");
    }
}
