//! A count with its noun, so that nothing says "1 cases".

/// The count, with the word for one or for another number of them.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
