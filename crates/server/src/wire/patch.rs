//! Decides what a field of a change means: keep what is there, go back to the default, or take this.
//! Used by the bodies that make and change settings (JSON merge patch). Never looks at what a field is about.

use serde::{Deserialize, Deserializer};

/// One field. Left out it is kept; `null` puts it back to its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Patch<T> {
    #[default]
    Keep,
    Reset,
    Set(T),
}

impl<T> Patch<T> {
    /// Changes a setting, which has a default.
    pub fn apply(self, setting: &mut T, default: impl FnOnce() -> T) {
        match self {
            Self::Keep => {}
            Self::Reset => *setting = default(),
            Self::Set(value) => *setting = value,
        }
    }

    /// Changes a setting that may be absent.
    pub fn apply_optional(self, setting: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Reset => *setting = None,
            Self::Set(value) => *setting = Some(value),
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Self::Keep => Patch::Keep,
            Self::Reset => Patch::Reset,
            Self::Set(value) => Patch::Set(change(value)),
        }
    }
}

// With `#[serde(default)]` a field that is left out is `Keep`.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Option::deserialize(deserializer)?;
        Ok(given.map_or(Self::Reset, Self::Set))
    }
}
