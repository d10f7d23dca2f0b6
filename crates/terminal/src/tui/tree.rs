//! The worlds and their chats as a list: which there are, which is selected, which fit a filter.
//! Owned by the state; a fold of what is loaded and heard. Newest chats come first.

use agent_world_client::wire::{Changed, Chat, Event, News, World};

use super::message::Effect;

#[derive(Debug, Default)]
pub struct Tree {
    worlds: Vec<Node>,
    /// The id of a world or a chat.
    selected: Option<String>,
    filter: String,
    is_loaded: bool,
}

#[derive(Debug)]
struct Node {
    world: World,
    chats: Vec<Chat>,
    is_folded: bool,
}

/// One line of the list.
#[derive(Clone, Copy, Debug)]
pub enum Row<'t> {
    World { world: &'t World, is_folded: bool },
    Chat(&'t Chat),
}

impl<'t> Row<'t> {
    pub fn id(self) -> &'t str {
        match self {
            Self::World { world, .. } => &world.id,
            Self::Chat(chat) => &chat.id,
        }
    }
}

impl Tree {
    pub fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    pub fn filter(&self) -> &str {
        &self.filter
    }

    pub fn filter_by(&mut self, filter: String) {
        self.filter = filter;
        let rows = self.rows();
        if !rows.iter().any(|row| Some(row.id()) == self.selected.as_deref()) {
            let first = rows.iter().find(|row| matches!(row, Row::Chat(_)));
            self.selected = first.or(rows.first()).map(|row| row.id().to_owned());
        }
    }

    /// Takes in all worlds. Returns those whose chats are not known yet.
    pub fn worlds(&mut self, worlds: Vec<World>) -> Vec<String> {
        self.is_loaded = true;
        let mut before = std::mem::take(&mut self.worlds);
        let mut unknown = Vec::new();
        for world in worlds {
            match before.iter().position(|node| node.world.id == world.id) {
                Some(place) => {
                    let node = before.swap_remove(place);
                    self.worlds.push(Node { world, ..node });
                }
                None => {
                    unknown.push(world.id.clone());
                    self.worlds.push(Node { world, chats: Vec::new(), is_folded: false });
                }
            }
        }
        unknown
    }

    pub fn world_name(&self, id: &str) -> Option<&str> {
        let node = self.worlds.iter().find(|node| node.world.id == id)?;
        Some(&node.world.name)
    }

    pub fn world_ids(&self) -> Vec<String> {
        self.worlds.iter().map(|node| node.world.id.clone()).collect()
    }

    pub fn chats(&mut self, world: &str, chats: Vec<Chat>) {
        if let Some(node) = self.node(world) {
            node.chats = chats;
            node.sort();
        }
    }

    pub fn chat(&mut self, chat: Chat) {
        if let Some(node) = self.node(&chat.world_id.clone()) {
            node.chats.retain(|known| known.id != chat.id);
            node.chats.push(chat);
            node.sort();
        }
    }

    pub fn gone(&mut self, chat: &str) {
        for node in &mut self.worlds {
            node.chats.retain(|known| known.id != chat);
        }
    }

    pub fn find(&self, chat: &str) -> Option<(&World, &Chat)> {
        self.worlds.iter().find_map(|node| {
            let chat = node.chats.iter().find(|known| known.id == chat)?;
            Some((&node.world, chat))
        })
    }

    /// What tells a chat from others of its world with the same title, of which it was made later: a number, or nothing.
    pub fn number(&self, chat: &str) -> String {
        let node = self.worlds.iter().find(|node| node.chats.iter().any(|known| known.id == chat));
        let chats = node.map_or(&[][..], |node| node.chats.as_slice());
        let Some(chat) = chats.iter().find(|known| known.id == chat) else {
            return String::new();
        };
        let is_before = |other: &&Chat| {
            other.title == chat.title
                && (&other.created_at, &other.id) < (&chat.created_at, &chat.id)
        };
        match chats.iter().filter(is_before).count() {
            0 => String::new(),
            before => format!(" ({})", before + 1),
        }
    }

    /// The newest chat of a world; without a name, of the world that was there first.
    pub fn newest(&self, world: Option<&str>) -> Option<&Chat> {
        let mut nodes = self.worlds.iter();
        let node = nodes.find(|node| world.is_none_or(|world| node.world.id == world))?;
        node.chats.first()
    }

    fn node(&mut self, world: &str) -> Option<&mut Node> {
        self.worlds.iter_mut().find(|node| node.world.id == world)
    }

    /// Whether anything here is different now, and what must be looked up because of it.
    pub fn hear(&mut self, event: &Event) -> (bool, Vec<Effect>) {
        if let News::Changed(changed) = &event.news {
            return self.changed(event, changed);
        }
        let Some(chat_id) = event.chat_id.as_deref() else {
            return (false, Vec::new());
        };
        let Some(node) = self.node(&event.world_id) else {
            return (false, Vec::new());
        };
        let Some(chat) = node.chats.iter_mut().find(|chat| chat.id == chat_id) else {
            return (false, vec![look_up(event, chat_id)]);
        };
        match &event.news {
            News::Activity(activity) => chat.activity = activity.clone(),
            News::Notice(notice) if notice.code == "title" => chat.title.clone_from(&notice.text),
            News::Message(_) => {
                chat.updated_at.clone_from(&event.at);
                node.sort();
            }
            _ => return (false, Vec::new()),
        }
        (true, Vec::new())
    }

    fn changed(&mut self, event: &Event, changed: &Changed) -> (bool, Vec<Effect>) {
        match (changed.entity.as_str(), changed.action.as_str()) {
            ("chat", "deleted") => {
                self.gone(&changed.id);
                (true, Vec::new())
            }
            ("chat", _) => (false, vec![look_up(event, &changed.id)]),
            ("world", "deleted") => {
                self.worlds.retain(|node| node.world.id != changed.id);
                (true, Vec::new())
            }
            ("world" | "agent", _) => (false, vec![Effect::LoadWorlds]),
            _ => (false, Vec::new()),
        }
    }

    /// Everything that is to be seen.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let wanted = self.filter.to_lowercase();
        let fits = |text: &str| wanted.is_empty() || text.to_lowercase().contains(&wanted);
        let mut rows = Vec::new();
        for node in &self.worlds {
            let all = fits(&node.world.name) || fits(&node.world.id);
            let chats: Vec<&Chat> =
                node.chats.iter().filter(|chat| all || fits(&chat.title)).collect();
            if !all && chats.is_empty() {
                continue;
            }
            let is_folded = node.is_folded && wanted.is_empty();
            rows.push(Row::World { world: &node.world, is_folded });
            if !is_folded {
                rows.extend(chats.into_iter().map(Row::Chat));
            }
        }
        rows
    }

    pub fn selected(&self) -> Option<Row<'_>> {
        let id = self.selected.as_deref()?;
        self.rows().into_iter().find(|row| row.id() == id)
    }

    pub fn select(&mut self, id: &str) {
        self.selected = Some(id.to_owned());
    }

    pub fn select_row(&mut self, row: usize) {
        let id = self.rows().get(row).map(|row| row.id().to_owned());
        self.selected = id.or_else(|| self.selected.take());
    }

    /// The place of what is selected among the rows.
    pub fn place(&self) -> usize {
        let rows = self.rows();
        let id = self.selected.as_deref();
        rows.iter().position(|row| Some(row.id()) == id).unwrap_or(0)
    }

    pub fn step(&mut self, by: isize) {
        let rows = self.rows();
        let Some(last) = rows.len().checked_sub(1) else {
            return;
        };
        let to = self.place().saturating_add_signed(by).min(last);
        self.select_row(to);
    }

    pub fn fold(&mut self, world: &str) {
        if let Some(node) = self.node(world) {
            node.is_folded = !node.is_folded;
        }
    }

    pub fn is_busy(&self) -> bool {
        self.worlds.iter().flat_map(|node| &node.chats).any(|chat| chat.activity.is_busy())
    }
}

impl Node {
    fn sort(&mut self) {
        self.chats.sort_by(|a, b| (&b.updated_at, &b.id).cmp(&(&a.updated_at, &a.id)));
    }
}

fn look_up(event: &Event, chat: &str) -> Effect {
    Effect::LoadChat { world: event.world_id.clone(), chat: chat.to_owned() }
}
