//! Tests that need Python. One that cannot run says so where it is seen, and fails where nothing may be left out.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// With the value `required` in it, nothing may be left out.
const REQUIRED_VARIABLE: &str = "HARNESS_PUBLISHED";

/// Whether there is a `python3` that can run `vectors/adapter.py` and `evidence/verify.py` (3.11 or newer).
///
/// If not, standard error says so, past the capture of the test harness; with `HARNESS_PUBLISHED=required` the test fails.
#[track_caller]
pub(crate) fn has_python(test: &str) -> bool {
    let mut command = Command::new("python3");
    command.args(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"]);
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if status.is_ok_and(|status| status.success()) {
        return true;
    }
    let text = format!("NOT CHECKED: {test}: there is no python3 of version 3.11 or newer on the path");
    let is_required = std::env::var_os(REQUIRED_VARIABLE).is_some_and(|value| value == "required");
    assert!(
        !is_required,
        "{text}, and {REQUIRED_VARIABLE}=required says that there must be"
    );
    // `eprintln!` would be swallowed together with the output of a test that passes.
    let _ = writeln!(
        std::io::stderr(),
        "\n{text}; {REQUIRED_VARIABLE}=required makes this a failure\n"
    );
    false
}
