//! Facts: what checks name by path, such as `end.effects.A`. The closed list of them, by the kind of step that makes them, with
//! what each can hold. The judge produces them; a test runs it over retained evidence and asks this list for every one.
//!
//! - `holds`: what a fact can be.
//! - `list`: the list.
//! - `steps`: by which steps of a script a fact is made, and where else it depends on them.
//! - `struck`: what a fault makes impossible.
//! - `path`: the path of a check, found in the list or refused; and whether its value can ever be found there.

mod holds;
mod list;
mod path;
#[cfg(test)]
mod refused;
mod steps;
mod struck;
#[cfg(test)]
mod tests;

pub(super) use path::{Asked, Found, find};
#[cfg(test)]
pub(crate) use tests::{known, unknown};
