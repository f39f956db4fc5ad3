//! The `reference-server` binary: all of it is in the library, so that another binary can carry it.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    reference_server::main(std::env::args_os())
}
