//! What a server of the legacy era asks while a write is in flight, and what it is answered.
//!
//! `[write] responses` is keyed by what the modern era asks for, and a legacy question carries no key. So the answer is
//! told by its content: where there is one, it is that one; of several, the one whose `content` has every property that
//! the question requires, and, if several have, the one that has nothing beside what is asked for. An acceptance that
//! lacks a required property is never sent: its refusal would look like the server's own. Whatever remains open stops
//! the case, and the reason says what was asked and what the profile would have to hold.

use std::time::Duration;

use serde_json::Value;

use super::DriveError;
use super::clock::Deadline;
use super::missing_answer::{Given, asks, named};
use super::scribe::Scribe;
use super::session::{Answer, Heard, Session};
use crate::plan::Call;
use crate::protocol::{self, Era, Offer, Question, Reply, ReplyKind};

/// How often a server may ask for more input within one write.
pub(super) const ROUNDS_MAX: usize = 8;

/// The answers of one write.
#[derive(Debug)]
pub(super) struct Answers<'a> {
    responses: Given<'a>,
    offer: Offer,
    given: usize,
    /// What was asked for and refused, in words: it may be why the write fails.
    refused: Option<String>,
    /// Whether the server is known to write without what was refused.
    does_without: bool,
}

/// What a request of the server gets.
#[derive(Debug, Clone, PartialEq)]
enum Response {
    /// What a client by rule answers.
    ByRule(Value),
    /// An answer of the profile, which begins the next round.
    Round(Value),
    /// None: the case cannot go on.
    Stop(String),
}

/// What a write came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Written {
    /// Its reply, or that there is none.
    Ended(Answer),
    /// The server asks, and this frame would answer it. It was not sent.
    Asked(Value),
    /// The case cannot go on, and why.
    Stuck(String),
}

impl<'a> Answers<'a> {
    /// The answers of `call`, where this was offered in the handshake.
    pub(super) fn new(call: &'a Call, offer: Offer, does_without: bool, by_flags: bool) -> Self {
        Self {
            responses: Given {
                responses: &call.responses,
                by_flags,
            },
            offer,
            given: 0,
            refused: None,
            does_without,
        }
    }

    /// Whether a question was refused.
    pub(super) fn was_refused(&self) -> bool {
        self.refused.is_some()
    }

    /// What to add to the reason for which a write failed: a question that was refused.
    pub(super) fn excuse(&self, reason: String) -> String {
        match &self.refused {
            Some(refused) => format!("{reason}; {refused}"),
            None => reason,
        }
    }

    fn to(&mut self, frame: &Value) -> Option<Response> {
        let by_rule = protocol::answer_server_request(frame, self.offer)?;
        let Some(question) = Question::of(frame) else {
            return Some(Response::ByRule(by_rule));
        };
        if self.offer != Offer::Forms || !question.is_form() {
            self.refused = Some(why_refused(question, self.responses, self.offer));
            return Some(Response::ByRule(by_rule));
        }
        if self.given == ROUNDS_MAX {
            let reason = format!("the server asked for input more than {ROUNDS_MAX} times");
            return Some(Response::Stop(reason));
        }
        self.given += 1;
        Some(match choose(question, self.responses) {
            Ok(answer) => Response::Round(question.answer(answer)),
            Err(reason) => Response::Stop(reason),
        })
    }

    /// A write that failed after a question was refused says nothing of the server, unless it can do without an answer.
    fn ended(&self, request: &Value, answer: Answer) -> Written {
        let is_result = match &answer {
            Answer::Reply(reply) => {
                let reply = Reply::to(reply, &request["id"]);
                reply.is_some_and(|reply| matches!(reply.kind(), ReplyKind::Result(_)))
            }
            Answer::TimedOut | Answer::Gone => false,
        };
        match &self.refused {
            Some(refused) if !is_result && !self.does_without => {
                Written::Stuck(format!("{refused}{}", said_then(request, &answer)))
            }
            Some(_) | None => Written::Ended(answer),
        }
    }
}

impl Session {
    /// Sends a write, and answers what the server asks until its reply. With `hold` it goes no further than to the first
    /// question that the profile answers.
    pub(super) async fn write(
        &mut self,
        scribe: &mut Scribe,
        request: &Value,
        answers: &mut Answers<'_>,
        bound_ms: u64,
        hold: bool,
    ) -> Result<Written, DriveError> {
        let bound = Duration::from_millis(bound_ms);
        let mut deadline = Deadline::after(bound);
        if !self.send(scribe, request, bound_ms).await? {
            return Ok(answers.ended(request, Answer::Gone));
        }
        loop {
            let frame = match self.listen(scribe, request, bound_ms, deadline).await? {
                Heard::Ended(answer) => return Ok(answers.ended(request, answer)),
                Heard::Request(frame) => frame,
            };
            match answers.to(&frame) {
                None => {}
                Some(Response::Stop(reason)) => return Ok(Written::Stuck(reason)),
                Some(Response::Round(answer)) if hold => return Ok(Written::Asked(answer)),
                Some(Response::Round(answer)) => {
                    self.send(scribe, &answer, bound_ms).await?;
                    // Each round has its time, as it has in the modern era.
                    deadline = Deadline::after(bound);
                }
                Some(Response::ByRule(answer)) => {
                    self.send(scribe, &answer, bound_ms).await?;
                }
            }
        }
    }

    /// Answers a frame that is a request of the server (legacy era); the inner error says why the case cannot go on.
    pub(super) async fn respond(
        &mut self,
        scribe: &mut Scribe,
        frame: &Value,
        answers: &mut Answers<'_>,
        bound_ms: u64,
    ) -> Result<Result<(), String>, DriveError> {
        if self.era() != Era::Legacy {
            return Ok(Ok(()));
        }
        match answers.to(frame) {
            None => {}
            Some(Response::Stop(reason)) => return Ok(Err(reason)),
            Some(Response::ByRule(answer) | Response::Round(answer)) => {
                self.send(scribe, &answer, bound_ms).await?;
            }
        }
        Ok(Ok(()))
    }
}

/// What the server said when its question was refused.
fn said_then(request: &Value, answer: &Answer) -> String {
    let reply = match answer {
        Answer::Reply(reply) => Reply::to(reply, &request["id"]),
        Answer::TimedOut | Answer::Gone => None,
    };
    match reply.map(Reply::kind) {
        Some(ReplyKind::ToolError(result)) => format!("; then the server said: {}", protocol::said_in(result)),
        Some(ReplyKind::Error(error)) => format!("; then the server answered with an error: {}", error["message"]),
        Some(ReplyKind::Result(_) | ReplyKind::InputRequired(_)) | None => String::new(),
    }
}

/// The answer to a question; the module's documentation has the rule.
fn choose<'a>(question: Question<'_>, given: Given<'a>) -> Result<&'a Value, String> {
    let forms: Vec<_> = given
        .responses
        .iter()
        .filter(|(_, answer)| protocol::is_form_answer(answer))
        .collect();
    if let [(_, only)] = forms.as_slice()
        && (only["action"] != "accept" || has_required(question, only))
    {
        return Ok(only);
    }
    let fit: Vec<_> = forms
        .into_iter()
        .filter(|(_, answer)| has_required(question, answer))
        .collect();
    let exact: Vec<_> = fit
        .iter()
        .copied()
        .filter(|(_, answer)| has_nothing_else(question, answer))
        .collect();
    match (fit.as_slice(), exact.as_slice()) {
        ([(_, answer)], _) | (_, [(_, answer)]) => Ok(answer),
        ([], _) => Err(format!(
            "{}, and no answer in {} has that; {}",
            asks(question),
            given.place(),
            given.addition(None, question)
        )),
        (several, _) => {
            let keys = several.iter().map(|(key, _)| key.as_str());
            Err(format!(
                "{}, and several answers in {} have that ({}): leave one, with exactly what is asked for",
                asks(question),
                given.place(),
                named(keys)
            ))
        }
    }
}

fn has_required(question: Question<'_>, answer: &Value) -> bool {
    let content = answer["content"].as_object();
    let mut required = question.required().into_iter();
    required.all(|name| content.is_some_and(|content| content.contains_key(name)))
}

fn has_nothing_else(question: Question<'_>, answer: &Value) -> bool {
    let asked = question.properties();
    let mut members = answer["content"].as_object().into_iter().flatten();
    members.all(|(name, _)| asked.is_some_and(|asked| asked.contains_key(name)))
}

fn why_refused(question: Question<'_>, given: Given<'_>, offer: Offer) -> String {
    if offer == Offer::Unknown {
        return format!(
            "{}; it was refused, because the revision that is spoken has no elicitation, which came with 2025-06-18",
            asks(question)
        );
    }
    if question.is_form() {
        return format!(
            "{}; it was refused, because {} answers no form; {}",
            asks(question),
            given.place(),
            given.addition(None, question)
        );
    }
    "the server wants to send the user to a page inside the call (elicitation in URL mode); it was refused, because this \
     harness fills in forms only"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Revision;
    use serde_json::{Map, json};

    fn responses(list: &[(&str, Value)]) -> Map<String, Value> {
        list.iter()
            .map(|(key, answer)| ((*key).to_owned(), answer.clone()))
            .collect()
    }

    fn accept(content: &Value) -> Value {
        json!({"action": "accept", "content": content})
    }

    fn question(schema: &Value) -> Value {
        json!({
            "jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
            "params": {"message": "Really?", "requestedSchema": schema},
        })
    }

    fn asking(properties: &[&str], required: &[&str]) -> Value {
        let properties: Map<String, Value> = properties
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string"})))
            .collect();
        question(&json!({"type": "object", "properties": properties, "required": required}))
    }

    /// The key of the answer that is chosen, or the reason why none is.
    fn chosen(frame: &Value, responses: &Map<String, Value>) -> Result<String, String> {
        let given = Given {
            responses,
            by_flags: false,
        };
        let answer = choose(Question::of(frame).expect("a question"), given)?;
        let mut found = responses.iter().filter(|(_, other)| *other == answer);
        Ok(found.next().map(|(key, _)| key.clone()).expect("one of them"))
    }

    #[test]
    fn the_only_answer_is_the_answer() {
        let other_kind = ("roots", json!({"roots": []}));
        let table = [
            (asking(&["note"], &["note"]), accept(&json!({"note": "x"}))),
            (asking(&["note"], &[]), accept(&json!({}))),
            (asking(&["note"], &[]), accept(&json!({"other": 1}))),
            (asking(&["note"], &["note"]), json!({"action": "decline"})),
            (question(&Value::Null), json!({"action": "accept"})),
        ];
        for (frame, answer) in table {
            let responses = responses(&[other_kind.clone(), ("only", answer)]);
            assert_eq!(chosen(&frame, &responses).as_deref(), Ok("only"), "{frame}");
        }
    }

    #[test]
    fn of_several_it_is_the_one_that_has_what_is_required() {
        let responses = responses(&[
            ("both", accept(&json!({"note": "x", "qty": 1}))),
            ("note", accept(&json!({"note": "x"}))),
            ("no", json!({"action": "decline"})),
        ]);
        let table = [
            (asking(&["qty"], &["qty"]), "both"),
            (asking(&["note", "qty"], &["note", "qty"]), "both"),
            // Both have the note; only one has nothing beside what is asked for.
            (asking(&["note"], &["note"]), "note"),
        ];
        for (frame, key) in table {
            assert_eq!(chosen(&frame, &responses).as_deref(), Ok(key), "{frame}");
        }
        let reason = chosen(&asking(&["note", "qty"], &["note"]), &responses).expect_err("two fit");
        assert!(reason.contains("several answers"), "{reason}");
        assert!(reason.contains("`both`, `note`"), "{reason}");
    }

    #[test]
    fn what_no_answer_has_is_named_with_the_line_that_would_answer_it() {
        let schema = json!({
            "properties": {
                "qty": {"type": "integer", "minimum": 3}, "sure": {"type": "boolean"}, "why": {"type": "string"},
                "size": {"type": "string", "enum": ["s", "m"]}, "aside": {"type": "string"},
            },
            "required": ["qty", "sure", "why", "size"],
        });
        for answers in [
            responses(&[("one", accept(&json!({"other": 1})))]),
            responses(&[
                ("one", accept(&json!({"other": 1}))),
                ("two", accept(&json!({"qty": 1}))),
            ]),
        ] {
            let reason = chosen(&question(&schema), &answers).expect_err("nothing fits");
            assert_eq!(
                reason,
                "the server asks for `qty`, `sure`, `why`, `size` inside the call (\"Really?\"), and no answer in [write] \
                 responses has that; add to responses: ANY_NAME = { action = \"accept\", content = { qty = 3, sure = true, why = \
                 \"{input}\", size = \"s\" } }; where the text is what is stored, put {marker} into it, or both: \"{marker} \
                 {input}\""
            );
        }
    }

    fn call(responses: Map<String, Value>) -> Call {
        Call {
            tool: "write".to_owned(),
            arguments: Map::new(),
            responses,
            meta: Map::new(),
            params: Map::new(),
        }
    }

    #[test]
    fn questions_are_bounded() {
        let call = call(responses(&[("only", accept(&json!({"note": "x"})))]));
        let mut answers = Answers::new(
            &call,
            Offer::of(Some(&call.responses), Revision::newest(Era::Legacy)),
            false,
            false,
        );
        let frame = asking(&["note"], &["note"]);
        for _ in 0..ROUNDS_MAX {
            assert!(matches!(answers.to(&frame), Some(Response::Round(_))));
        }
        assert!(matches!(answers.to(&frame), Some(Response::Stop(reason)) if reason.contains("more than 8 times")));
    }

    #[test]
    fn a_refused_question_excuses_a_write_that_fails_and_no_other() {
        let call = call(Map::new());
        let mut answers = Answers::new(&call, Offer::Nothing, false, false);
        let request = json!({"id": 1});
        let refusal = Answer::Reply(json!({"id": 1, "result": {"isError": true}}));
        assert_eq!(
            answers.ended(&request, refusal.clone()),
            Written::Ended(refusal.clone())
        );
        let ping = json!({"id": 5, "method": "ping"});
        assert!(matches!(answers.to(&ping), Some(Response::ByRule(_))));
        assert_eq!(
            answers.ended(&request, refusal.clone()),
            Written::Ended(refusal.clone())
        );

        assert!(matches!(answers.to(&asking(&["note"], &[])), Some(Response::ByRule(_))));
        for failed in [refusal, Answer::TimedOut, Answer::Gone] {
            assert!(
                matches!(answers.ended(&request, failed), Written::Stuck(reason) if reason.contains("`note`")),
                "the question is the reason"
            );
        }
        let result = Answer::Reply(json!({"id": 1, "result": {"content": []}}));
        assert_eq!(answers.ended(&request, result.clone()), Written::Ended(result));

        let mut later = Answers::new(&call, Offer::Nothing, true, false);
        later.to(&asking(&["note"], &[]));
        assert_eq!(later.ended(&request, Answer::Gone), Written::Ended(Answer::Gone));
    }
}
