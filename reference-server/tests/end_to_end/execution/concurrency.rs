//! Many workers on one store, and workers that die at any moment.

use std::time::Duration;

use reference_server::clock::Stop;

use super::support::{plain_issue, submitted};
use crate::support::{Bench, T0};

const EXECUTIONS: i64 = 50;

#[test]
fn four_workers_do_each_of_fifty_executions_once() {
    let bench = Bench::new();
    let mut server = bench.start();
    let names = ["A", "B", "C", "D"];
    let _workers = names.map(|id| bench.worker(id));
    for number in 0..EXECUTIONS {
        submitted(&mut server, &format!("k-{number}"), &plain_issue());
    }
    bench.wait_for("SELECT count(*) FROM executions WHERE state = 'completed'", EXECUTIONS);
    assert_eq!(bench.count("issues"), EXECUTIONS);
    bench.wait_for_events("claimed", EXECUTIONS);
    bench.wait_for_events("completed", EXECUTIONS);
    assert_eq!(bench.overlaps(), 0);
}

/// How many seeds are tried; `KILL_SEEDS=200` tries more.
const SEEDS: u64 = 30;

/// A number from a seed: splitmix64.
fn drawn(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// How often the store is looked at for the event after which the worker is killed, and the pause in between: ten seconds in all.
const LOOKS_MAX: u32 = 200_000;
const PAUSE: Duration = Duration::from_micros(50);
/// Executions for each seed. Each leaves four events when all goes well.
const BATCH: i64 = 8;

/// A worker killed at a random moment: whatever it was doing, each execution has one effect in the end. A failure names its seed.
#[test]
fn a_worker_killed_at_any_moment_leaves_nothing_undone_or_done_twice() {
    let seeds = std::env::var("KILL_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    for seed in 0..seeds {
        let bench = Bench::new();
        let mut server = bench.start();
        for number in 0..BATCH {
            submitted(&mut server, &format!("k-{number}"), &plain_issue());
        }
        let worker = bench.worker("A");
        let events = i64::try_from(drawn(seed) % 16).unwrap();
        wait_for_position(&bench, BATCH * 2 + events);
        // From there on, less than what one execution takes.
        Stop::default().wait(Duration::from_micros(drawn(!seed) % 700));
        worker.kill();
        let at_the_kill = bench.log();
        bench.set_clock(T0 + 30);
        bench.reap();
        bench.work_until_idle("B");
        let count = |sql: &str| i64::try_from(bench.column(sql).len()).unwrap();
        let completed = count("SELECT execution_id FROM executions WHERE state = 'completed'");
        let effects = count("SELECT DISTINCT operation_id FROM issues");
        let all = count("SELECT CAST(issue_id AS TEXT) FROM issues");
        assert_eq!(
            (completed, effects, all),
            (BATCH, BATCH, BATCH),
            "seed {seed}, killed after {at_the_kill:#?}"
        );
        assert_eq!(bench.overlaps(), 0, "seed {seed}");
    }
}

fn wait_for_position(bench: &Bench, position: i64) {
    let connection = bench.connection();
    let sql = "SELECT count(*) FROM execution_events";
    for _ in 0..LOOKS_MAX {
        if connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() >= position {
            return;
        }
        Stop::default().wait(PAUSE);
    }
    panic!("the log never came to {position} events");
}
