//! The same commands on the bare store, beside a server that runs on the data folder, and against a server elsewhere
//! with a token: whoever answers, they say the same and end in the same way.

use std::fmt::Write as _;

use crate::answering::{Asked, answering};
use crate::home::Ended;
use crate::serve::address;

/// Somebody who answers commands, and what they say as it is compared.
pub struct Place(Asked);

impl Place {
    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.0.run(arguments)
    }

    /// Writes a file beside the data folder of the commands.
    pub fn write(&self, name: &str, text: &str) -> String {
        self.0.commands_home().write(name, text)
    }

    /// What ran, what it said and how it ended; what differs from run to run is replaced.
    pub fn told(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        let command = self.without_accidents(&arguments.join(" "));
        let mut told = format!("$ agent-world {command}\n{}", self.without_accidents(&ended.out));
        if !ended.err.is_empty() {
            write!(told, "! {}", self.without_accidents(&ended.err)).unwrap();
        }
        if ended.code != 0 {
            writeln!(told, "= {}", ended.code).unwrap();
        }
        told
    }

    fn without_accidents(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for home in [Some(&self.0.home), self.0.away()].into_iter().flatten() {
            let folder = home.path().parent().unwrap().display().to_string();
            text = text.replace(&folder, "FOLDER");
        }
        without_numbers_of_keys(&without_times(&without_ids(&text)))
    }
}

/// The names of keys that were put away end in a number of their own.
pub fn without_numbers_of_keys(text: &str) -> String {
    let mut parts = text.split("${MCP_");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap();
        let (name, _number) = name.rsplit_once('_').unwrap();
        write!(out, "${{MCP_{name}_NUMBER}}{rest}").unwrap();
    }
    out
}

/// Ids by the order in which they come.
fn without_ids(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = ["chat_", "msg_", "apr_", "call_", "rule_", "grant_"]
        .iter()
        .filter_map(|kind| Some((rest.find(kind)?, *kind)))
        .min()
    {
        let (start, kind) = place;
        let behind = &rest[start + kind.len()..];
        let length = behind.find(|one: char| !one.is_ascii_alphanumeric()).unwrap_or(behind.len());
        // Shorter ones are words of ours, such as `mcp_servers`.
        if length < 20 {
            out.push_str(&rest[..start + kind.len()]);
            rest = behind;
            continue;
        }
        let id = format!("{kind}{}", &behind[..length]);
        let number = known.iter().position(|one| *one == id).unwrap_or_else(|| {
            known.push(id.clone());
            known.len() - 1
        });
        write!(out, "{}{kind}{}", &rest[..start], number + 1).unwrap();
        rest = &behind[length..];
    }
    out + rest
}

/// Moments to the minute, as tables have them, as TIME.
fn without_minutes(text: &str) -> String {
    const MINUTE: &str = "0000-00-00 00:00";
    let shape: String =
        text.chars().map(|one| if one.is_ascii_digit() { '0' } else { one }).collect();
    // Digits are as long as what stands for them here, so that places are the same in both.
    let (mut out, mut from) = (String::new(), 0);
    for (start, _) in shape.match_indices(MINUTE) {
        out += &text[from..start];
        out += "TIME";
        from = start + MINUTE.len();
    }
    out + &text[from..]
}

/// Moments as TIME.
fn without_times(text: &str) -> String {
    let is_moment = |piece: &str| {
        let shape: String = piece
            .chars()
            .take(11)
            .map(|one| if one.is_ascii_digit() { '0' } else { one })
            .collect();
        shape == "0000-00-00T" && piece.len() >= 20
    };
    let text = without_minutes(text);
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find("T").and_then(|_| {
        rest.char_indices().map(|(place, _)| place).find(|place| is_moment(&rest[*place..]))
    }) {
        let length = rest[start..].find('Z').map_or(rest.len() - start, |end| end + 1);
        write!(out, "{}TIME", &rest[..start]).unwrap();
        rest = &rest[start + length..];
    }
    out + rest
}

/// No server is named and no vendor has a key, whatever the environment of the test holds.
const NOBODY: [(&str, &str); 12] = [
    ("AGENT_WORLD_URL", ""),
    ("AGENT_WORLD_TOKEN", ""),
    ("ANTHROPIC_API_KEY", ""),
    ("OPENAI_API_KEY", ""),
    ("GEMINI_API_KEY", ""),
    ("GOOGLE_API_KEY", ""),
    ("XAI_API_KEY", ""),
    ("GROQ_API_KEY", ""),
    ("TOGETHER_API_KEY", ""),
    ("MISTRAL_API_KEY", ""),
    ("DEEPSEEK_API_KEY", ""),
    ("OPENROUTER_API_KEY", ""),
];

/// Everybody who may answer. A server has run on the bare store, too, so that all have the demo world.
pub fn places() -> [Place; 3] {
    let asked = answering(&NOBODY);
    let server = asked[0].start(&["serve", "--listen", "127.0.0.1:0"]);
    address(&server);
    server.signal("TERM");
    server.wait().succeeded();
    asked.map(Place)
}

/// Runs a script of commands everywhere and gives what they told, which is the same everywhere.
#[track_caller]
pub fn everywhere(script: &dyn Fn(&Place) -> String) -> String {
    let [first, others @ ..] = places();
    let told = script(&first);
    for place in others {
        let again = script(&place);
        assert_eq!(again, told, "{} says something else", place.0.name);
    }
    assert!(!told.is_empty());
    told
}

/// A script in which no command depends on what another said.
#[track_caller]
pub fn all_of(commands: &[&[&str]]) -> String {
    everywhere(&|place| commands.iter().map(|command| place.told(command)).collect())
}
