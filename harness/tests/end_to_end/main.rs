//! The product from outside: the real binary, against the built-in server and against a plain server that misbehaves.
//!
//! | file | what it shows |
//! |---|---|
//! | `reference.rs` | the built-in server passes, and what the report of a lost reply holds |
//! | `defects.rs` | every planted defect is caught on the check that is about it, with rows and frames |
//! | `blind.rs` | a read-back that cannot see is inconclusive, never a pass |
//! | `contracts.rs` | whose promise it is: fail, unguarded, unsupported, and what that means for the exit code |
//! | `files.rs` | stores that are no SQLite: JSON Lines, documents, folders |
//! | `own_cases.rs` | cases of the user's own: run from a file, and never taken for an embedded one |
//! | `targets.rs` | which target is tested, and that it is said |
//! | `baselines.rs` | known failures and expected verdicts: what is not met fails, and is kept in the evidence |
//! | `wire.rs` | eras, odd frames, servers that die or stay silent |
//! | `revisions.rs` | one server in each revision of MCP, and servers that do not speak the one that is wanted |
//! | `elicitation.rs` | a server that asks for input inside the call, and everything else that it may ask |
//! | `beside.rs` | writes that wait for the store beside each other, and servers that only seem to |
//! | `unreadable.rs` | stores that nobody can read beside the living server |
//! | `output.rs` | output that cannot be written is said, and is no success |
//! | `outside.rs` | launchers that do not own the server, with and without a command that kills it |
//! | `writers.rs` | servers that write much, log every attempt, or write later than they say |
//! | `workers.rs` | what is wrong with a process beside the server is told as what it is |
//! | `hostile.rs` | what a server writes cannot speak to a terminal |
//! | `jobs.rs` | cases side by side come to what they come to one after the other |
//! | `kills.rs` | whoever is killed, nothing survives and the evidence can be read |
//! | `endless.rs` | evidence that keeps a reader busy, and archives for which there is no room: nothing of them stays |
//! | `interrupted.rs` | what is left of an interrupt, a kill and a full disk is incomplete for everybody |
//! | `prove.rs` | that every case can fail: what makes the proof complete, and what makes it red |
//! | `cut_off_proofs.rs` | a proof that was interrupted or killed: what it had come to is kept, and called incomplete |
//! | `proofs.rs` | the folder of a proof: sealed as a whole, verified with its matrix, shown run by run |
//! | `refusals.rs` | bad input: one message, the right exit code, nothing written |
//! | `verify.rs` | evidence that moved, and evidence that was changed |
//! | `second_verifier.rs` | `evidence/verify.py` and `harness verify` believe the same, and notice the same |
//! | `forged.rs` | evidence that was forged by somebody who has the harness |
//! | `resealed.rs` | archives made anew by such a forger: found, or another receipt |
//! | `forged_executions.rs` | the same of durable executions: event logs, what was tried on them, processes beside the server |
//! | `mutated.rs` | evidence with anything in it changed: no crash, and what is the runner's word |
//! | `misled.rs` | stores that lead elsewhere, stores that are too many files, seeds with odd things in them |
//! | `secrets.rs` | evidence that holds secrets is not handed on, or masked; archives are signed and attested |
//! | `show.rs` | what happened in a run, from whatever is left of its evidence |
//! | `diffs.rs` | two runs beside each other: noise is none, and a difference is shown where it begins |
//! | `reruns.rs` | a run that was kept, repeated: forged verdicts come out, and nothing that a stranger names is run |
//! | `story.rs` | a case as a story: all of its steps, and nothing that a server wrote unescaped |
//! | `report.rs` | a run as a page and as text: whole, harmless, and what the run said |
//! | `told.rs` | what a server said or did in the place of what was expected is shown, with the next step |
//! | `vectors.rs` | the shared vectors: the built-in implementation, the Python adapter, and adapters that misbehave |
//! | `fingerprint.rs` | the fingerprint of a request, every refusal with its place, and the key nowhere |
//! | `command_line.rs` | what the commands print, as snapshots |

#![allow(
    clippy::unwrap_used,
    reason = "a test: a panic is its failure, also in what several tests share"
)]

#[path = "../support/mod.rs"]
mod support;

mod archives;
mod attacked;
mod baselines;
mod beside;
mod blind;
mod command_line;
mod contracts;
mod cut_off_proofs;
mod defects;
mod diffs;
mod elicitation;
mod endless;
mod files;
mod fingerprint;
mod forged;
mod forged_executions;
mod hostile;
mod interrupted;
mod jobs;
mod kills;
mod misled;
mod mutated;
mod no_file;
mod not_evidence;
mod output;
mod outside;
mod own_cases;
mod proofs;
mod prove;
mod reference;
mod refusals;
mod report;
mod reruns;

mod resealed;
mod revisions;
mod second_forged;
mod second_verifier;
mod secrets;
mod show;
mod story;
mod targets;
mod told;
mod unreadable;
mod unsupported;
mod vectors;
mod verify;
mod waits;
mod wire;
mod workers;
mod writers;
