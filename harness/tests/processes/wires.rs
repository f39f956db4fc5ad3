//! Standard input, output and error against servers that do not read, flood, or go away.

use std::time::Duration;

use harness::drive::framing::{FrameKind, OVERSIZE_HEAD_BYTES};
use harness::drive::process::{Exit, ExitWait};
use harness::drive::transport::{EndReason, Incoming, SendError, StdioLimits};
use libtest_mimic::Trial;

use crate::support::{WAIT_MAX, this_program};
use crate::{launch, play, play_scenario, trial};

/// More than any pipe holds.
const MORE_THAN_A_PIPE_BYTES: usize = 4 << 20;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "lines_arrive_in_order_with_the_tail_and_the_end",
            lines_arrive_in_order_with_the_tail_and_the_end,
        ),
        trial(
            "a_server_that_never_reads_is_a_timed_out_send",
            a_server_that_never_reads_is_a_timed_out_send,
        ),
        trial(
            "a_send_that_timed_out_is_continued_not_torn",
            a_send_that_timed_out_is_continued_not_torn,
        ),
        trial("a_gone_peer_is_data", a_gone_peer_is_data),
        trial(
            "a_line_of_50_mib_keeps_its_head_length_and_digest",
            a_line_of_50_mib_keeps_its_head_length_and_digest,
        ),
        trial(
            "a_long_line_does_not_fill_the_memory",
            a_long_line_does_not_fill_the_memory,
        ),
        trial(
            "a_server_that_writes_before_it_reads_is_no_deadlock",
            a_server_that_writes_before_it_reads_is_no_deadlock,
        ),
        trial(
            "waiting_frames_are_bounded_and_none_is_lost",
            waiting_frames_are_bounded_and_none_is_lost,
        ),
        trial(
            "a_flood_on_stderr_is_drained_and_bounded",
            a_flood_on_stderr_is_drained_and_bounded,
        ),
        trial(
            "stderr_held_by_nobody_we_wait_for",
            stderr_is_ended_while_it_is_still_held,
        ),
    ]
}

async fn lines_arrive_in_order_with_the_tail_and_the_end() {
    let mut server = play(&["tail"]);
    server.expect_line("whole").await;
    server.expect_line("").await;
    let tail = server.next_frame().await;
    assert_eq!((&tail.bytes[..], tail.kind), (&b"tail"[..], FrameKind::Unterminated));
    for _ in 0..2 {
        let end = server.next().await;
        assert!(
            matches!(
                end,
                Incoming::End {
                    reason: EndReason::Closed,
                    ..
                }
            ),
            "{end:?}"
        );
    }
}

async fn a_server_that_never_reads_is_a_timed_out_send() {
    let mut server = play(&["silent"]);
    server.expect_line("ready").await;
    let bound = Duration::from_millis(50);
    let line = vec![b'a'; MORE_THAN_A_PIPE_BYTES];
    let error = server.launched.transport.send(&line, bound).await.unwrap_err();
    let SendError::TimedOut {
        written_bytes,
        frame_bytes,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert!(written_bytes > 0 && written_bytes < frame_bytes);
    assert_eq!(
        server.launched.close_stdin_and_wait(bound).await,
        ExitWait::StillRunning
    );
    assert_eq!(server.launched.transport.send(b"", bound).await, Err(SendError::Closed));
    assert_eq!(server.launched.process.kill_tree().await.exit, Exit::Signal(9));
}

async fn a_send_that_timed_out_is_continued_not_torn() {
    let mut server = play(&["echo"]);
    assert_eq!(server.launched.process.pause().await.running, 0);
    let line = vec![b'a'; MORE_THAN_A_PIPE_BYTES];
    let error = server
        .launched
        .transport
        .send(&line, Duration::from_millis(50))
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::TimedOut { .. }), "{error}");
    assert_eq!(server.launched.process.resume(), 1);
    server.launched.transport.send(b"next", WAIT_MAX).await.unwrap();
    assert_eq!(
        server.launched.close_stdin_and_wait(WAIT_MAX).await,
        ExitWait::Ended(Exit::Code(0))
    );
    assert!(server.next_frame().await.bytes == line);
    server.expect_line("next").await;
}

async fn a_gone_peer_is_data() {
    let mut server = launch(
        "sh",
        &["-c", "exec <&-; echo closed; exec sleep 60"],
        StdioLimits::default(),
    );
    server.expect_line("closed").await;
    let error = server.launched.transport.send(b"hello", WAIT_MAX).await.unwrap_err();
    assert_eq!(
        error,
        SendError::PeerGone {
            written_bytes: 0,
            frame_bytes: 6
        }
    );
    let mut server = play(&["silent"]);
    server.expect_line("ready").await;
    server.launched.process.kill_tree().await;
    let error = server.launched.transport.send(b"hello", WAIT_MAX).await.unwrap_err();
    assert!(matches!(error, SendError::PeerGone { .. }), "{error}");
}

async fn a_line_of_50_mib_keeps_its_head_length_and_digest() {
    let bytes: u64 = 50 << 20;
    let limits = StdioLimits {
        line_bytes_max: 1 << 20,
        waiting_bytes_max: 4 << 20,
    };
    let program = this_program();
    let mut server = launch(
        program.to_str().unwrap(),
        &["--role", "long-line", &bytes.to_string()],
        limits,
    );
    let frame = server.next_frame().await;
    assert_eq!(frame.bytes.len(), OVERSIZE_HEAD_BYTES);
    let FrameKind::Oversize {
        length,
        sha256,
        terminated,
    } = frame.kind
    else {
        panic!("{:?}", frame.kind)
    };
    // head -c 52428800 /dev/zero | tr '\0' x | sha256sum
    let expected = "a27017450ed5f6ac334ffa9be401a5ae1f24465aac9b98a790d0eec6833599d9";
    assert_eq!((length, sha256.as_str(), terminated), (bytes, expected, true));
    server.expect_line("done").await;
}

/// The memory of a process can be told only where nothing else runs in it.
async fn a_long_line_does_not_fill_the_memory() {
    play_scenario("long-line");
}

/// The part of [`a_long_line_does_not_fill_the_memory`].
pub(crate) fn long_line() {
    let peak_before = peak_memory_bytes();
    crate::block_on(a_line_of_50_mib_keeps_its_head_length_and_digest());
    let grown = peak_memory_bytes() - peak_before;
    assert!(grown < 16 << 20, "the peak grew by {grown} bytes");
}

/// The most memory that this process ever held, in bytes.
fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

async fn a_server_that_writes_before_it_reads_is_no_deadlock() {
    let lines = 8 << 10;
    let mut server = play(&["chatty", &lines.to_string()]);
    let line = vec![b'a'; MORE_THAN_A_PIPE_BYTES];
    server.launched.transport.send(&line, WAIT_MAX).await.unwrap();
    for _ in 0..lines {
        assert_eq!(server.next_frame().await.bytes.len(), 1023);
    }
    server.expect_line(&format!("got {MORE_THAN_A_PIPE_BYTES}")).await;
}

async fn waiting_frames_are_bounded_and_none_is_lost() {
    let lines = 4 << 10;
    let limits = StdioLimits {
        line_bytes_max: 2 << 10,
        waiting_bytes_max: 64 << 10,
    };
    let program = this_program();
    let mut server = launch(
        program.to_str().unwrap(),
        &["--role", "chatty", &lines.to_string()],
        limits,
    );
    // It has more to write than may wait, so it cannot come to the line that we send.
    let line = vec![b'a'; MORE_THAN_A_PIPE_BYTES];
    let error = server
        .launched
        .transport
        .send(&line, Duration::from_millis(200))
        .await
        .unwrap_err();
    assert!(matches!(error, SendError::TimedOut { .. }), "{error}");
    for _ in 0..lines {
        assert_eq!(server.next_frame().await.bytes.len(), 1023);
    }
    server.launched.transport.send_bytes(b"", WAIT_MAX).await.unwrap();
    server.expect_line(&format!("got {MORE_THAN_A_PIPE_BYTES}")).await;
}

async fn a_flood_on_stderr_is_drained_and_bounded() {
    let mut server = play(&["stderr-flood", &(8 << 20).to_string()]);
    server.expect_line("done").await;
    assert_eq!(
        server.launched.process.wait(WAIT_MAX).await,
        ExitWait::Ended(Exit::Code(0))
    );
    let summary = server.launched.process.finish_stderr(WAIT_MAX).await;
    assert_eq!(
        (summary.kept_bytes, summary.dropped_bytes, summary.complete),
        (1 << 20, 7 << 20, true)
    );
    let log = std::fs::read_to_string(server.folder.path().join("stderr.log")).unwrap();
    assert_eq!(
        log.trim_start_matches('e'),
        "\n[harness: 7340032 more bytes of standard error were dropped]\n"
    );
}

async fn stderr_is_ended_while_it_is_still_held() {
    let mut server = launch(
        "sh",
        &["-c", "echo said >&2; echo ready; exec sleep 60"],
        StdioLimits::default(),
    );
    server.expect_line("ready").await;
    let summary = server.launched.process.finish_stderr(Duration::from_millis(50)).await;
    assert!(!summary.complete);
}
