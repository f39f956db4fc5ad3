//! What a profile means, what is wrong with one, and where that is said.

use super::*;
use crate::case::Surface;

const PROFILE: &str = include_str!("../../../targets/reference-server.toml");

fn parse_text(text: &str) -> Result<Target, DocumentError> {
    parse("target.toml", text, TargetSource::BuiltIn, Path::new("/profiles"))
}

fn refused(from: &str, to: &str) -> String {
    assert!(PROFILE.contains(from), "{from}");
    let text = PROFILE.replacen(from, to, 1);
    parse_text(&text).expect_err("wrong on purpose").to_string()
}

#[test]
fn every_surface_is_offered_by_a_built_in_profile() {
    let single = parse_text(PROFILE).expect("the built-in profile is right");
    let submitted = include_str!("../../../targets/reference-execution.toml");
    let submitted = parse_text(submitted).expect("the other built-in profile is right");
    for &surface in Surface::ALL {
        assert!(single.has(surface) || submitted.has(surface), "{}", surface.name());
    }
    for surface in [
        Surface::WriteSubmit,
        Surface::Worker,
        Surface::ReadEvents,
        Surface::Tampering,
    ] {
        assert!(!single.has(surface), "{}", surface.name());
    }
}

#[test]
fn errors_name_the_place_and_the_next_step() {
    let cases = [
        (
            "[identity]",
            "[identty]",
            "unknown key `identty`; did you mean `identity`?",
        ),
        ("\"sqlite\"", "\"postgres\"", "unknown value `postgres`"),
        (
            "format = 1",
            "format = 2",
            "format 2 is not one this harness reads (it reads 1)",
        ),
        ("random:32", "random:3", "3 random bytes: take 16 to 1024"),
        ("\"{marker}\"", "\"x\"", "[write] carries no {marker}"),
        (
            "\"{operation}\", title",
            "\"{op}\", title",
            "write.arguments: unknown placeholder `{op}`",
        ),
        ("title = $marker", "title = 'x'", "does not select by $marker"),
        (
            "operation_id = $operation",
            "1",
            "selects neither by $operation nor by $marker",
        ),
        (
            "responses =",
            "change = { mode = \"{mode}\" }\nresponses =",
            "write.change.mode is what write.arguments has already",
        ),
        (
            "preset = \"guarded\"",
            "preset = \"guarded\"\nconflict = \"x\"",
            "expected a table such as { tool_error",
        ),
        (
            "arguments.operation_id",
            "arguments.key",
            "write.arguments has no `key`",
        ),
        (
            "\"/structuredContent\"\nreplayed",
            "\"structuredContent\"\nreplayed",
            "is no JSON pointer",
        ),
        (
            "tool      = \"create_issue\"",
            "tool = 3",
            "invalid type: integer `3`, expected a text in quotes",
        ),
    ];
    for (from, to, message) in cases {
        let error = refused(from, to);
        assert!(error.contains(message), "{error}");
        assert!(error.starts_with("target.toml"), "{error}");
    }
}

#[test]
fn an_identity_travels_in_an_argument_in_meta_or_beside_the_arguments() {
    let table = [
        ("meta.com.example/key", Identity::Meta("com.example/key".to_owned())),
        ("params.idempotencyKey", Identity::Params("idempotencyKey".to_owned())),
        ("natural:/title", Identity::Natural("/title".to_owned())),
        ("none", Identity::None),
    ];
    for (at, identity) in table {
        let text = PROFILE.replacen("arguments.operation_id", at, 1);
        assert_eq!(parse_text(&text).expect(at).identity, identity);
    }
    for at in ["params.name", "meta.", "header.x", "key"] {
        let error = refused("arguments.operation_id", at);
        assert!(error.contains("identity.at"), "{error}");
    }
}

#[test]
fn relative_paths_mean_the_folder_of_the_profile() {
    let text = PROFILE.replacen("path = \"{data}/store.sqlite3\"", "path = \"store.sqlite3\"", 1);
    let target = parse_text(&text).expect("a relative path");
    assert_eq!(
        target.store.map(|store| store.path).as_deref(),
        Some("/profiles/store.sqlite3")
    );
}

/// The built-in profile of a server with workers.
const EXECUTION: &str = include_str!("../../../targets/reference-execution.toml");

#[test]
fn what_is_said_of_workers_is_refused_where_it_cannot_be_meant() {
    let table = [
        (
            "[processes.worker]",
            "[processes.wroker]",
            "unknown key `wroker`; did you mean `worker`?",
        ),
        (
            "command = [\n    \"{harness}\", \"reference-server\", \"work\"",
            "command = [\n    \"\", \"work\"",
            "[processes.worker] command is empty: name the program",
        ),
        (
            "arguments = { execution_id = \"{execution}\" }\nstate",
            "arguments = { execution_id = \"{marker}\" }\nstate",
            "write.submitted.arguments: unknown placeholder `{marker}`",
        ),
        (
            "arguments = { execution_id = \"{execution}\" }\nstate",
            "arguments = {}\nstate",
            "write.submitted.arguments carries no {execution}, so it is not said which execution is meant",
        ),
        (
            "arguments = { execution_id = \"{execution}\" } }",
            "arguments = { all = true } }",
            "write.submitted.cancel.arguments carries no {execution}",
        ),
        (
            "ended     = [\"completed\", \"failed\", \"cancelled\"]",
            "ended = []",
            "write.submitted.ended is empty: name the states",
        ),
        (
            "state     = \"/structured",
            "state = \"structured",
            "write.submitted.state = \"structuredContent/state\" is no JSON pointer",
        ),
        (
            "id        = \"/structured",
            "id = \"structured",
            "write.submitted.id = \"structuredContent/execution_id\" is no JSON pointer",
        ),
        (
            "state     = \"/structuredContent/state\"\n",
            "",
            "missing field `state`",
        ),
        (
            "failing   = { fail = true }",
            "failing = { fail = \"{fial}\" }",
            "write.failing: unknown placeholder `{fial}`",
        ),
        (
            "meta      = { namespace = \"harness\" }",
            "meta = { namespace = \"{names}\" }",
            "write.meta: unknown placeholder `{names}`",
        ),
        (
            "gate = \"{gate}\"",
            "gate = \"{gaet}\"",
            "write.arguments: unknown placeholder `{gaet}` in \"{gaet}\"; did you mean `{gate}`?",
        ),
        (
            "[tampering]\nupdate ",
            "[tampering]\n\"up.date\" ",
            "[tampering] up.date: the name must be letters, digits and underscores",
        ),
        (
            "[read.events]\npath = \"store.sqlite3\"",
            "[read.steps]\npath = \"store.sqlite3\"",
            "[tampering] changes what [read.events] reads by `sql`: add it",
        ),
        (
            "[read.leases]",
            "[read.lease]",
            "unknown key `lease`; did you mean `leases`?",
        ),
    ];
    for (from, to, message) in table {
        assert!(EXECUTION.contains(from), "{from}");
        let error = parse_text(&EXECUTION.replacen(from, to, 1))
            .expect_err(message)
            .to_string();
        assert!(error.contains(message), "{error}");
        assert!(error.starts_with("target.toml"), "{error}");
    }
}

/// What a profile says of workers is what cases can ask for: each part alone is a surface, and goes with it.
#[test]
fn each_part_of_a_server_with_workers_is_a_surface() {
    let table = [
        (
            "[processes.reaper]\ncommand",
            "[processes.reaper]\nenv = {}\ncommand",
            None,
        ),
        (
            "cancel    = { tool = \"cancel_execution\", arguments = { execution_id = \"{execution}\" } }\n",
            "",
            Some(Surface::WriteCancel),
        ),
        ("failing   = { fail = true }\n", "", Some(Surface::WriteFailing)),
        (", gate = \"{gate}\"", "", Some(Surface::WriteGate)),
        ("\"--workers\", \"{workers}\",", "", Some(Surface::Workers)),
        ("GUARD_BACKOFF         = \"{backoff_s}\"\n", "", Some(Surface::Leases)),
        (
            "GUARD_OUTSIDE_KEY     = \"{outside_key}\"\n",
            "",
            Some(Surface::OutsideKey),
        ),
        ("[read.retries]", "[read.watchers]", Some(Surface::ReadRetries)),
    ];
    let whole = parse_text(EXECUTION).expect("the built-in profile is right");
    for (from, to, gone) in table {
        assert!(EXECUTION.contains(from), "{from}");
        let target = parse_text(&EXECUTION.replacen(from, to, 1)).expect("still a profile");
        let lost = |surface: &&Surface| whole.has(**surface) && !target.has(**surface);
        let lost: Vec<Surface> = Surface::ALL.iter().filter(lost).copied().collect();
        assert_eq!(lost, gone.into_iter().collect::<Vec<_>>(), "{from}");
    }
}
