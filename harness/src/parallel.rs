//! Independent work on a few threads, with its results in the order of what was asked: how many threads there are shows only
//! in the time.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// More threads than these would only hold more in memory at once.
const THREADS_MAX: usize = 4;

/// As many threads as there are processors, up to a few.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX)
}

/// Does `act` with every item, on so many threads, each item on one of them.
///
/// `begun` hears of each item before it is worked on, on the thread of the caller.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    begun: &mut dyn FnMut(&T),
    act: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if threads <= 1 || items.len() <= 1 {
        let one = |item| {
            begun(item);
            act(item)
        };
        return items.iter().map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let (tell, told) = mpsc::channel();
    let work = |tell: &mpsc::Sender<usize>| {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            // The other end lives until every sender is gone.
            let _ = tell.send(at);
            done.push((at, act(item)));
        }
    };
    thread::scope(|scope| {
        let one = |_| {
            let tell = tell.clone();
            let work = &work;
            scope.spawn(move || work(&tell))
        };
        let workers: Vec<_> = (0..threads.min(items.len())).map(one).collect();
        drop(tell);
        for at in told {
            begun(&items[at]);
        }
        let done = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        let mut done: Vec<(usize, R)> = done.flatten().collect();
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_and_each_is_announced_once() {
        for threads in [1, 2, 3, 64] {
            let items: Vec<usize> = (0..100).collect();
            let mut begun = Vec::new();
            let doubled = map(&items, threads, &mut |item| begun.push(*item), |item| item * 2);
            assert_eq!(
                doubled,
                items.iter().map(|item| item * 2).collect::<Vec<_>>(),
                "{threads} threads"
            );
            begun.sort_unstable();
            assert_eq!(begun, items, "{threads} threads");
        }
        assert!(map(&[] as &[usize], 4, &mut |_| {}, |item| *item).is_empty());
    }

    #[test]
    fn as_many_items_as_there_are_threads_are_worked_on_at_once() {
        // It is passed by all of them together only.
        let barrier = Barrier::new(3);
        let items = [1, 2, 3];
        let met = map(&items, 3, &mut |_| {}, |_| barrier.wait().is_leader());
        assert_eq!(met.iter().filter(|is_leader| **is_leader).count(), 1);
    }

    #[test]
    #[should_panic(expected = "the second")]
    fn what_panics_on_a_thread_panics_here() {
        map(&[1, 2], 2, &mut |_| {}, |item| assert_eq!(*item, 1, "the second"));
    }
}
