//! Records: the one event type, its writer and reader, observations, the evidence folder and its digests.
//!
//! - [`archive`]: evidence as one file, the same bytes everywhere.
//! - `bounds`: how much of a record is read into memory.
//! - [`event`]: what can happen in a case, one line of `record.jsonl` each.
//! - [`observation`]: what one read-back saw.
//! - [`searched`]: the store in which a search looked for the effect.
//! - [`recorder`]: the writer, which orders events, and the reader.
//! - [`run`]: the type of `run.json`.
//! - [`baseline`]: what a run was expected to come to.
//! - [`verdict`]: the type of `verdict.json`.
//! - [`evidence`]: the folder of a run.
//! - [`no_evidence`]: what something else is that was taken for one.
//! - [`secret`]: what was found of secrets, without them.
//! - [`redactions`]: the type of `redactions.json`.
//! - [`proof_folder`]: the folder of a proof, which holds those of its runs.
//! - [`inventory`]: its files, compared with `SHA256SUMS`.
//! - [`reader`]: the folder read with suspicion, as far as it can be read.
//! - [`runs`]: how a word names a run.
//! - [`sealed`]: what is complete, and so can be handed on.

mod archive;
mod baseline;
mod bounds;
mod event;
mod evidence;
mod inventory;
mod no_evidence;
mod observation;
mod proof_folder;
mod reader;
mod recorder;
mod redactions;
mod run;
mod runs;
mod sealed;
mod searched;
mod secret;
mod verdict;

pub use archive::{ARCHIVE_BYTES_MAX, ARCHIVE_FILES_MAX, ArchiveError, ArchiveFile, PackError, Packed, pack};
pub use baseline::{Baseline, EXPECTED_FORMAT, ExpectedFailure, ExpectedFailures, ExpectedFile, ExpectedVerdicts};
pub use event::{
    AWAITED_EXIT, AWAITED_EXIT_AFTER_TERM, AWAITED_HELPERS, AWAITED_HELPERS_AFTER_TERM, Body, Direction, Event,
    Message, Outcome, RECORD_FORMAT, RECORDED_FRAME_BYTES_MAX, Transport,
};
pub use evidence::{CaseFolder, Evidence, EvidenceError, RUN_FILE, SUMS_FILE};
pub use inventory::{FileSeen, Finding, Inventory};
pub use no_evidence::NO_RUN;
pub use observation::{
    Doctored, EFFECTS, EVENTS, LEDGER, OBSERVATION_FORMAT, Observation, OperationSeen, ReadFrom, Reading,
    ReadingOutcome, Tampered,
};
pub use proof_folder::{MATRIX_FILE, ProofFolder};
pub use reader::{Line, Lines, Reader, ReaderError};
pub use recorder::{Record, RecordError, Recorder};
pub use redactions::{MASK, MaskedPlace, REDACTIONS_FILE, REDACTIONS_FORMAT, RedactedFile, Redactions};
pub use run::{
    ArtifactDigest, CaseSummary, HarnessSummary, Host, NothingRun, NothingRunKind, RUN_FORMAT, RerunOf, Run, RunState,
    ServerSeen, TargetSummary,
};
pub use runs::{Found, RunNameError, find_run};
pub use sealed::{SealedError, require_sealed};
pub use searched::{SEARCHED_FORMAT, Searched};
pub use secret::{Encoding, Find, FoundSecret, Kind, SecretsSearch};
pub use verdict::{
    CaseVerdict, CheckOutcome, CheckResult, FRAMES_NAMED_MAX, FrameName, PathFinding, RowOrigin, VERDICT_FORMAT,
    Verdict,
};
