//! How many values a JSON text holds, before it is parsed. A value takes some seventy bytes in memory and two in a file, so
//! the size of a file alone bounds nothing.

/// Most values that are held at once: about a gigabyte.
pub(crate) const VALUES_MAX: usize = 16_000_000;

/// Not fewer than the values in a JSON text or in lines of them, and not many more: keys count too.
pub(crate) fn values_in(text: &[u8]) -> usize {
    let (mut values, mut is_text, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' | b'\n' if !is_text => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_where_they_are_and_not_in_texts() {
        for (text, values) in [
            ("1", 1),
            ("[1,2,[],{}]", 7),
            (r#"{"a":",,,,","b\"[":2}"#, 5),
            ("[]\n[]", 4),
            (r#""\\",1"#, 2),
        ] {
            assert_eq!(values_in(text.as_bytes()), values, "{text}");
        }
    }
}
