//! The harness in a server's own tests: the plain server as its authors would test it. `harness::libtest` says what else
//! belongs to it; in a package of its own the path is `env!("CARGO_BIN_EXE_plain-server")`.

use std::path::PathBuf;
use std::process::ExitCode;

use harness::libtest::Target;

/// What stands in a profile, `target.toml`, can stand here too.
const PROFILE: &str = r#"
format = 1
name   = "plain-server"

[launch]
command = ["plain-server", "--database", "{data}/orders.sqlite3"]

[store]
path = "{data}/orders.sqlite3"

[write]
tool      = "create_order"
arguments = { note = "{marker}", qty = 1, key = "{operation}" }
change    = { qty = 2 }

[identity]
at = "arguments.key"

[contract]
preset     = "at-most-once"
claimed_in = "README.md"
conflict   = { tool_error = "/structuredContent/reason", is = "IDEMPOTENCY_CONFLICT" }

[read.effects]
sql = "SELECT id, note, qty, key FROM orders WHERE note = $marker"
"#;

fn main() -> ExitCode {
    harness::libtest::run(Target::from_toml(PROFILE).program(plain_server()))
}

/// An example has no variable that names its path; Cargo builds it beside the tests.
fn plain_server() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this test");
    let profile = this.ancestors().nth(2).expect("target/<profile>/deps/<test>");
    profile.join("examples/plain-server")
}
