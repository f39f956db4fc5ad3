//! The one signature that an archive can have: that of `ssh-keygen -Y`, made and checked by OpenSSH itself.
//!
//! Must not hold a key, and must not decide whom to believe: that is in the reviewer's list of allowed signers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a signature is for, so that one made for something else is none of ours.
pub const NAMESPACE: &str = "harness-evidence";

/// What is called after the archive, with this at the end.
const SUFFIX: &str = "sig";

/// The program.
const PROGRAM: &str = "ssh-keygen";

/// Why an archive was not signed, or its signature is not believed.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// There is no `ssh-keygen`.
    #[error("start {PROGRAM}: {0}; install OpenSSH, version 8.2 or newer")]
    NoProgram(io::Error),
    /// A file could not be read.
    #[error("read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no signature.
    #[error(
        "{path}: there is no such signature; sign with `ssh-keygen -Y sign -n {NAMESPACE} -f KEY ARCHIVE`, or verify without --signers"
    )]
    Missing {
        /// Where it belongs.
        path: PathBuf,
    },
    /// A signature is there already.
    #[error("{path} exists already (nothing is ever replaced)")]
    Exists {
        /// The signature.
        path: PathBuf,
    },
    /// It was not signed.
    #[error("sign {path} with {key}: {said}")]
    NotSigned {
        /// The archive.
        path: PathBuf,
        /// The key.
        key: PathBuf,
        /// What `ssh-keygen` said.
        said: String,
    },
    /// The signature is of nobody on the list.
    #[error("{path}: its signature is of nobody in {signers}: {said}")]
    Unknown {
        /// The archive.
        path: PathBuf,
        /// The list.
        signers: PathBuf,
        /// What `ssh-keygen` said.
        said: String,
    },
    /// The signature does not hold.
    #[error("{path}: its signature does not hold for {identity}: {said}")]
    Bad {
        /// The archive.
        path: PathBuf,
        /// Who was to have signed it.
        identity: String,
        /// What `ssh-keygen` said.
        said: String,
    },
}

/// Where the signature of an archive stands.
pub fn signature_of(archive: &Path) -> PathBuf {
    let mut name = archive.as_os_str().to_owned();
    name.push(".");
    name.push(SUFFIX);
    PathBuf::from(name)
}

/// Signs an archive, as `ssh-keygen -Y sign -n harness-evidence -f KEY ARCHIVE` does, and names the signature.
pub fn sign(archive: &Path, key: &Path) -> Result<PathBuf, SignatureError> {
    let signature = signature_of(archive);
    if signature.symlink_metadata().is_ok() {
        return Err(SignatureError::Exists { path: signature });
    }
    // A key with a passphrase asks for it on the terminal, which `ssh-keygen` opens itself.
    let mut command = Command::new(PROGRAM);
    command
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(path_word(key))
        .arg(path_word(archive));
    let output = run(command.stdin(Stdio::null()))?;
    if output.status.success() && signature.is_file() {
        return Ok(signature);
    }
    Err(SignatureError::NotSigned {
        path: archive.to_path_buf(),
        key: key.to_path_buf(),
        said: said(&output),
    })
}

/// Checks the signature of an archive, and says who made it: `identity`, or whoever the list of allowed signers calls its key.
pub fn check(archive: &Path, signers: &Path, identity: Option<&str>) -> Result<String, SignatureError> {
    let signature = signature_of(archive);
    if !signature.is_file() {
        return Err(SignatureError::Missing { path: signature });
    }
    open(signers)?;
    let identity = match identity {
        Some(identity) => identity.to_owned(),
        None => principal(archive, signers, &signature)?,
    };
    let mut command = Command::new(PROGRAM);
    command
        .args(["-Y", "verify", "-n", NAMESPACE, "-I", &identity, "-f"])
        .arg(path_word(signers));
    let output = run(command.arg("-s").arg(path_word(&signature)).stdin(open(archive)?))?;
    if output.status.success() {
        return Ok(identity);
    }
    Err(SignatureError::Bad {
        path: archive.to_path_buf(),
        identity,
        said: said(&output),
    })
}

/// Whom the list calls the key that made the signature.
fn principal(archive: &Path, signers: &Path, signature: &Path) -> Result<String, SignatureError> {
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "find-principals", "-f"]).arg(path_word(signers));
    let output = run(command.arg("-s").arg(path_word(signature)).stdin(open(archive)?))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match text
        .lines()
        .next()
        .filter(|line| output.status.success() && !line.is_empty())
    {
        Some(name) => Ok(name.to_owned()),
        None => Err(SignatureError::Unknown {
            path: archive.to_path_buf(),
            signers: signers.to_path_buf(),
            said: said(&output),
        }),
    }
}

/// A path that begins with a hyphen would be taken for a flag.
fn path_word(path: &Path) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_path_buf()
    }
}

fn run(command: &mut Command) -> Result<Output, SignatureError> {
    command.env("LC_ALL", "C").output().map_err(SignatureError::NoProgram)
}

fn open(path: &Path) -> Result<File, SignatureError> {
    crate::plain_file::open(path).map_err(|source| SignatureError::File {
        path: path.to_path_buf(),
        source,
    })
}

/// The last line that it said, where a failure is explained.
fn said(output: &Output) -> String {
    let text = [output.stderr.as_slice(), &output.stdout].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    last.map_or_else(|| format!("{PROGRAM} ended with {}", output.status), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A key of its own for each name; `ssh-keygen` has to be there, as the documentation says.
    fn key(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        let mut command = Command::new(PROGRAM);
        command
            .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
            .arg(&path);
        assert!(run(&mut command).expect("ssh-keygen is installed").status.success());
        path
    }

    fn allowed(folder: &Path, names: &[&str]) -> PathBuf {
        let line = |name: &&str| {
            let public = fs::read_to_string(folder.join(format!("{name}.pub"))).expect("a public key");
            format!("{name}@example.org namespaces=\"{NAMESPACE}\" {public}")
        };
        let path = folder.join("allowed_signers");
        fs::write(&path, names.iter().map(line).collect::<String>()).expect("write");
        path
    }

    #[test]
    fn who_signed_is_told_and_nobody_else_could_have() {
        let folder = tempfile::tempdir().expect("a folder");
        let (alice, _mallory) = (key(folder.path(), "alice"), key(folder.path(), "mallory"));
        let archive = folder.path().join("-run.zip");
        fs::write(&archive, "evidence").expect("write");
        let signers = allowed(folder.path(), &["alice"]);
        let missing = check(&archive, &signers, None).expect_err("unsigned");
        assert!(matches!(missing, SignatureError::Missing { .. }), "{missing}");

        assert_eq!(sign(&archive, &alice).expect("signed"), signature_of(&archive));
        assert_eq!(
            check(&archive, &signers, None).expect("a signature"),
            "alice@example.org"
        );
        check(&archive, &signers, Some("alice@example.org")).expect("her signature");
        let other = check(&archive, &signers, Some("mallory@example.org")).expect_err("hers alone");
        assert!(matches!(other, SignatureError::Bad { .. }), "{other}");
        let twice = sign(&archive, &alice).expect_err("never replaced");
        assert!(matches!(twice, SignatureError::Exists { .. }), "{twice}");

        let others = allowed(folder.path(), &["mallory"]);
        let unknown = check(&archive, &others, None).expect_err("not on the list");
        assert!(matches!(unknown, SignatureError::Unknown { .. }), "{unknown}");
        let signers = allowed(folder.path(), &["alice"]);
        fs::write(&archive, "evidencE").expect("write");
        let changed = check(&archive, &signers, None).expect_err("changed");
        assert!(matches!(changed, SignatureError::Bad { .. }), "{changed}");
    }

    /// A signature that somebody made of the same bytes for another purpose says nothing of evidence.
    #[test]
    fn a_signature_for_something_else_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let alice = key(folder.path(), "alice");
        let archive = folder.path().join("run.zip");
        fs::write(&archive, "evidence").expect("write");
        let mut command = Command::new(PROGRAM);
        command
            .args(["-q", "-Y", "sign", "-n", "git", "-f"])
            .arg(&alice)
            .arg(&archive);
        assert!(run(&mut command).expect("ssh-keygen").status.success());
        let signers = allowed(folder.path(), &["alice"]);
        for identity in [None, Some("alice@example.org")] {
            let error = check(&archive, &signers, identity).expect_err("another purpose");
            assert!(
                matches!(error, SignatureError::Bad { .. } | SignatureError::Unknown { .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn a_key_that_is_not_there_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = folder.path().join("run.zip");
        fs::write(&archive, "evidence").expect("write");
        let error = sign(&archive, &folder.path().join("nothing")).expect_err("no key");
        assert!(error.to_string().contains("nothing"), "{error}");
    }
}
