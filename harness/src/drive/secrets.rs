//! The values of a target's secrets, known to nobody after the run.

use std::collections::BTreeMap;

use super::stage::StageError;
use crate::secrets::Secret;
use crate::target::SecretSource;

/// The values of secrets, made or taken from where the profile says.
pub(super) fn revealed(sources: &BTreeMap<String, SecretSource>) -> Result<BTreeMap<String, String>, StageError> {
    let reveal = |(name, source): (&String, &SecretSource)| {
        let value = match source {
            SecretSource::Random(bytes) => random_hex(*bytes),
            SecretSource::Value(value) => value.clone(),
            SecretSource::Env(variable) => std::env::var(variable).map_err(|_| StageError::Secret {
                name: name.clone(),
                variable: variable.clone(),
            })?,
        };
        Ok((name.clone(), value))
    };
    sources.iter().map(reveal).collect()
}

/// As a list, to be looked for.
pub(super) fn listed<'a>(values: impl Iterator<Item = &'a BTreeMap<String, String>>) -> Vec<Secret> {
    let secret = |(name, value): (&String, &String)| Secret {
        name: name.clone(),
        value: value.clone(),
    };
    values.flatten().map(secret).collect()
}

/// So many random bytes as lower-case hex, from the system's source of randomness.
fn random_hex(bytes: usize) -> String {
    let mut hex = String::with_capacity(bytes * 2 + 32);
    while hex.len() < bytes * 2 {
        // 122 of a version 4 UUID's 128 bits are random; the digest spreads them over the whole word.
        let word = uuid::Uuid::new_v4();
        hex.push_str(&crate::digest::sha256_hex(word.as_bytes())[..30]);
    }
    hex.truncate(bytes * 2);
    hex
}
