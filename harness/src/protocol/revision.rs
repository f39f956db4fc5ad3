//! The revisions of MCP, what tells them apart in the frames that we send, and which of them a user wants spoken.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::handshake::Era;

/// A revision that this harness speaks; the newest is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Revision {
    /// The first one.
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    /// The only one whose frames may be batches.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// With elicitation and structured results.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// The last one with a handshake.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// No handshake; every request says its revision.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl Revision {
    /// All of them, the newest first.
    pub const ALL: [Self; 5] = [
        Self::V2026_07_28,
        Self::V2025_11_25,
        Self::V2025_06_18,
        Self::V2025_03_26,
        Self::V2024_11_05,
    ];

    /// Its name, a date.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// How a server of this revision wants to be spoken to.
    pub fn era(self) -> Era {
        if self >= Self::V2026_07_28 {
            Era::Modern
        } else {
            Era::Legacy
        }
    }

    /// The newest one of an era.
    pub fn newest(era: Era) -> Self {
        match era {
            Era::Modern => Self::V2026_07_28,
            Era::Legacy => Self::V2025_11_25,
        }
    }

    /// Whether a server may ask the user for input: `elicitation` came with 2025-06-18.
    pub(super) fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }
}

/// Which revision a user wants spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// What the server speaks: it is probed, and its own answer is accepted.
    #[default]
    Auto,
    /// This one, and no other.
    Only(Revision),
}

impl Protocol {
    /// What can be wanted, by name.
    pub const NAMES: [&'static str; 1 + Revision::ALL.len()] = {
        let mut names = [AUTO; 1 + Revision::ALL.len()];
        let mut at = 0;
        while at < Revision::ALL.len() {
            names[at + 1] = Revision::ALL[at].name();
            at += 1;
        }
        names
    };

    /// The revision, where one is wanted.
    pub fn revision(self) -> Option<Revision> {
        match self {
            Self::Auto => None,
            Self::Only(revision) => Some(revision),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.revision().map_or(AUTO, Revision::name)
    }

    /// What is spoken, for people.
    pub fn in_words(self) -> String {
        match self {
            Self::Auto => format!(
                "{} where the server answers `server/discover`, else its answer to `initialize` with {}",
                Revision::newest(Era::Modern).name(),
                Revision::newest(Era::Legacy).name()
            ),
            Self::Only(revision) => match revision.era() {
                Era::Modern => format!("{} only, without `initialize`", revision.name()),
                Era::Legacy => format!("{} only, asked for in `initialize`", revision.name()),
            },
        }
    }

    /// The era that is known without a probe.
    pub fn era(self) -> Option<Era> {
        self.revision().map(Revision::era)
    }

    /// The revision that a server of this era is asked for.
    pub fn spoken_in(self, era: Era) -> Revision {
        self.revision().unwrap_or_else(|| Revision::newest(era))
    }
}

/// What nobody's wish is called.
const AUTO: &str = "auto";

impl FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let mut revisions = Revision::ALL.into_iter();
        match revisions.find(|revision| revision.name() == name) {
            Some(revision) => Ok(Self::Only(revision)),
            None if name == AUTO => Ok(Self::Auto),
            None => Err(format!("`{name}` is none of {}", Self::NAMES.join(", "))),
        }
    }
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse()
            .map_err(|_| serde::de::Error::unknown_variant(&name, &Self::NAMES))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Protocol {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Protocol".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "enum": Self::NAMES})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_written_by_its_name() {
        for revision in Revision::ALL {
            let written = serde_json::to_value(revision).expect("JSON");
            assert_eq!(written, revision.name());
            assert_eq!(revision.name().parse(), Ok(Protocol::Only(revision)));
        }
        assert_eq!("auto".parse(), Ok(Protocol::Auto));
        assert_eq!(
            "2025-06-19".parse::<Protocol>(),
            Err("`2025-06-19` is none of auto, 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05".to_owned())
        );
    }

    #[test]
    fn revisions_are_in_order_and_each_era_has_a_newest() {
        let mut names: Vec<&str> = Revision::ALL.iter().map(|revision| revision.name()).collect();
        assert!(Revision::ALL.is_sorted_by(|newer, older| newer > older));
        names.sort_unstable_by(|left, right| right.cmp(left));
        assert_eq!(names, Revision::ALL.map(Revision::name));
        for era in [Era::Modern, Era::Legacy] {
            let newest = Revision::ALL.into_iter().find(|revision| revision.era() == era);
            assert_eq!(newest, Some(Revision::newest(era)));
            assert_eq!(Protocol::Auto.spoken_in(era), Revision::newest(era));
        }
    }
}
