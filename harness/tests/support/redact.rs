//! The one redactor: what differs from run to run is replaced by a name of what stood there. (The folder of a test is
//! replaced where it is known.)

/// Pattern and replacement, in order.
pub(crate) const NOISE: [(&str, &str); 25] = [
    (r"/[^\s:`']*/examples/plain-server", "[PLAIN-SERVER]"),
    (r"/harness-\w{6}/", "/[SCRATCH]/"),
    (r"\d{8}T\d{6}Z-[0-9a-f]{12}", "[RUN]"),
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "[UUID]",
    ),
    (r"\b[0-9a-f]{64}\b", "[SHA-256]"),
    (r"\b(op|mk|alpha|beta)-[0-9a-f]{12}", "$1-[HEX]"),
    (r"\bsqlite:[0-9a-f]{12}", "sqlite:[HEX]"),
    (r#""receipt":"[0-9a-f]{16}""#, r#""receipt":"[HEX]""#),
    (r"\b(op|mk|alpha|beta)-[0-9a-f]{1,11}…", "$1-[HEX]…"),
    (r"\b[0-9a-f]{8}…", "[UUID]…"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[DATE]"),
    (r"(?m)^( +\d+) +\d+\.\d ms", "$1 [TIME] ms"),
    (r"events in \d+ ms", "events in [TIME] ms"),
    (r"started as pid \d+: .*", "started as pid [PID]: [COMMAND]"),
    (r"judge (\d+), on .*", "judge $1, on [HOST]"),
    (r"(?m)^seed      \d+$", "seed      [SEED]"),
    (r"--seed \d+", "--seed [SEED]"),
    (r"(?m)  \d+ ms$", "  [TIME] ms"),
    (r"(reference-server|plain-server|harness) \d+\.\d+\.\d+", "$1 [VERSION]"),
    (r"(?m)^when      .*$", "when      [WHEN]"),
    (r"(?m)^(artifact  sha256 \S+)  .*$", "$1  [ARTIFACT]"),
    (r"(?m)^harness   \d+\.\d+\.\d+", "harness   [VERSION]"),
    (r"that harness carries \d+", "that harness carries [COUNT]"),
    (r"(?s)anything of the \d+ cases.*?\.\n", "anything of the [CASES].\n"),
    (r"\d+ listed and equal", "[COUNT] listed and equal"),
];
