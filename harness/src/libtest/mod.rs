//! The cases as the tests of a server's own package: one trial for each, under `cargo test`. Needs the feature `libtest`.
//!
//! ```toml
//! # Cargo.toml
//! [dev-dependencies]
//! harness = { path = "../harness/harness", default-features = false, features = ["libtest"] }
//!
//! [[test]]
//! name    = "mcp"
//! harness = false
//!
//! # In the manifest of the workspace: evidence that stays has the digest of the test binary in it.
//! [profile.dev.package.sha2]
//! opt-level = 3
//! ```
//!
//! ```no_run
//! // tests/mcp.rs
//! use harness::libtest::Target;
//!
//! fn main() -> std::process::ExitCode {
//!     # macro_rules! env { ($name:literal) => { "orders" } }
//!     harness::libtest::run(Target::from_profile("tests/mcp.toml").program(env!("CARGO_BIN_EXE_orders")))
//! }
//! ```
//!
//! `cargo test --test mcp` then runs every case on the server that Cargo has just built; `-- lost-reply`, `-- --list`,
//! `-- --skip crash` and the other words of `libtest` do what they always do. Server and controls are
//! looked at once, before the first case. A trial that fails prints what `harness run` prints of that case.
//!
//! | verdict | trial |
//! |---|---|
//! | pass | ok |
//! | fail, inconclusive | failed |
//! | unguarded | failed, as for every case that is named; ignored with [`Suite::allow_unguarded`] |
//! | unsupported | ignored, with the surface that is missing; where that leaves controls alone, and nobody has filtered, the whole fails |
//! | listed in [`Suite::expected_failures`] | ignored while it fails, failed once it does not |
//!
//! cargo-nextest starts a process for each trial, and takes one that ends as ignored for one that passed. A list has as ignored
//! what the profile alone shows to be lacking, so it is skipped there. Everything else that is ignored shows as passed: what only
//! the living server turns out to lack, known failures, [`Suite::allow_unguarded`], and what `--run-ignored` insists on. Nor does
//! any of these processes see that nothing was tested at all.
//!
//! Nothing may be done in `main` before: whatever ends the tests, no server is left, and for that the program starts itself
//! once more with the same arguments. What else can be said stands in [`Suite`]; `HARNESS_SEED` repeats the names of a run.
//!
//! - [`target`]: which server.
//! - [`suite`]: which cases, and the way from the arguments to the exit code.
//! - [`conducting`]: the run on its own thread.
//! - [`board`]: where the trials wait for what becomes of their cases.

mod board;
mod conducting;
mod suite;
mod target;

pub use suite::{Suite, run};
pub use target::Target;
