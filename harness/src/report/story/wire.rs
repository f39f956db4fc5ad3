//! Requests and replies in words: what was sent, what came back, and what was seen of it before.
//!
//! A frame is named by its number in the record, as `[11]`.

use serde_json::{Map, Value};

use super::told::{Kind, Told};
use super::value::{Roles, brief, in_words};
use crate::digest;
use crate::plan::Plan;
use crate::protocol::{self, Probed, Protocol, Question, Reply, ReplyKind, said_in};
use crate::record::{Direction, Message};
use crate::report::frame::{gist, shortened};
use crate::report::printer::Style;
use crate::target::Identity;

/// How many requests, results and request states are remembered.
const REMEMBERED_MAX: usize = 256;

/// How much of a frame that is nothing of ours is shown, in characters.
const PART_CHARS_MAX: usize = 120;

/// The requests by which a client and a server get to know each other.
const HANDSHAKE: [&str; 2] = ["server/discover", "initialize"];

/// Says the frames of one case, one after the other.
#[derive(Debug, Default)]
pub(super) struct Wire {
    plan: Option<Plan>,
    roles: Roles,
    sent: Vec<Sent>,
    /// Digest of a request state, and the frame that brought it.
    states: Vec<(String, u64)>,
    /// Digest of a result, and the frame that brought it.
    results: Vec<(String, u64)>,
}

/// What a tool is to the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The write.
    Write,
    /// Looks at what was submitted.
    Look,
    /// Anything else.
    Other,
}

/// A request that was sent.
#[derive(Debug)]
struct Sent {
    seq: u64,
    id: Value,
    process: Option<String>,
    method: String,
    /// The tool, where one is called.
    tool: Option<String>,
    /// Digest of its `params`.
    params: String,
    /// Digest of the arguments among them.
    arguments: String,
    is_answered: bool,
}

impl Wire {
    pub(super) fn plan(&mut self, plan: &Plan) {
        self.roles = Roles::of(plan);
        self.plan = Some(plan.clone());
    }

    /// Whether a tool was called and no reply has reached the client.
    pub(super) fn is_waiting(&self) -> bool {
        self.sent.iter().any(|sent| sent.tool.is_some() && !sent.is_answered)
    }

    /// Nobody waits for what was sent before.
    pub(super) fn forget_waiting(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.is_answered = true);
    }

    /// One frame.
    pub(super) fn tell(&mut self, seq: u64, process: Option<&str>, message: &Message) -> Told {
        let told = match (&message.payload, message.direction) {
            (Some(frame), Direction::ClientToServer) => self.ours(seq, process, frame, message),
            (Some(frame), Direction::ServerToClient) => self.of_server(seq, process, frame, message),
            (None, _) => other("stray", message).kind(Kind::Noise),
        };
        let mut told = told.of(process);
        told.text = format!("[{seq}] {}", told.text);
        told
    }

    fn ours(&mut self, seq: u64, process: Option<&str>, frame: &Value, message: &Message) -> Told {
        let Some(method) = frame["method"].as_str() else {
            return self
                .answered(&frame["result"])
                .unwrap_or_else(|| other("answered", message));
        };
        let params = &frame["params"];
        let tool = params["name"].as_str().filter(|_| method == "tools/call");
        let told = match (frame.get("id"), tool) {
            (Some(_), Some(tool)) => Told::new("sent", self.call(tool, params)).kind(match self.used(tool) {
                Use::Look => Kind::Look,
                Use::Write => Kind::Copy,
                Use::Other => Kind::Plain,
            }),
            (Some(id), None) if HANDSHAKE.contains(&method) => {
                Told::new("sent", method).kind(Kind::Handshake(id.to_string()))
            }
            (Some(_), None) => other("sent", message),
            (None, _) if method == "notifications/initialized" => {
                Told::new("sent", method).kind(Kind::Handshake(method.to_owned()))
            }
            (None, _) if method == "notifications/cancelled" => Told::new("sent", self.cancelled(params)),
            (None, _) => other("sent", message),
        };
        if let Some(id) = frame.get("id") {
            remember(
                &mut self.sent,
                Sent {
                    seq,
                    id: id.clone(),
                    process: process.map(str::to_owned),
                    method: method.to_owned(),
                    tool: tool.map(str::to_owned),
                    params: sum(params),
                    arguments: sum(&params["arguments"]),
                    is_answered: false,
                },
            );
        }
        told
    }

    /// A call of a tool: the same as one before, or what it says.
    fn call(&self, tool: &str, params: &Value) -> String {
        let name = brief(tool);
        let digest = sum(params);
        let is_look = self.used(tool) == Use::Look;
        if let Some(first) = self.sent.iter().find(|sent| sent.params == digest && !is_look) {
            return format!(
                "{name}: the very request of [{}] again, under a new JSON-RPC id",
                first.seq
            );
        }
        let mut parts = Vec::new();
        if let Some(arguments) = params["arguments"]
            .as_object()
            .filter(|arguments| !arguments.is_empty())
        {
            let digest = sum(&params["arguments"]);
            let mut calls = self.sent.iter().filter(|sent| sent.tool.as_deref() == Some(tool));
            parts.push(match calls.find(|sent| sent.arguments == digest && !is_look) {
                Some(first) => format!("the arguments of [{}]", first.seq),
                None => self.roles.members(arguments),
            });
        }
        parts.extend(self.identity(params));
        if let Some(answers) = params["inputResponses"].as_object() {
            parts.push(self.answers(answers));
            parts.push(self.state(params));
        }
        let text = parts.join("; ");
        if text.is_empty() {
            name
        } else {
            format!("{name}: {text}")
        }
    }

    /// The identity, where it travels beside the arguments.
    fn identity(&self, params: &Value) -> Option<String> {
        let (place, key) = match &self.plan.as_ref()?.identity {
            Identity::Meta(key) => ("_meta", key),
            Identity::Params(key) => ("params", key),
            Identity::Argument(_) | Identity::Natural(_) | Identity::None => return None,
        };
        let value = if place == "_meta" {
            params["_meta"].get(key)?
        } else {
            params.get(key)?
        };
        Some(format!("{} (identity) in {place}.{}", in_words(value), brief(key)))
    }

    /// Our answer to what the server asked inside a call.
    fn answered(&self, result: &Value) -> Option<Told> {
        let action = result["action"].as_str()?;
        let content = result["content"].as_object();
        let content = content.map_or(String::new(), |content| format!(", {}", self.roles.members(content)));
        Some(Told::new("answered", format!("{}{content}", brief(action))))
    }

    fn answers(&self, answers: &Map<String, Value>) -> String {
        let told = |(key, answer): (&String, &Value)| {
            let content = answer["content"].as_object();
            let content = content.map_or(String::new(), |content| format!(" {}", self.roles.members(content)));
            match answer["action"].as_str() {
                Some(action) => format!("{}: {}{content}", brief(key), brief(action)),
                None => format!("{}: {}", brief(key), self.roles.whole(answer)),
            }
        };
        let answers: Vec<String> = answers.iter().map(told).collect();
        if answers.is_empty() {
            return "with no answer to what was asked".to_owned();
        }
        format!("with the answer to {}", answers.join(", and to "))
    }

    /// Whether a continuation brings a request state, and which.
    fn state(&self, params: &Value) -> String {
        let Some(state) = params.get("requestState") else {
            return "WITHOUT a request state".to_owned();
        };
        let digest = sum(state);
        match self.states.iter().rev().find(|(known, _)| *known == digest) {
            Some((_, seq)) => format!("with the request state of [{seq}]"),
            None => "with a request state that the server never issued".to_owned(),
        }
    }

    fn cancelled(&self, params: &Value) -> String {
        let id = &params["requestId"];
        let named = self.sent.iter().rev().find(|sent| sent.id == *id);
        let named = named.map_or_else(|| format!("#{}", in_words(id)), |sent| format!("[{}]", sent.seq));
        format!("the notification that the request {named} is cancelled")
    }

    fn of_server(&mut self, seq: u64, process: Option<&str>, frame: &Value, message: &Message) -> Told {
        if let Some(question) = Question::of(frame) {
            return asks_inside(question);
        }
        let is_call = frame.get("method").is_some();
        let at = self
            .sent
            .iter()
            .rposition(|sent| !is_call && sent.process.as_deref() == process && frame.get("id") == Some(&sent.id));
        let reply = at.and_then(|at| Some((at, Reply::to(frame, &self.sent[at].id)?)));
        let Some((at, reply)) = reply else {
            let label = if is_call { "meanwhile" } else { "stray" };
            return other(label, message).kind(Kind::Noise);
        };
        let others = self.sent.iter().enumerate();
        let others = others.filter(|(other, sent)| *other != at && !sent.is_answered && sent.tool.is_some());
        let to = if others.count() > 0 {
            format!(", to [{}]", self.sent[at].seq)
        } else {
            String::new()
        };
        if let Some(told) = self.introduces(at, frame, message) {
            return told;
        }
        let tool = self.sent[at].tool.clone();
        let used = tool.as_deref().map(|tool| self.used(tool));
        let said = match used {
            Some(used) => self.reply(seq, reply, used),
            None => "an answer".to_owned(),
        };
        if message.withheld {
            let bytes = message.length_bytes();
            let text = format!("the reply{to} was {bytes} bytes and NEVER REACHED THE CLIENT; it was {said}");
            return Told::new("withheld", text).styled(Style::Odd);
        }
        self.sent[at].is_answered = true;
        let is_result = matches!(reply.kind(), ReplyKind::Result(_));
        Told::new("came back", format!("{said}{to}")).kind(match used {
            Some(Use::Look) if is_result => Kind::Look,
            Some(Use::Write) if is_result => Kind::Copy,
            Some(Use::Write | Use::Look | Use::Other) | None => Kind::Plain,
        })
    }

    fn used(&self, tool: &str) -> Use {
        let mut operations = self.plan.iter().flat_map(|plan| plan.operations.values());
        let used = operations.find_map(|operation| {
            let is_write = operation.write.as_ref().is_some_and(|write| write.tool == tool);
            let is_look = operation
                .submitted
                .as_ref()
                .is_some_and(|submitted| submitted.tool == tool);
            let used = [(is_write, Use::Write), (is_look, Use::Look)];
            used.into_iter().find_map(|(is_it, used)| is_it.then_some(used))
        });
        used.unwrap_or(Use::Other)
    }

    /// Who the server is, where this is the good end of a handshake.
    fn introduces(&mut self, at: usize, frame: &Value, message: &Message) -> Option<Told> {
        let sent = &mut self.sent[at];
        if message.withheld || !HANDSHAKE.contains(&sent.method.as_str()) || frame.get("error").is_some() {
            return None;
        }
        let (who, revision) = match protocol::read_initialize(frame, Protocol::default()) {
            Ok((revision, who)) => (who, revision),
            Err(_) => match protocol::read_probe(frame) {
                Probed::Modern(who) => (who, protocol::REVISION_MODERN.to_owned()),
                Probed::Legacy | Probed::TooNew(_) => return None,
            },
        };
        sent.is_answered = true;
        let name = who.name.as_deref().unwrap_or("a server without a name");
        let version = who
            .version
            .map_or(String::new(), |version| format!(" {}", brief(&version)));
        let text = format!("{}{version} answers, and speaks MCP {}", brief(name), brief(&revision));
        Some(Told::new("it runs", text).kind(Kind::Handshake(sent.id.to_string())))
    }

    fn reply(&mut self, seq: u64, reply: Reply<'_>, used: Use) -> String {
        let Some(plan) = &self.plan else {
            return "a reply".to_owned();
        };
        let refusal = || reply.refusal(&plan.replies, &plan.contract).as_ref().map(in_words);
        match reply.kind() {
            ReplyKind::Result(result) => {
                let replayed = reply.replayed(&plan.replies).is_some_and(|said| *said == true);
                let replayed = if replayed { ", marked as a replay" } else { "" };
                let found = reply.comparable(&plan.replies);
                let comparable = found.and_then(Result::ok);
                // What names the result is a part of it, and the rest changes while the execution goes on.
                let members = result["structuredContent"].as_object();
                let part = comparable
                    .as_ref()
                    .filter(|value| !value.is_object() && !value.is_array());
                if let (Some(part), Some(members)) = (part, members) {
                    let said = self.roles.members(&without_nothing(members));
                    if used != Use::Write {
                        return format!("a result: {said}");
                    }
                    let digest = sum(part);
                    let known = self.results.iter().find(|(known, _)| *known == digest);
                    let text = match known {
                        Some((_, first)) => {
                            let name = plan.replies.result.as_deref().and_then(|at| at.rsplit('/').next());
                            let name = brief(name.unwrap_or_default());
                            format!("a result with the {name} of [{first}]{replayed}: {said}")
                        }
                        None => format!("a result{replayed}: {said}"),
                    };
                    remember(&mut self.results, (digest, seq));
                    return text;
                }
                let told = comparable.as_ref().filter(|value| value.is_object());
                let told = told.map_or_else(|| quoted(&said_in(result)), |value| self.roles.whole(value));
                let digest = sum(comparable.as_ref().unwrap_or(result));
                let known = self.results.iter().find(|(known, _)| *known == digest);
                let text = match known {
                    Some((_, first)) => format!("a result, equal to that of [{first}]{replayed}"),
                    None => format!("a result{replayed}: {told}"),
                };
                remember(&mut self.results, (digest, seq));
                text
            }
            ReplyKind::InputRequired(result) => {
                let asked = result["inputRequests"].as_object();
                let keys: Vec<&str> = asked.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                let state = result.get("requestState");
                if let Some(state) = state {
                    remember(&mut self.states, (sum(state), seq));
                }
                let state = if state.is_some() {
                    ", and gives a request state to send back"
                } else {
                    ""
                };
                format!("no result yet: the server asks for {}{state}", brief(&keys.join(", ")))
            }
            ReplyKind::ToolError(result) => {
                let reason = refusal().unwrap_or_default();
                let message = result.pointer("/structuredContent/message").and_then(Value::as_str);
                let said = message.map_or_else(|| said_in(result), |text| shortened(text, PART_CHARS_MAX).0);
                format!("REFUSED, reason {reason}: {}", quoted(&said))
            }
            ReplyKind::Error(error) => {
                let reason = refusal().unwrap_or_default();
                let text = error["message"].as_str();
                let text = text.map_or_else(|| error.to_string(), str::to_owned);
                let (code, text) = (in_words(&error["code"]), quoted(&shortened(&text, PART_CHARS_MAX).0));
                format!("REFUSED, reason {reason} (error {code}): {text}")
            }
        }
    }
}

/// The members that hold something.
fn without_nothing(members: &Map<String, Value>) -> Map<String, Value> {
    let kept = members.iter().filter(|(_, value)| !value.is_null());
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn asks_inside(question: Question<'_>) -> Told {
    let asked = question.properties().into_iter().flatten();
    let asked: Vec<&str> = asked.map(|(name, _)| name.as_str()).collect();
    let said = question.message().unwrap_or_default();
    let text = format!(
        "inside the call, the server asks for {}: {}",
        brief(&asked.join(", ")),
        quoted(&brief(said))
    );
    Told::new("came back", text)
}

/// A frame that is nothing of the above, in the words of the timeline.
fn other(label: &str, message: &Message) -> Told {
    let gist = gist(message);
    let (part, _) = shortened(&gist.part, PART_CHARS_MAX);
    let withheld = if message.withheld {
        " (it never reached the client)"
    } else {
        ""
    };
    Told::new(label, format!("{} {part}{withheld}", gist.what))
}

fn quoted(text: &str) -> String {
    format!("“{text}”")
}

fn sum(value: &Value) -> String {
    digest::sha256_hex(value.to_string().as_bytes())
}

fn remember<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= REMEMBERED_MAX {
        list.remove(0);
    }
    list.push(item);
}
