//! Programs that start a server elsewhere and are no more than a line to it: killing them kills no server. Pure.

use super::resolved::Launch;

/// Programs that start containers, and kill them by name: their processes belong to a daemon, or to a monitor.
const CONTAINERS: [&str; 4] = ["docker", "podman", "nerdctl", "finch"];

/// Programs that start processes on other machines, in virtual ones, in containers of their own making, or under an init.
const REMOTE: [&str; 22] = [
    "ssh",
    "mosh",
    "autossh",
    "sshpass",
    "kubectl",
    "oc",
    "k3s",
    "microk8s",
    "limactl",
    "lima",
    "multipass",
    "vagrant",
    "incus",
    "lxc",
    "docker-compose",
    "podman-compose",
    "distrobox",
    "toolbox",
    "machinectl",
    "systemd-run",
    "flyctl",
    "wsl.exe",
];

/// Programs that become the one that they are told to start.
const WRAPPERS: [&str; 5] = ["env", "sudo", "doas", "nice", "nohup"];

impl Launch {
    /// The launcher that is known not to own the server, where the command begins with one.
    pub fn foreign_launcher(&self) -> Option<&str> {
        let mut words = self.command.iter().map(String::as_str);
        let mut program = base_name(words.next()?);
        while WRAPPERS.contains(&program) {
            // Options that take a value in a word of their own are not known here: what is missed is seen by its open store.
            let mut rest = words
                .by_ref()
                .skip_while(|word| word.starts_with('-') || word.contains('='));
            program = base_name(rest.next()?);
        }
        (CONTAINERS.contains(&program) || REMOTE.contains(&program)).then_some(program)
    }

    /// Why nothing can be killed here, where that is known before anything is launched.
    pub fn cannot_kill(&self) -> Option<String> {
        let launcher = self.foreign_launcher().filter(|_| self.kill.is_none())?;
        let advice = if CONTAINERS.contains(&launcher) {
            format!(
                "give the container a name (`--name mcp-{{launch}}` in launch.command), and add `[launch] kill = [\"{launcher}\", \
                 \"kill\", \"mcp-{{launch}}\"]`, or --kill '{launcher} kill mcp-{{launch}}'"
            )
        } else {
            format!(
                "let the server's command line hold `{{launch}}`, and add a command that kills it, such as `[launch] kill = \
                 [\"{launcher}\", …, \"pkill\", \"-KILL\", \"-f\", \"{{launch}}\"]`, or the same with --kill"
            )
        };
        Some(format!(
            "`{launcher}` starts the server and does not own it: killing what was launched would not crash the server, so the \
             case was not begun; {advice}"
        ))
    }
}

/// The last part of a path.
fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use crate::target::command_only;

    fn launcher(command: &str) -> Option<String> {
        let words = command.split(' ').map(str::to_owned).collect();
        command_only(words).launch.foreign_launcher().map(str::to_owned)
    }

    #[test]
    fn launchers_are_known_by_name_also_behind_a_wrapper() {
        let table = [
            ("docker run -i image", Some("docker")),
            ("/usr/local/bin/podman run image", Some("podman")),
            ("sudo -n docker run image", Some("docker")),
            ("env A=1 B=2 kubectl exec -i pod -- server", Some("kubectl")),
            ("sudo env X=1 ssh host server", Some("ssh")),
            ("node docker.js", None),
            ("./docker-server", None),
            ("npx server docker", None),
            ("env", None),
        ];
        for (command, expected) in table {
            assert_eq!(launcher(command).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn without_a_kill_command_it_is_said_what_to_add() {
        let mut target = command_only(["docker", "run", "-i", "image"].map(str::to_owned).to_vec());
        let reason = target.launch.cannot_kill().expect("docker owns nothing");
        assert!(
            reason.contains(r#"kill = ["docker", "kill", "mcp-{launch}"]"#),
            "{reason}"
        );
        target.launch.command[0] = "ssh".to_owned();
        let reason = target.launch.cannot_kill().expect("ssh owns nothing");
        assert!(reason.contains("pkill"), "{reason}");
        target.launch.kill = Some(vec!["true".to_owned()]);
        assert_eq!(target.launch.cannot_kill(), None);
    }
}
