//! A full-screen view without a terminal and without a server, for tests: what it is told, which keys are pressed, what it
//! shows and what it wants done.

use std::time::{Duration, Instant};

use agent_world_client::Heard;
use agent_world_client::wire::{Approval, Chat, Event, Me, Message as Stored, News, Piece, World};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

use super::draw;
use super::message::{Effect, Message};
use super::state::{Start, State};
use crate::conversation::{Conversation, Loaded};
use crate::theme::Theme;

pub const NARROW: (u16, u16) = (80, 24);
pub const WIDE: (u16, u16) = (160, 50);
const STROKE: Duration = Duration::from_millis(50);

pub struct Stage {
    pub state: State,
    terminal: Terminal<TestBackend>,
    seq: u64,
}

impl Stage {
    /// Just started, with nobody having answered yet.
    pub fn new((width, height): (u16, u16)) -> Self {
        let start = Start {
            place: "http://127.0.0.1:7420".to_owned(),
            world: Some("demo".to_owned()),
            now: "2026-11-16T10:05:00Z".parse().unwrap(),
            clock: Instant::now(),
            nonce: "n".to_owned(),
            theme: Theme::new(false),
        };
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        Self { state: State::new(start), terminal, seq: 1_600 }
    }

    /// With the worlds and chats of a first start.
    pub fn first_start(size: (u16, u16)) -> Self {
        let mut stage = Self::new(size);
        stage.tell(Message::Following(1_600));
        stage.tell(Message::Worlds(vec![world("demo", "Demo")]));
        let chats = vec![chat("chat_1", "demo", "New Chat", "2026-11-16T10:00:00Z")];
        stage.tell(Message::Chats { world: "demo".to_owned(), chats });
        stage.tell(Message::Approvals(Vec::new()));
        stage.opened(&[]);
        stage
    }

    /// In the middle of work, in two worlds.
    pub fn at_work(size: (u16, u16)) -> Self {
        let mut stage = Self::new(size);
        stage.tell(Message::Following(1_600));
        stage.tell(Message::Me(Me { name: "tester".to_owned(), authenticated: true }));
        stage.tell(Message::Worlds(vec![world("demo", "Demo"), world("garden", "Garden")]));
        let chats = vec![
            chat("chat_1", "demo", "Disk space on the server", "2026-11-16T10:00:00Z"),
            chat("chat_2", "demo", "Older things", "2026-11-15T10:00:00Z"),
        ];
        stage.tell(Message::Chats { world: "demo".to_owned(), chats });
        let chats = vec![chat("chat_3", "garden", "Watering", "2026-11-16T09:00:00Z")];
        stage.tell(Message::Chats { world: "garden".to_owned(), chats });
        stage.tell(Message::Approvals(Vec::new()));
        stage.opened(&[
            json!({"id": "msg_1", "role": "user", "sender": "human", "user": "tester",
                "content": "How much disk space is left?"}),
            json!({"id": "msg_2", "role": "assistant", "sender": "ada", "agent_id": "ada",
                "content": "I will look.", "tool_calls": [
                    {"id": "call_1", "function": {"name": "shell_cmd",
                        "arguments": r#"{"command":"df","parameters":["-h"]}"#}}]}),
        ]);
        let result = "Filesystem  Size  Used Avail Use%\n/dev/vda1    40G   31G  9.0G  78%\n\
            tmpfs       2.0G     0  2.0G   0%\n/dev/vdb1   200G  120G   80G  60%\n";
        stage.event("tool", call("call_1", "completed", "df -h", Some(result)));
        stage.event("tool", call("call_2", "executing", "du -sh /var/log", None));
        stage.output("call_2", "4.0K\t/var/log/apt\n12M\t/var/log/journal\n");
        stage.event(
            "activity",
            json!({"state": "busy", "agents": [{"id": "ada", "doing": "running_tools"}],
                "running_calls": ["call_2"], "waiting_approvals": 0}),
        );
        stage
    }

    /// With three requests that wait.
    pub fn asked(size: (u16, u16)) -> Self {
        let mut stage = Self::at_work(size);
        for number in 1..=3 {
            stage.event("approval", request(number));
        }
        stage.state.notice = None;
        stage.screen();
        stage.rest();
        stage
    }

    /// What is there is drawn, and a second passes.
    pub fn rest(&mut self) {
        self.screen();
        self.pass(Duration::from_secs(1));
        for _ in 0..3 {
            let now = self.state.now;
            self.tell(Message::Tick(now));
        }
    }

    pub fn pass(&mut self, time: Duration) {
        self.state.tell_time(self.state.clock + time);
    }

    /// One key after another, as fast as fingers are.
    pub fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.pass(STROKE);
        self.tell(Message::Key(key))
    }

    pub fn tell(&mut self, message: Message) -> Vec<Effect> {
        self.state.update(message)
    }

    /// The end of the chat that is open, as it was loaded.
    pub fn opened(&mut self, messages: &[Value]) {
        let chat = self.state.transcript().unwrap();
        let (world, chat) = (chat.conversation.world.clone(), chat.conversation.chat.clone());
        let loaded = loaded(world, chat, messages, None);
        self.tell(Message::Opened(Box::new(loaded)));
    }

    pub fn event(&mut self, kind: &str, data: Value) -> Vec<Effect> {
        self.event_in("demo", "chat_1", kind, data)
    }

    pub fn event_in(&mut self, world: &str, chat: &str, kind: &str, data: Value) -> Vec<Effect> {
        self.seq += 16;
        let at = format!("2026-11-16T10:04:{:02}Z", self.seq / 16 % 60);
        let json = json!({"seq": self.seq, "type": kind, "world_id": world, "chat_id": chat,
            "at": at, "data": data});
        let news = match kind {
            "message" => News::Message(serde_json::from_value(data).unwrap()),
            "stream" => News::Stream(serde_json::from_value(data).unwrap()),
            "tool" => News::Tool(serde_json::from_value(data).unwrap()),
            "approval" => News::Approval(serde_json::from_value(data).unwrap()),
            "activity" => News::Activity(serde_json::from_value(data).unwrap()),
            "system" => News::Notice(serde_json::from_value(data).unwrap()),
            _ => News::Changed(serde_json::from_value(data).unwrap()),
        };
        let event = Event {
            seq: self.seq,
            world_id: world.to_owned(),
            chat_id: Some(chat.to_owned()),
            at,
            news,
            json,
        };
        self.tell(Message::Heard(Heard::Event(Box::new(event))))
    }

    pub fn piece(&mut self, message: &str, offset: usize, delta: &str, reasoning: &str) {
        let piece = Piece {
            chat_id: "chat_1".to_owned(),
            message_id: message.to_owned(),
            agent_id: "ada".to_owned(),
            offset: offset as u64,
            delta: delta.to_owned(),
            reasoning_delta: reasoning.to_owned(),
        };
        self.tell(Message::Heard(Heard::Piece(piece)));
    }

    pub fn output(&mut self, call: &str, text: &str) {
        let output = serde_json::from_value::<agent_world_client::wire::Output>(
            json!({"id": call, "agent_id": "ada", "channel": "stdout", "delta": text}),
        );
        let output =
            agent_world_client::wire::Output { chat_id: "chat_1".to_owned(), ..output.unwrap() };
        self.tell(Message::Heard(Heard::Output(output)));
    }

    /// Presses keys: names or letters, apart by spaces; `rest` waits until what was just shown takes keys.
    pub fn press(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in keys.split(' ') {
            if key == "rest" {
                self.rest();
                continue;
            }
            effects.extend(self.key(named(key)));
        }
        effects
    }

    /// Types a text letter by letter.
    pub fn type_in(&mut self, text: &str) {
        for letter in text.chars() {
            self.key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
        }
    }

    pub fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> Vec<Effect> {
        let modifiers = KeyModifiers::NONE;
        self.tell(Message::Mouse(MouseEvent { kind, column, row, modifiers }))
    }

    pub fn click(&mut self, column: u16, row: u16) -> Vec<Effect> {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row)
    }

    /// What is on the screen.
    pub fn screen(&mut self) -> String {
        let state = &mut self.state;
        let frame = self.terminal.draw(|frame| {
            state.arrange(frame.area());
            draw::draw(frame, state);
        });
        let buffer = frame.unwrap().buffer.clone();
        self.state.was_drawn();
        let rows = buffer.content.chunks(usize::from(buffer.area.width));
        let rows = rows.map(|row| {
            let mut text = String::new();
            let mut covered = 0;
            for cell in row {
                if covered > 0 {
                    covered -= 1;
                    continue;
                }
                text.push_str(cell.symbol());
                covered = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
            }
            text.trim_end().to_owned()
        });
        rows.collect::<Vec<String>>().join("\n") + "\n"
    }

    pub fn resize(&mut self, (width, height): (u16, u16)) {
        self.terminal.backend_mut().resize(width, height);
        self.tell(Message::Resized);
    }

    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        let screen = self.screen();
        assert!(screen.contains(text), "{text:?} is not on\n{screen}");
    }

    #[track_caller]
    pub fn hides(&mut self, text: &str) {
        let screen = self.screen();
        assert!(!screen.contains(text), "{text:?} is on\n{screen}");
    }
}

fn named(key: &str) -> KeyEvent {
    let code = match key {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "pgup" => KeyCode::PageUp,
        "pgdn" => KeyCode::PageDown,
        "backspace" => KeyCode::Backspace,
        "ctrl-u" => return KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL),
        "ctrl-q" => return KeyEvent::new(KeyCode::Char('q'), KeyModifiers::CONTROL),
        "ctrl-s" => return KeyEvent::new(KeyCode::Char('s'), KeyModifiers::CONTROL),
        "ctrl-c" => return KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
        "alt-enter" => return KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT),
        letter => KeyCode::Char(letter.chars().next().unwrap()),
    };
    KeyEvent::new(code, KeyModifiers::NONE)
}

pub fn world(id: &str, name: &str) -> World {
    let agents = json!([{"id": "ada", "name": "Ada"}, {"id": "bob", "name": "Bob"}]);
    serde_json::from_value(json!({"id": id, "name": name, "agents": agents})).unwrap()
}

pub fn chat(id: &str, world: &str, title: &str, at: &str) -> Chat {
    let chat =
        json!({"id": id, "world_id": world, "title": title, "created_at": at, "updated_at": at});
    serde_json::from_value(chat).unwrap()
}

pub fn message(fields: &Value) -> Stored {
    let mut message = json!({"chat_id": "chat_1", "created_at": "2026-11-16T10:00:00Z"});
    for (name, value) in fields.as_object().unwrap() {
        message[name] = value.clone();
    }
    serde_json::from_value(message).unwrap()
}

pub fn loaded(world: World, chat: Chat, messages: &[Value], before: Option<&str>) -> Loaded {
    let mut conversation = Conversation::new(world, chat);
    for fields in messages {
        conversation.message(&message(fields));
    }
    Loaded { conversation, before: before.map(ToOwned::to_owned) }
}

/// A call of `shell_cmd`.
pub fn call(id: &str, state: &str, command: &str, result: Option<&str>) -> Value {
    let mut words = command.split(' ');
    let arguments = json!({"command": words.next(), "parameters": words.collect::<Vec<&str>>()});
    json!({"id": id, "chat_id": "chat_1", "agent_id": "ada", "name": "shell_cmd", "state": state,
        "arguments": arguments, "result": result, "blocking": true,
        "duration_ms": result.map(|_| 240)})
}

/// One of three requests.
pub fn request(number: usize) -> Value {
    let commands = ["rm -r build", "git push --force origin main", "date"];
    let ages = ["2026-11-16T09:02:00Z", "2026-11-16T10:02:30Z", "2026-11-16T10:04:48Z"];
    let command = commands[number - 1];
    let mut words = command.split(' ');
    let arguments = json!({"command": words.next(), "parameters": words.collect::<Vec<&str>>()});
    json!({"id": format!("apr_{number}"), "state": "pending", "world_id": "demo",
        "chat_id": "chat_1", "agent_id": if number == 2 { "bob" } else { "ada" },
        "tool_call_id": format!("call_9{number}"), "tool": "shell_cmd", "arguments": arguments,
        "working_directory": "/srv/demo", "message": format!("Run `{command}`?"),
        "shown": command, "options": ["deny", "approve_once", "approve_session"],
        "created_at": ages[number - 1]})
}

/// The same request, decided.
pub fn decided(number: usize, state: &str, by: &str) -> Value {
    let mut request = request(number);
    request["state"] = json!(state);
    request["decided_by"] = json!(by);
    request
}

pub fn approval(json: Value) -> Approval {
    serde_json::from_value(json).unwrap()
}
