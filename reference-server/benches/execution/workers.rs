//! Workers: processes that share one store with executions that are ready, from the start of the first to the end of the last.

use std::path::Path;
use std::time::Duration;

use reference_server::execution::verification::disagreements;

use crate::commits::Commits;
use crate::processes::{Crew, Process};
use crate::rounds::{Rate, server};
use crate::stopwatch::{per_second, timed};

/// The pause of a worker that finds the store locked for longer than the busy timeout, in milliseconds.
const POLL_MS: &str = "5";

/// `width` workers complete the `executions` that are ready in the store at `path`.
pub(crate) fn measure(crew: &Crew, path: &Path, width: u32, executions: u32) -> Rate {
    let counted = Commits::of(path);
    let time = work(crew, path, width);
    let commits = counted.count();
    check(&counted, executions);
    Rate {
        per_second: per_second(executions, time),
        commits_each: f64::from(commits) / f64::from(executions),
    }
}

/// How long a worker takes that finds nothing to do.
pub(crate) fn idle(crew: &Crew, path: &Path) -> Duration {
    let _counted = Commits::of(path);
    work(crew, path, 1)
}

fn work(crew: &Crew, path: &Path, width: u32) -> Duration {
    let ((), time) = timed(|| {
        let start = |number| {
            let mut command = server("work", path);
            command.args([
                "--worker-id",
                &format!("w{number}"),
                "--until-idle",
                "--poll-ms",
                POLL_MS,
            ]);
            crew.start(&mut command)
        };
        let workers: Vec<Process> = (1..=width).map(start).collect();
        workers.into_iter().for_each(Process::end);
    });
    time
}

/// Fast and wrong is no result: every execution was done, once, and the log tells so.
fn check(counted: &Commits, executions: u32) {
    let connection = counted.connection();
    let done = "SELECT (SELECT count(*) FROM executions WHERE state = 'completed'), (SELECT count(*) FROM issues)";
    let done: (u32, u32) = connection
        .query_row(done, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .expect("count what was done");
    assert_eq!(
        done,
        (executions, executions),
        "completed executions, and their effects"
    );
    assert_eq!(disagreements(connection).expect("read the logs"), [""; 0]);
}
