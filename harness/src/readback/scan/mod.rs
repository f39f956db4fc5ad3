//! The `auto` read-back: where a marker stands in a whole store, and how many effects that is.
//!
//! Must not scan a store that a server uses: only frozen copies. Must not guess: where places do not agree with one
//! observed effect, nothing is concluded, and the line is given that would decide it.
//!
//! | file | for |
//! |---|---|
//! | [`place`] | a place in a store, and what is seen there |
//! | [`search`] | a frozen store → its places |
//! | `walk` | the places in one JSON text |
//! | [`calibration`] | one observed effect → how many effects later; pure |
//! | [`suggestion`] | the `[read.effects]` line for a place; pure |
//!
//! What is not found: a marker that is compressed, encrypted, hashed, split, or written in other letters; and what
//! stands outside the store.

pub mod calibration;
pub mod place;
pub mod search;
pub mod suggestion;
#[cfg(test)]
mod tests;
mod walk;
