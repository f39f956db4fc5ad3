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

/// A worker killed at a random moment: whatever it was doing, each execution has one effect in the end. A failure names its seed.
#[test]
fn a_worker_killed_at_any_moment_leaves_nothing_undone_or_done_twice() {
    let seeds = std::env::var("KILL_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    for seed in 0..seeds {
        let bench = Bench::new();
        let mut server = bench.start();
        for number in 0..8 {
            submitted(&mut server, &format!("k-{number}"), &plain_issue());
        }
        let worker = bench.worker("A");
        // The worker needs about 10 ms for them all, its start included.
        Stop::default().wait(Duration::from_micros(drawn(seed) % 12_000));
        worker.kill();
        let claimed = bench.column("SELECT DISTINCT execution_id FROM leases").len();
        bench.set_clock(T0 + 30);
        bench.reap();
        bench.work_until_idle("B");
        let completed = bench
            .column("SELECT execution_id FROM executions WHERE state = 'completed'")
            .len();
        let effects = bench.column("SELECT DISTINCT operation_id FROM issues").len();
        let all = usize::try_from(bench.count("issues")).unwrap();
        assert_eq!(
            (completed, effects, all),
            (8, 8, 8),
            "seed {seed}, killed after {claimed} claims"
        );
        assert_eq!(bench.overlaps(), 0, "seed {seed}");
    }
}
