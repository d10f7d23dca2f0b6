//! The full-screen view: all worlds, one conversation, and the inbox of what waits for a person.
//! Started by the command `tui`. The loop here is thin: messages go into the state, effects come out and are performed by
//! tasks, and at most thirty times a second what changed is drawn. It never waits for anything but the next message.

mod arranging;
mod chats;
mod commands;
mod composer;
mod details;
mod draw;
mod effects;
mod guard;
mod inbox;
mod keys;
mod layout;
mod log;
mod message;
mod mouse;
mod news;
#[doc(hidden)]
pub mod rehearsal;
mod sent;
mod state;
mod transcript;
mod tree;
mod words;

#[cfg(test)]
mod deciding_tests;
#[cfg(test)]
mod large_screen_tests;
#[cfg(test)]
mod meaning_tests;
#[cfg(test)]
mod reading_tests;
#[cfg(test)]
mod small_screen_tests;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod state_tests;
#[cfg(test)]
mod trouble_tests;
#[cfg(test)]
mod writing_tests;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

use agent_world_client::Client;
use agent_world_core::Timestamp;
use anyhow::{Context as _, Result};
use crossterm::event::{Event, EventStream};
use futures::StreamExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use self::effects::Worker;
use self::guard::Guard;
use self::message::{Effect, Message};
use self::state::{Start, State};
use crate::burst::burst;
use crate::theme::Theme;
use crate::unread::Unread;

const UNREADABLE: &str = "the keyboard cannot be read";
const FRAME: Duration = Duration::from_millis(33);
const BEAT: Duration = Duration::from_millis(250);
/// Messages that wait to be taken in. When it is full, whoever follows the log waits; it misses nothing by that.
const WAITING: usize = 1_024;
/// Messages that are taken in before the keyboard is looked at again.
const AT_ONCE: usize = 256;
/// How long what was decided is waited for when somebody leaves.
const LEAVING: Duration = Duration::from_secs(2);

/// Runs until the person leaves, or the system ends the program. Returns what they wanted and what was not done by then, one
/// on a line, to be said where the terminal is theirs again.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn run(client: Client, world: Option<String>) -> Result<Vec<String>> {
    let start = Start {
        place: client.place(),
        world,
        now: Timestamp::now(),
        clock: Instant::now().into_std(),
        nonce: format!("{:016x}", RandomState::new().build_hasher().finish()),
        theme: Theme::of_environment(),
    };
    let mut ends = Ends::listen()?;
    let (sender, messages) = mpsc::channel(WAITING);
    let mut worker = Worker::new(client, sender);
    worker.follow();
    // Otherwise the first code that is shown would hold up a frame. Nobody waits for it, not even who leaves at once.
    drop(std::thread::spawn(crate::markdown::prepare));
    let guard = Guard::enter().context("the terminal cannot be used")?;
    let mut view =
        View { state: State::new(start), worker, guard, unread: Unread::default(), drawn: None };
    let mut messages = messages;
    view.live(&mut messages, &mut ends).await?;
    let View { state, worker, guard, .. } = view;
    drop(guard);
    Ok(leave(state, worker, messages).await)
}

/// Waits a moment for the answers to what was decided; what has none by then is not known to be done.
async fn leave(
    mut state: State,
    worker: Worker,
    mut messages: mpsc::Receiver<Message>,
) -> Vec<String> {
    let answered = async {
        while !state.left_behind().is_empty() {
            match messages.recv().await {
                Some(message) => drop(state.update(message)),
                None => break,
            }
        }
    };
    // Late is as good as never: then it is told.
    timeout(LEAVING, answered).await.ok();
    drop(worker);
    state.left_behind()
}

struct View {
    state: State,
    worker: Worker,
    guard: Guard,
    unread: Unread,
    /// When the last frame was drawn.
    drawn: Option<Instant>,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    On,
    Over,
}

impl View {
    async fn live(
        &mut self,
        messages: &mut mpsc::Receiver<Message>,
        ends: &mut Ends,
    ) -> Result<()> {
        let mut input = EventStream::new();
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_dirty = true;
        loop {
            let due = self.drawn.map_or_else(Instant::now, |drawn| drawn + FRAME);
            let course = tokio::select! {
                // In this order: all that was typed is taken in before anything is drawn.
                biased;
                () = ends.next() => Course::Over,
                event = input.next() => match event {
                    Some(event) => {
                        let event = event.context(UNREADABLE)?;
                        self.input(event, &mut input).await?
                    }
                    None => Course::Over,
                },
                () = sleep_until(due), if is_dirty => {
                    self.unread.look_again();
                    self.draw()?;
                    is_dirty = self.state.is_unfinished();
                    continue;
                }
                message = messages.recv() => match message {
                    Some(message) => self.take(message, messages),
                    None => Course::Over,
                },
                _ = beat.tick() => {
                    self.unread.look_again();
                    self.update(Message::Tick(Timestamp::now()))
                }
            };
            if course == Course::Over {
                return Ok(());
            }
            is_dirty |= self.state.take_dirty();
        }
    }

    /// A key that would answer is none where more keys follow it at once.
    async fn input(&mut self, event: Event, keys: &mut EventStream) -> Result<Course> {
        self.unread.heard(&event);
        self.state.tell_time(Instant::now().into_std());
        let key = match event {
            Event::Key(key) if self.state.would_answer(key) => key,
            event => return Ok(self.typed(event)),
        };
        let burst = burst(key, keys).await.context(UNREADABLE)?;
        burst.keys.iter().skip(1).for_each(|key| self.unread.heard(&Event::Key(*key)));
        let course = match burst.is_one_key() {
            true => self.update(Message::Key(key)),
            false => self.update(Message::TypedAtOnce),
        };
        match burst.after.filter(|_| course == Course::On) {
            Some(after) => {
                self.unread.heard(&after);
                Ok(self.typed(after))
            }
            None => Ok(course),
        }
    }

    fn typed(&mut self, event: Event) -> Course {
        match event {
            Event::Key(key) => self.update(Message::Key(key)),
            Event::Mouse(mouse) => self.update(Message::Mouse(mouse)),
            Event::Paste(text) => self.update(Message::Paste(text)),
            Event::Resize(..) | Event::FocusGained | Event::FocusLost => {
                self.update(Message::Resized)
            }
        }
    }

    /// Takes in a message, and those that wait behind it.
    fn take(&mut self, message: Message, more: &mut mpsc::Receiver<Message>) -> Course {
        let mut course = self.update(message);
        for _ in 0..AT_ONCE {
            match more.try_recv() {
                Ok(message) if course == Course::On => course = self.update(message),
                _ => break,
            }
        }
        course
    }

    fn update(&mut self, message: Message) -> Course {
        self.state.tell_time(Instant::now().into_std());
        for effect in self.state.update(message) {
            if effect == Effect::Quit {
                return Course::Over;
            }
            self.worker.perform(effect);
        }
        Course::On
    }

    fn draw(&mut self) -> Result<()> {
        let state = &mut self.state;
        state.tell_time(Instant::now().into_std());
        self.guard.terminal().draw(|frame| {
            state.arrange(frame.area());
            draw::draw(frame, state);
        })?;
        // A terminal may take its time: what it shows can be read when all of it was written.
        self.state.tell_time(Instant::now().into_std());
        self.state.was_drawn();
        // What came of arranging is on the screen.
        self.state.take_dirty();
        self.drawn = Some(Instant::now());
        Ok(())
    }
}

/// The ways in which the system ends a program.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Ends {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("signals cannot be listened for");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
