//! The workers and the reaper inside a server, for those who want a single process: threads, each with a connection of its own.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::{Failure, complain};
use crate::clock::Stop;
use crate::execution::engine::Engine;
use crate::execution::planted::Seen;
use crate::execution::settings::Workplace;
use crate::execution::worker::Worker;

/// The threads at work.
pub(super) struct Staff {
    stop: Stop,
    /// Nothing is sent through it; it ends when the last thread has.
    gone: Receiver<()>,
}

impl Staff {
    /// Opens a connection for each on the caller's thread, so that a refusal is the caller's, and starts `workers` workers and,
    /// if there are any, one reaper.
    pub(super) fn start(place: &Workplace, workers: u32) -> Result<Self, Failure> {
        let (here, gone) = channel();
        let stop = Stop::default();
        for number in 1..=workers {
            let id = format!("serve-{}-{number}", std::process::id());
            let stop = stop.clone();
            employ(place, &here, move |engine| {
                let worker = Worker {
                    engine,
                    id: &id,
                    seen: Seen::default(),
                };
                worker
                    .run(&stop, false)
                    .map_err(|error| format!("worker {id}: {error}"))
            })?;
        }
        if workers > 0 {
            let stop = stop.clone();
            employ(place, &here, move |engine| {
                engine.reap_until(&stop).map_err(|error| format!("reaper: {error}"))
            })?;
        }
        Ok(Self { stop, gone })
    }

    /// Tells all to end, and waits for them, at most `bound`. What is held after that expires.
    pub(super) fn close(self, bound: Duration) {
        self.stop.set();
        let _gone_or_late = self.gone.recv_timeout(bound);
    }
}

fn employ(
    place: &Workplace,
    here: &Sender<()>,
    task: impl FnOnce(Engine<'_>) -> Result<(), String> + Send + 'static,
) -> Result<(), Failure> {
    let database: &Path = &place.database;
    let connection = place.open().map_err(|error| Failure::store(database, error))?;
    let (terms, here) = (place.terms.clone(), here.clone());
    thread::spawn(move || {
        let engine = Engine {
            connection: &connection,
            terms: &terms,
        };
        if let Err(words) = task(engine) {
            complain(&words);
        }
        drop(here);
    });
    Ok(())
}
