//! The wire between the harness and a server: raw frames out, raw frames in.
//!
//! [`Transport`] is the seam: stdio now, Streamable HTTP later, with the same frames. It hands over everything that
//! comes in at once; withholding is the caller's business. It does not look inside a frame.

use std::time::Duration;

use super::clock::Stamp;
use super::framing::RawFrame;

mod stdio;

pub use stdio::{StdioLimits, StdioTransport};

/// Something that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A line.
    Frame {
        /// When its last byte had been read.
        at: Stamp,
        /// The line.
        frame: RawFrame,
    },
    /// Nothing more will come.
    End {
        /// When that was seen.
        at: Stamp,
        /// Why.
        reason: EndReason,
    },
}

/// Why nothing more will come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// Every process that held the other end has closed it.
    Closed,
    /// Reading failed, with this message of the system.
    Failed(String),
}

/// A frame could not be sent. Data about the server, never a reason to stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The other end is closed: the peer was gone while we were sending.
    #[error("send: the peer was gone after {written_bytes} of {frame_bytes} bytes")]
    PeerGone {
        /// Bytes of this frame that the system had taken.
        written_bytes: usize,
        /// Bytes of this frame.
        frame_bytes: usize,
    },
    /// The server did not read. The rest is kept, and goes out before the next frame.
    #[error("send: the server read too little; {written_bytes} of {frame_bytes} bytes were written within {} ms", bound.as_millis())]
    TimedOut {
        /// Bytes of this frame that the system had taken.
        written_bytes: usize,
        /// Bytes of this frame.
        frame_bytes: usize,
        /// The bound that passed.
        bound: Duration,
    },
    /// Sending was closed before, by us.
    #[error("send: our end was closed before")]
    Closed,
    /// The system refused, with this message.
    #[error("send: {message} after {written_bytes} of {frame_bytes} bytes")]
    Failed {
        /// Bytes of this frame that the system had taken.
        written_bytes: usize,
        /// Bytes of this frame.
        frame_bytes: usize,
        /// What the system said.
        message: String,
    },
}

/// A wire to one server.
#[derive(Debug)]
pub enum Transport {
    /// Lines over standard input and output.
    Stdio(StdioTransport),
}

impl Transport {
    /// Sends one line; the LF is added. Frames are taken in while it waits, so a server that writes much before it
    /// reads is no deadlock.
    pub async fn send(&mut self, line: &[u8], bound: Duration) -> Result<(), SendError> {
        match self {
            Self::Stdio(stdio) => stdio.send(line, bound).await,
        }
    }

    /// Sends bytes just as they are: half a line, two lines, none.
    pub async fn send_bytes(&mut self, bytes: &[u8], bound: Duration) -> Result<(), SendError> {
        match self {
            Self::Stdio(stdio) => stdio.send_bytes(bytes, bound).await,
        }
    }

    /// Closes our sending end: end of file for the server, after what was sent.
    pub fn close_sending(&mut self) {
        match self {
            Self::Stdio(stdio) => stdio.close_sending(),
        }
    }

    /// How many bytes of what was sent the server has not taken in yet; where that cannot be known, none.
    pub fn unread_bytes(&self) -> u64 {
        match self {
            Self::Stdio(stdio) => stdio.unread_bytes(),
        }
    }

    /// The next thing that came in, oldest first; `None` if the bound passed before. After the end, always the end.
    /// May be dropped at any time without loss.
    pub async fn receive(&mut self, bound: Duration) -> Option<Incoming> {
        match self {
            Self::Stdio(stdio) => stdio.receive(bound).await,
        }
    }

    /// What has come in already, without waiting.
    pub fn receive_now(&mut self) -> Option<Incoming> {
        match self {
            Self::Stdio(stdio) => stdio.receive_now(),
        }
    }
}
