//! Decides who sent a message, from the name it carries.
//! Called by `mention` and by whatever reads or writes a message. Never checks that an agent exists.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::AgentId;

const HUMAN_NAMES: [&str; 3] = ["human", "user", "you"];
const WORLD_NAME: &str = "world";
const SYSTEM_NAME: &str = "system";

/// Who a message is from. Stored and sent as one word.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Sender {
    Human,
    World,
    System,
    Agent(AgentId),
}

impl Sender {
    /// Reads a sender's name without regard to case or surrounding white space.
    pub fn parse(name: &str) -> Self {
        let name = name.trim().to_lowercase();
        match name.as_str() {
            human if HUMAN_NAMES.contains(&human) => Self::Human,
            WORLD_NAME => Self::World,
            SYSTEM_NAME | "" => Self::System,
            _ => Self::Agent(AgentId::new(name)),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Human => "human",
            Self::World => WORLD_NAME,
            Self::System => SYSTEM_NAME,
            Self::Agent(id) => id.as_str(),
        }
    }
}

/// Whether a name already means somebody else, so that no agent may have it.
pub fn is_reserved(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    HUMAN_NAMES.contains(&name.as_str()) || name == WORLD_NAME || name == SYSTEM_NAME
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<String> for Sender {
    fn from(name: String) -> Self {
        Self::parse(&name)
    }
}

impl From<Sender> for String {
    fn from(sender: Sender) -> Self {
        sender.as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str) -> Sender {
        Sender::Agent(AgentId::new(id))
    }

    #[test]
    fn a_name_is_read_in_any_case_and_trimmed() {
        for (name, expected) in [
            ("human", Sender::Human),
            ("User", Sender::Human),
            (" YOU\n", Sender::Human),
            ("World", Sender::World),
            ("SYSTEM", Sender::System),
            ("", Sender::System),
            ("  ", Sender::System),
            ("ada", agent("ada")),
            (" Ada-2 ", agent("ada-2")),
            ("ÉLISE", agent("élise")),
            ("humanity", agent("humanity")),
        ] {
            assert_eq!(Sender::parse(name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_sender_is_written_as_one_word_and_read_back() {
        for (sender, word) in [
            (Sender::Human, "human"),
            (Sender::World, "world"),
            (Sender::System, "system"),
            (agent("ada"), "ada"),
        ] {
            assert_eq!(sender.to_string(), word);
            let json = serde_json::to_string(&sender).unwrap();
            assert_eq!(json, format!("{word:?}"));
            assert_eq!(serde_json::from_str::<Sender>(&json).unwrap(), sender);
        }
    }

    #[test]
    fn names_of_others_are_reserved_and_the_rest_are_free() {
        for name in ["human", "User", " you ", "WORLD", "system"] {
            assert!(is_reserved(name), "{name:?}");
        }
        for name in ["ada", "worlds", "user-2", ""] {
            assert!(!is_reserved(name), "{name:?}");
        }
    }
}
