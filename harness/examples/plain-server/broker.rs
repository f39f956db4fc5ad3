//! A daemon that starts this server for others, and two programs that speak with it: to container engines what this server
//! is to servers. The harness's tests use it as a launcher that does not own what it launches.
//!
//! ```text
//! plain-server --broker SOCKET                          serves the socket until its standard input ends
//! plain-server --through SOCKET ID -- --database FILE   starts a server of that name at the broker, and is its line
//! plain-server --kill-through SOCKET ID                 kills it, and waits until it is dead
//! ```
//!
//! A line that breaks leaves the server as it is; only a line that is ended in order ends the server's standard input.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

type Done = Result<(), Box<dyn Error>>;

/// The servers that were started, by their names.
type Servers = Arc<Mutex<BTreeMap<String, Child>>>;

/// What a line sends last: its standard input has ended.
const END_OF_INPUT: &[u8] = b"\x04\n";

/// Plays one of the three parts, where the first word names one.
pub(crate) fn play() -> Option<Done> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--broker", socket] => Some(serve(socket)),
        ["--through", socket, id, "--", server @ ..] => Some(be_a_line(socket, id, server)),
        ["--kill-through", socket, id] => Some(kill(socket, id)),
        _ => None,
    }
}

fn serve(socket: &str) -> Done {
    let listener = UnixListener::bind(socket)?;
    let servers = Servers::default();
    let started = Arc::clone(&servers);
    // It ends with this process, which ends when its standard input does.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let servers = Arc::clone(&started);
            thread::spawn(move || drop(answer(&stream, &servers)));
        }
    });
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    let mut left = servers.lock().unwrap_or_else(PoisonError::into_inner);
    for server in left.values_mut() {
        end(server);
    }
    Ok(())
}

/// One connection: its first line says what is wanted.
fn answer(stream: &UnixStream, servers: &Servers) -> Done {
    let mut lines = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let wanted: Value = serde_json::from_str(&first)?;
    let id = wanted["id"].as_str().unwrap_or_default().to_owned();
    let Some(words) = wanted["start"].as_array() else {
        let mut servers = servers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_killed = servers.get_mut(&id).is_some_and(end);
        let answer = if is_killed { "killed\n" } else { "no such server\n" };
        return Ok((&mut &*stream).write_all(answer.as_bytes())?);
    };
    let words = words.iter().filter_map(Value::as_str);
    let mut server = Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (stdin, stdout) = (server.stdin.take(), server.stdout.take());
    let mut known = servers.lock().unwrap_or_else(PoisonError::into_inner);
    known.insert(id, server);
    drop(known);
    // A line that broke leaves the server with its standard input open: nothing is dropped then.
    thread::spawn(move || stdin.map(|stdin| forward(lines, stdin)));
    if let Some(mut stdout) = stdout {
        std::io::copy(&mut stdout, &mut &*stream)?;
    }
    Ok(stream.shutdown(Shutdown::Both)?)
}

/// Hands on what comes in, until its end is told. A line that breaks before is kept, as if somebody still held it.
fn forward(mut lines: impl BufRead, mut stdin: ChildStdin) {
    loop {
        let mut line = Vec::new();
        match lines.read_until(b'\n', &mut line) {
            Ok(1..) if line == END_OF_INPUT => return,
            Ok(1..) if stdin.write_all(&line).and_then(|()| stdin.flush()).is_ok() => {}
            Ok(_) | Err(_) => break,
        }
    }
    std::mem::forget(stdin);
}

/// Kills a server, unless it has ended already; returns whether it had to.
fn end(server: &mut Child) -> bool {
    let is_live = matches!(server.try_wait(), Ok(None));
    let _ = server.kill();
    let _ = server.wait();
    is_live
}

fn be_a_line(socket: &str, id: &str, server: &[&str]) -> Done {
    let stream = UnixStream::connect(socket)?;
    writeln!(&stream, "{}", json!({"id": id, "start": server}))?;
    let mut sending = stream.try_clone()?;
    thread::spawn(move || -> std::io::Result<()> {
        std::io::copy(&mut std::io::stdin(), &mut sending)?;
        sending.write_all(END_OF_INPUT)
    });
    std::io::copy(&mut &stream, &mut std::io::stdout())?;
    Ok(())
}

fn kill(socket: &str, id: &str) -> Done {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{}", json!({"id": id}))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.trim() {
        "killed" => Ok(()),
        other => Err(format!("{other}: {id}").into()),
    }
}
