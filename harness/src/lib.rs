//! Conformance and fault-injection test harness for MCP servers.

pub mod case;
pub mod digest;
pub mod document;
pub mod target;
