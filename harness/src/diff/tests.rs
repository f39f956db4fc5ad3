//! Whole records, made by hand.
