//! Conformance and fault-injection test harness for MCP servers.

pub mod readback;
