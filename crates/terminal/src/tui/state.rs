//! Everything the full-screen view knows, and how each message changes it.
//! Called by the loop in `tui` and by tests. Pure: what is to be done outside is returned as effects, and nothing here waits,
//! draws or reads a clock.

use std::collections::HashMap;
use std::time::Instant;

use agent_world_client::wire::Me;
use agent_world_core::Timestamp;

use super::composer::Composer;
use super::details::Details;
use super::inbox::Inbox;
use super::layout::Layout;
use super::log::Log;
use super::message::{Effect, Message};
use super::transcript::Transcript;
use super::tree::Tree;
use super::words;
use crate::theme::Theme;

/// Seconds that a notice stays; a key takes it away sooner.
const NOTICE: i64 = 8;
const READ: i64 = 1;
/// Log positions before the newest whose events are loaded, and numbers of events for each position.
const EVENTS: u64 = 500 * 16;

#[derive(Debug)]
pub struct State {
    pub theme: Theme,
    pub now: Timestamp,
    /// The time by which keys are told apart from each other, as it was told last.
    pub(super) clock: Instant,
    /// Where everything comes from, for people.
    pub place: String,
    /// The world to begin with.
    pub(super) wanted: Option<String>,
    pub connection: Connection,
    /// The newest event when following began.
    pub(super) known: u64,
    /// Something may have been missed: chats are loaded again with their worlds.
    pub(super) is_stale: bool,
    pub tree: Tree,
    pub inbox: Inbox,
    pub log: Log,
    /// The one that was opened last comes last.
    pub(super) transcripts: Vec<Transcript>,
    pub(super) open: Option<String>,
    pub composer: Composer,
    /// A message for a chat that is being made.
    pub(super) begun: Vec<String>,
    /// Who the person is, where that is known.
    pub(super) me: Option<Me>,
    /// The messages that are said anew, by their chats.
    pub(super) editing: HashMap<String, String>,
    /// Chats whose agents are to be stopped, as long as nobody has said that they are.
    pub(super) stopping: Vec<String>,
    pub focus: Focus,
    pub shows_log: bool,
    pub overlay: Option<Overlay>,
    /// Which filter is being typed.
    pub typing: Option<Typing>,
    pub notice: Option<Notice>,
    pub layout: Layout,
    /// Counts the quarters of a second, for what moves.
    pub beat: usize,
    /// What the names of requests begin with, and how many there were.
    pub(super) nonce: String,
    pub(super) requests: u64,
    pub(super) is_dirty: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    Connecting,
    Connected,
    Lost(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    Tree,
    Conversation,
    Composer,
    Inbox,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    Tree,
    Log,
}

#[derive(Debug)]
pub enum Overlay {
    Help,
    Quit,
    Details(Box<Details>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub tone: Tone,
    since: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Question,
    Warning,
}

/// What a view begins with.
#[derive(Clone, Debug)]
pub struct Start {
    pub place: String,
    pub world: Option<String>,
    pub now: Timestamp,
    pub clock: Instant,
    /// Names the requests of this view among those of all others.
    pub nonce: String,
    pub theme: Theme,
}

impl State {
    pub fn new(start: Start) -> Self {
        Self {
            theme: start.theme,
            now: start.now,
            clock: start.clock,
            place: start.place,
            wanted: start.world,
            connection: Connection::Connecting,
            known: 0,
            is_stale: true,
            tree: Tree::default(),
            inbox: Inbox::default(),
            log: Log::default(),
            transcripts: Vec::new(),
            open: None,
            composer: Composer::new(start.theme),
            begun: Vec::new(),
            me: None,
            editing: HashMap::new(),
            stopping: Vec::new(),
            focus: Focus::Composer,
            shows_log: false,
            overlay: None,
            typing: None,
            notice: None,
            layout: Layout::default(),
            beat: 0,
            nonce: start.nonce,
            requests: 0,
            is_dirty: true,
        }
    }

    /// It is so late. Told before each message, and after each frame.
    pub fn tell_time(&mut self, now: Instant) {
        self.clock = now;
    }

    /// A frame is on the screen: what it shows can be read from now on.
    pub fn was_drawn(&mut self) {
        self.inbox.was_drawn(self.reads_inbox(), self.clock);
    }

    pub fn update(&mut self, message: Message) -> Vec<Effect> {
        let (before, did_read) = (self.focus, self.reads_inbox());
        let effects = self.take(message);
        if before != Focus::Inbox && self.focus == Focus::Inbox {
            self.turned_to_inbox();
        } else if !did_read && self.reads_inbox() {
            // What is typed on was meant for what was over it.
            self.inbox.pause();
        }
        if self.focus != Focus::Inbox {
            self.inbox.go_on();
        }
        self.composer.turn_to(self.open.as_deref());
        effects
    }

    /// The key that led here may be pressed twice, or begin a text: none decides for a moment.
    fn turned_to_inbox(&mut self) {
        self.inbox.pause();
        self.notice.take_if(|notice| notice.tone == Tone::Question);
    }

    fn take(&mut self, message: Message) -> Vec<Effect> {
        self.is_dirty |= match &message {
            // They say themselves what they change.
            Message::Tick(_) | Message::Heard(_) => false,
            Message::Mouse(mouse) => super::mouse::is_meant(mouse.kind),
            _ => true,
        };
        match message {
            Message::Key(key) => self.key(key),
            Message::Paste(text) => self.paste(&text),
            Message::TypedAtOnce => self.typed_at_once(),
            Message::Mouse(mouse) => self.mouse(mouse),
            Message::Tick(now) => self.tick(now),
            Message::Following(known) => self.following(known),
            Message::Heard(heard) => self.hear(&heard),
            Message::Broken(why) => self.lost(why),
            Message::Me(me) => {
                self.me = Some(me);
                Vec::new()
            }
            Message::Worlds(worlds) => self.worlds(worlds),
            Message::Chats { world, chats } => {
                self.tree.chats(&world, chats);
                self.open_first(&world)
            }
            Message::Chat(chat) => self.chat(*chat),
            Message::ChatGone(chat) => self.chat_gone(&chat),
            Message::Created(chat) => self.created(*chat),
            Message::Approvals(approvals) => {
                self.inbox.load(approvals);
                Vec::new()
            }
            Message::Opened(loaded) => self.opened(*loaded),
            Message::NotOpened { chat, why } => self.not_opened(&chat, why),
            Message::Older(loaded) => self.with(&loaded.conversation.chat.id.clone(), |chat| {
                chat.older(*loaded);
            }),
            Message::NotOlder { chat, why } => {
                self.tell(Tone::Warning, why);
                self.with(&chat, Transcript::failed_to_load_older)
            }
            Message::NotCreated(why) => self.not_created(why),
            Message::Call(call) => self.with(&call.chat_id.clone(), |chat| chat.call(&call)),
            Message::Events(events) => {
                for event in &events {
                    self.log.take(event);
                }
                Vec::new()
            }
            Message::Posted { key } => self.posted(&key),
            Message::NotPosted { key, why } => self.not_posted(&key, &why),
            Message::NotEdited { chat, message, text, why } => {
                if self.composer.give_back(Some(&chat), &text) {
                    self.editing.insert(chat, message);
                }
                self.told(Tone::Warning, why)
            }
            Message::Decided(approval) => {
                self.settled(&approval);
                Vec::new()
            }
            Message::NotDecided { id, why } => {
                self.inbox.reopen(&id, &why);
                self.tell(Tone::Warning, why);
                Vec::new()
            }
            Message::DecisionDelayed { id, why } => {
                self.inbox.delayed(&id);
                self.told(Tone::Warning, format!("decision not yet delivered, retrying: {why}"))
            }
            Message::Stopped { chat } => self.stopped(&chat, Tone::Plain, "the agents are stopped"),
            Message::StopDelayed { why } => {
                self.told(Tone::Warning, format!("stop not yet delivered, retrying: {why}"))
            }
            Message::NotStopped { chat, why } => {
                self.stopped(&chat, Tone::Warning, &format!("the agents are not stopped: {why}"))
            }
            Message::Told { title, text } => {
                let details = Details::of_text(title, text);
                self.overlay = Some(Overlay::Details(Box::new(details)));
                Vec::new()
            }
            Message::Done(what) => self.told(Tone::Plain, what),
            Message::Failed(why) => self.told(Tone::Warning, why),
            Message::Resized => Vec::new(),
        }
    }

    /// Whether something changed since this was asked last.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.is_dirty)
    }

    /// More could be drawn without anything happening.
    pub fn is_unfinished(&self) -> bool {
        let details =
            matches!(&self.overlay, Some(Overlay::Details(details)) if details.is_unfinished());
        details || self.transcript().is_some_and(Transcript::is_unfinished)
    }

    pub fn tell(&mut self, tone: Tone, text: impl Into<String>) {
        let text = words::shown(&text.into()).replace('\n', " ");
        self.notice = Some(Notice { text, tone, since: self.now });
        self.is_dirty = true;
    }

    /// Whoever presses a key has read what was there for a while.
    pub(super) fn pass_notice(&mut self) {
        let now = self.now;
        self.notice.take_if(|notice| now.duration_since(notice.since).as_secs() >= READ);
    }

    pub(super) fn told(&mut self, tone: Tone, text: String) -> Vec<Effect> {
        self.tell(tone, text);
        Vec::new()
    }

    pub(super) fn with(&mut self, chat: &str, change: impl FnOnce(&mut Transcript)) -> Vec<Effect> {
        if let Some(transcript) = self.transcripts.iter_mut().find(|known| known.chat() == chat) {
            change(transcript);
        }
        Vec::new()
    }

    /// The chat that is looked at.
    pub fn transcript(&self) -> Option<&Transcript> {
        let open = self.open.as_deref()?;
        self.transcripts.iter().find(|transcript| transcript.chat() == open)
    }

    pub(super) fn transcript_mut(&mut self) -> Option<&mut Transcript> {
        let open = self.open.as_deref()?;
        self.transcripts.iter_mut().find(|transcript| transcript.chat() == open)
    }

    /// Whether what is written takes the place of a message.
    pub fn is_editing(&self) -> bool {
        self.open.as_ref().is_some_and(|chat| self.editing.contains_key(chat))
    }

    /// The message that what is written takes the place of, which is over now.
    pub(super) fn take_editing(&mut self) -> Option<String> {
        self.editing.remove(self.open.as_ref()?)
    }

    /// Messages that are not stored yet.
    pub fn unsent(&self) -> usize {
        self.transcripts.iter().map(|transcript| transcript.sending().len()).sum()
    }

    /// The requests about which a decision is on its way.
    pub fn undelivered(&self) -> Vec<&str> {
        self.inbox.undelivered()
    }

    /// The name of a world, as far as it is known.
    pub fn world_name(&self, id: &str) -> String {
        words::shown(self.tree.world_name(id).unwrap_or(id))
    }

    /// The world that is looked at.
    pub fn world(&self) -> Option<&str> {
        let open = self.transcript().map(Transcript::world);
        let first = || self.tree.rows().first().map(|row| row.id());
        open.or(self.wanted.as_deref()).or_else(first)
    }

    /// Whether what is looked at in the inbox is before somebody's eyes, and keys go there.
    fn reads_inbox(&self) -> bool {
        let is_covered = self.overlay.is_some() || self.typing.is_some();
        self.focus == Focus::Inbox && !is_covered && !self.is_out_of_sight()
    }

    /// Whether the window is so small that nothing is drawn in it.
    pub(super) fn is_out_of_sight(&self) -> bool {
        // Before the first frame nobody knows how large it is.
        !self.layout.area.is_empty() && self.layout.is_too_small()
    }

    fn tick(&mut self, now: Timestamp) -> Vec<Effect> {
        let second_passed = now.as_second() != self.now.as_second();
        self.now = now;
        if self.reads_inbox() {
            self.is_dirty |= self.inbox.has_settled(self.clock);
        }
        if self.tree.is_busy() || self.connection != Connection::Connected {
            self.beat = self.beat.wrapping_add(1);
            self.is_dirty = true;
        }
        self.is_dirty |= second_passed && self.inbox.len() > 0;
        let is_over = |notice: &Notice| now.duration_since(notice.since).as_secs() >= NOTICE;
        if self.notice.as_ref().is_some_and(is_over) {
            self.notice = None;
            self.is_dirty = true;
        }
        Vec::new()
    }

    /// Loads the newest events of the world that is looked at.
    pub(super) fn load_events(&self) -> Vec<Effect> {
        let after = self.known.saturating_sub(EVENTS);
        let world = self.world().map(ToOwned::to_owned);
        world.into_iter().map(|world| Effect::LoadEvents { world, after }).collect()
    }

    pub(super) fn next_key(&mut self) -> String {
        self.requests += 1;
        format!("tui-{}-{}", self.nonce, self.requests)
    }
}
