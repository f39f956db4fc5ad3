//! Killing, pausing and counting trees.

use harness::drive::clock;
use harness::drive::process::{Exit, ExitWait, Helper, Signal};
use libtest_mimic::Trial;

use crate::support::{WAIT_MAX, await_marked, marked, roles};
use crate::{block_on, launch, play, play_scenario, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "a_kill_ends_children_sessions_and_daemons",
            a_kill_ends_children_sessions_and_daemons,
        ),
        trial(
            "orphans_of_an_exited_root_are_counted_and_killed",
            orphans_of_an_exited_root_are_counted_and_killed,
        ),
        trial(
            "a_kill_spares_the_tree_of_another_server",
            a_kill_spares_the_tree_of_another_server,
        ),
        trial(
            "an_orphan_without_a_marker_is_found_by_its_folder",
            an_orphan_without_a_marker_is_found_by_its_folder,
        ),
        trial("a_comet_of_forks_is_caught", a_comet_of_forks_is_caught),
        trial("a_comet_of_a_shell_is_caught", a_comet_of_a_shell_is_caught),
        trial(
            "sigterm_may_be_ignored_and_sigkill_not",
            sigterm_may_be_ignored_and_sigkill_not,
        ),
        trial(
            "a_pause_stops_all_and_resume_lets_them_go_on",
            a_pause_stops_all_and_resume_lets_them_go_on,
        ),
        trial(
            "a_helper_that_works_keeps_the_tree_at_work",
            a_helper_that_works_keeps_the_tree_at_work,
        ),
        trial("a_tree_that_waits_is_at_rest", a_tree_that_waits_is_at_rest),
        trial("dropping_a_server_kills_its_tree", dropping_a_server_kills_its_tree),
        trial(
            "an_orphan_without_any_trace_falls_to_the_only_server",
            in_its_own_process,
        ),
    ]
}

async fn a_kill_ends_children_sessions_and_daemons() {
    let mut server = play(&["tree"]);
    server.expect_line("ready").await;
    await_marked(&server.mark, roles::TREE_PROCESSES);
    assert_eq!(server.launched.process.survivors(), roles::TREE_PROCESSES);
    let killed = server.launched.process.kill_tree().await;
    assert_eq!((killed.survivors, killed.exit), (0, Exit::Signal(9)));
    assert_eq!(marked(&server.mark), [0; 0]);
    assert_eq!(server.launched.process.survivors(), 0);
    assert_eq!(server.launched.process.kill_tree().await.survivors, 0);
}

async fn orphans_of_an_exited_root_are_counted_and_killed() {
    let mut server = play(&["daemon-middle"]);
    assert_eq!(
        server.launched.process.wait(WAIT_MAX).await,
        ExitWait::Ended(Exit::Code(0))
    );
    assert_eq!(server.launched.process.survivors(), 1);
    let killed = server.launched.process.kill_tree().await;
    assert_eq!(
        (killed.signalled.len(), killed.survivors, killed.exit),
        (1, 0, Exit::Code(0))
    );
    assert_eq!(marked(&server.mark), [0; 0]);
}

async fn a_kill_spares_the_tree_of_another_server() {
    let (mut one, mut other) = (play(&["tree"]), play(&["tree"]));
    one.expect_line("ready").await;
    other.expect_line("ready").await;
    assert_eq!(one.launched.process.kill_tree().await.survivors, 0);
    assert_eq!(marked(&one.mark), [0; 0]);
    await_marked(&other.mark, roles::TREE_PROCESSES);
    assert_eq!(other.launched.process.kill_tree().await.survivors, 0);
    assert_eq!(marked(&other.mark), [0; 0]);
}

/// Nothing is left of it but the folder that it works in, and each server was started in a folder of its own.
async fn an_orphan_without_a_marker_is_found_by_its_folder() {
    let script = r#"env -i "HARNESS_TEST_MARK=$HARNESS_TEST_MARK" setsid -f sleep 60; echo ready; read end"#;
    let start = || launch("sh", &["-c", script], harness::drive::transport::StdioLimits::default());
    let (mut left, mut right) = (start(), start());
    for server in [&mut left, &mut right] {
        server.expect_line("ready").await;
        // The shell, and what it left.
        await_marked(&server.mark, 2);
    }
    assert_eq!(left.launched.process.survivors(), 2);
    assert_eq!(left.launched.process.kill_tree().await.survivors, 0);
    assert_eq!(marked(&left.mark), [0; 0]);
    assert_eq!(marked(&right.mark).len(), 2);
    assert_eq!(right.launched.process.kill_tree().await.survivors, 0);
    assert_eq!(marked(&right.mark), [0; 0]);
}

async fn a_comet_of_forks_is_caught() {
    let mut server = play(&["comet", "5000"]);
    assert_eq!(
        server.launched.process.wait(WAIT_MAX).await,
        ExitWait::Ended(Exit::Code(0))
    );
    assert_eq!(server.launched.process.kill_tree().await.survivors, 0);
    assert_eq!(marked(&server.mark), [0; 0]);
}

async fn a_comet_of_a_shell_is_caught() {
    let script = "next() { [ $1 -gt 0 ] || exec sleep 60; next $(($1 - 1)) & exit; }\necho ready\nnext 20000";
    let mut server = launch(
        "setsid",
        &["-w", "sh", "-c", script],
        harness::drive::transport::StdioLimits::default(),
    );
    server.expect_line("ready").await;
    assert_eq!(server.launched.process.kill_tree().await.survivors, 0);
    assert_eq!(marked(&server.mark), [0; 0]);
}

async fn sigterm_may_be_ignored_and_sigkill_not() {
    let mut server = play(&["deaf-to-sigterm"]);
    server.expect_line("ready").await;
    assert!(server.launched.process.signal(Signal::TERM));
    assert_eq!(server.launched.process.exit_now(), None);
    let killed = server.launched.process.kill_tree().await;
    assert_eq!((killed.survivors, killed.exit), (0, Exit::Signal(9)));
    assert!(!server.launched.process.signal(Signal::TERM));
}

async fn a_pause_stops_all_and_resume_lets_them_go_on() {
    let mut server = play(&["tree"]);
    server.expect_line("ready").await;
    let paused = server.launched.process.pause().await;
    assert_eq!((paused.signalled.len(), paused.running), (roles::TREE_PROCESSES, 0));
    assert_eq!(server.launched.process.resume(), roles::TREE_PROCESSES);
    let mut echo = play(&["echo"]);
    assert_eq!(echo.launched.process.pause().await.running, 0);
    echo.launched.transport.send(b"held", WAIT_MAX).await.unwrap();
    assert_eq!(echo.launched.transport.receive_now(), None);
    assert_eq!(echo.launched.process.resume(), 1);
    assert_eq!(
        echo.launched.close_stdin_and_wait(WAIT_MAX).await,
        ExitWait::Ended(Exit::Code(0))
    );
    echo.expect_line("held").await;
    assert_eq!(server.launched.process.kill_tree().await.survivors, 0);
}

/// How many of so many looks find the tree at work.
async fn looks_at_work(server: &mut crate::Started, looks: usize) -> usize {
    let mut at_work = 0;
    for _ in 0..looks {
        at_work += usize::from(server.launched.process.is_at_work());
        clock::pause().await;
    }
    at_work
}

/// The shell itself only waits.
async fn a_helper_that_works_keeps_the_tree_at_work() {
    let script = "while :; do :; done & echo ready; wait";
    let mut server = launch("sh", &["-c", script], harness::drive::transport::StdioLimits::default());
    server.expect_line("ready").await;
    await_marked(&server.mark, 2);
    let at_work = looks_at_work(&mut server, 50).await;
    assert!(at_work > 40, "at work in {at_work} of 50 looks");
    assert_eq!(server.launched.process.kill_tree().await.survivors, 0);
    assert!(!server.launched.process.is_at_work());
}

async fn a_tree_that_waits_is_at_rest() {
    let mut server = play(&["tree"]);
    server.expect_line("ready").await;
    await_marked(&server.mark, roles::TREE_PROCESSES);
    let process = &mut server.launched.process;
    assert!(clock::wait_until(WAIT_MAX, || !process.is_at_work()).await);
    let at_work = looks_at_work(&mut server, 50).await;
    assert!(at_work < 10, "at work in {at_work} of 50 looks");
    assert_eq!(server.launched.process.kill_tree().await.survivors, 0);
}

async fn dropping_a_server_kills_its_tree() {
    let mut server = play(&["tree"]);
    server.expect_line("ready").await;
    let mark = server.mark.clone();
    drop(server);
    assert_eq!(marked(&mark), [0; 0]);
}

/// Whose an orphan is when nothing tells depends on how many servers are live: that needs a process of its own.
async fn in_its_own_process() {
    play_scenario("traceless-orphan");
}

/// The part of [`in_its_own_process`].
pub(crate) fn traceless_orphan() {
    block_on(async {
        let mut bystander = std::process::Command::new("sleep");
        let mut bystander = Helper::spawn(std::os::unix::process::CommandExt::process_group(
            bystander.arg("60"),
            0,
        ))
        .unwrap();
        let mut unregistered = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        // Neither the marker of the harness, nor the group, nor the session is left; only the mark of the test is.
        let script = r#"env -i "HARNESS_TEST_MARK=$HARNESS_TEST_MARK" setsid -f sleep 60; echo ready"#;
        let mut server = launch("sh", &["-c", script], harness::drive::transport::StdioLimits::default());
        server.expect_line("ready").await;
        server.launched.process.wait(WAIT_MAX).await;
        await_marked(&server.mark, 1);
        assert_eq!(server.launched.process.survivors(), 1);
        assert_eq!(server.launched.process.kill_tree().await.survivors, 0);
        assert_eq!(marked(&server.mark), [0; 0]);
        assert_eq!(bystander.child().try_wait().unwrap(), None);
        assert_eq!(unregistered.try_wait().unwrap(), None);
        unregistered.kill().unwrap();
        unregistered.wait().unwrap();
    });
}
