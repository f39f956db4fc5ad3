//! Profiles of the plain server, written by tests into their own folders.

use std::path::PathBuf;

use super::MARK_VARIABLE;

/// The example server that this build made.
pub(crate) fn plain_server() -> PathBuf {
    let this = super::this_program();
    let profile = this
        .parent()
        .and_then(|deps| deps.parent())
        .expect("target/<profile>/deps/<test>");
    let path = profile.join("examples/plain-server");
    assert!(
        path.exists(),
        "{} is not there. `cargo test` builds it; with `--test NAME` run `cargo build -p harness --examples` first",
        path.display()
    );
    path
}

/// A profile, as lines of a `target.toml`.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    database: String,
    /// What starts the server, where it is not the server itself.
    launcher: Option<Vec<String>>,
    flags: Vec<String>,
    env: Vec<String>,
    /// More lines of `[launch]`, with their ends.
    launch: Vec<String>,
    /// The parts of the file after `[launch]`, by their heads.
    parts: Vec<(&'static str, String)>,
}

impl Profile {
    /// The plain server as it should be: deduplicates by a key argument, and promises at most one effect.
    pub(crate) fn plain() -> Self {
        let arguments = r#"{ note = "{marker}", qty = 1, key = "{operation}" }"#;
        Self {
            database: "{data}/orders.sqlite3".to_owned(),
            launcher: None,
            flags: Vec::new(),
            env: Vec::new(),
            launch: Vec::new(),
            parts: vec![
                (
                    "store",
                    "kind = \"sqlite\"\npath = \"{data}/orders.sqlite3\"".to_owned(),
                ),
                (
                    "write",
                    format!("tool = \"create_order\"\narguments = {arguments}\nchange = {{ qty = 2 }}"),
                ),
                ("identity", "at = \"arguments.key\"".to_owned()),
                (
                    "contract",
                    "preset = \"at-most-once\"\nclaimed_in = \"README.md\"".to_owned(),
                ),
                (
                    "contract.conflict",
                    "tool_error = \"/structuredContent/reason\"\nis = \"IDEMPOTENCY_CONFLICT\"".to_owned(),
                ),
                (
                    "read.effects",
                    query("SELECT id, note, qty, key FROM orders WHERE note = $marker"),
                ),
            ],
        }
    }

    /// The same server, of which nothing is promised.
    pub(crate) fn without_promise() -> Self {
        Self::plain().part("contract", "preset = \"none\"")
    }

    /// A server whose orders are unique by their content, and that is told no key.
    pub(crate) fn natural() -> Self {
        Self::plain()
            .flags("--dedupe content")
            .part(
                "write",
                "tool = \"create_order\"\narguments = { note = \"{marker}\", qty = 1 }\nchange = { qty = 2 }",
            )
            .part("identity", "at = \"natural:/note\"")
    }

    /// The plain server in the legacy era, which asks for a note inside the call and writes what it is answered.
    pub(crate) fn asking() -> Self {
        Self::with_status()
            .flags("--era legacy --elicit note")
            .responses(r#"{ note = { action = "accept", content = { note = "{marker} {input}" } } }"#)
            .effects("SELECT id, note, qty, key FROM orders WHERE instr(note, $marker) > 0")
    }

    /// Answers to what the server asks; the data comes from them, or from the arguments.
    pub(crate) fn responses(self, answers: &str) -> Self {
        let arguments = r#"{ note = "{marker}", qty = 1, key = "{operation}" }"#;
        let write = format!("tool = \"create_order\"\narguments = {arguments}\nresponses = {answers}");
        self.part("write", &write)
    }

    /// The plain server with its status tool and its table of keys.
    pub(crate) fn with_status() -> Self {
        let status = "tool = \"get_order_status\"\narguments = { key = \"{operation}\" }\n\
                      scope = { tool = \"create_order\" }";
        Self::plain().part("status", status).part(
            "read.ledger",
            &query("SELECT key, result FROM keys WHERE key = $operation"),
        )
    }

    /// Another path for what the server writes.
    pub(crate) fn database(mut self, path: &str) -> Self {
        path.clone_into(&mut self.database);
        self
    }

    /// What starts the server with its flags.
    pub(crate) fn launcher(mut self, words: &[&str]) -> Self {
        self.launcher = Some(words.iter().map(|&word| word.to_owned()).collect());
        self
    }

    /// The command that kills the server.
    pub(crate) fn kill(mut self, words: &[&str]) -> Self {
        self.launch.push(format!("kill = {words:?}\n"));
        self
    }

    /// A variable whose value appears in no file of the harness.
    pub(crate) fn secret(mut self, name: &str, source: &str) -> Self {
        self.launch.push(format!("secrets = {{ {name} = {source:?} }}\n"));
        self
    }

    /// What is launched, so that its digest is taken.
    pub(crate) fn artifact(mut self, path: &str) -> Self {
        self.launch.push(format!("artifact = [{path:?}]\n"));
        self
    }

    /// More flags for the server, separated by spaces.
    pub(crate) fn flags(mut self, flags: &str) -> Self {
        self.flags.extend(flags.split_whitespace().map(str::to_owned));
        self
    }

    /// A mistake that the server makes everywhere.
    pub(crate) fn misbehave(self, kind: &str) -> Self {
        self.flags("--misbehave").flags(kind)
    }

    /// A mistake that the server makes in one case only.
    pub(crate) fn misbehave_in(self, case: &str, kind: &str) -> Self {
        self.misbehave(kind).flags("--only-in").flags(&format!("/{case}/"))
    }

    /// A variable for the server, as a line of TOML.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push(format!("{name} = {value:?}"));
        self
    }

    /// The mark by which a test finds the server again.
    pub(crate) fn mark(self, mark: &str) -> Self {
        self.env(MARK_VARIABLE, mark)
    }

    /// Replaces, or adds, the part with this head.
    pub(crate) fn part(mut self, head: &'static str, text: &str) -> Self {
        match self.parts.iter_mut().find(|(known, _)| *known == head) {
            Some((_, known)) => text.clone_into(known),
            None => self.parts.push((head, text.to_owned())),
        }
        self
    }

    /// Leaves a part out.
    pub(crate) fn without(mut self, head: &str) -> Self {
        self.parts.retain(|(known, _)| *known != head);
        self
    }

    /// Another query for the effects.
    pub(crate) fn effects(self, sql: &str) -> Self {
        self.part("read.effects", &query(sql))
    }

    /// The words that launch the server, its database where `{data}` would be for a profile.
    fn command(&self) -> Vec<String> {
        let server = || vec![plain_server().display().to_string()];
        let words = ["--database", &self.database].map(str::to_owned);
        let launcher = self.launcher.clone().unwrap_or_else(server);
        [launcher, words.to_vec(), self.flags.clone()].concat()
    }

    /// The whole file.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "format = 1\nname = \"plain\"\n\n[launch]\ncommand = {:?}\nenv = {{ {} }}\n{}",
            self.command(),
            self.env.join(", "),
            self.launch.concat()
        );
        for (head, part) in &self.parts {
            text.extend(["\n[", head, "]\n", part, "\n"]);
        }
        text
    }
}

fn query(sql: &str) -> String {
    format!("sql = {sql:?}")
}
