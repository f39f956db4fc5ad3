//! Submissions: `tools/call` of `submit_issue` over stdio to a real server, one after another, by a bare client that looks for
//! nothing in a reply but that it is no refusal.

use std::path::Path;

use serde_json::json;

use crate::commits::Commits;
use crate::processes::{Crew, Process};
use crate::rounds::{Rate, server};
use crate::stopwatch::{per_second, timed};

/// What every reply has that is no refusal.
const ACCEPTED: &[u8] = b"\"isError\":false";

/// Submits `executions` into a new store at `path`. The first tenth of them is not measured.
pub(crate) fn measure(crew: &Crew, path: &Path, executions: u32) -> Rate {
    let lines: Vec<Vec<u8>> = (1..=executions).map(line).collect();
    let (warm, measured) = lines.split_at(lines.len() / 10);
    let mut command = server("serve", path);
    let mut server = crew.start(&mut command);
    submit(&mut server, warm);
    let counted = Commits::of(path);
    let ((), time) = timed(|| submit(&mut server, measured));
    let commits = counted.count();
    // The server is the last one to close the store, so that all of it is in one file.
    drop(counted);
    server.end();
    let count = u32::try_from(measured.len()).expect("no more than all");
    Rate {
        per_second: per_second(count, time),
        commits_each: f64::from(commits) / f64::from(count),
    }
}

fn submit(server: &mut Process, lines: &[Vec<u8>]) {
    for line in lines {
        let reply = server.exchange(line);
        let accepted = reply.windows(ACCEPTED.len()).any(|part| part == ACCEPTED);
        assert!(accepted, "a submission was refused: {}", String::from_utf8_lossy(reply));
    }
}

fn line(number: u32) -> Vec<u8> {
    let request = json!({
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {
            "name": "submit_issue",
            "arguments": { "title": "Title", "body": "alpha" },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
                "idempotency_key": format!("key-{number:06}"),
                "namespace": "bench",
            },
        },
    });
    format!("{request}\n").into_bytes()
}
