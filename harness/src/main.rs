//! The `harness` binary: all of it is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::commands::main(std::env::args_os())
}
