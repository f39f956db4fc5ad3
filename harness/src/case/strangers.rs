//! Keys that a step has no use for.

use super::written::StepWritten;

/// A key beside a verb that has no use for it is a misunderstanding, and is refused.
pub(super) fn refuse_strangers(verb: &str, written: &StepWritten) -> Result<(), String> {
    let belongs: &[&str] = match verb {
        "start" => &["as", "principal", "failpoint", "rotate", "settings"],
        "observe" => &["when", "doubled", "until", "tampered"],
        "write" => &[
            "as",
            "on",
            "from",
            "of",
            "rounds",
            "copies",
            "gate",
            "changed",
            "marker",
            "mode",
            "state",
            "inputs",
            "capabilities",
            "fault",
        ],
        "send" => &["as", "on"],
        "status" => &["as", "on", "only"],
        "cancel_execution" => &["as", "on"],
        "release" | "reconcile" => &["as", "only"],
        "hold" => &["only"],
        _ => &[],
    };
    let present = [
        ("as", written.name.is_some()),
        ("on", written.on.is_some()),
        ("only", written.only.is_some()),
        ("when", written.when.is_some()),
        ("doubled", written.doubled.is_some()),
        ("until", written.until.is_some()),
        ("tampered", written.tampered.is_some()),
        ("copies", written.copies.is_some()),
        ("gate", written.gate.is_some()),
        ("from", written.from.is_some()),
        ("of", written.of.is_some()),
        ("rounds", written.rounds.is_some()),
        ("changed", written.changed.is_some()),
        ("marker", written.marker.is_some()),
        ("mode", written.mode.is_some()),
        ("state", written.state.is_some()),
        ("inputs", written.inputs.is_some()),
        ("capabilities", written.capabilities.is_some()),
        ("fault", written.fault.is_some()),
        ("principal", written.principal.is_some()),
        ("failpoint", written.failpoint.is_some()),
        ("rotate", written.rotate.is_some()),
        ("settings", written.settings.is_some()),
    ];
    match present.iter().find(|(key, set)| *set && !belongs.contains(key)) {
        Some((key, _)) => Err(format!("`{key}` does not belong to a `{verb}` step")),
        None => Ok(()),
    }
}
