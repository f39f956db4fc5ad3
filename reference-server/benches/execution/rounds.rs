//! The rounds: everything once in each, forwards and backwards by turns, and what comes of all of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;

use crate::processes::Crew;
use crate::report::{Report, Row, Section, Unit};
use crate::stopwatch::Stopwatch;
use crate::{bare, submissions, workers};

/// How many processes work at once.
const WIDTHS: [u32; 3] = [1, 2, 4];

/// How long everybody waits for the lock: the server's own default.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) rounds_min: usize,
    /// After that no further round is begun: how long one takes is a matter of the disk.
    pub(crate) time: Duration,
    pub(crate) executions: u32,
}

/// What one measurement says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    pub(crate) commits_each: f64,
}

/// What one round says.
#[derive(Debug, Default)]
struct Round {
    submitted: Rate,
    bare: [Rate; WIDTHS.len()],
    completed: [Rate; WIDTHS.len()],
    idle: Duration,
}

/// The server's executable, with the store at `path` and what every command needs. Whatever the caller's environment says of
/// durability or time does not reach it.
pub(crate) fn server(command: &str, path: &Path) -> Command {
    let mut server = Command::new(env!("CARGO_BIN_EXE_reference-server"));
    server
        .arg(command)
        .env_clear()
        .env("GUARD_DATABASE", path)
        .env("GUARD_PRINCIPAL", "bench")
        .env("GUARD_BACKEND", "sqlite:bench")
        .env("GUARD_STATE_KEY", "5a".repeat(32))
        .env("GUARD_FINGERPRINT_KEY", "a5".repeat(32))
        .env("GUARD_BUSY_TIMEOUT_MS", BUSY_TIMEOUT.as_millis().to_string());
    server
}

/// All rounds, with all stores in `scratch`.
pub(crate) fn measure(crew: &Crew, scratch: &Path, size: Size) -> Report {
    let mut stage = Stage {
        crew,
        scratch,
        size,
        stores: 0,
        submitted: PathBuf::new(),
    };
    let mut rounds = Vec::new();
    let stopwatch = Stopwatch::start();
    while rounds.len() < size.rounds_min || stopwatch.elapsed() < size.time {
        rounds.push(stage.round(rounds.len()));
    }
    Report {
        rounds: rounds.len(),
        folder: scratch.parent().unwrap_or(scratch).to_owned(),
        settings: stage.settings(),
        sections: sections(size, &rounds),
    }
}

struct Stage<'a> {
    crew: &'a Crew,
    scratch: &'a Path,
    size: Size,
    stores: u32,
    /// The last store into which executions were submitted, and in which none has been claimed.
    submitted: PathBuf,
}

impl Stage<'_> {
    fn round(&mut self, number: usize) -> Round {
        let mut round = Round::default();
        let forwards = number.is_multiple_of(2);
        if forwards {
            round.submitted = self.submit();
            for place in 0..WIDTHS.len() {
                self.commit(&mut round, place);
                self.work(&mut round, place);
            }
        } else {
            for place in (0..WIDTHS.len()).rev() {
                self.work(&mut round, place);
                self.commit(&mut round, place);
            }
            round.submitted = self.submit();
        }
        round
    }

    /// Submits into a new store, which takes the place of the one before.
    fn submit(&mut self) -> Rate {
        let path = self.new_store();
        let rate = submissions::measure(self.crew, &path, self.size.executions);
        self.submitted = path;
        rate
    }

    fn commit(&mut self, round: &mut Round, place: usize) {
        let path = self.new_store();
        round.bare[place] = bare::measure(self.crew, &path, WIDTHS[place], self.size.executions);
    }

    fn work(&mut self, round: &mut Round, place: usize) {
        let path = self.new_store();
        fs::copy(&self.submitted, &path).expect("copy a store");
        // Or the first flush that is measured would carry the copy to the disk.
        File::open(&path)
            .and_then(|copy| copy.sync_all())
            .expect("a store on disk");
        round.completed[place] = workers::measure(self.crew, &path, WIDTHS[place], self.size.executions);
        if WIDTHS[place] == 1 {
            round.idle = workers::idle(self.crew, &path);
        }
    }

    fn new_store(&mut self) -> PathBuf {
        self.stores += 1;
        let folder = self.scratch.join(self.stores.to_string());
        fs::create_dir(&folder).expect("a new folder");
        folder.join("store.sqlite3")
    }

    /// What the stores of both sides are like, which must be the same.
    fn settings(&self) -> String {
        let stores = 1..=self.stores;
        let said: Vec<String> = stores
            .map(|store| self.scratch.join(store.to_string()).join("store.sqlite3"))
            .map(|path| settings_of(&path))
            .collect();
        assert!(
            said.iter().all(|one| *one == said[0]),
            "stores of several kinds: {said:?}"
        );
        format!(
            "{}, synchronous FULL, busy timeout {} ms",
            said[0],
            BUSY_TIMEOUT.as_millis()
        )
    }
}

fn settings_of(path: &Path) -> String {
    let connection = Connection::open(path).expect("open a store");
    let sql = "SELECT 'journal ' || journal_mode || ', pages of ' || page_size || ' bytes'
               FROM pragma_journal_mode, pragma_page_size";
    connection.query_row(sql, [], |row| row.get(0)).expect("the pragmas")
}

fn sections(size: Size, rounds: &[Round]) -> Vec<Section> {
    let executions = size.executions;
    let submissions = Section {
        name: "submissions".to_owned(),
        about: format!("{executions} submit_issue over stdio, one after another, each durable before the next"),
        rows: beside("submission", rounds, |round| (round.submitted, round.bare[0])),
    };
    let mut sections = vec![submissions];
    for (place, width) in WIDTHS.into_iter().enumerate() {
        let workers = if width == 1 { "worker" } else { "workers" };
        sections.push(Section {
            name: format!("{width} {workers}"),
            about: format!("{executions} executions, submitted before, completed by {width} at once"),
            rows: beside("execution", rounds, |round| (round.completed[place], round.bare[place])),
        });
    }
    let idle = rounds.iter().map(|round| round.idle.as_secs_f64() * 1_000.0).collect();
    let means = "a worker that finds nothing: what of the times above is its start and its end";
    sections.push(Section {
        name: "start".to_owned(),
        about: "what a process costs that does nothing".to_owned(),
        rows: vec![Row::new("idle worker", Unit::Milliseconds, idle, means)],
    });
    sections
}

/// A rate, the bare one, and both ratios, each within its own round.
fn beside(name: &'static str, rounds: &[Round], rates: impl Fn(&Round) -> (Rate, Rate)) -> Vec<Row> {
    let each = |value: &dyn Fn(Rate, Rate) -> f64| {
        let value = |round| {
            let (rate, bare) = rates(round);
            value(rate, bare)
        };
        rounds.iter().map(value).collect::<Vec<f64>>()
    };
    vec![
        Row::new(
            name,
            Unit::PerSecond,
            each(&|rate, _| rate.per_second),
            "through the engine",
        ),
        Row::new(
            "bare commit",
            Unit::PerSecond,
            each(&|_, bare| bare.per_second),
            "one small row in one transaction, by as many processes",
        ),
        Row::new(
            "ratio",
            Unit::Ratio,
            each(&|rate, bare| rate.per_second / bare.per_second),
            "what of the disk's speed is left",
        ),
        Row::new(
            "commits",
            Unit::Count,
            each(&|rate, _| rate.commits_each),
            "for each, by SQLite's own count",
        ),
        Row::new(
            "ratio by commit",
            Unit::Ratio,
            each(&|rate, bare| rate.per_second * rate.commits_each / bare.per_second),
            "1 would be an engine that costs nothing beyond its commits",
        ),
    ]
}
