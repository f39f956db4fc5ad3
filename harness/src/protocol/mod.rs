//! MCP as far as a client that tests needs it: frames as values, built and read, nothing sent.
//!
//! Two eras: modern (revision 2026-07-28: no handshake, `_meta` on each request, `server/discover`, Multi Round-Trip
//! Requests) and legacy (2025-11-25 and older: `initialize`, `notifications/initialized`, requests by the server).
//!
//! - [`request`]: what we send, and the check of it before it is sent.
//! - [`reply`]: what a reply means.
//! - [`elicitation`]: what a server of the legacy era asks while a call is in flight, and what it is answered.
//! - [`handshake`]: what the answer to a probe says about the era.
//! - [`revision`]: which revisions there are, and which one a user wants.
//! - [`instead`]: what came where a reply was waited for.

mod elicitation;
mod handshake;
mod instead;
mod reply;
mod request;
mod revision;
mod spoken;

pub(crate) use elicitation::is_form_answer;
pub use elicitation::{Offer, Question, answer_server_request, is_request};
pub(crate) use handshake::said_to_discover;
pub use handshake::{Era, Probed, ServerIdentity, read_initialize, read_probe};
pub(crate) use instead::{
    SAID_CHARS_MAX, is_batch, is_message, may_be_meant, near_reply, not_json, said_in, shortened,
};
pub(crate) use reply::without_replayed;
pub use reply::{Reply, ReplyKind};
pub use request::{
    call_tool, check_outgoing, continue_call, discover, initialize, initialized, list_tools, undeclared, with_members,
    without_capabilities,
};
pub use revision::{Protocol, Revision};
pub use spoken::Spoken;

/// The newest revision that this harness knows.
pub const REVISION_MODERN: &str = Revision::V2026_07_28.name();
