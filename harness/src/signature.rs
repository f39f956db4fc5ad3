//! The one signature that an archive can have: that of `ssh-keygen -Y`, made and checked by OpenSSH itself.
//!
//! Must not hold a key, and must not decide whom to believe: that is in the reviewer's list of allowed signers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::record::ArchiveFile;

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
///
/// Whatever stands under its name by now, what is checked are the bytes of the archive that was opened.
pub fn check(archive: &ArchiveFile, signers: &Path, identity: Option<&str>) -> Result<String, SignatureError> {
    let signature = signature_of(archive.path());
    if !signature.is_file() {
        return Err(SignatureError::Missing { path: signature });
    }
    open(signers)?;
    let identity = match identity {
        Some(identity) => identity.to_owned(),
        None => principal(archive.path(), signers, &signature)?,
    };
    let mut command = Command::new(PROGRAM);
    command
        .args(["-Y", "verify", "-n", NAMESPACE, "-I", &identity, "-f"])
        .arg(path_word(signers));
    command.arg("-s").arg(path_word(&signature));
    let path = archive.path().to_path_buf();
    let (output, is_all_of_it) = run_on(&mut command, archive)?;
    if !output.status.success() {
        let said = said(&output);
        return Err(SignatureError::Bad { path, identity, said });
    }
    if !is_all_of_it {
        let said = "it was changed while it was looked at".to_owned();
        return Err(SignatureError::Bad { path, identity, said });
    }
    Ok(identity)
}

/// Runs a program on the bytes of an archive, and says whether it was given those that were opened, and all of them.
fn run_on(command: &mut Command, archive: &ArchiveFile) -> Result<(Output, bool), SignatureError> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut program = command.env("LC_ALL", "C").spawn().map_err(SignatureError::NoProgram)?;
    let mut input = program.stdin.take().expect("it is piped");
    // It says little and at its end, so it does not wait for us while we wait for it.
    let handed_on = archive.hand_on(&mut input);
    drop(input);
    let output = program.wait_with_output().map_err(SignatureError::NoProgram)?;
    match handed_on {
        Ok(is_all_of_it) => Ok((output, is_all_of_it)),
        // It has seen enough, and says what.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok((output, false)),
        Err(source) => Err(SignatureError::File {
            path: archive.path().to_path_buf(),
            source,
        }),
    }
}

/// Whom the list calls the key that made the signature.
fn principal(archive: &Path, signers: &Path, signature: &Path) -> Result<String, SignatureError> {
    let mut command = Command::new(PROGRAM);
    command.args(["-Y", "find-principals", "-f"]).arg(path_word(signers));
    let output = run(command.arg("-s").arg(path_word(signature)).stdin(Stdio::null()))?;
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
    use crate::record::pack;
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

    /// Packs a file with this text, and opens the archive.
    fn packed(path: &Path, text: &str) -> ArchiveFile {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("SHA256SUMS"), text).expect("write");
        pack(folder.path(), &mut File::create(path).expect("create")).expect("pack");
        ArchiveFile::open(path).expect("an archive")
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
        let path = folder.path().join("-run.zip");
        let archive = packed(&path, "evidence");
        let signers = allowed(folder.path(), &["alice"]);
        let missing = check(&archive, &signers, None).expect_err("unsigned");
        assert!(matches!(missing, SignatureError::Missing { .. }), "{missing}");

        assert_eq!(sign(&path, &alice).expect("signed"), signature_of(&path));
        assert_eq!(
            check(&archive, &signers, None).expect("a signature"),
            "alice@example.org"
        );
        check(&archive, &signers, Some("alice@example.org")).expect("her signature");
        let other = check(&archive, &signers, Some("mallory@example.org")).expect_err("hers alone");
        assert!(matches!(other, SignatureError::Bad { .. }), "{other}");
        let twice = sign(&path, &alice).expect_err("never replaced");
        assert!(matches!(twice, SignatureError::Exists { .. }), "{twice}");

        let others = allowed(folder.path(), &["mallory"]);
        let unknown = check(&archive, &others, None).expect_err("not on the list");
        assert!(matches!(unknown, SignatureError::Unknown { .. }), "{unknown}");
        let signers = allowed(folder.path(), &["alice"]);
        let other = packed(&path, "evidencE");
        let changed = check(&other, &signers, None).expect_err("changed");
        assert!(matches!(changed, SignatureError::Bad { .. }), "{changed}");
    }

    /// Whoever swaps the archive, or writes into it, between the opening and the look at its signature.
    #[test]
    fn the_signature_is_that_of_the_bytes_that_were_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let alice = key(folder.path(), "alice");
        let signers = allowed(folder.path(), &["alice"]);
        let (path, elsewhere) = (folder.path().join("run.zip"), folder.path().join("other.zip"));
        drop(packed(&elsewhere, "another"));
        let signed = packed(&path, "evidence");
        sign(&path, &alice).expect("signed");
        fs::rename(&elsewhere, &path).expect("swap");
        check(&signed, &signers, None).expect("what was opened was signed");
        let swapped = ArchiveFile::open(&path).expect("an archive");
        assert!(check(&swapped, &signers, None).is_err());

        let unsigned = packed(&path, "evidence?");
        fs::write(&path, fs::read(folder.path().join("nothing")).unwrap_or_default()).expect("write");
        assert!(check(&unsigned, &signers, None).is_err(), "it was emptied");
    }

    /// A signature that somebody made of the same bytes for another purpose says nothing of evidence.
    #[test]
    fn a_signature_for_something_else_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let alice = key(folder.path(), "alice");
        let path = folder.path().join("run.zip");
        let archive = packed(&path, "evidence");
        let mut command = Command::new(PROGRAM);
        command
            .args(["-q", "-Y", "sign", "-n", "git", "-f"])
            .arg(&alice)
            .arg(&path);
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
