//! A server that knows entities by their names: its own natural key keeps a retry from writing again.

use crate::parts::Part;
use crate::support::run::Report;
use crate::{Test, is_verified};

const WRITE: &str =
    r#"create_entities={"entities":[{"name":"{marker}","entityType":"note","observations":["first"]}]}"#;
const STORE: &str = "{data}/memory.jsonl";

pub(crate) const TESTS: &[Test] = &[
    ("server_memory_keeps_one_line_of_what_is_sent_twice", Part::Node, || {
        keeps_one_line(&Part::Node.target("server-memory").run());
    }),
    ("server_memory_needs_no_file_for_the_same_verdicts", Part::Node, || {
        let flags = [
            "--write",
            WRITE,
            "--store",
            STORE,
            "-e",
            "MEMORY_FILE_PATH={data}/memory.jsonl",
        ];
        let run = Part::Node.harness().words(&flags).server(&["mcp-server-memory"]).run();
        assert_eq!(run.json["read_effects"], r#"path = "memory.jsonl", jsonl = true"#);
        keeps_one_line(&run);
    }),
];

fn keeps_one_line(run: &Report) {
    run.exits(0);
    assert_eq!(run.json["control"]["counts"], serde_json::json!([0, 1, 2]));
    assert_eq!(run.json["control"]["doctored"], true);
    for case in ["lost-reply", "identical-retry", "reply-means-done"] {
        assert_eq!(run.verdict(case), "pass", "{case}: {}", run.reason(case));
        assert_eq!(run.fact(case, "/end/effects/A"), 1);
    }
    // It is one line because the server knew the name, and not because the retry went astray.
    assert_eq!(run.fact("lost-reply", "/retry/result/entities"), &serde_json::json!([]));
    assert_eq!(run.fact("lost-reply", "/end/kept/A"), true);
    is_verified(run);
}
