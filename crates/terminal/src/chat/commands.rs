//! What can be said to the program itself: the lines that begin with a slash.
//! Used by `state`. Only reads what was typed; what comes of it is decided there.

/// Every command, with what it does.
pub const COMMANDS: [(&str, &str); 14] = [
    ("/help", "explains commands and keys"),
    ("/agents", "the agents of this world"),
    ("/approvals", "what waits for you; asks again about what you put off"),
    ("/stop", "stops the agents, or one: /stop bob; withdraws what they wait for"),
    ("/retry", "takes a failed turn up again"),
    ("/edit", "changes your last message; everything after it is taken back"),
    ("/new", "starts a new chat"),
    ("/chats", "the chats of this world"),
    ("/switch", "goes to another chat: /switch ID"),
    ("/fork", "goes on in a copy of this chat"),
    ("/title", "names this chat: /title TEXT"),
    ("/policy", "what agents may do here, and what you permitted for this chat"),
    ("/exit", "leaves"),
    ("/quit", "leaves (so do Ctrl-D, and Ctrl-C twice when nothing runs)"),
];

const KEYS: [&str; 6] = [
    "A line is a message to the main agent; begin it with @bob to speak to bob, or @ada @bob to both. //text says “/text”.",
    "Enter sends · Alt-Enter, Shift-Enter or Ctrl-J begin a line · Up and Down recall · Tab completes @agents, /commands, paths",
    "Ctrl-A Ctrl-E Ctrl-K Ctrl-U Ctrl-W Ctrl-Y edit as in Emacs · Ctrl-_ undoes",
    "Ctrl-C stops the agents · Ctrl-R shows what they think, or thought last · Ctrl-O shows more of what tools write, or gave back last",
    "When an approval is asked its card says which keys decide; Tab looks at the other ones that wait. While you are writing, Tab goes to the card and back.",
    "What has been said stays in the terminal: scroll, search and copy as usual.",
];

/// What a line is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    Message(String),
    Command(Command),
    /// A slash, and no command.
    Unknown(String),
    /// A command that needs a word, and which.
    Missing(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Help,
    Agents,
    Approvals,
    Stop(Option<String>),
    Retry,
    Edit,
    New,
    Chats,
    Switch(String),
    Fork,
    Title(String),
    Policy,
    Quit,
}

pub fn read(text: &str) -> Line {
    let text = text.trim();
    if !text.starts_with('/') || text.starts_with("//") {
        return Line::Message(text.strip_prefix('/').unwrap_or(text).to_owned());
    }
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let needed = |command: fn(String) -> Command, usage: &'static str| match rest {
        "" => Line::Missing(usage),
        rest => Line::Command(command(rest.to_owned())),
    };
    let agent = || rest.strip_prefix('@').unwrap_or(rest).to_lowercase();
    Line::Command(match word {
        "/help" | "/?" => Command::Help,
        "/agents" => Command::Agents,
        "/approvals" => Command::Approvals,
        "/stop" => Command::Stop(Some(agent()).filter(|agent| !agent.is_empty())),
        "/retry" => Command::Retry,
        "/edit" => Command::Edit,
        "/new" => Command::New,
        "/chats" => Command::Chats,
        "/switch" => return needed(Command::Switch, "/switch ID; /chats lists them"),
        "/fork" => Command::Fork,
        "/title" => return needed(Command::Title, "/title TEXT"),
        "/policy" => Command::Policy,
        "/quit" | "/exit" => Command::Quit,
        unknown => return Line::Unknown(unknown.to_owned()),
    })
}

pub fn help() -> Vec<String> {
    let commands = COMMANDS.iter().map(|(name, about)| format!("{name:<11} {about}"));
    let keys = KEYS.iter().map(|line| (*line).to_owned());
    keys.chain(commands).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_is_a_command_and_two_are_a_message() {
        assert_eq!(read(" hello "), Line::Message("hello".to_owned()));
        assert_eq!(read("//etc"), Line::Message("/etc".to_owned()));
        assert_eq!(read("/stop @Bob"), Line::Command(Command::Stop(Some("bob".to_owned()))));
        assert_eq!(read("/stop"), Line::Command(Command::Stop(None)));
        assert_eq!(
            read("/title  two words "),
            Line::Command(Command::Title("two words".to_owned()))
        );
        assert_eq!(read("/switch"), Line::Missing("/switch ID; /chats lists them"));
        assert_eq!(read("/nonsense x"), Line::Unknown("/nonsense".to_owned()));
    }

    #[test]
    fn every_command_that_is_offered_is_understood() {
        for (name, _) in COMMANDS {
            assert!(!matches!(read(name), Line::Unknown(_) | Line::Message(_)), "{name}");
        }
    }
}
