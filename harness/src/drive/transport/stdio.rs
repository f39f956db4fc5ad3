//! Frames over a server's standard input and output.
//!
//! A task of its own reads all the time, so that sending and receiving cannot wait for each other. What it has read and
//! nobody has taken yet is bounded in bytes; once that is full, the server feels it as a pipe that nobody reads.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{EndReason, Incoming, SendError};
use crate::drive::clock::StampFn;
use crate::drive::framing::{LineFramer, OVERSIZE_HEAD_BYTES, RawFrame};

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a waiting frame costs beside its bytes, in bytes; it also bounds the number of empty lines that wait.
const FRAME_OVERHEAD_BYTES: usize = 256;

/// The bounds of one wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StdioLimits {
    /// Longest line that is kept entire, in bytes.
    pub line_bytes_max: usize,
    /// Most bytes of lines that were read and not yet taken. Raised where one longest line would not fit.
    pub waiting_bytes_max: usize,
}

impl Default for StdioLimits {
    /// Lines of 16 MiB, 64 MiB waiting.
    fn default() -> Self {
        Self {
            line_bytes_max: 16 * 1024 * 1024,
            waiting_bytes_max: 64 * 1024 * 1024,
        }
    }
}

/// A wire over pipes; see the module's documentation.
#[derive(Debug)]
pub struct StdioTransport {
    stdin: Option<ChildStdin>,
    outbox: Outbox,
    incoming: mpsc::UnboundedReceiver<Waiting>,
    end: Option<Incoming>,
    reader: JoinHandle<()>,
}

/// Bytes on their way out. It remembers how far it came, also where a send timed out or was dropped, so that the next
/// one neither tears a line nor repeats a piece of it.
#[derive(Debug, Default)]
struct Outbox {
    bytes: Vec<u8>,
    written: usize,
}

/// Something that was read, with its share of the bytes that may wait.
#[derive(Debug)]
struct Waiting {
    incoming: Incoming,
    _share: Option<OwnedSemaphorePermit>,
}

impl StdioTransport {
    /// Starts reading. Must be called within a runtime.
    pub(crate) fn start(stdin: ChildStdin, stdout: ChildStdout, limits: StdioLimits, stamp: StampFn) -> Self {
        // The channel itself is unbounded: its bound is the semaphore, in bytes.
        let (sender, incoming) = mpsc::unbounded_channel();
        let longest_kept = limits.line_bytes_max.max(OVERSIZE_HEAD_BYTES) + FRAME_OVERHEAD_BYTES;
        let room = limits.waiting_bytes_max.max(longest_kept).min(Semaphore::MAX_PERMITS);
        let reader = Reader {
            framer: LineFramer::new(limits.line_bytes_max),
            room: Arc::new(Semaphore::new(room)),
            room_bytes: room,
            sender,
            stamp,
        };
        let reader = tokio::spawn(reader.run(stdout));
        Self {
            stdin: Some(stdin),
            outbox: Outbox::default(),
            incoming,
            end: None,
            reader,
        }
    }

    pub(crate) async fn send(&mut self, line: &[u8], bound: Duration) -> Result<(), SendError> {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        self.send_bytes(&bytes, bound).await
    }

    /// How much lies in the pipe to the server. What it has read and not looked at yet is not known.
    pub(crate) fn unread_bytes(&self) -> u64 {
        let unread = self.stdin.as_ref().map(rustix::io::ioctl_fionread);
        unread.and_then(Result::ok).unwrap_or(0)
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8], bound: Duration) -> Result<(), SendError> {
        let Some(stdin) = &mut self.stdin else {
            return Err(SendError::Closed);
        };
        let before = self.outbox.append(bytes);
        let result = timeout(bound, self.outbox.write_to(stdin)).await;
        let (written_bytes, frame_bytes) = (self.outbox.written.saturating_sub(before), bytes.len());
        match result {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Err(SendError::PeerGone {
                    written_bytes,
                    frame_bytes,
                })
            }
            Ok(Err(error)) => Err(SendError::Failed {
                written_bytes,
                frame_bytes,
                message: error.to_string(),
            }),
            Err(_) => Err(SendError::TimedOut {
                written_bytes,
                frame_bytes,
                bound,
            }),
        }
    }

    pub(crate) fn close_sending(&mut self) {
        self.stdin = None;
        self.outbox = Outbox::default();
    }

    pub(crate) async fn receive(&mut self, bound: Duration) -> Option<Incoming> {
        if self.end.is_some() {
            return self.end.clone();
        }
        let waiting = timeout(bound, self.incoming.recv()).await.ok()?;
        waiting.map(|waiting| self.take(waiting))
    }

    pub(crate) fn receive_now(&mut self) -> Option<Incoming> {
        if self.end.is_some() {
            return self.end.clone();
        }
        match self.incoming.try_recv() {
            Ok(waiting) => Some(self.take(waiting)),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }

    fn take(&mut self, waiting: Waiting) -> Incoming {
        if matches!(waiting.incoming, Incoming::End { .. }) {
            self.end = Some(waiting.incoming.clone());
        }
        waiting.incoming
    }
}

impl Drop for StdioTransport {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Outbox {
    /// Adds bytes behind those that wait; returns how many do.
    fn append(&mut self, bytes: &[u8]) -> usize {
        self.bytes.drain(..self.written);
        self.written = 0;
        let waiting = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        waiting
    }

    async fn write_to(&mut self, stdin: &mut ChildStdin) -> std::io::Result<()> {
        while self.written < self.bytes.len() {
            match stdin.write(&self.bytes[self.written..]).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => self.written += count,
            }
        }
        Ok(())
    }
}

/// The reading task.
struct Reader {
    framer: LineFramer,
    room: Arc<Semaphore>,
    room_bytes: usize,
    sender: mpsc::UnboundedSender<Waiting>,
    stamp: StampFn,
}

impl Reader {
    async fn run(mut self, mut stdout: ChildStdout) {
        let mut chunk = vec![0; CHUNK_BYTES];
        let reason = loop {
            match stdout.read(&mut chunk).await {
                Ok(0) => break EndReason::Closed,
                Ok(length) => {
                    let frames = self.framer.push(&chunk[..length]);
                    if !self.hand_over(frames).await {
                        return;
                    }
                }
                Err(error) => break EndReason::Failed(error.to_string()),
            }
        };
        let tail = self.framer.finish();
        if self.hand_over(tail).await {
            let incoming = Incoming::End {
                at: (self.stamp)(),
                reason,
            };
            // Nobody listens any more: then nobody needs to know.
            let _ = self.sender.send(Waiting { incoming, _share: None });
        }
    }

    /// Hands frames over, each once there is room for it; returns whether anybody still listens.
    async fn hand_over(&mut self, frames: impl IntoIterator<Item = RawFrame>) -> bool {
        let at = (self.stamp)();
        for frame in frames {
            let cost = (frame.bytes.len() + FRAME_OVERHEAD_BYTES).min(self.room_bytes);
            let cost = u32::try_from(cost).unwrap_or(u32::MAX);
            let share = Arc::clone(&self.room).acquire_many_owned(cost).await.ok();
            let waiting = Waiting {
                incoming: Incoming::Frame { at, frame },
                _share: share,
            };
            if self.sender.send(waiting).is_err() {
                return false;
            }
        }
        true
    }
}
