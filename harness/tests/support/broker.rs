//! A daemon that starts servers outside of the harness's tree, as container engines do: the plain server's broker, and the
//! words by which a profile launches through it and kills.

use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use harness::drive::clock::wait_until_blocking;
use tempfile::TempDir;

use super::profile::{Profile, plain_server};
use super::{MARK_VARIABLE, WAIT_MAX, await_marked, new_mark};

/// A broker at work; dropping it ends every server that it started.
#[derive(Debug)]
pub(crate) struct Broker {
    process: Child,
    folder: TempDir,
    mark: String,
}

impl Broker {
    /// Starts one on a socket of its own.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("socket");
        let mark = new_mark();
        let process = Command::new(plain_server())
            .arg("--broker")
            .arg(&socket)
            .env(MARK_VARIABLE, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("start the broker");
        let broker = Self { process, folder, mark };
        let serves = wait_until_blocking(WAIT_MAX, || UnixStream::connect(&socket).is_ok());
        assert!(serves, "the broker does not serve");
        broker
    }

    fn socket(&self) -> String {
        self.folder.path().join("socket").display().to_string()
    }

    /// The words that launch a server through it, with `program` as the launcher.
    pub(crate) fn launcher(&self, program: &str) -> Vec<String> {
        let socket = self.socket();
        [program, "--through", &socket, "{launch}", "--"]
            .map(str::to_owned)
            .to_vec()
    }

    /// The words that kill the server of a name.
    pub(crate) fn kill(&self, program: &str, name: &str) -> Vec<String> {
        let socket = self.socket();
        [program, "--kill-through", &socket, name].map(str::to_owned).to_vec()
    }

    /// The profile, launched through it.
    pub(crate) fn launches(&self, profile: Profile) -> Profile {
        let words = self.launcher(&plain_server().display().to_string());
        profile.launcher(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The profile, launched through it, and killed by the right command.
    pub(crate) fn launches_and_kills(&self, profile: Profile) -> Profile {
        let words = self.kill(&plain_server().display().to_string(), "{launch}");
        let profile = profile.kill(&words.iter().map(String::as_str).collect::<Vec<_>>());
        self.launches(profile)
    }

    /// Waits until it has so many living servers.
    #[track_caller]
    pub(crate) fn has_servers(&self, count: usize) {
        await_marked(&self.mark, 1 + count);
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It ends with its standard input, and every server with it.
        drop(self.process.stdin.take());
        let ended = wait_until_blocking(WAIT_MAX, || matches!(self.process.try_wait(), Ok(Some(_))));
        if !ended {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
        if !std::thread::panicking() {
            await_marked(&self.mark, 0);
        }
    }
}
