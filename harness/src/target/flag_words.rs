//! Messages in the words of flags, where flags describe the target: who wrote no profile cannot correct one. Pure.

/// Key of a profile, and what says the same on a command line; longer keys come before those that they begin with.
const WORDS: [(&str, &str); 26] = [
    ("`[launch] kill` (`--kill`)", "`--kill`"),
    ("[launch] kill or --kill", "--kill"),
    ("in [launch] env, or as [launch] secrets", "with -e, or as --env-file"),
    ("[launch] env", "-e"),
    ("launch.env.", "-e "),
    ("launch.secrets.", "--env-file "),
    ("launch.cwd", "--cwd"),
    ("launch.kill", "--kill"),
    ("launch.command", "the command"),
    ("leave responses out", "leave --responses out"),
    ("[write] responses", "--responses"),
    ("write.responses.", "--responses "),
    ("write.responses", "--responses"),
    ("[write] carries", "--write carries"),
    ("write.tool = ", "--write "),
    ("write.arguments.", "--write "),
    ("write.arguments", "--write"),
    ("write.change", "--write"),
    ("`[store] path`", "`--store`"),
    ("[store] path", "--store"),
    ("store.path", "--store"),
    ("store.seed", "--store-seed"),
    ("--store, or [store]", "--store"),
    ("under [read.effects]", "with --effects"),
    ("in [read.effects]", "with --effects"),
    ("[read.effects]", "--effects"),
];

/// The same message, with the flags in the place of the keys.
pub fn in_flag_words(text: &str) -> String {
    let mut told = text.to_owned();
    for (key, flag) in WORDS {
        if told.contains(key) {
            told = told.replace(key, flag);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_flags() {
        let table = [
            ("check `[store] path`, and more", "check `--store`, and more"),
            (
                "say what is counted in [read.effects]",
                "say what is counted with --effects",
            ),
            (
                "write.tool = \"x\": the server has no such tool",
                "--write \"x\": the server has no such tool",
            ),
            (
                "write.arguments.nota: the tool's inputSchema has note",
                "--write nota: the tool's inputSchema has note",
            ),
            (
                "launch.env.A: unknown placeholder `{x}`",
                "-e A: unknown placeholder `{x}`",
            ),
            (
                "or add `[launch] kill` (`--kill`): a command",
                "or add `--kill`: a command",
            ),
            ("nothing to see", "nothing to see"),
        ];
        for (key, flag) in table {
            assert_eq!(in_flag_words(key), flag);
        }
    }
}
