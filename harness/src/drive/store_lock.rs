//! The store's write lock, held by a child process of ours.
//!
//! By a child, because a process that holds a lock on an SQLite file must not read its bytes (closing any descriptor of the
//! file drops the lock), and this one reads them. The child is this very program, told by a variable what it is for.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::clock;
use super::process::Helper;

/// The variable that makes this program the holder of a lock; its value is the path of the store.
const STORE_VARIABLE: &str = "HARNESS_HOLDS_STORE";

/// How long a lock of somebody else is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// How long the child may take to say that it has the lock, and to give it back.
const HOLDER: Duration = Duration::from_secs(10);

/// What the child says once it has the lock.
const HELD: &str = "held";

/// Most bytes of what the child says.
const WORD_BYTES_MAX: u64 = 4 * 1024;

/// A lock that is held until this is dropped or released.
#[derive(Debug)]
pub(super) struct StoreLock {
    holder: Helper,
}

impl StoreLock {
    /// Takes the write lock of an SQLite store; the error says why that was not possible.
    pub(super) async fn hold(harness: &Path, store: &Path) -> Result<Self, String> {
        let mut command = Command::new(harness);
        command.env(STORE_VARIABLE, store);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut holder = Helper::spawn(&mut command).map_err(|error| error.to_string())?;
        let stdout = holder.child().stdout.take().expect("its standard output is piped");
        let (sender, said) = tokio::sync::oneshot::channel();
        // The thread ends with the child, which is killed if it stays silent.
        std::thread::spawn(move || {
            let mut word = String::new();
            let read = BufReader::new(stdout.take(WORD_BYTES_MAX)).read_line(&mut word);
            drop(sender.send(read.map(|_| word)));
        });
        let word = tokio::time::timeout(HOLDER, said).await;
        match word {
            Ok(Ok(Ok(word))) if word.trim() == HELD => Ok(Self { holder }),
            Ok(Ok(Ok(word))) => Err(format!("the store could not be locked: {}", word.trim())),
            Ok(_) => Err("the store could not be locked: the process that should hold it ended".to_owned()),
            Err(_) => Err(format!("the store could not be locked within {} s", HOLDER.as_secs())),
        }
    }

    /// Gives the lock back, and waits until that is done.
    pub(super) async fn release(mut self) {
        drop(self.holder.child().stdin.take());
        let child = self.holder.child();
        clock::wait_until(HOLDER, || !matches!(child.try_wait(), Ok(None))).await;
    }
}

/// Plays the child, where this process is one: holds the lock until its standard input ends. Call it first thing in `main`.
pub fn play() -> Option<ExitCode> {
    let store = PathBuf::from(std::env::var_os(STORE_VARIABLE)?);
    Some(match hold_until_released(&store) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // The line is the message to the parent; where it cannot be written there is none.
            let _ = writeln!(std::io::stdout(), "{reason}");
            ExitCode::FAILURE
        }
    })
}

fn hold_until_released(store: &Path) -> Result<(), String> {
    let told = |error: rusqlite::Error| error.to_string();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(store, flags).map_err(told)?;
    connection.busy_timeout(BUSY).map_err(told)?;
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(told)?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{HELD}")
        .and_then(|()| stdout.flush())
        .map_err(|error| error.to_string())?;
    let mut rest = Vec::new();
    // Whatever ends the input releases the lock: the parent's death too.
    let _ = std::io::stdin().take(1).read_to_end(&mut rest);
    transaction.rollback().map_err(told)
}
