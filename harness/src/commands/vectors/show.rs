//! How a check of vectors is printed: findings as they come, then one line for each set.

use serde_json::json;

use super::{Checked, Outcome, VectorsReport};
use crate::commands::Format;
use crate::report::{Printer, Style, plain, span};
use crate::vectors::{ByteDifference, Difference, Set};

/// The first line: what is checked.
pub(super) fn begin(format: Format, report: &VectorsReport, printer: &mut Printer) {
    match format {
        Format::Human => printer.line(&[
            span(Style::Bold, "checks        "),
            plain(report.implementation.as_str()),
        ]),
        Format::Jsonl => printer.json_line(&json!({"event": "begin", "implementation": report.implementation})),
        Format::Json => {}
    }
}

/// One vector.
pub(super) fn checked(format: Format, checked: &Checked, printer: &mut Printer) {
    match format {
        Format::Human => finding(checked, printer),
        Format::Jsonl => printer.json_line(&json!({"event": "vector", "vector": checked})),
        Format::Json => {}
    }
}

fn finding(checked: &Checked, printer: &mut Printer) {
    let name = format!("{}/{}", checked.set, checked.name);
    let mut head = |style, word: &str| printer.line(&[span(style, format!("{word:<14}")), span(Style::Bold, &name)]);
    match &checked.outcome {
        Outcome::Equal | Outcome::NotAsked => {}
        Outcome::Differs { differences } => {
            head(Style::Bad, "DIFFERS");
            if let Some(kind) = &checked.kind {
                printer.line(&[plain(format!("      whose policy  {kind}"))]);
            }
            for one in differences {
                difference(one, printer);
            }
        }
        Outcome::Unanswered { problem, last_words } => {
            head(Style::Odd, "UNANSWERED");
            printer.line(&[plain(format!("      {problem}"))]);
            for line in last_words {
                printer.line(&[span(Style::Dim, format!("      its standard error: {line}"))]);
            }
        }
    }
}

fn difference(difference: &Difference, printer: &mut Printer) {
    let member = difference.member;
    let Some(byte) = &difference.byte else {
        let found = difference.found.as_deref().unwrap_or("nothing");
        printer.line(&[plain(format!(
            "      {member}: expected {}, found {found}",
            difference.expected
        ))]);
        return;
    };
    printer.line(&[plain(format!(
        "      {member}: byte {} is the first that differs: expected {}, found {}",
        byte.offset,
        named(byte.expected_byte),
        named(byte.found_byte)
    ))]);
    around(byte, printer);
    if let Some(member) = byte.in_digest_of {
        let text = format!(
            "it lies in the keyed digest of {member}: what differs is the canonical form of that value, the name or the zero byte \
             before it, or the key"
        );
        printer.prose("      ", &text);
    }
}

fn around(byte: &ByteDifference, printer: &mut Printer) {
    printer.line(&[plain(format!("        expected  {}", byte.expected_around))]);
    printer.line(&[plain(format!("        found     {}", byte.found_around))]);
    printer.line(&[plain(format!("                  {}^", " ".repeat(byte.column)))]);
}

fn named(byte: Option<u8>) -> String {
    match byte {
        Some(byte @ b'!'..=b'~') => format!("0x{byte:02x} {}", char::from(byte)),
        Some(byte) => format!("0x{byte:02x}"),
        None => "the end".to_owned(),
    }
}

/// The sums.
pub(super) fn end(format: Format, report: &VectorsReport, printer: &mut Printer) {
    match format {
        Format::Human => human_end(report, printer),
        Format::Json => printer.json(report),
        Format::Jsonl => printer.json_line(&json!({
            "event": "end", "equal": report.equal, "differ": report.differ, "unanswered": report.unanswered,
            "not_asked": report.not_asked, "notes": report.notes, "exit": report.exit,
        })),
    }
}

fn human_end(report: &VectorsReport, printer: &mut Printer) {
    for set in Set::ALL {
        let of_set = || report.vectors.iter().filter(|checked| checked.set == set.name());
        let all = of_set().count();
        if all > 0 {
            let equal = of_set().filter(|checked| checked.outcome == Outcome::Equal).count();
            printer.line(&[
                span(Style::Bold, format!("{:<14}", set.name())),
                plain(format!("{equal} of {all} as expected")),
            ]);
        }
    }
    for note in &report.notes {
        printer.line(&[span(Style::Odd, "note          "), plain(note.as_str())]);
    }
    let counts = [
        (report.differ, if report.differ == 1 { "differs" } else { "differ" }),
        (report.unanswered, "unanswered"),
        (report.not_asked, "not asked"),
    ];
    let wrong: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let (style, text) = if report.differ > 0 {
        (Style::Bad, wrong.join(", "))
    } else if !wrong.is_empty() {
        (Style::Odd, wrong.join(", "))
    } else if report.equal == 0 {
        (Style::Odd, "nothing was checked".to_owned())
    } else {
        (Style::Good, format!("all {} as expected", report.equal))
    };
    printer.line(&[
        span(Style::Bold, "result        "),
        span(style, text),
        plain(format!(" ({})", report.implementation)),
    ]);
}
