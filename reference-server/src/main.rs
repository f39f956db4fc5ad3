//! The `reference-server` binary.
#![forbid(unsafe_code)]

fn main() {}
