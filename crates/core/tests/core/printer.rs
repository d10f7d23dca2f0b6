//! Prints what happened in words, with short names that do not change from run to run: message 1, call 2, approval 1.
//! Called by `stage`. Prints everything that matters and nothing twice.

use agent_world_core::Timestamp;
use agent_world_core::chain::Recorded;
use agent_world_core::chat::CallState;
use agent_world_core::event::{
    ApprovalDecided, ApprovalRequested, Attendance, Author, Choice, Decider, Decision, Ending,
    Event, MessagePosted, Permission, SetAside, ToolCalled, ToolFinished, Waiting,
};
use agent_world_core::item::{Item, Role};
use agent_world_core::outstanding::Effect;
use agent_world_core::policy::{Ground, Ruling, Verdict};
use agent_world_core::prompt::Prompt;
use agent_world_core::view::{Activity, ApprovalState, ApprovalView};

/// The short names of ids, in the order of their appearance.
#[derive(Default)]
pub struct Names {
    known: Vec<(&'static str, String)>,
}

impl Names {
    pub fn learn(&mut self, kind: &'static str, id: impl ToString) {
        let id = id.to_string();
        if !self.known.iter().any(|(_, known)| *known == id) {
            self.known.push((kind, id));
        }
    }

    /// The id of the thing called so, or one that nothing has.
    pub fn id(&self, kind: &str, number: &str) -> String {
        let mut alike = self.known.iter().filter(|(known, _)| *known == kind);
        let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let found = index.and_then(|index| alike.nth(index));
        found.map_or_else(|| format!("{kind}_{number}"), |(_, id)| id.clone())
    }

    /// Puts short names in the place of ids.
    pub fn shorten(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (index, (kind, id)) in self.known.iter().enumerate() {
            if text.contains(id.as_str()) {
                let earlier = self.known.iter().take(index).filter(|(other, _)| other == kind);
                text = text.replace(id.as_str(), &format!("{kind} {}", earlier.count() + 1));
            }
        }
        text
    }

    pub fn learn_from(&mut self, event: &Event) {
        match event {
            Event::MessagePosted(posted) => self.learn("message", &posted.message.id),
            Event::TurnStarted(started) => self.learn("turn", &started.turn),
            Event::ToolCalled(called) => self.learn("call", &called.call),
            Event::ApprovalRequested(asked) => self.learn("approval", &asked.approval),
            Event::ApprovalDecided(decided) => match &decided.decision {
                Decision::Approved { scope: Permission::Session(grant), .. } => {
                    self.learn("grant", &grant.id);
                }
                Decision::Approved { scope: Permission::Always(rule), .. } => {
                    self.learn("rule", &rule.id);
                }
                _ => {}
            },
            Event::ChatCreated(created) => self.learn("chat", &created.chat),
            Event::HistoryCopied { events } => {
                for copied in events {
                    self.learn_from(&copied.event);
                }
            }
            _ => {}
        }
    }
}

/// One event in one line. None for what another line says already.
pub fn event(recorded: &Recorded) -> Option<String> {
    Some(match &recorded.event {
        Event::ChatCreated(created) => match &created.forked_from {
            Some(origin) => format!("{} forked from {}", created.chat, origin.chat),
            None => {
                format!("{} created: {} ({})", created.chat, created.title, author(&created.by))
            }
        },
        Event::HistoryCopied { events } => {
            let kinds: Vec<&str> = events.iter().map(|copied| copied.event.kind()).collect();
            format!("copied: {}", kinds.join(", "))
        }
        Event::ChatRenamed { title, by } => format!("chat named by {}: {title}", author(by)),
        // Whether the proposal is taken, the next line says.
        Event::TitleProposed { .. } => return None,
        Event::NamingGivenUp { reason } => format!("chat stays without a name: {reason}"),
        Event::ChatDeleted { by } => format!("chat deleted by {by}"),

        Event::MessagePosted(posted) => message(posted),
        Event::NoticePosted(notice) => format!("notice: {}", notice.text),
        Event::HistoryCut { from, by, .. } => format!("history cut from {from} by {by}"),

        Event::TurnStarted(started) => {
            let again = started.retry_of.as_ref().map(|turn| format!(", {turn} again"));
            format!(
                "{}: {} answers {}{}{}",
                started.turn,
                started.agent,
                started.answering,
                again.unwrap_or_default(),
                unattended(started.attendance),
            )
        }
        Event::ModelCallRequested(requested) => {
            let call = format!("{}: model call {}", requested.turn, requested.iteration);
            match requested.joined.as_slice() {
                [] => call,
                joined => format!("{call} with {}", waiting(joined)),
            }
        }
        Event::ReplyRecorded(reply) => {
            return (!reply.calls.is_empty()).then(|| format!("{}: reply with calls", reply.turn));
        }
        Event::TurnPaused { turn } => format!("{turn} waits for a person"),
        Event::TurnEnded { turn, ending } => match ending {
            Ending::Completed => format!("{turn} completed"),
            Ending::Stopped => format!("{turn} stopped"),
            Ending::Failed { error } => format!("{turn} failed: {error}"),
        },
        Event::TurnLimitReached { agent, limit, set_aside, .. } => {
            format!("{agent} has had {limit} turns; set aside: {}", waiting(set_aside))
        }
        Event::WorkStopped { agent, by, set_aside } => {
            let whose = agent.as_ref().map_or("all".to_owned(), ToString::to_string);
            let aside = set_aside.iter().map(|SetAside { agent, waiting: inbox }| {
                format!("; set aside for {agent}: {}", waiting(inbox))
            });
            format!("work of {whose} stopped by {by}{}", aside.collect::<String>())
        }

        Event::ToolCalled(called) => call(called),
        Event::ArgumentsEdited { call, arguments } => format!("{call} ran with {arguments}"),
        Event::ToolStarted { call, attempt: 1, .. } => format!("{call} started"),
        Event::ToolStarted { call, attempt, .. } => format!("{call} started, attempt {attempt}"),
        Event::ToolRequeued { call } => format!("{call} is to start again"),
        Event::ToolFinished(finished) => finish(finished),

        Event::ApprovalRequested(asked) => request(asked, recorded.at),
        Event::ApprovalDecided(decided) => decision(decided),
        Event::ApprovalExpired { approval } => format!("{approval} expired"),
        Event::ApprovalWithdrawn { approval, reason } => format!("{approval} withdrawn: {reason}"),
        Event::GrantRevoked { grant, by } => format!("{grant} revoked by {by}"),
        Event::ClientToolsOffered { client, tools, .. } => {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("{client} offers {}", list(&names))
        }
    })
}

fn author(by: &Author) -> String {
    match by {
        Author::Default => "nobody".to_owned(),
        Author::Model => "a model".to_owned(),
        Author::Person(name) => name.clone(),
    }
}

fn unattended(attendance: Attendance) -> &'static str {
    match attendance {
        Attendance::Attended => "",
        Attendance::Unattended => ", unattended",
    }
}

fn list<T: ToString>(things: &[T]) -> String {
    match things {
        [] => "nobody".to_owned(),
        things => things.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn message(posted: &MessagePosted) -> String {
    let message = &posted.message;
    let user = message.user.as_ref().filter(|user| *user != "human");
    format!(
        "{} from {}{} to {}{}: {}",
        message.id,
        message.sender,
        user.map(|user| format!(" ({user})")).unwrap_or_default(),
        list(&posted.recipients),
        unattended(posted.attendance),
        one_line(&message.text),
    )
}

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

fn waiting(inbox: &[Waiting]) -> String {
    let names = inbox.iter().map(|one| match one {
        Waiting::Message { id, .. } => id.to_string(),
        Waiting::Background { call } => format!("the result of {call}"),
    });
    list(&names.collect::<Vec<_>>())
}

fn call(called: &ToolCalled) -> String {
    let verdict = match &called.verdict {
        None => "not a valid call".to_owned(),
        Some(Verdict { ruling, ground }) => {
            let ruling = match ruling {
                Ruling::Allow => "allowed",
                Ruling::Ask => "needs approval",
                Ruling::Deny => "denied",
            };
            match ground {
                Ground::Tool => ruling.to_owned(),
                Ground::Rule(rule) => format!("{ruling} by {rule}"),
                Ground::Grant(grant) => format!("{ruling} by {grant}"),
                Ground::Preset(preset) => format!("{ruling} by the preset {preset}"),
                Ground::CommandLine => format!("{ruling} by its command line"),
            }
        }
    };
    format!(
        "{}: {} wants {}({}), {verdict}",
        called.call, called.agent, called.name, called.arguments
    )
}

fn finish(finished: &ToolFinished) -> String {
    let outcome = CallState::Ended(finished.outcome).name();
    format!("{} {outcome}: {}", finished.call, one_line(&finished.output.text))
}

fn request(asked: &ApprovalRequested, at: Timestamp) -> String {
    let expiry = asked
        .expires_at
        .map(|expiry| format!(", expires in {} s", expiry.duration_since(at).as_secs()));
    let missing =
        [Choice::Deny, Choice::ApproveOnce, Choice::ApproveSession, Choice::ApproveAlways]
            .into_iter()
            .filter(|choice| !asked.options.contains(choice))
            .map(|choice| format!(", without {choice:?}"));
    let preview = asked.preview.as_ref().map(|preview| format!(", showing {}", one_line(preview)));
    let voided = asked.voided.as_ref().map(|voided| {
        format!(", as {} does not hold: {}", voided.approval, voided.changes.join("; "))
    });
    format!(
        "{} for {}: {}{}{}{}{}",
        asked.approval,
        asked.call,
        one_line(&asked.question),
        expiry.unwrap_or_default(),
        missing.collect::<String>(),
        preview.unwrap_or_default(),
        voided.unwrap_or_default(),
    )
}

fn decision(decided: &ApprovalDecided) -> String {
    let by = match &decided.by {
        Decider::Person(name) => name.clone(),
        Decider::Grant { grant, by } => format!("{grant} of {by}"),
        Decider::Rule { rule, by } => format!("{rule} of {by}"),
        Decider::Nobody => "nobody".to_owned(),
    };
    let what = match &decided.decision {
        Decision::Denied { reason: None } => return format!("{} denied by {by}", decided.approval),
        Decision::Denied { reason: Some(reason) } => {
            return format!("{} denied by {by}: {reason}", decided.approval);
        }
        Decision::Answered { content } => {
            return format!("{} answered by {by}: {content}", decided.approval);
        }
        Decision::Approved { scope, arguments, .. } => {
            let scope = match scope {
                Permission::Once => "once".to_owned(),
                Permission::Session(grant) => format!("for session, {}", grant.id),
                Permission::Always(rule) => format!("always, {}", rule.id),
            };
            match arguments {
                Some(arguments) => format!("{scope} with {arguments}"),
                None => scope,
            }
        }
    };
    format!("{} approved by {by} {what}", decided.approval)
}

/// What the outside still has to do.
pub fn owed(effects: &[Effect], now: Timestamp) -> String {
    let owed = effects.iter().map(|effect| match effect {
        Effect::CallModel { turn, .. } => format!("model call of {turn}"),
        Effect::RunTool { call } => format!("run {call}"),
        Effect::FinishTool { call, .. } => format!("end of {call}"),
        Effect::AwaitClient { call, deadline, .. } => {
            format!("client's result of {call} within {} s", deadline.duration_since(now).as_secs())
        }
        Effect::ExpireApprovals { at } => {
            format!("expiry in {} s", at.duration_since(now).as_secs())
        }
        Effect::NameChat => "a name".to_owned(),
    });
    match owed.collect::<Vec<_>>().as_slice() {
        [] => "owed: nothing".to_owned(),
        owed => format!("owed: {}", owed.join(", ")),
    }
}

/// What a model is given, an item a line.
pub fn prompt(agent: &str, prompt: &Prompt) -> Vec<String> {
    let mut lines = vec![format!("{agent} sees:")];
    if !prompt.instructions.is_empty() {
        lines.push(format!("  instructions: {}", prompt.instructions));
    }
    lines.extend(prompt.items.iter().map(|item| {
        let text = match item.as_ref() {
            Item::Message(message) => {
                let role = match message.role {
                    Role::User => "user",
                    Role::Assistant => "assistant",
                    Role::System | Role::Developer => "system",
                };
                format!("{role}: {}", message.text())
            }
            Item::FunctionCall(call) => {
                format!("{}: {}({})", call.call_id, call.name, call.arguments)
            }
            Item::FunctionCallOutput(output) => {
                let text = output.output.as_str().unwrap_or("not text");
                format!("{} gave: {text}", output.call_id)
            }
            Item::Reasoning(reasoning) => {
                format!("reasoning {}", reasoning.id.as_deref().unwrap_or(""))
            }
            Item::Unknown(value) => format!("unknown {value}"),
        };
        format!("  {}", one_line(&text))
    }));
    lines
}

pub fn activity(activity: &Activity) -> String {
    let agents = activity.agents.iter().map(|agent| format!("{} {:?}", agent.agent, agent.doing));
    format!(
        "{}; at work: {}; running: {}; waiting: {}",
        if activity.busy { "busy" } else { "idle" },
        list(&agents.collect::<Vec<_>>()),
        list(&activity.running).replace("nobody", "nothing"),
        list(&activity.waiting).replace("nobody", "nothing"),
    )
}

/// A request as a client reads it.
pub fn approval(view: &ApprovalView) -> String {
    let state = match &view.state {
        ApprovalState::Pending => "pending".to_owned(),
        ApprovalState::Decided { decision, .. } => match **decision {
            Decision::Approved { .. } => "approved".to_owned(),
            Decision::Denied { .. } => "denied".to_owned(),
            Decision::Answered { .. } => "answered".to_owned(),
        },
        ApprovalState::Expired { .. } => "expired".to_owned(),
        ApprovalState::Withdrawn { .. } => "withdrawn".to_owned(),
    };
    let shown = view.shown.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{} {state}: {} of {}, {} {shown}", view.id, view.call, view.agent, view.tool)
}
