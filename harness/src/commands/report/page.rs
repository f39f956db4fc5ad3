//! The HTML file: what goes into it, and how it gets onto the disk.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::super::named_archive;
use super::super::show::glance::{PROBE, folder, observation};
use super::super::target_arguments::quoted;
use super::kept::{Kept, KeptCase};
use super::{ReportArguments, repeat};
use crate::digest;
use crate::record::{Evidence, Reader, SUMS_FILE};
use crate::report::{CaseGlance, Glance, HtmlCase, HtmlCases, HtmlOf, Printer, Style, html_page, plain, span};

/// The largest `SHA256SUMS` whose digest is told (bytes).
const SUMS_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// The page of a run.
pub(super) fn of(kept: &Kept) -> String {
    let exit = kept.exit();
    let seal = kept.reader.bytes(SUMS_FILE, SUMS_BYTES_MAX).ok();
    let seal = seal.map(|bytes| digest::sha256_hex(&bytes));
    let word = quoted(&kept.word);
    let of = HtmlOf {
        glance: &kept.glance,
        totals: kept.totals(),
        uncounted: &kept.uncounted(),
        exit: &exit,
        seal: seal.as_deref(),
        word: &word,
    };
    html_page(&of, |cases| {
        for case in &kept.cases {
            add(cases, kept, case, &word);
        }
        if let Some(probe) = &kept.glance.probe {
            add_probe(cases, &kept.reader, probe, &word);
        }
    })
}

fn add(cases: &mut HtmlCases<'_>, kept: &Kept, case: &KeptCase, word: &str) {
    let id = &case.glance.case;
    let show = format!("harness show {word} {}", quoted(id));
    let run = kept.glance.run.as_deref();
    let mut again: Vec<(&'static str, String)> = Vec::new();
    again.extend(run.map(|run| ("repeat", repeat::line(run, id))));
    again.push(("as a story", format!("{show} --story")));
    again.push(("every frame", show.clone()));
    again.push(("stderr", format!("{show} --stderr")));
    let file = run.and_then(|run| run.case_files.get(id));
    let explain = file.map_or_else(|| quoted(id), |file| format!("--case-file {}", quoted(file)));
    again.push(("explain", format!("harness explain {explain}")));
    let of = HtmlCase {
        glance: &case.glance,
        case: case.case.as_ref(),
        verdict: case.verdict.as_ref(),
        about: None,
        show: &show,
        again: &again,
    };
    add_record(cases, &kept.reader, &of, &folder(id));
}

/// The handshake, which decides what everything after it says.
fn add_probe(cases: &mut HtmlCases<'_>, reader: &Reader, probe: &Glance, word: &str) {
    let show = format!("harness show {word} {PROBE}");
    let glance = CaseGlance {
        case: PROBE.to_owned(),
        family: None,
        number: None,
        title: None,
        verdict: None,
        record: Some(probe.clone()),
        problem: None,
        missing: Vec::new(),
    };
    let of = HtmlCase {
        glance: &glance,
        case: None,
        verdict: None,
        about: Some("the handshake"),
        show: &show,
        again: &[("every frame", show.clone()), ("stderr", format!("{show} --stderr"))],
    };
    add_record(cases, reader, &of, PROBE);
}

fn add_record(cases: &mut HtmlCases<'_>, reader: &Reader, of: &HtmlCase<'_>, folder: &str) {
    // Why a record cannot be read stands in the glance.
    let lines = reader.lines(folder).ok();
    cases.add(of, lines.into_iter().flatten(), |label, sha256| {
        observation(reader, folder, label, sha256)
    });
}

/// Whether a page may stand there: a report is never put into evidence, nor in the place of anything by mistake.
pub(super) fn may_be_written(file: &Path, evidence: &Evidence, arguments: &ReportArguments) -> Result<(), String> {
    let shown = file.display();
    let parent = parent(file);
    let parent = fs::canonicalize(&parent)
        .map_err(|error| format!("write {shown}: the folder {}: {error}", parent.display()))?;
    if file.file_name().is_none() {
        return Err(format!(
            "write {shown}: it names no file; name one, such as report.html"
        ));
    }
    let root = fs::canonicalize(evidence.root()).unwrap_or_else(|_| evidence.root().to_path_buf());
    if parent.starts_with(&root) {
        return Err(format!(
            "write {shown}: it lies in the evidence, which has to stay as it was sealed; name a file beside it"
        ));
    }
    let is_there = |archive: PathBuf| {
        let places = (fs::canonicalize(file), fs::canonicalize(archive));
        matches!(places, (Ok(file), Ok(archive)) if file == archive)
    };
    let is_the_archive = named_archive(&arguments.run).is_some_and(is_there);
    match fs::symlink_metadata(file) {
        Ok(_) if is_the_archive => Err(format!(
            "write {shown}: it is the archive that is reported; name another file"
        )),
        Err(_) => Ok(()),
        Ok(found) if !found.is_file() => Err(format!(
            "write {shown}: what stands there is no plain file; name another"
        )),
        Ok(_) if arguments.force => Ok(()),
        Ok(_) => Err(format!(
            "write {shown}: it exists already; name another, or add --force to replace it"
        )),
    }
}

/// Writes the page beside its place, and moves it there whole.
pub(super) fn write(file: &Path, page: &str, force: bool) -> Result<usize, String> {
    let trouble = |error: &std::io::Error| format!("write {}: {error}", file.display());
    let mode = fs::Permissions::from_mode(0o666);
    let made = tempfile::Builder::new()
        .prefix(".report-")
        .permissions(mode)
        .tempfile_in(parent(file));
    let mut made = made.map_err(|error| trouble(&error))?;
    made.write_all(page.as_bytes()).map_err(|error| trouble(&error))?;
    made.as_file().sync_all().map_err(|error| trouble(&error))?;
    let moved = if force {
        made.persist(file)
    } else {
        made.persist_noclobber(file)
    };
    moved.map_err(|error| trouble(&error.error))?;
    Ok(page.len())
}

/// Says what was written.
pub(super) fn say(file: &Path, bytes: usize, printer: &mut Printer) {
    printer.line(&[
        span(Style::Bold, "report    "),
        plain(file.display().to_string()),
        span(
            Style::Dim,
            format!(
                "  {} KiB; it loads nothing, so it can be sent as it is",
                bytes.div_ceil(1024)
            ),
        ),
    ]);
}

fn parent(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        Some(_) | None => PathBuf::from("."),
    }
}
