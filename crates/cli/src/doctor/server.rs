//! Looks at whether a server runs on the data folder and answers, and who may use it.
//! Part of `doctor`. Asks nobody but a server that was announced in the data folder, which is on this machine.

use std::fs;

use agent_world_server::tokens as known;
use agent_world_store::sqlite::is_worked_on;
use anyhow::Result;

use super::Findings;
use crate::data::DataFolder;
use crate::running_server::{self, Found};
use crate::setup::open_to_look;
use crate::{words, work};

pub async fn look(data: &DataFolder) -> Findings {
    let mut findings = Findings::about("server");
    match running_server::find(data).await {
        Found::Nobody => {
            findings.ok("no server runs on this data folder; `agent-world serve` starts one");
        }
        Found::Answering(server) => {
            let (url, pid, since) = (&server.url, server.pid, server.started_at);
            findings.ok(format!("a server runs at {url} (process {pid}, since {since:.0})"));
        }
        Found::Silent(server) => {
            let (url, pid) = (&server.url, server.pid);
            let fix = format!("its log says why; kill {pid} ends it");
            findings.warn(format!("the server at {url} (process {pid}) does not answer"), fix);
        }
        Found::Gone(server) => {
            let says = format!("the server at {} ended without a word", server.url);
            findings.warn(says, "nothing is lost: the next `agent-world serve` goes on from there");
        }
    }
    // A store that cannot be opened is told of elsewhere.
    if let Ok(number @ 1..) = left_undone(data).await {
        let says = format!(
            "{} left unfinished, and no process works on them",
            words::count(number, "chat")
        );
        findings.warn(says, "`agent-world resume` goes on with them, or `agent-world serve`");
    }
    if let Ok(number) = tokens(data).await {
        findings.ok(match number {
            0 => "there are no tokens: a server can be used from this machine only".to_owned(),
            number => format!("{} can be used with a server", words::count(number, "token")),
        });
    }
    findings
}

/// How many chats owe something that nobody does.
async fn left_undone(data: &DataFolder) -> Result<usize> {
    let path = data.database();
    let is_there = fs::metadata(&path).is_ok_and(|found| found.len() > 0);
    if !is_there || is_worked_on(&path) {
        return Ok(0);
    }
    Ok(work::owing(&open_to_look(data).await?).await?.chats.len())
}

/// How many tokens there are; none where there is no store yet.
pub async fn tokens(data: &DataFolder) -> Result<usize> {
    if !fs::metadata(data.database()).is_ok_and(|found| found.len() > 0) {
        return Ok(0);
    }
    Ok(known::list(&open_to_look(data).await?).await?.len())
}
