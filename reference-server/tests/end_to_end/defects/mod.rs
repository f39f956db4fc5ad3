//! Each planted defect gets one thing wrong, for certain, where the case that is about it looks.
//!
//! - `ledger`: what is on record, and when
//! - `bound`: what a fingerprint and a request state bind
//! - `rounds`: first rounds and input
//! - `deadlines`: what expires
//! - `told`: what replies and status tell
//! - `faults`: deaths, errors, locks and cancellations

mod bound;
mod deadlines;
mod faults;
mod ledger;
mod rounds;
mod told;

use reference_server::defect::Defect;
use serde_json::json;

use crate::support::{Bench, structured};

/// What a control needs: two writes with two identities and one title are two effects, on a server that was restarted between.
#[test]
fn every_defect_still_writes_what_is_written_plainly() {
    for defect in Defect::ALL {
        let bench = Bench::new();
        for (operation_id, body) in [("op-1", "alpha"), ("op-2", "beta")] {
            let mut server = bench.start_with("GUARD_DEFECT", defect.name());
            let write = json!({ "operation_id": operation_id, "title": "One title" });
            let state = server.first_round(&write);
            let done = structured(&server.answer(&write, &state, body));
            assert_eq!(done["state"], "applied", "{defect}");
            assert_eq!(done["replayed"], false, "{defect}");
            assert!(server.close().success(), "{defect}");
        }
        assert_eq!(bench.column("SELECT body FROM issues"), ["alpha", "beta"], "{defect}");
    }
}
