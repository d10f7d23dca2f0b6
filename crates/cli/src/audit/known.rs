//! What is known besides an entry of the audit: which call it is about, and how far a permission reaches.
//! Used by `audit` where people read it. Only looks, and asks for each thing once.

use std::collections::HashMap;

use agent_world_client::wire::Page;
use agent_world_client::{Client, Path};
use agent_world_core::audit::What;
use agent_world_core::policy::Match;
use anyhow::Result;
use serde_json::Value;

use super::Entry;
use crate::approvals::permission::{self, Permission};
use crate::words;

#[derive(Debug, Default)]
pub struct Known {
    /// Calls by their ids, on one line each.
    calls: HashMap<String, String>,
    /// What is in force, by world and chat.
    permissions: HashMap<(String, String), Vec<Permission>>,
}

impl Known {
    /// Finds out what an entry leaves out.
    pub async fn look(&mut self, client: &Client, entry: &Entry) -> Result<()> {
        if let Some(call) = &entry.tool_call_id
            && !self.calls.contains_key(call)
        {
            let text = match entry.what() {
                Some(What::Called { arguments, .. }) => Some(action(entry, &arguments)),
                _ => called(client, call).await?,
            };
            self.calls.extend(text.map(|text| (call.clone(), text)));
        }
        let lasts = matches!(entry.what(), Some(What::Decided { .. })) && entry.rule.is_some();
        if let (true, Some(place)) = (lasts, place(entry))
            && !self.permissions.contains_key(&place)
        {
            let found = permission::in_force(client, &place.0, Some(&place.1)).await?;
            self.permissions.insert(place, found);
        }
        Ok(())
    }

    /// The call that an entry is about.
    pub fn call(&self, entry: &Entry) -> String {
        let tool = || entry.tool.clone().unwrap_or_default();
        let call = entry.tool_call_id.as_ref().and_then(|id| self.calls.get(id));
        call.cloned().unwrap_or_else(tool)
    }

    /// What narrows a permission; none where it is no longer in force, so that nobody can be asked.
    pub fn narrowed(&self, entry: &Entry, id: &str) -> Option<&[Match]> {
        let all = self.permissions.get(&place(entry)?)?;
        all.iter().find(|one| one.id == id).map(|one| one.matches.as_slice())
    }
}

fn place(entry: &Entry) -> Option<(String, String)> {
    Some((entry.world_id.clone(), entry.chat_id.clone()?))
}

/// The call as it was made, where that was before the entries that are shown.
async fn called(client: &Client, call: &str) -> Result<Option<String>> {
    let path = Path::new("/api/audit").with("call", call).with("kind", "called");
    let page: Page<Value> = client.get(path.with("limit", "1")).await?;
    let Some(entry) = page.data.into_iter().next() else {
        return Ok(None);
    };
    let entry: Entry = serde_json::from_value(entry)?;
    Ok(match entry.what() {
        Some(What::Called { arguments, .. }) => Some(action(&entry, &arguments)),
        _ => None,
    })
}

fn action(entry: &Entry, arguments: &Value) -> String {
    words::action(entry.tool.as_deref().unwrap_or_default(), arguments)
}
