//! Drains a server's standard error into a file, always, so that no server ever blocks on it.
//!
//! What exceeds the bound, or what the file does not take, is read and dropped, and the file ends with a note of how
//! much that was. The bytes are untrusted and are not looked at.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::task::JoinHandle;

/// Bytes read at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// What became of a server's standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StderrSummary {
    /// Bytes written to the file, without the note.
    pub kept_bytes: u64,
    /// Bytes read and dropped.
    pub dropped_bytes: u64,
    /// Whether the end was seen; if not, some process still holds the other end.
    pub complete: bool,
}

/// The task that drains.
#[derive(Debug)]
pub(crate) struct StderrDrain {
    task: Option<JoinHandle<()>>,
    counts: Arc<Counts>,
    complete: bool,
}

#[derive(Debug, Default)]
struct Counts {
    kept: AtomicU64,
    dropped: AtomicU64,
}

/// The file; its end, whatever brings it about, writes the note.
struct StderrFile {
    file: File,
    bytes_max: u64,
    counts: Arc<Counts>,
}

impl StderrDrain {
    /// Starts draining. Must be called within a runtime.
    pub(crate) fn start(pipe: ChildStderr, file: File, bytes_max: u64) -> Self {
        let counts = Arc::new(Counts::default());
        let file = StderrFile {
            file,
            bytes_max,
            counts: Arc::clone(&counts),
        };
        Self {
            task: Some(tokio::spawn(drain(pipe, file))),
            counts,
            complete: false,
        }
    }

    /// Waits for the end of the stream within a bound, then ends the file in any case.
    pub(crate) async fn finish(&mut self, bound: Duration) -> StderrSummary {
        if let Some(mut task) = self.task.take() {
            self.complete = tokio::time::timeout(bound, &mut task).await.is_ok();
            if !self.complete {
                task.abort();
                // Only to know that the file has been closed.
                let _ = task.await;
            }
        }
        StderrSummary {
            kept_bytes: self.counts.kept.load(Ordering::Relaxed),
            dropped_bytes: self.counts.dropped.load(Ordering::Relaxed),
            complete: self.complete,
        }
    }
}

async fn drain(mut pipe: ChildStderr, mut file: StderrFile) {
    let mut chunk = vec![0; CHUNK_BYTES];
    // A read error is treated as the end: there is nothing else to be had from this pipe.
    while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
        file.take(&chunk[..length]);
    }
}

impl StderrFile {
    fn take(&mut self, bytes: &[u8]) {
        let room = self.bytes_max.saturating_sub(self.counts.kept.load(Ordering::Relaxed));
        let fitting = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        let kept = if self.file.write_all(&bytes[..fitting]).is_ok() {
            fitting
        } else {
            0
        };
        self.counts.kept.fetch_add(kept as u64, Ordering::Relaxed);
        self.counts
            .dropped
            .fetch_add((bytes.len() - kept) as u64, Ordering::Relaxed);
    }
}

impl Drop for StderrFile {
    fn drop(&mut self) {
        let dropped = self.counts.dropped.load(Ordering::Relaxed);
        if dropped > 0 {
            // Where the file takes no more, the summary still says it.
            let _ = writeln!(
                self.file,
                "\n[harness: {dropped} more bytes of standard error were dropped]"
            );
        }
    }
}
