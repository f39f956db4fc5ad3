//! A guarded MCP server.
#![forbid(unsafe_code)]
