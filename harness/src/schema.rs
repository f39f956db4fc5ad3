//! The JSON Schemas of every stored format, as they are committed in `harness/schemas`.
//!
//! They are generated from the Rust types by a test, which compares, so that the generator is in nobody's binary.
//! `harness/schemas/generate` writes them anew.

/// Each schema: what `harness schema` calls it, what it is of, and its text.
pub const SCHEMAS: [(&str, &str, &str); 9] = [
    (
        "case",
        "a case file (TOML)",
        include_str!("../schemas/case.schema.json"),
    ),
    (
        "profile",
        "a target profile (TOML)",
        include_str!("../schemas/profile.schema.json"),
    ),
    (
        "record",
        "a line of record.jsonl",
        include_str!("../schemas/record.schema.json"),
    ),
    (
        "observation",
        "observations/<label>.json",
        include_str!("../schemas/observation.schema.json"),
    ),
    (
        "verdict",
        "verdict.json",
        include_str!("../schemas/verdict.schema.json"),
    ),
    ("run", "run.json", include_str!("../schemas/run.schema.json")),
    (
        "matrix",
        "matrix.json of a proof",
        include_str!("../schemas/matrix.schema.json"),
    ),
    (
        "redactions",
        "redactions.json of evidence that was masked",
        include_str!("../schemas/redactions.schema.json"),
    ),
    (
        "expected",
        "what --write-expected writes",
        include_str!("../schemas/expected.schema.json"),
    ),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schemars::SchemaGenerator;
    use schemars::generate::SchemaSettings;
    use serde_json::Value;

    use super::*;
    use crate::matrix::Proof;
    use crate::record::{CaseVerdict, Event, ExpectedVerdicts, Observation, Redactions, Run};

    /// Set to `write`, the test writes what it would have compared with.
    const VARIABLE: &str = "HARNESS_SCHEMAS";

    /// Draft 7, because the editors' tools for TOML read no later one. Files that people write are described as they are
    /// read, all others as they are written.
    fn generated(name: &str) -> String {
        let reads = || SchemaGenerator::new(SchemaSettings::draft07());
        let writes = || SchemaGenerator::new(SchemaSettings::draft07().for_serialize());
        let schema = match name {
            "case" => crate::case::schema(reads()),
            "profile" => crate::target::schema(reads()),
            "record" => writes().into_root_schema_for::<Event>(),
            "observation" => writes().into_root_schema_for::<Observation>(),
            "verdict" => writes().into_root_schema_for::<CaseVerdict>(),
            "run" => writes().into_root_schema_for::<Run>(),
            "matrix" => writes().into_root_schema_for::<Proof>(),
            "redactions" => writes().into_root_schema_for::<Redactions>(),
            "expected" => reads().into_root_schema_for::<ExpectedVerdicts>(),
            other => panic!("nothing generates {other}"),
        };
        let mut schema = Value::from(schema);
        schema["title"] = name.into();
        serde_json::to_string_pretty(&schema).expect("JSON") + "\n"
    }

    #[test]
    fn the_committed_schemas_are_those_of_the_types() {
        for (name, _, committed) in SCHEMAS {
            let text = generated(name);
            if std::env::var_os(VARIABLE).is_some_and(|value| value == "write") {
                let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
                std::fs::write(folder.join(format!("{name}.schema.json")), text).expect("write the schema");
            } else {
                assert_eq!(text, committed, "{name}: run harness/schemas/generate");
            }
        }
    }
}
