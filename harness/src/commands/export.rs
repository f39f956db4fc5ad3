//! `harness export RUN -o FILE`: sealed evidence as one archive, and its digest as a receipt beside it.
//!
//! Nothing is written into the evidence, and no file is ever replaced: each is written beside its place, and then given its name.

mod fresh;
mod handing_on;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use self::fresh::Fresh;
use self::handing_on::{HandedOn, HandingOnArguments, Refusal, in_the_way};
use super::{ExitStatus, Format, named_run, refuse_standard_output};
use crate::counted::counted;
use crate::record::{Found, Packed, SealedError, pack, require_sealed};
use crate::report::{Printer, plain};

/// What the file with the digest is called, after the archive's name.
const RECEIPT: &str = "sha256";

/// Write a sealed run or proof as one archive, the same bytes on every machine, with its digest as a receipt
#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// The run, or the proof: its folder, `latest` (a run), or the name of a folder under evidence/runs, or a beginning of it
    run: PathBuf,
    /// The archive, which must not exist; its digest is written to FILE.sha256
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    handing_on: HandingOnArguments,
    /// How to print
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl ExportArguments {
    /// Whether nobody is asked for anything: a key may have a passphrase, and only who has the terminal can be asked for it.
    pub(super) fn asks_nobody(&self) -> bool {
        !self.handing_on.signs()
    }
}

/// An archive that was written.
#[derive(Serialize)]
struct ExportReport {
    archive: String,
    /// The file with the digest, as `sha256sum -c` reads it.
    receipt: String,
    sha256: String,
    files: usize,
    bytes: u64,
    #[serde(flatten)]
    handed_on: HandedOn,
    exit: u8,
}

/// Writes the archive of one run or proof.
pub(super) fn export(arguments: &ExportArguments, printer: &mut Printer) -> ExitStatus {
    let found = match named_run(&arguments.run, arguments.format, printer) {
        Ok(found) => found,
        Err(status) => return status,
    };
    match hand_on(&found, arguments) {
        Ok((packed, handed_on)) => {
            report(arguments, &packed, handed_on, printer);
            ExitStatus::Success
        }
        Err(refusal) => refusal.tell(arguments.format, printer),
    }
}

fn hand_on(found: &Found, arguments: &ExportArguments) -> Result<(Packed, HandedOn), Refusal> {
    let output = &arguments.output;
    named(output).map_err(|message| (message, ExitStatus::Usage))?;
    (arguments.handing_on.is_of_files()).map_err(|message| (message, ExitStatus::Usage))?;
    let beside = arguments.handing_on.files(output);
    let receipt = receipt(output);
    let all: Vec<&PathBuf> = [output, &receipt].into_iter().chain(&beside).collect();
    in_the_way(all.iter().copied())?;
    each_of_its_own(&all)?;
    let folder = require_sealed(found).map_err(|error| {
        let status = match error {
            SealedError::Archive { .. } | SealedError::NotAnArchive(_) => ExitStatus::Usage,
            SealedError::Incomplete { .. } => ExitStatus::Inconclusive,
            SealedError::Differs { .. } | SealedError::Evidence(_) => ExitStatus::Failed,
        };
        (error.to_string(), status)
    })?;
    outside_of(&folder, [output].into_iter().chain(&beside))?;
    let prepared = arguments.handing_on.prepare(found, &folder)?;
    let packed = write(&prepared.folder, output)?;
    let handed_on = arguments.handing_on.finish(&prepared, output, &packed)?;
    Ok((packed, handed_on))
}

fn write(folder: &Path, output: &Path) -> Result<Packed, (String, ExitStatus)> {
    let name = named(output).map_err(|message| (message, ExitStatus::Usage))?;
    let receipt = receipt(output);
    let failed = |error: std::io::Error| (format!("write {}: {error}", output.display()), ExitStatus::Inconclusive);
    let mut fresh = Fresh::beside(output).map_err(failed)?;
    let packed = pack(folder, &mut fresh).map_err(|error| (error.to_string(), ExitStatus::Inconclusive))?;
    fresh.name().map_err(failed)?;
    let failed = |error: std::io::Error| {
        let written = format!(
            "write {}: {error}; {} is written whole",
            receipt.display(),
            output.display()
        );
        (written, ExitStatus::Inconclusive)
    };
    let mut beside = Fresh::beside(&receipt).map_err(failed)?;
    let line = format!("{}  {name}\n", packed.sha256);
    beside.write_all(line.as_bytes()).map_err(failed)?;
    beside.name().map_err(failed)?;
    Ok(packed)
}

/// The name of the archive, as it stands in its receipt.
fn named(output: &Path) -> Result<&str, String> {
    let why = "an archive is a file, and has its digest in another one beside it";
    refuse_standard_output("--output", Some(output), why)?;
    let name = output.file_name().and_then(|name| name.to_str());
    // `sha256sum` writes such names otherwise than they are.
    let is_plain = |name: &&str| !name.chars().any(|c| c.is_control() || c == '\\');
    name.filter(is_plain).ok_or_else(|| {
        format!(
            "{} is no name for an archive; name a file, such as run.zip",
            output.display()
        )
    })
}

fn receipt(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".");
    name.push(RECEIPT);
    PathBuf::from(name)
}

fn exists(path: &Path) -> String {
    format!(
        "{} exists already; name another file with `-o` (nothing is ever replaced)",
        path.display()
    )
}

/// Evidence stays as it was sealed: nothing is written into it, for a moment either.
fn outside_of<'a>(evidence: &Path, paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), (String, ExitStatus)> {
    let root = std::fs::canonicalize(evidence).unwrap_or_else(|_| evidence.to_path_buf());
    let is_inside =
        |path: &&PathBuf| std::fs::canonicalize(folder_of(path)).is_ok_and(|folder| folder.starts_with(&root));
    paths.into_iter().find(is_inside).map_or(Ok(()), |path| {
        let message = format!(
            "{} lies in the evidence, which has to stay as it was sealed; name a file beside it",
            path.display()
        );
        Err((message, ExitStatus::Usage))
    })
}

/// Two files of one name are known before the first of them is written.
fn each_of_its_own(paths: &[&PathBuf]) -> Result<(), (String, ExitStatus)> {
    let place = |path: &Path| {
        let folder = folder_of(path);
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        folder.join(path.file_name().unwrap_or_default())
    };
    let mut places = std::collections::BTreeSet::new();
    let twice = paths.iter().find(|path| !places.insert(place(path)));
    twice.map_or(Ok(()), |path| {
        let message = format!("{} would be written twice; name another file", path.display());
        Err((message, ExitStatus::Usage))
    })
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn report(arguments: &ExportArguments, packed: &Packed, handed_on: HandedOn, printer: &mut Printer) {
    let archive = arguments.output.display().to_string();
    let report = ExportReport {
        receipt: receipt(&arguments.output).display().to_string(),
        archive,
        sha256: packed.sha256.clone(),
        files: packed.files,
        bytes: packed.bytes,
        handed_on,
        exit: ExitStatus::Success.code(),
    };
    match arguments.format {
        Format::Human => {
            let (files, bytes) = (counted(report.files, "file", "files"), report.bytes);
            let text = format!("sha256 {}  {} ({files}, {bytes} bytes)", report.sha256, report.archive);
            printer.line(&[plain(text)]);
            report.handed_on.show(printer);
        }
        Format::Json => printer.json(&report),
        Format::Jsonl => printer.json_line(&report),
    }
}
