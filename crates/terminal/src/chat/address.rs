//! Says whom a message reaches where it names somebody who is not there.
//! Used by `state` and by the conversation of lines, when a message is posted. Only tells; whom a message is for is decided
//! where it is stored, by the same rules.

use std::fmt::Write as _;

use agent_world_client::wire::World;
use agent_world_core::display::reveal_line;
use agent_world_core::ids::AgentId;
use agent_world_core::mention::{Roster, Route, route};
use agent_world_core::sender::{Sender, is_reserved};

/// What there is to say about names at the beginning of a message that nobody has here; none where all of them are known.
pub fn of_strangers(world: &World, text: &str) -> Option<String> {
    let ids: Vec<AgentId> =
        world.agents.iter().map(|agent| AgentId::new(agent.id.as_str())).collect();
    let names = world.agents.iter().map(|agent| agent.name.as_str());
    let roster = Roster::new(ids.iter().zip(names));
    let strangers: Vec<String> = mentioned(text)
        .filter(|name| roster.find(name).is_none() && !is_reserved(name))
        .map(|name| reveal_line(name).into_owned())
        .collect();
    if strangers.is_empty() {
        return None;
    }
    let main = world.main_agent.as_deref().map(AgentId::new);
    let mut told = format!("no agent named {} here; ", strangers.join(" or "));
    let all = |agents: &[AgentId]| {
        let names: Vec<String> = agents.iter().map(|id| format!("@{}", id.as_str())).collect();
        names.join(", ")
    };
    let written = match route(&Sender::Human, text, &roster, main.as_ref()) {
        Route::Addressed(agents) => write!(told, "your message goes to {}", all(&agents)),
        Route::MainAgent(agent) => {
            write!(told, "your message goes to @{}, the main agent", agent.as_str())
        }
        Route::Everyone(agents) if agents.is_empty() => write!(told, "nobody will answer"),
        Route::Everyone(agents) => {
            write!(told, "your message goes to everybody: {}", all(&agents))
        }
        Route::OnlyReferenced(_) | Route::Nobody => write!(told, "nobody will answer"),
    };
    // Writing into a text cannot fail.
    written.ok().map(|()| told)
}

/// The names in the run of mentions that a message begins with.
fn mentioned(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|one: char| one.is_whitespace() || one == ',');
    let run = words.filter(|word| !word.is_empty()).map_while(|word| word.strip_prefix('@'));
    let is_part = |one: char| one.is_alphanumeric() || one == '-' || one == '_';
    run.map(move |name| {
        let end = name.find(|one| !is_part(one)).unwrap_or(name.len());
        name.get(..end).unwrap_or_default().trim_end_matches(['-', '_'])
    })
    .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn world(main: Option<&str>) -> World {
        let agents = json!([{"id": "ada", "name": "Ada L"}, {"id": "bob", "name": "Bob"}]);
        let world = json!({"id": "demo", "name": "Demo", "main_agent": main, "agents": agents});
        serde_json::from_value(world).unwrap()
    }

    #[test]
    fn a_name_that_nobody_has_is_told_with_whoever_hears_it() {
        let with_main = |text| of_strangers(&world(Some("ada")), text);
        assert_eq!(
            with_main("@carl hi").unwrap(),
            "no agent named carl here; your message goes to @ada, the main agent"
        );
        assert_eq!(
            with_main("@carl, @Bob: hi").unwrap(),
            "no agent named carl here; your message goes to @bob"
        );
        assert_eq!(
            of_strangers(&world(None), "@carl hi").unwrap(),
            "no agent named carl here; your message goes to everybody: @ada, @bob"
        );
    }

    #[test]
    fn known_names_and_ordinary_talk_need_no_word() {
        for text in ["hi", "@ada hi", "@ADA @bob, hi", "write to me@carl.org", "@ you", "@human x"]
        {
            assert_eq!(of_strangers(&world(Some("ada")), text), None, "{text}");
        }
    }
}
