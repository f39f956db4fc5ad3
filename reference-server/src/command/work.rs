//! `work`: one worker process: claims executions, does them, and says so.

use std::ffi::OsString;

use super::{Failure, until_terminated};
use crate::clock::Stop;
use crate::execution::engine::Engine;
use crate::execution::planted::Seen;
use crate::execution::settings::{StoreArguments, Workplace};
use crate::execution::worker::Worker;
use crate::settings;

/// The arguments of `work`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Any number of workers may share one store, each under an id of its own. A worker that is told
to end (SIGTERM, SIGINT) finishes what it is writing, or gives back what it holds.

Exit codes: 0 told to end, or nothing left to do; 1 the store or the outside effect failed, or
the worker id is in use; 2 wrong usage, setting or store.")]
pub struct WorkArguments {
    /// Who works: the name that stands in leases and in the event log
    #[arg(long, env = "GUARD_WORKER_ID", value_name = "ID", hide_env_values = true)]
    pub worker_id: Option<OsString>,
    /// End as soon as no execution is ready
    #[arg(long)]
    pub until_idle: bool,
    /// The store, the clock, and how to work.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Works until told to end.
pub(super) fn work(written: &WorkArguments) -> Result<(), Failure> {
    let id = written.worker_id.as_deref();
    let id = settings::name("--worker-id (GUARD_WORKER_ID)", id, "name the worker, as in w1")?;
    let place = Workplace::resolve(&written.store)?;
    let connection = place.open().map_err(|error| Failure::store(&place.database, error))?;
    let _taken = presence::take(&place.database, &id)?;
    let stop = Stop::default();
    let until_idle = written.until_idle;
    until_terminated(&stop.clone(), move || {
        let engine = Engine {
            connection: &connection,
            terms: &place.terms,
        };
        let worker = Worker {
            engine,
            id: &id,
            seen: Seen::default(),
        };
        worker.run(&stop, until_idle).map_err(|error| error.of(&place.database))
    })
}

/// One process per worker id and store. The fence needs no such rule; people who read leases do.
#[cfg(target_os = "linux")]
mod presence {
    use std::io::ErrorKind;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    use std::path::Path;

    use serde_json::json;

    use super::Failure;
    use crate::guard::fingerprint::digest;

    /// Takes the id for as long as the process lives: a name that the kernel forgets with its holder, in no folder.
    pub(super) fn take(store: &Path, id: &str) -> Result<UnixListener, Failure> {
        let failed =
            |words: String| Failure::Refused(format!("--worker-id (GUARD_WORKER_ID) {id:?} cannot be taken: {words}"));
        let store = store.canonicalize().map_err(|error| failed(error.to_string()))?;
        let name = digest(&json!([store.to_string_lossy(), id])).map_err(|error| failed(error.to_string()))?;
        let address = SocketAddr::from_abstract_name(format!("reference-server/{name}"));
        match address.and_then(|address| UnixListener::bind_addr(&address)) {
            Ok(taken) => Ok(taken),
            Err(error) if error.kind() == ErrorKind::AddrInUse => Err(failed(
                "another worker on this store uses it; give another --worker-id".to_owned(),
            )),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Elsewhere the rule is not enforced.
#[cfg(not(target_os = "linux"))]
mod presence {
    use std::path::Path;

    use super::Failure;

    pub(super) fn take(_store: &Path, _id: &str) -> Result<(), Failure> {
        Ok(())
    }
}
