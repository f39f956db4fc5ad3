//! MCP as far as a client that tests needs it: frames as values, built and read, nothing sent.
//!
//! Two eras: modern (revision 2026-07-28: no handshake, `_meta` on each request, `server/discover`, Multi Round-Trip
//! Requests) and legacy (2025-11-25 and older: `initialize`, `notifications/initialized`, requests by the server).
//!
//! - [`request`]: what we send, and the check of it before it is sent.
//! - [`reply`]: what a reply means.
//! - [`handshake`]: what the answer to a probe says about the era.

mod handshake;
mod reply;
mod request;

pub use handshake::{Era, Probed, ServerIdentity, read_initialize, read_probe};
pub(crate) use reply::without_replayed;
pub use reply::{Reply, ReplyKind};
pub use request::{
    answer_server_request, call_tool, check_outgoing, continue_call, discover, initialize, initialized, list_tools,
    with_members,
};

/// The newest revision that this harness knows.
pub const REVISION_MODERN: &str = "2026-07-28";

/// The revision that it offers to servers that want `initialize`.
pub const REVISION_LEGACY: &str = "2025-11-25";
