//! Elicitation of the legacy era: `elicitation/create`, which a server sends while our call is in flight, and what we answer
//! to it and to any other request of a server.

use serde_json::{Map, Value, json};

use super::revision::Revision;

/// JSON-RPC: the method is not known.
const METHOD_NOT_FOUND: i64 = -32601;

/// JSON-RPC: the parameters are wrong. MCP 2025-11-25, client/elicitation, asks for it where a server asks in a mode that
/// was not declared.
const INVALID_PARAMS: i64 = -32602;

/// The request by which a server asks for input.
const METHOD: &str = "elicitation/create";

/// What our side offers in `initialize`. A client that declares what it cannot do is asked, and has nothing to say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offer {
    /// Nothing, because the revision that is spoken knows no such question.
    Unknown,
    /// Nothing.
    #[default]
    Nothing,
    /// Answers to questions put as forms.
    Forms,
}

impl Offer {
    /// Forms, where one of the answers of a profile is an answer to a form, and the revision has questions at all.
    pub fn of(responses: Option<&Map<String, Value>>, revision: Revision) -> Self {
        if !revision.has_elicitation() {
            Self::Unknown
        } else if responses.is_some_and(|responses| responses.values().any(is_form_answer)) {
            Self::Forms
        } else {
            Self::Nothing
        }
    }

    /// The capabilities that say it. An empty object means forms, in 2025-06-18 and in 2025-11-25.
    pub(super) fn capabilities(self) -> Value {
        match self {
            Self::Unknown | Self::Nothing => json!({}),
            Self::Forms => json!({"elicitation": {}}),
        }
    }
}

/// Whether an answer of a profile can be one to a form: other kinds of input have no `action`.
pub(crate) fn is_form_answer(answer: &Value) -> bool {
    answer.get("action").is_some_and(Value::is_string)
}

/// A request of the server for input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question<'a> {
    id: &'a Value,
    params: &'a Value,
}

impl<'a> Question<'a> {
    /// The frame as a request for input, if it is one.
    pub fn of(frame: &'a Value) -> Option<Self> {
        let is_question = frame.get("method")?.as_str()? == METHOD;
        is_question.then_some(Self {
            id: frame.get("id")?,
            params: frame.get("params").unwrap_or(&Value::Null),
        })
    }

    /// Whether it is put as a form; the other mode sends the user to a page.
    pub fn is_form(self) -> bool {
        self.params
            .get("mode")
            .is_none_or(|mode| mode.is_null() || mode == "form")
    }

    /// What it says to people.
    pub fn message(self) -> Option<&'a str> {
        self.params.get("message")?.as_str()
    }

    /// The properties that it asks for, each with its schema.
    pub fn properties(self) -> Option<&'a Map<String, Value>> {
        self.params.pointer("/requestedSchema/properties")?.as_object()
    }

    /// The properties that an answer must have.
    pub fn required(self) -> Vec<&'a str> {
        let required = self.params.pointer("/requestedSchema/required");
        let names = required.and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).collect()
    }

    /// Its id.
    pub(crate) fn id(self) -> &'a Value {
        self.id
    }

    /// The frame that answers it with this result.
    pub fn answer(self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }
}

/// Whether a frame is a request, which wants an answer.
pub fn is_request(frame: &Value) -> bool {
    frame.get("id").is_some() && frame.get("method").is_some_and(Value::is_string)
}

/// What a client by rule answers to a request of the server: `ping` is answered, and everything that we did not offer is
/// refused. Nothing when the frame is no request.
///
/// A form that was offered, and that comes where nothing is written, is dismissed: nobody is there to fill it in.
pub fn answer_server_request(frame: &Value, offer: Offer) -> Option<Value> {
    let id = frame.get("id")?;
    let method = frame.get("method")?.as_str()?;
    let refused =
        |code: i64, message: String| json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
    Some(match (method, Question::of(frame)) {
        ("ping", _) => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        (_, Some(question)) if offer == Offer::Forms && question.is_form() => {
            question.answer(&json!({"action": "cancel"}))
        }
        (_, Some(_)) if offer != Offer::Unknown => refused(
            INVALID_PARAMS,
            format!("{method} in this mode was not declared by this client"),
        ),
        (method, _) => refused(METHOD_NOT_FOUND, format!("{method} is not offered by this client")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(params: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": "q-1", "method": METHOD, "params": params})
    }

    #[test]
    fn a_question_is_told_by_its_method_and_its_id() {
        let frame = asks(&json!({"requestedSchema": {"properties": {"a": {}, "b": {}}, "required": ["a"]}}));
        let question = Question::of(&frame).expect("a question");
        assert_eq!(question.required(), ["a"]);
        assert_eq!(question.properties().map(Map::len), Some(2));
        assert!(question.is_form());
        for frame in [
            json!({"method": METHOD, "params": {}}),
            json!({"id": 1, "method": "ping"}),
            json!({"id": 1, "result": {"method": METHOD}}),
        ] {
            assert_eq!(Question::of(&frame), None, "{frame}");
        }
    }

    #[test]
    fn only_answers_to_forms_make_an_offer_and_only_where_there_is_elicitation() {
        let answers = |answer: Value| Map::from_iter([("key".to_owned(), answer)]);
        let form = answers(json!({"action": "accept", "content": {}}));
        let roots = answers(json!({"roots": []}));
        for revision in Revision::ALL {
            let is_older = ["2025-03-26", "2024-11-05"].contains(&revision.name());
            let (offer, none) = if is_older {
                (Offer::Unknown, Offer::Unknown)
            } else {
                (Offer::Forms, Offer::Nothing)
            };
            assert_eq!(Offer::of(Some(&form), revision), offer, "{}", revision.name());
            for responses in [Some(&roots), Some(&Map::new()), None] {
                assert_eq!(Offer::of(responses, revision), none, "{}", revision.name());
            }
            let declared = offer.capabilities();
            assert_eq!(declared.get("elicitation").is_some(), !is_older, "{}", revision.name());
        }
    }

    #[test]
    fn requests_of_a_server_are_answered_by_rule() {
        let ping = json!({"jsonrpc": "2.0", "id": "a", "method": "ping"});
        let pong = json!({"jsonrpc": "2.0", "id": "a", "result": {}});
        assert_eq!(answer_server_request(&ping, Offer::Nothing), Some(pong));
        for (method, offer, code) in [
            ("roots/list", Offer::Nothing, METHOD_NOT_FOUND),
            ("sampling/createMessage", Offer::Forms, METHOD_NOT_FOUND),
            ("no/such", Offer::Forms, METHOD_NOT_FOUND),
            (METHOD, Offer::Nothing, INVALID_PARAMS),
            (METHOD, Offer::Unknown, METHOD_NOT_FOUND),
        ] {
            let frame = json!({"jsonrpc": "2.0", "id": 1, "method": method});
            let answer = answer_server_request(&frame, offer).expect("an answer");
            assert_eq!(answer["error"]["code"], code, "{method}");
        }
        let page = asks(&json!({"mode": "url", "url": "https://example.com"}));
        let answer = answer_server_request(&page, Offer::Forms).expect("an answer");
        assert_eq!(answer["error"]["code"], INVALID_PARAMS);
        let form = answer_server_request(&asks(&json!({})), Offer::Forms).expect("an answer");
        assert_eq!(form["result"], json!({"action": "cancel"}));
        let notification = json!({"method": "notifications/message"});
        assert_eq!(answer_server_request(&notification, Offer::Forms), None);
    }
}
