//! Reads a play script: one line, one step. Called by `stage`, which performs the steps.
//!
//! ```text
//! human: @ada list files                       somebody posts a message; `human (unattended):`, `human (carol):`, `human (only ada, bob):`
//! ada says: hello                              her model answers with text; `says (cut off):` when it is incomplete
//! ada calls shell_cmd({"command":"ls"}), f#7()  or with calls; `#7` is the id the vendor gives
//! ada replies [{"type":"message", ...}]        or with any items
//! ada's model fails: overloaded
//! approve 1 [for session|always] [when /command = "ls"] [with {...}] [claiming agent bob] [as carol]
//! deny 1 [claiming ...] [as carol][: reason]
//! start 1 / run 1: ok / lost 1 / tool 1 completes: ok / fails: / times out: / was cancelled: / tool 1 (attempt 1) ...
//! finds shell_cmd: program=/bin/ls; preview -a +b   what the tool finds of calls from now on; `refuses: reason`; `nothing`
//! asks 1: Which colour?                        a running call asks the person for `{"colour": "..."}`
//! client 1 answers: blue / client 1 fails: gone / offers web: colour(name), size()
//! stop / stop ada / edit 1: text / delete 1 / retry / retry ada / revoke 1 / review / wait 60s / expire
//! rename: Title / title: Title / title fails: reason / delete chat / new chat / new chat: Title / go to chat 1 / fork at 1
//! brings ada [{"role":"user", ...}]           a new chat with a conversation that a client kept
//! crash                                        everything in memory is dropped and folded again
//! ada sees / activity / requests / usage       prints what a model, or a client, is given
//! ---                                          only what follows is printed
//! ```
//!
//! Numbers count things as they appear. In a text `\n` is a new line. Lines that set up the world are read by `setting`.

use agent_world_core::command::{Answer, Claims, Scope, ToolResult};
use agent_world_core::event::{Attendance, Output};
use agent_world_core::ids::{AgentId, WorldId};
use agent_world_core::item::{Finish, FunctionCall, Item, Reply};
use agent_world_core::policy::{Match, Test};
use serde_json::{Map, Value};

pub enum Step {
    Set(String),
    Quietly,
    Post {
        sender: String,
        user: Option<String>,
        attendance: Attendance,
        only: Option<Vec<AgentId>>,
        text: String,
    },
    Reply {
        agent: AgentId,
        reply: Reply,
    },
    ModelFails {
        agent: AgentId,
        error: String,
    },
    Answer {
        approval: String,
        answer: Answer,
        claims: Claims,
        by: String,
    },
    Start(String),
    Run {
        call: String,
        output: Output,
    },
    ToolEnds {
        call: String,
        attempt: Option<u32>,
        result: ToolResult,
    },
    Lost(String),
    Finds {
        tool: String,
        found: String,
    },
    Asks {
        call: String,
        question: String,
    },
    Offers {
        client: String,
        tools: String,
    },
    ClientAnswers {
        call: String,
        output: Output,
        is_error: bool,
    },
    Stop(Option<AgentId>),
    Retry(Option<AgentId>),
    Edit {
        message: String,
        text: String,
    },
    Delete(String),
    Revoke(String),
    Review,
    Wait(i64),
    Expire,
    Rename(String),
    Title(Result<String, String>),
    DeleteChat,
    NewChat(Option<String>),
    GoToChat(usize),
    Fork(String),
    Brings {
        agent: AgentId,
        items: Vec<Item>,
    },
    Crash,
    Sees(AgentId),
    Activity,
    Requests,
    Usage,
}

pub fn parse(script: &str) -> impl Iterator<Item = Step> {
    script.lines().map(str::trim).filter(|line| !line.is_empty()).map(parse_line)
}

fn parse_line(line: &str) -> Step {
    let (head, text) = match line.split_once(':') {
        Some((head, text)) => (head.trim(), spoken(text)),
        None => (line, String::new()),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    match words.as_slice() {
        ["---"] => Step::Quietly,
        ["agents" | "settings" | "policy"] | ["agent", _] => Step::Set(line.to_owned()),
        ["tool", name, ..] if !name.starts_with(|c: char| c.is_ascii_digit()) => {
            Step::Set(line.to_owned())
        }
        ["approve" | "deny", ..] => answer(line),
        ["start", call] => Step::Start((*call).to_owned()),
        ["run", call] => Step::Run { call: (*call).to_owned(), output: Output::text(text) },
        ["tool", call, "(attempt", attempt, how @ ..] => {
            let attempt = attempt.trim_end_matches(')').parse().ok();
            tool_ends(call, attempt, how, text)
        }
        ["tool", call, how @ ..] => tool_ends(call, None, how, text),
        ["lost", call] => Step::Lost((*call).to_owned()),
        ["finds", tool] => Step::Finds { tool: (*tool).to_owned(), found: text },
        ["asks", call] => Step::Asks { call: (*call).to_owned(), question: text },
        ["offers", client] => Step::Offers { client: (*client).to_owned(), tools: text },
        ["client", call, how @ ("answers" | "fails")] => Step::ClientAnswers {
            call: (*call).to_owned(),
            output: Output::text(text),
            is_error: *how == "fails",
        },
        ["stop", agent @ ..] => Step::Stop(optional(agent)),
        ["retry", agent @ ..] => Step::Retry(optional(agent)),
        ["edit", message] => Step::Edit { message: (*message).to_owned(), text },
        ["delete", "chat"] => Step::DeleteChat,
        ["delete", message] => Step::Delete((*message).to_owned()),
        ["revoke", grant] => Step::Revoke((*grant).to_owned()),
        ["review"] => Step::Review,
        ["wait", time] => Step::Wait(time.trim_end_matches('s').parse().expect("seconds")),
        ["expire"] => Step::Expire,
        ["rename"] => Step::Rename(text),
        ["title"] => Step::Title(Ok(text)),
        ["title", "fails"] => Step::Title(Err(text)),
        ["new", "chat"] => Step::NewChat(Some(text).filter(|_| head != line)),
        ["go", "to", "chat", number] => Step::GoToChat(number.parse().expect("a number")),
        ["fork", "at", message] => Step::Fork((*message).to_owned()),
        ["brings", agent, ..] => {
            let (_, json) = line.split_once('[').expect("items");
            let items = serde_json::from_str(&format!("[{json}")).expect("a list of items");
            Step::Brings { agent: AgentId::from(*agent), items }
        }
        ["crash"] => Step::Crash,
        ["activity"] => Step::Activity,
        ["requests"] => Step::Requests,
        ["usage"] => Step::Usage,
        [agent, "sees"] => Step::Sees(AgentId::from(*agent)),
        [agent, "says"] => speech(agent, text, Finish::Completed),
        [agent, "says", "(cut", "off)"] => speech(agent, text, cut_off()),
        [agent, "calls", "(cut", "off)", ..] => calls(agent, line, "(cut off)", cut_off()),
        [agent, "calls", ..] => calls(agent, line, " calls ", Finish::Completed),
        [agent, "replies", ..] => items(agent, line),
        [agent, "model", "fails"] => {
            let agent = AgentId::from(agent.trim_end_matches("'s"));
            Step::ModelFails { agent, error: text }
        }
        _ if head != line => post(head, text),
        _ => panic!("not a step: {line}"),
    }
}

fn spoken(text: &str) -> String {
    text.strip_prefix(' ').unwrap_or(text).replace("\\n", "\n")
}

fn optional(agent: &[&str]) -> Option<AgentId> {
    agent.first().map(|agent| AgentId::from(*agent))
}

fn cut_off() -> Finish {
    Finish::Incomplete { reason: "max_output_tokens".to_owned() }
}

fn post(head: &str, text: String) -> Step {
    let (sender, note) = match head.split_once('(') {
        Some((sender, note)) => (sender.trim(), note.trim_end_matches(')')),
        None => (head, ""),
    };
    let attendance = match note {
        "unattended" => Attendance::Unattended,
        _ => Attendance::Attended,
    };
    let names = |names: &str| names.split(',').map(|name| AgentId::from(name.trim())).collect();
    let only = note.strip_prefix("only ").map(names);
    let user = Some(note.to_owned())
        .filter(|note| only.is_none() && !["", "unattended"].contains(&note.as_str()));
    Step::Post { sender: sender.to_owned(), user, attendance, only, text }
}

fn speech(agent: &str, text: String, finish: Finish) -> Step {
    let reply = Reply { finish, ..Reply::text(text) };
    Step::Reply { agent: AgentId::from(agent), reply }
}

fn items(agent: &str, line: &str) -> Step {
    let (_, json) = line.split_once(" replies ").expect("items");
    let items: Vec<Item> = serde_json::from_str(json).expect("a list of items");
    Step::Reply { agent: AgentId::from(agent), reply: Reply::of(items) }
}

fn calls(agent: &str, line: &str, marker: &str, finish: Finish) -> Step {
    let (_, mut rest) = line.split_once(marker).expect("the marker");
    let mut items = Vec::new();
    while let Some((name, after)) = rest.split_once('(') {
        let end = closing(after);
        let name = name.trim_matches([',', ' ']);
        let (name, call_id) = name.split_once('#').unwrap_or((name, "auto"));
        items.push(Item::FunctionCall(FunctionCall {
            id: None,
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            arguments: after[..end].to_owned(),
            extra: Map::new(),
        }));
        rest = &after[end + 1..];
    }
    Step::Reply { agent: AgentId::from(agent), reply: Reply { finish, ..Reply::of(items) } }
}

/// Where the parenthesis of a call closes; those inside a JSON string do not count.
fn closing(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => return index,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    panic!("a call without its closing parenthesis: {text}")
}

fn tool_ends(call: &str, attempt: Option<u32>, how: &[&str], text: String) -> Step {
    let output = Output::text(text);
    let result = match how {
        ["completes"] => ToolResult::Completed(output),
        ["fails"] => ToolResult::Failed(output),
        ["times", "out"] => ToolResult::TimedOut(output),
        ["was", "cancelled"] => ToolResult::Cancelled(output),
        _ => panic!("a tool does not end like this: {how:?}"),
    };
    Step::ToolEnds { call: call.to_owned(), attempt, result }
}

/// The parts of an answer, each of which may be left out.
fn answer(line: &str) -> Step {
    let (verb, rest) = line.split_once(' ').expect("a request");
    let (number, mut rest) = rest.split_once([' ', ':']).unwrap_or((rest, ""));
    let approval = number.to_owned();
    let denies = verb == "deny";
    let (mut scope, mut matches, mut arguments) = (Scope::Once, Vec::new(), None);
    let (mut claims, mut by, mut reason) = (Claims::default(), "human".to_owned(), None);
    if denies && line.contains(&format!("deny {number}:")) {
        reason = Some(rest.trim().to_owned());
        rest = "";
    }
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        } else if let Some(after) = rest.strip_prefix("for session") {
            (scope, rest) = (Scope::Session, after);
        } else if let Some(after) = rest.strip_prefix("always") {
            (scope, rest) = (Scope::Always, after);
        } else if let Some(after) = rest.strip_prefix("when ") {
            let (pointer, after) = after.split_once(' ').expect("a comparison");
            let (comparison, after) = after.split_once(' ').expect("a value");
            let (value, after) = json(after);
            let test = match (comparison, value) {
                ("=", value) => Test::Equals(value),
                ("like", Value::String(pattern)) => Test::Glob(pattern),
                other => panic!("not a comparison: {other:?}"),
            };
            let pointer = pointer.trim_matches('.').to_owned();
            matches.push(Match { pointer, test });
            rest = after;
        } else if let Some(after) = rest.strip_prefix("with ") {
            let (value, after) = json(after);
            (arguments, rest) = (Some(value), after);
        } else if let Some(after) = rest.strip_prefix("claiming arguments ") {
            let (value, after) = json(after);
            (claims.arguments, rest) = (Some(value), after);
        } else if let Some(after) = rest.strip_prefix("claiming ") {
            let (field, after) = word(after);
            let (value, after) = word(after);
            match field {
                "agent" => claims.agent = Some(AgentId::from(value)),
                "tool" => claims.tool = Some(value.to_owned()),
                "world" => claims.world = Some(WorldId::from(value)),
                _ => panic!("no such claim: {field}"),
            }
            rest = after;
        } else if let Some(after) = rest.strip_prefix("as ") {
            let (name, after) = word(after);
            (by, rest) = (name.to_owned(), after);
        } else if let Some(after) = rest.strip_prefix(':').filter(|_| denies) {
            (reason, rest) = (Some(after.trim().to_owned()), "");
        } else {
            panic!("not part of an answer: {rest}");
        }
    }
    let answer = if denies {
        Answer::Deny { reason }
    } else {
        Answer::Approve { scope, matches, arguments, reason: None }
    };
    Step::Answer { approval, answer, claims, by }
}

fn word(text: &str) -> (&str, &str) {
    let end = text.find([' ', ':']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.trim_start())
}

fn json(text: &str) -> (Value, &str) {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let value = values.next().expect("a value").expect("JSON");
    (value, &text[values.byte_offset()..])
}
