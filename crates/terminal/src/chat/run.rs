//! The loop of a conversation: takes keys, news and answers in, has requests carried out, and draws.
//! Called by the `chat` command, which holds whatever answers. Waits for nothing but the next thing to happen.

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent_world_client::wire::{Chat, World};
use agent_world_client::{Client, Following, Heard};
use anyhow::{Context as _, Result};
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyModifiers};
use futures::StreamExt as _;
use ratatui::backend::CrosstermBackend;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinError, JoinSet};

use super::effect::{Effect, Told};
use super::inline::Inline;
use super::open::open;
use super::order::Order;
use super::perform::{Place, perform};
use super::raw::Raw;
use super::show::{Screen, present};
use super::state::State;
use crate::burst::{burst, ready};
use crate::composer::{History, Kept};
use crate::markdown;
use crate::theme::Theme;
use crate::unread::Unread;

/// 30 frames in a second are enough for anybody.
const FRAME: Duration = Duration::from_millis(33);
/// What shows a time is drawn this often.
const CLOCK: Duration = Duration::from_millis(250);
/// How long requests that are on their way are waited for when the person leaves.
const GOODBYE: Duration = Duration::from_secs(5);
/// Keys that are taken before the screen is drawn again, however many there are.
const AT_ONCE: usize = 1_024;
/// News that are not taken yet. Who follows waits when it is full: nothing is lost.
const AHEAD: usize = 256;

/// What a conversation begins with.
#[derive(Debug)]
pub struct Setup {
    pub client: Client,
    pub world: World,
    pub chat: Chat,
    /// Whom a message is for that begins with no mention.
    pub agent: Option<String>,
    pub theme: Theme,
    /// Where what was typed is kept.
    pub history: Option<PathBuf>,
    /// Said first.
    pub greeting: Vec<String>,
    pub host: mpsc::Receiver<FromHost>,
}

/// What whoever started the conversation has to say meanwhile.
#[derive(Clone, Debug)]
pub enum FromHost {
    Note(String),
    Warning(String),
    /// As Ctrl-C.
    Interrupt,
    /// The program is to end at once.
    End,
}

/// Where the person was at the end.
#[derive(Clone, Debug)]
pub struct Ended {
    pub world: String,
    pub chat: String,
    /// The person left; otherwise somebody wanted the program to end at once.
    pub left: bool,
}

/// What came of a request, and whether the next message may go now.
struct Done {
    was_message: bool,
    told: Option<Told>,
}

struct Loop {
    client: Client,
    state: State,
    kept: Option<Kept>,
    news: mpsc::Sender<(u64, agent_world_client::Result<Heard>)>,
    /// Whoever follows the chat, and its number: what another one still had to say is not heard.
    follower: Option<AbortHandle>,
    generation: u64,
    tasks: JoinSet<Done>,
    /// What only tells something, so that nobody who leaves waits for it.
    asides: JoinSet<Option<Told>>,
    order: Order,
    meanwhile: mpsc::Sender<Told>,
    unread: Unread,
}

/// Holds a conversation until the person leaves.
///
/// # Errors
/// When the chat cannot be opened or the terminal cannot be used.
pub async fn run(setup: Setup) -> Result<Ended> {
    let Setup { client, world, chat, agent, theme, history, greeting, mut host } = setup;
    let mut opened = open(&client, world, chat).await?;
    let kept = history.map(Kept::at);
    let remembered = kept.as_ref().map(Kept::load).unwrap_or_default();
    // Reading what is known of languages takes a while; nobody is to wait for that when code is shown first.
    let warming = tokio::task::spawn_blocking(move || drop(markdown::code("true", "sh", theme)));
    let raw = Raw::enter().context("the terminal cannot be used")?;
    let top = raw.row()?;
    let mut screen = Inline::new(CrosstermBackend::new(BufWriter::new(io::stdout())), top)?;
    let width = screen.size().width;
    let history = History::new(remembered);
    let mut state = State::new(opened.conversation, theme, history, agent, width);
    state.me = opened.me.take();
    greeting.iter().for_each(|line| state.note(line));
    state.enter(opened.approvals, opened.elsewhere);
    let (news, heard) = mpsc::channel(AHEAD);
    // Little is told meanwhile; whoever tells more waits.
    let (meanwhile, told) = mpsc::channel(AHEAD);
    let (tasks, asides) = (JoinSet::new(), JoinSet::new());
    let mut held = Loop {
        client,
        state,
        kept,
        news,
        follower: None,
        generation: 0,
        tasks,
        asides,
        order: Order::default(),
        meanwhile,
        unread: Unread::default(),
    };
    held.follow(opened.following.take());
    let left = held.hold(&mut screen, heard, told, &mut host).await;
    held.finish(&mut screen).await?;
    drop(raw);
    warming.abort();
    let conversation = &held.state.conversation;
    let (world, chat) = (conversation.world.id.clone(), conversation.chat.id.clone());
    Ok(Ended { world, chat, left: left? })
}

impl Loop {
    async fn hold(
        &mut self,
        screen: &mut Screen,
        mut heard: mpsc::Receiver<(u64, agent_world_client::Result<Heard>)>,
        mut told: mpsc::Receiver<Told>,
        host: &mut mpsc::Receiver<FromHost>,
    ) -> Result<bool> {
        let mut keys = EventStream::new();
        let mut drawn = Instant::now();
        present(&mut self.state, screen, drawn)?;
        let mut is_due = false;
        loop {
            let pause = if is_due { FRAME } else { CLOCK };
            // Asked of the moment that is on the screen: what was to change after it has not changed there yet.
            let redraws = is_due || self.state.is_restless(drawn) || self.unread.is_looking();
            let effects = tokio::select! {
                // In this order: what is due is drawn as soon as all that was typed is taken, and a key that was pressed is
                // taken before what it was not meant for is heard.
                biased;
                () = tokio::time::sleep_until((drawn + pause).into()), if redraws => {
                    let effects = self.type_ahead(&mut keys, screen).await?;
                    self.unread.look_again();
                    drawn = Instant::now();
                    present(&mut self.state, screen, drawn)?;
                    is_due = !effects.is_empty();
                    if self.do_all(effects) {
                        return Ok(true);
                    }
                    continue;
                }
                key = keys.next() => match key {
                    Some(Ok(event)) => self.typed(event, &mut keys, screen).await?,
                    Some(Err(error)) => return Err(error.into()),
                    None => return Ok(false),
                },
                Some(said) = host.recv() => match said {
                    FromHost::Note(text) => { self.state.note(&text); Vec::new() }
                    FromHost::Warning(text) => { self.state.warn(&text); Vec::new() }
                    FromHost::Interrupt => {
                        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
                        self.state.key(key, Instant::now())
                    }
                    FromHost::End => return Ok(false),
                },
                Some(told) = told.recv() => {
                    self.told(told);
                    Vec::new()
                }
                Some(done) = self.tasks.join_next() => {
                    self.done(done);
                    Vec::new()
                }
                Some(told) = self.asides.join_next() => {
                    told.ok().flatten().into_iter().for_each(|told| self.told(told));
                    Vec::new()
                }
                Some((generation, news)) = heard.recv() => match news {
                    _ if generation != self.generation => Vec::new(),
                    Ok(news) => self.state.hear(&news, Instant::now()),
                    Err(error) => self.gone(&error),
                },
            };
            is_due = true;
            if self.do_all(effects) {
                return Ok(true);
            }
        }
    }

    /// Says whether the person leaves.
    fn do_all(&mut self, effects: Vec<Effect>) -> bool {
        for effect in effects {
            match effect {
                Effect::Quit => return true,
                Effect::Remember(text) => self.remember(&text),
                effect => self.perform(effect),
            }
        }
        false
    }

    /// Takes the keys that are there already, so that many that come together are drawn once. None of those that were pressed
    /// before a question comes up was meant for it.
    async fn type_ahead(
        &mut self,
        keys: &mut EventStream,
        screen: &mut Screen,
    ) -> Result<Vec<Effect>> {
        let mut effects = Vec::new();
        let mut taken = 0;
        while (taken < AT_ONCE || self.state.comes_up())
            && let Some(event) = ready(keys).await?
        {
            effects.extend(self.typed(event, keys, screen).await?);
            taken += 1;
        }
        Ok(effects)
    }

    /// A key that would answer is taken for the beginning of a text where more keys follow it at once.
    async fn typed(
        &mut self,
        event: Event,
        keys: &mut EventStream,
        screen: &mut Screen,
    ) -> Result<Vec<Effect>> {
        let now = Instant::now();
        self.unread.heard(&event);
        let Event::Key(key) = event else {
            return self.take(event, screen);
        };
        if !self.state.would_answer(key, now) {
            return self.take(event, screen);
        }
        let burst = burst(key, keys).await?;
        let mut effects = match burst.is_one_key() {
            true => self.state.key(key, now),
            false => {
                self.state.paste(&burst.text(), now);
                Vec::new()
            }
        };
        burst.keys.iter().skip(1).for_each(|key| self.unread.heard(&Event::Key(*key)));
        if let Some(after) = burst.after {
            self.unread.heard(&after);
            effects.extend(self.take(after, screen)?);
        }
        Ok(effects)
    }

    fn take(&mut self, event: Event, screen: &mut Screen) -> Result<Vec<Effect>> {
        let now = Instant::now();
        match event {
            Event::Key(key) => return Ok(self.state.key(key, now)),
            Event::Paste(text) => self.state.paste(&text, now),
            Event::Resize(width, _) => {
                self.state.resize(width);
                screen.resize()?;
            }
            Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
        }
        Ok(Vec::new())
    }

    /// There is nothing to follow any more.
    fn gone(&mut self, error: &agent_world_client::Error) -> Vec<Effect> {
        match error.status() {
            Some(404 | 410) => self.state.warn("! somebody deleted this chat"),
            _ => self.state.warn(&format!("! {error}")),
        }
        vec![Effect::Quit]
    }

    fn told(&mut self, told: Told) {
        let told = match told {
            Told::Opened(mut opened) => {
                let following = opened.following.take();
                self.state.told(Told::Opened(opened));
                return self.follow(following);
            }
            told => told,
        };
        self.state.told(told);
    }

    fn follow(&mut self, following: Option<Following>) {
        let Some(mut following) = following else {
            return;
        };
        self.state.known = self.state.known.max(following.known());
        if let Some(follower) = self.follower.take() {
            follower.abort();
        }
        self.generation += 1;
        let (news, generation) = (self.news.clone(), self.generation);
        let task = tokio::spawn(async move {
            loop {
                let heard = following.next().await;
                let over = heard.is_err();
                if news.send((generation, heard)).await.is_err() || over {
                    return;
                }
            }
        });
        self.follower = Some(task.abort_handle());
    }

    fn perform(&mut self, effect: Effect) {
        let conversation = &self.state.conversation;
        let place = Place { world: conversation.world.clone(), chat: conversation.chat.id.clone() };
        if matches!(effect, Effect::CountReleased { .. }) {
            let meanwhile = self.meanwhile.clone();
            self.asides.spawn(perform(self.client.clone(), place, effect, meanwhile));
            return;
        }
        match Order::matters(&effect) {
            true => {
                if let Some((place, message)) = self.order.add(place, effect) {
                    self.start(place, message, true);
                }
            }
            false => self.start(place, effect, false),
        }
    }

    fn start(&mut self, place: Place, effect: Effect, was_message: bool) {
        let asked = perform(self.client.clone(), place, effect, self.meanwhile.clone());
        self.tasks.spawn(async move { Done { was_message, told: asked.await } });
    }

    fn done(&mut self, done: Result<Done, JoinError>) {
        let Done { was_message, told } = match done {
            Ok(done) => done,
            // One that broke says nothing, and must not hold the others up.
            Err(_) => Done { was_message: true, told: None },
        };
        if let Some(told) = told {
            self.told(told);
        }
        if was_message && let Some((place, message)) = self.order.done() {
            self.start(place, message, true);
        }
    }

    // Nobody waits for what is kept for the next time.
    fn remember(&mut self, text: &str) {
        if let Some(Err(error)) = self.kept.as_ref().map(|kept| kept.add(text)) {
            self.kept = None;
            self.state.warn(&format!("! what you type is not kept: {error}"));
        }
    }

    async fn finish(&mut self, screen: &mut Screen) -> Result<()> {
        if let Some(follower) = self.follower.take() {
            follower.abort();
        }
        let last = async {
            while let Some(done) = self.tasks.join_next().await {
                self.done(done);
            }
        };
        // Whoever is not done by then is not waited for: the server knows whether it arrived.
        let in_time = tokio::time::timeout(GOODBYE, last).await.is_ok();
        if !in_time {
            self.state.warn("! the last request was not answered in time");
            self.state.tell_undelivered();
        }
        present(&mut self.state, screen, Instant::now())?;
        Ok(screen.end()?)
    }
}
