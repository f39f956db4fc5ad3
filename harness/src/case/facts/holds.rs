//! What a fact can be: one thing of a kind, or a list of them.

use serde_json::Value;

/// What a fact holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// One.
    One(Item),
    /// One, or null; which no case file can say.
    OneOrNull(Item),
    /// A list.
    List(Item),
    /// A list in which null can stand.
    ListWithNulls(Item),
    /// What all share, or the list where they differ.
    Shared(Item),
    /// Whatever the server keeps there; a path can lead into it.
    Anything,
}

/// One thing in a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// True or false.
    Flag,
    /// True; where it is not, the fact is not there.
    True,
    /// How many.
    Count,
    /// How many; where there is none, the fact is not there.
    CountFromOne,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// A text.
    Text,
    /// A text, or an integer.
    Name,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A row, as its columns.
    Row,
    /// Whatever the server keeps there.
    Cell,
}

/// A kind of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Flag,
    Number,
    Text,
    List,
    Object,
}

impl Holds {
    /// Whether it can ever be this.
    pub(super) fn takes(self, value: &Value) -> bool {
        let all = |item: Item| move |values: &Vec<Value>| values.iter().all(|value| item.takes(value));
        match self {
            Self::One(item) => item.takes(value),
            Self::OneOrNull(item) => value.is_null() || item.takes(value),
            Self::List(item) => value.as_array().is_some_and(all(item)),
            Self::ListWithNulls(item) => value
                .as_array()
                .is_some_and(|values| values.iter().all(|value| value.is_null() || item.takes(value))),
            Self::Shared(item) => item.takes(value) || value.as_array().is_some_and(all(item)),
            Self::Anything => true,
        }
    }

    /// Whether the two can ever be equal: by their kinds, whatever the values.
    pub(super) fn can_equal(self, other: Self) -> bool {
        let (one, other) = (self.kinds(), other.kinds());
        one.is_none_or(|one| other.is_none_or(|other| one.iter().any(|kind| other.contains(kind))))
    }

    /// The kinds of JSON values that it can be; nothing where any is possible.
    fn kinds(self) -> Option<Vec<Kind>> {
        match self {
            Self::One(item) => Some(item.kinds()?.to_vec()),
            Self::OneOrNull(item) => Some([item.kinds()?, &[Kind::Null]].concat()),
            Self::List(_) | Self::ListWithNulls(_) => Some(vec![Kind::List]),
            Self::Shared(item) => Some([item.kinds()?, &[Kind::List]].concat()),
            Self::Anything => None,
        }
    }

    /// The words of which it, or each in it, is one.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Self::One(Item::Words(words))
            | Self::OneOrNull(Item::Words(words))
            | Self::List(Item::Words(words))
            | Self::ListWithNulls(Item::Words(words))
            | Self::Shared(Item::Words(words)) => words,
            Self::One(_)
            | Self::OneOrNull(_)
            | Self::List(_)
            | Self::ListWithNulls(_)
            | Self::Shared(_)
            | Self::Anything => &[],
        }
    }

    /// For people.
    pub(super) fn in_words(self) -> String {
        match self {
            Self::One(item) => item.in_words(),
            Self::OneOrNull(item) => format!("{}, or null", item.in_words()),
            Self::List(item) => format!("a list, each in it {}", item.in_words()),
            Self::ListWithNulls(item) => format!("a list, each in it {}, or null", item.in_words()),
            Self::Shared(item) => format!("{}, or a list of such", item.in_words()),
            Self::Anything => "anything".to_owned(),
        }
    }
}

impl Item {
    fn kinds(self) -> Option<&'static [Kind]> {
        Some(match self {
            Self::Flag | Self::True => &[Kind::Flag],
            Self::Count | Self::CountFromOne | Self::Integer | Self::Number => &[Kind::Number],
            Self::Text | Self::Words(_) => &[Kind::Text],
            Self::Name => &[Kind::Text, Kind::Number],
            Self::Row => &[Kind::Object],
            Self::Cell => return None,
        })
    }

    fn takes(self, value: &Value) -> bool {
        let is_integer = value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0);
        match self {
            Self::Flag => value.is_boolean(),
            Self::True => value.as_bool() == Some(true),
            Self::Count => is_integer && value.as_f64().is_some_and(|count| count >= 0.0),
            Self::CountFromOne => is_integer && value.as_f64().is_some_and(|count| count >= 1.0),
            Self::Integer => is_integer,
            Self::Number => value.is_number(),
            Self::Text => value.is_string(),
            Self::Name => value.is_string() || is_integer,
            Self::Words(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Row => value.is_object(),
            Self::Cell => true,
        }
    }

    fn in_words(self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::True => "true".to_owned(),
            Self::Count => "a count, 0 or more".to_owned(),
            Self::CountFromOne => "a count, 1 or more".to_owned(),
            Self::Integer => "an integer".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Name => "a text or an integer".to_owned(),
            Self::Words(words) => format!("one of {}", words.join(", ")),
            Self::Row => "a row by its columns".to_owned(),
            Self::Cell => "anything".to_owned(),
        }
    }
}
