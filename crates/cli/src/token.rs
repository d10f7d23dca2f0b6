//! `token`: makes, lists and revokes the tokens that let people and programs use the server.
//! Called by `main`. Works on the bare store, also while a server runs: that one notices within a second.
//! A token's text is printed once, when it is made, and stored nowhere.

use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_server::Role;
use agent_world_server::tokens::{self, Issued, Last, Left, Token, Wanted};
use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::data::DataFolder;
use crate::exit::Exit;
use crate::running_server::{self, Found};
use crate::screen::{Screen, Tone};
use crate::setup::{open_to_look, who};
use crate::words;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Make one for an admin first: from the first token on, a server answers nobody without one.

Examples:
  agent-world token create ada --role admin
  agent-world token create pipeline --role member --expires 30d
  agent-world token list
  agent-world token revoke pipeline")]
pub enum Command {
    /// Makes a token and prints it, this once
    Create(Create),
    /// The tokens there are
    #[command(after_help = "\
Examples:
  agent-world token list
  agent-world token list --json")]
    List {
        #[arg(long)]
        json: bool,
    },
    /// Takes a token back; a running server refuses it within a second
    ///
    /// Without any token a server lets in everybody on its machine. The last one cannot be taken back while a server runs
    /// that other machines reach.
    #[command(
        visible_alias = "delete",
        after_help = "\
Examples:
  agent-world token revoke pipeline"
    )]
    Revoke {
        /// Its name or its id
        #[arg(value_name = "NAME|ID")]
        token: String,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world token create ada --role admin
  agent-world token create pipeline --role member --expires 30d
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:7420/api/me

From the first token on, a server answers nobody without one. Make one for an admin first, or nobody can change settings over it.")]
pub struct Create {
    /// Recorded with everything its holder posts and decides
    pub name: String,
    /// What its holder may do; each role may do what those before it may
    #[arg(long)]
    pub role: Allowed,
    /// Until when it is good: 12h, 30d, 8w, or a moment such as 2027-01-31; otherwise until it is revoked
    #[arg(long, value_name = "WHEN", value_parser = end)]
    pub expires: Option<Timestamp>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Allowed {
    /// Reads
    Viewer,
    /// Posts messages and runs chats
    Member,
    /// Decides what waits for approval
    Approver,
    /// Changes settings
    Admin,
}

impl From<Allowed> for Role {
    fn from(allowed: Allowed) -> Self {
        match allowed {
            Allowed::Viewer => Role::Viewer,
            Allowed::Member => Role::Member,
            Allowed::Approver => Role::Approver,
            Allowed::Admin => Role::Admin,
        }
    }
}

pub async fn run(data: DataFolder, wanted: Command) -> Result<Exit> {
    let store = open_to_look(&data).await?;
    match wanted {
        Command::Create(wanted) => {
            let asked = Wanted {
                name: wanted.name,
                role: wanted.role.into(),
                expires_at: wanted.expires,
                by: who(),
            };
            let issued = tokens::create(&store, asked, Timestamp::now()).await?;
            tell_of_new(&issued, wanted.json)?;
            warn_of_no_admin(&tokens::list(&store).await?)?;
        }
        Command::List { json } => list(&tokens::list(&store).await?, json)?,
        Command::Revoke { token, json } => {
            let last = match running_server::find(&data).await {
                Found::Answering(server) | Found::Silent(server)
                    if server.is_reached_by_others() =>
                {
                    Last::Stays
                }
                _ => Last::MayGo,
            };
            let left = tokens::revoke(&store, &token, last, Timestamp::now()).await?;
            tell_of_revoked(&token, left, json)?;
        }
    }
    Ok(Exit::Done)
}

fn tell_of_new(issued: &Issued, json: bool) -> Result<()> {
    let Issued { token, text } = issued;
    let mut screen = Screen::stdout();
    if json {
        let mut value = json!(token);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("token".to_owned(), Value::String(text.clone()));
        }
        screen.json(&value)?;
        return Ok(());
    }
    // Alone on stdout, so that a script can keep it.
    screen.line(Tone::Plain, text)?;
    let mut aside = Screen::stderr();
    let about = format!("the token of {}; it is not shown again, so keep it safe", line(token));
    aside.line(Tone::Quiet, &about)?;
    Ok(())
}

/// From the first token on nobody gets in without one: where none is an admin's, nobody changes settings over a server.
fn warn_of_no_admin(tokens: &[Token]) -> Result<()> {
    let now = Timestamp::now();
    if tokens.iter().any(|token| token.role == Role::Admin && !token.is_expired(now)) {
        return Ok(());
    }
    let text = "there is no token of an admin: from now on nobody can change settings over a server, on its page or with \
                --server, and only commands on this data folder can; `agent-world token create NAME --role admin` makes one";
    Ok(Screen::stderr().hint(Tone::Warning, text)?)
}

fn tell_of_revoked(token: &str, left: Left, json: bool) -> Result<()> {
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&json!({ "revoked": token, "last": left == Left::Nothing }))?);
    }
    screen.line(Tone::Plain, &format!("{} is revoked", words::unbroken(token)))?;
    if left == Left::Nothing {
        let text = "that was the last token: a server now lets in everybody on this machine, who may do everything; \
                    `agent-world token create NAME --role admin` closes it again";
        screen.hint(Tone::Warning, text)?;
    }
    Ok(())
}

fn list(tokens: &[Token], json: bool) -> Result<()> {
    let mut screen = Screen::stdout();
    for token in tokens {
        if json {
            screen.json(&json!(token))?;
        } else {
            screen.line(Tone::Plain, &words::unbroken(&line(token)))?;
        }
    }
    if tokens.is_empty() && !json {
        let text = "there are no tokens: a server answers this machine only, and whoever is at it may do everything; \
                    `agent-world token create NAME --role admin` makes one";
        screen.hint(Tone::Plain, text)?;
    }
    Ok(())
}

fn line(token: &Token) -> String {
    let Token { id, name, role, .. } = token;
    let end = match token.expires_at {
        Some(end) if token.is_expired(Timestamp::now()) => format!("expired at {end}"),
        Some(end) => format!("expires at {end}"),
        None => "does not expire".to_owned(),
    };
    let used =
        token.last_used.map_or_else(|| "never used".to_owned(), |at| format!("last used at {at}"));
    format!("{name} ({id}): {}, {end}, {used}", role.name())
}

/// A moment to come, or how far away it is.
fn end(text: &str) -> Result<Timestamp, String> {
    let given = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
    if let Ok(moment) = given {
        return Ok(moment);
    }
    let unclear = || format!("`{text}` is no time to come; write 12h, 30d, 8w or 2027-01-31");
    let number = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let seconds: u64 = match text.strip_prefix(number) {
        Some("m") => 60,
        Some("h") => 3_600,
        Some("d") => 86_400,
        Some("w") => 7 * 86_400,
        _ => return Err(unclear()),
    };
    let number: u64 = number.parse().map_err(|_| unclear())?;
    let away = Duration::from_secs(number.checked_mul(seconds).ok_or_else(unclear)?);
    Timestamp::now().checked_add(away).map_err(|_| unclear())
}
