//! Decides what a `compaction` item of ours holds, and reads it when it comes back.
//! Called where conversations are compacted and where input is read. What it holds is the client's own conversation in
//! other words, and a client could write the same as a plain message; so it is opaque and neither secret nor signed.

use agent_world_core::item::{Item, MessageItem, Part, Role};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::failure::Failure;

/// How the content of ours begins; of a vendor's own compaction we read nothing.
const MARK: &str = "agent-world.1.";

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    summary: String,
}

/// The item for a summary.
pub(super) fn written(id: &str, summary: &str) -> Item {
    let content = Content { summary: summary.to_owned() };
    let json = serde_json::to_vec(&content).unwrap_or_default();
    let sealed = format!("{MARK}{}", URL_SAFE_NO_PAD.encode(json));
    Item::Unknown(json!({"type": "compaction", "id": id, "encrypted_content": sealed}))
}

/// What a model is told in place of one of our compaction items; nothing for any other item.
pub(super) fn read(item: &Item) -> Result<Option<Item>, Failure> {
    let Item::Unknown(value) = item else { return Ok(None) };
    if value.get("type").and_then(Value::as_str) != Some("compaction") {
        return Ok(None);
    }
    let content = value.get("encrypted_content").and_then(Value::as_str);
    let Some(sealed) = content.and_then(|content| content.strip_prefix(MARK)) else {
        return Ok(None);
    };
    let damaged = || {
        let message = "a compaction item is damaged; send it as it was given";
        Failure::refused("invalid_compaction", "input", message)
    };
    let json = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| damaged())?;
    let content: Content = serde_json::from_slice(&json).map_err(|_| damaged())?;
    let text = format!("Summary of the conversation so far:\n\n{}", content.summary);
    Ok(Some(Item::Message(MessageItem {
        id: None,
        role: Role::Developer,
        content: vec![Part::said(Role::Developer, text)],
        extra: Map::new(),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read_back_and_nothing_else_is() {
        let item = written("cmp_1", "we launch on Tuesday");
        let Ok(Some(Item::Message(message))) = read(&item) else { panic!("{item:?}") };
        assert!(message.text().ends_with("we launch on Tuesday"), "{}", message.text());
        let foreign = json!({"type": "compaction", "encrypted_content": "gAAAAAB"});
        assert_eq!(read(&Item::Unknown(foreign)), Ok(None));
        assert_eq!(read(&Item::user("hello")), Ok(None));
        let damaged = json!({"type": "compaction", "encrypted_content": format!("{MARK}%%")});
        let refused = read(&Item::Unknown(damaged)).unwrap_err();
        assert_eq!(refused.detail.code.as_deref(), Some("invalid_compaction"));
    }
}
