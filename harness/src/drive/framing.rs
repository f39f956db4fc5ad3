//! Cuts a byte stream into lines, incrementally and within a fixed amount of memory.
//!
//! Pure: no input or output, no clock. It does not look inside a line: whether a frame is JSON, empty or garbage is for
//! the caller to say. Only LF ends a line, so a trailing CR stays in the bytes and U+2028 means nothing.

use sha2::{Digest, Sha256};

/// How much of an oversize line is kept, in bytes.
pub const OVERSIZE_HEAD_BYTES: usize = 64 * 1024;

/// One line as it was received, without its LF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawFrame {
    /// The line without its LF; of an oversize line only the head (at most [`OVERSIZE_HEAD_BYTES`]).
    pub bytes: Vec<u8>,
    /// Whether `bytes` is the entire line.
    pub kind: FrameKind,
}

/// What [`RawFrame::bytes`] holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameKind {
    /// An entire line.
    Whole,
    /// The head of a line that was longer than the framer's bound.
    Oversize {
        /// Length of the line without its LF, in bytes.
        length: u64,
        /// SHA-256 of the line without its LF, in lower-case hexadecimal.
        sha256: String,
        /// Whether an LF ended the line; if not, the stream ended inside it.
        terminated: bool,
    },
    /// The stream ended inside this line.
    Unterminated,
}

impl RawFrame {
    /// Length of the line without its LF, in bytes, also where only its head was kept.
    pub fn length_bytes(&self) -> u64 {
        match &self.kind {
            FrameKind::Oversize { length, .. } => *length,
            FrameKind::Whole | FrameKind::Unterminated => self.bytes.len() as u64,
        }
    }

    /// Whether an LF ended the line.
    pub fn is_terminated(&self) -> bool {
        match self.kind {
            FrameKind::Whole => true,
            FrameKind::Oversize { terminated, .. } => terminated,
            FrameKind::Unterminated => false,
        }
    }
}

/// Collects bytes until a line is complete; see the module's documentation.
#[derive(Debug)]
pub struct LineFramer {
    line_bytes_max: usize,
    line: Vec<u8>,
    overflow: Option<Overflow>,
}

/// What is remembered of a line once it has outgrown the bound, beside its head.
#[derive(Debug)]
struct Overflow {
    length: u64,
    digest: Sha256,
}

impl Overflow {
    fn after(line: &[u8]) -> Self {
        Self {
            length: line.len() as u64,
            digest: Sha256::new_with_prefix(line),
        }
    }
}

impl LineFramer {
    /// A framer that keeps lines of up to `line_bytes_max` bytes entire.
    pub fn new(line_bytes_max: usize) -> Self {
        Self {
            line_bytes_max,
            line: Vec::new(),
            overflow: None,
        }
    }

    /// Takes the next bytes of the stream and returns the lines that they completed, oldest first.
    pub fn push(&mut self, mut bytes: &[u8]) -> Vec<RawFrame> {
        let mut frames = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.extend(&bytes[..end]);
            frames.push(self.take(true));
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
        frames
    }

    /// Ends the stream: what follows the last LF, if anything does.
    pub fn finish(&mut self) -> Option<RawFrame> {
        let nothing_left = self.line.is_empty() && self.overflow.is_none();
        (!nothing_left).then(|| self.take(false))
    }

    /// Bytes held at this moment: never more than `line_bytes_max`, or the head where that is more.
    pub fn held_bytes(&self) -> usize {
        self.line.len()
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.overflow.is_none() && self.line.len() + bytes.len() <= self.line_bytes_max {
            self.line.extend_from_slice(bytes);
            return;
        }
        let overflow = self.overflow.get_or_insert_with(|| Overflow::after(&self.line));
        overflow.length += bytes.len() as u64;
        overflow.digest.update(bytes);
        let missing = OVERSIZE_HEAD_BYTES.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..missing.min(bytes.len())]);
        self.line.truncate(OVERSIZE_HEAD_BYTES);
        self.line.shrink_to(OVERSIZE_HEAD_BYTES);
    }

    fn take(&mut self, terminated: bool) -> RawFrame {
        let kind = match self.overflow.take() {
            Some(Overflow { length, digest }) => {
                let sha256 = base16ct::lower::encode_string(&digest.finalize());
                FrameKind::Oversize {
                    length,
                    sha256,
                    terminated,
                }
            }
            None if terminated => FrameKind::Whole,
            None => FrameKind::Unterminated,
        };
        RawFrame {
            bytes: std::mem::take(&mut self.line),
            kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The oracle cuts the whole stream at once and looks at finished lines only.
    fn oracle(stream: &[u8], line_bytes_max: usize) -> Vec<RawFrame> {
        let mut lines: Vec<(&[u8], bool)> = stream.split(|byte| *byte == b'\n').map(|line| (line, true)).collect();
        if let Some(last) = lines.last_mut() {
            last.1 = false;
        }
        if lines.last().is_some_and(|(line, _)| line.is_empty()) {
            lines.pop();
        }
        let frame = |(line, terminated): (&[u8], bool)| {
            if line.len() > line_bytes_max {
                let sha256 = base16ct::lower::encode_string(&Sha256::digest(line));
                let kind = FrameKind::Oversize {
                    length: line.len() as u64,
                    sha256,
                    terminated,
                };
                RawFrame {
                    bytes: line[..line.len().min(OVERSIZE_HEAD_BYTES)].to_vec(),
                    kind,
                }
            } else {
                let kind = if terminated {
                    FrameKind::Whole
                } else {
                    FrameKind::Unterminated
                };
                RawFrame {
                    bytes: line.to_vec(),
                    kind,
                }
            }
        };
        lines.into_iter().map(frame).collect()
    }

    fn framed(chunks: &[Vec<u8>], line_bytes_max: usize) -> Vec<RawFrame> {
        let mut cutter = LineFramer::new(line_bytes_max);
        let mut frames: Vec<RawFrame> = chunks.iter().flat_map(|chunk| cutter.push(chunk)).collect();
        frames.extend(cutter.finish());
        frames
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(
            chunks in prop::collection::vec(prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..40), 0..12),
            line_bytes_max in 0_usize..50,
        ) {
            prop_assert_eq!(framed(&chunks, line_bytes_max), oracle(&chunks.concat(), line_bytes_max));
        }

        #[test]
        fn heads_of_long_lines_do_not_depend_on_the_split(
            lengths in prop::collection::vec(0_usize..3 * OVERSIZE_HEAD_BYTES, 1..5),
            chunk_bytes in 1_usize..2 * OVERSIZE_HEAD_BYTES,
            line_bytes_max in 0_usize..3 * OVERSIZE_HEAD_BYTES,
        ) {
            let lines: Vec<Vec<u8>> = lengths.iter().map(|length| (0..*length).map(|at| b"abcdefg"[at % 7]).collect()).collect();
            let stream = lines.join(&b'\n');
            let chunks: Vec<Vec<u8>> = stream.chunks(chunk_bytes).map(<[u8]>::to_vec).collect();
            prop_assert_eq!(framed(&chunks, line_bytes_max), oracle(&stream, line_bytes_max));
        }
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        let frames = framed(&["a\u{2028}b\r\n\n\rc".as_bytes().to_vec()], 100);
        let found: Vec<(&[u8], bool)> = frames
            .iter()
            .map(|frame| (&frame.bytes[..], frame.is_terminated()))
            .collect();
        assert_eq!(found, [("a\u{2028}b\r".as_bytes(), true), (b"", true), (b"\rc", false)]);
    }

    #[test]
    fn an_endless_line_holds_no_more_than_the_bound() {
        let mut framer = LineFramer::new(100_000);
        for _ in 0..1000 {
            assert!(framer.push(&[b'x'; 4096]).is_empty());
            assert!(framer.held_bytes() <= 100_000);
        }
        let frame = framer.finish().expect("bytes are left");
        assert_eq!(
            (frame.bytes.len(), frame.length_bytes()),
            (OVERSIZE_HEAD_BYTES, 4_096_000)
        );
    }
}
