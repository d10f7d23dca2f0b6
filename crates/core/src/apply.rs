//! Decides what an event changes in a chat's state. Cannot fail: what is in the log has happened.
//! Called by `decide` on a draft and by whoever loads a log. Never looks at settings: events carry what they need.

use std::sync::Arc;

use crate::Timestamp;
use crate::chain::Recorded;
use crate::chat::{Call, CallState, Chat, Desk, Life, Naming, Phase, Request, Turn};
use crate::event::{
    ApprovalDecided, ApprovalRequested, Author, Decider, Decision, Ending, Event, MessagePosted,
    ModelCallRequested, Permission, Position, ReplyRecorded, SetAside, ToolCalled, ToolFinished,
    TurnStarted, Waiting,
};
use crate::ids::{AgentId, CallId, TurnId};
use crate::sender::Sender;

/// Folds one event into the state.
pub fn apply(chat: &mut Chat, recorded: &Recorded) {
    chat.head = recorded.seq;
    let at = recorded.at;
    match &recorded.event {
        Event::ChatCreated(created) => {
            chat.life = Life::Living;
            chat.world = created.world.clone();
            chat.created_at = at;
            chat.forked_from = created.forked_from.clone();
            rename(chat, &created.title, &created.by);
        }
        Event::HistoryCopied { .. } | Event::TitleProposed { .. } | Event::NoticePosted(_) => {}
        Event::ChatRenamed { title, by } => rename(chat, title, by),
        Event::NamingGivenUp { .. } => chat.title.naming = Naming::Settled,
        Event::ChatDeleted { .. } => bury(chat),

        Event::MessagePosted(posted) => message_posted(chat, posted),
        Event::HistoryCut { .. } => history_cut(chat),

        Event::TurnStarted(started) => turn_started(chat, started, at),
        Event::ModelCallRequested(requested) => model_call_requested(chat, requested),
        Event::ReplyRecorded(recorded) => reply_recorded(chat, recorded),
        Event::TurnPaused { turn } => with_turn(chat, turn, |turn| {
            if let Phase::RunningTools { calls, .. } = &turn.phase {
                turn.phase = Phase::AwaitingHuman { calls: calls.clone() };
            }
        }),
        Event::TurnEnded { turn, ending } => turn_ended(chat, turn, ending),
        Event::TurnLimitReached { agent, set_aside, .. } => {
            with_desk(chat, agent, |desk| desk.limit_noticed = true);
            take_from_inbox(chat, agent, set_aside);
        }
        Event::WorkStopped { set_aside, .. } => {
            for SetAside { agent, waiting } in set_aside {
                take_from_inbox(chat, agent, waiting);
            }
        }

        Event::ToolCalled(called) => tool_called(chat, called, at),
        Event::ArgumentsEdited { call, arguments } => {
            with_call(chat, call, |call| call.edited = Some(Arc::new(arguments.clone())));
        }
        Event::ToolStarted { call, attempt, .. } => with_call(chat, call, |call| {
            call.state = CallState::Executing;
            call.attempt = *attempt;
            call.started_at = Some(at);
        }),
        Event::ToolRequeued { call } => {
            with_call(chat, call, |call| call.state = CallState::Pending)
        }
        Event::ToolFinished(finished) => tool_finished(chat, finished, at),

        Event::ApprovalRequested(requested) => approval_requested(chat, requested, at),
        Event::ApprovalDecided(decided) => approval_decided(chat, decided),
        Event::ApprovalExpired { approval } | Event::ApprovalWithdrawn { approval, .. } => {
            chat.approvals.remove(approval);
        }
        Event::GrantRevoked { grant, .. } => {
            chat.grants.remove(grant);
        }
        Event::ClientToolsOffered { client, tools, .. } => {
            let tools = tools.iter().cloned().map(Arc::new).collect();
            chat.client_tools.insert(client.clone(), tools);
        }
    }
}

fn rename(chat: &mut Chat, title: &str, by: &Author) {
    chat.title.text = title.to_owned();
    chat.title.author = by.clone();
    if *by != Author::Default {
        chat.title.naming = Naming::Settled;
    }
}

fn bury(chat: &mut Chat) {
    let mut grave = Chat::unborn(chat.id.clone());
    grave.life = Life::Deleted;
    grave.world = chat.world.clone();
    grave.created_at = chat.created_at;
    grave.forked_from = chat.forked_from.take();
    grave.title.text = std::mem::take(&mut chat.title.text);
    grave.title.naming = Naming::Settled;
    grave.head = chat.head;
    *chat = grave;
}

fn message_posted(chat: &mut Chat, posted: &MessagePosted) {
    let message = &posted.message;
    if matches!(message.sender, Sender::Human | Sender::World) {
        reset_turn_counters(chat);
    }
    if chat.title.naming != Naming::Settled {
        match message.sender {
            Sender::Human if chat.title.about.is_none() => {
                chat.title.about = Some(message.text.as_str().into());
            }
            Sender::Agent(_) => chat.title.naming = Naming::Due,
            _ => {}
        }
    }
    for agent in &posted.recipients {
        with_desk(chat, agent, |desk| {
            desk.inbox.push_back(Waiting::Message {
                id: message.id.clone(),
                sender: message.sender.clone(),
                attendance: posted.attendance,
            });
        });
    }
}

fn reset_turn_counters(chat: &mut Chat) {
    let counted: Vec<AgentId> = chat
        .agents
        .iter()
        .filter(|(_, desk)| desk.turns_taken > 0 || desk.limit_noticed)
        .map(|(id, _)| id.clone())
        .collect();
    for agent in counted {
        with_desk(chat, &agent, |desk| {
            desk.turns_taken = 0;
            desk.limit_noticed = false;
        });
    }
}

// A title must not be made of words that were taken back.
fn history_cut(chat: &mut Chat) {
    if chat.title.naming != Naming::Settled {
        chat.title.naming = Naming::Early;
        chat.title.about = None;
    }
    let failed: Vec<AgentId> = chat
        .agents
        .iter()
        .filter(|(_, desk)| desk.failed.is_some())
        .map(|(id, _)| id.clone())
        .collect();
    for agent in failed {
        with_desk(chat, &agent, |desk| desk.failed = None);
    }
}

fn turn_started(chat: &mut Chat, started: &TurnStarted, at: Timestamp) {
    with_desk(chat, &started.agent, |desk| {
        desk.turn = Some(started.turn.clone());
        desk.failed = None;
        desk.answering = started.answering.clone();
        desk.attendance = started.attendance;
        if started.retry_of.is_none() {
            desk.turns_taken += 1;
        }
    });
    let turn = Turn {
        id: started.turn.clone(),
        agent: started.agent.clone(),
        answering: started.answering.clone(),
        answered: None,
        attendance: started.attendance,
        iteration: 0,
        phase: Phase::Starting,
        usage: Default::default(),
        started_at: at,
    };
    chat.turns.insert(started.turn.clone(), Arc::new(turn));
}

fn model_call_requested(chat: &mut Chat, requested: &ModelCallRequested) {
    forget_batch(chat, &requested.turn);
    take_from_inbox(chat, &requested.agent, &requested.joined);
    with_turn(chat, &requested.turn, |turn| {
        turn.iteration = requested.iteration;
        turn.phase = Phase::CallingModel { reply: requested.reply.clone() };
        for waiting in &requested.joined {
            turn.attendance = turn.attendance.min(waiting.attendance().unwrap_or(turn.attendance));
            if let Waiting::Message { id, sender, .. } = waiting {
                turn.answering = sender.clone();
                turn.answered = Some(id.clone());
            }
        }
    });
    // What joined also counts for what follows from the turn: a background result, a retry.
    let Some(turn) = chat.turns.get(&requested.turn).cloned() else {
        return;
    };
    with_desk(chat, &requested.agent, |desk| {
        desk.answering = turn.answering.clone();
        desk.attendance = turn.attendance;
    });
}

fn reply_recorded(chat: &mut Chat, recorded: &ReplyRecorded) {
    with_turn(chat, &recorded.turn, |turn| {
        turn.usage += recorded.usage;
        turn.phase = Phase::RunningTools { calls: recorded.calls.clone(), order: recorded.order };
    });
}

fn turn_ended(chat: &mut Chat, id: &TurnId, ending: &Ending) {
    forget_batch(chat, id);
    let Some(turn) = chat.turns.remove(id) else {
        return;
    };
    with_desk(chat, &turn.agent, |desk| {
        desk.turn = None;
        if matches!(ending, Ending::Failed { .. }) {
            desk.failed = Some(id.clone());
        }
    });
}

// Calls still running in the background outlive their batch; a result that was not shown yet keeps its call.
fn forget_batch(chat: &mut Chat, turn: &TurnId) {
    let calls = match chat.turns.get(turn).map(|turn| &turn.phase) {
        Some(Phase::RunningTools { calls, .. } | Phase::AwaitingHuman { calls }) => calls.clone(),
        _ => return,
    };
    for id in calls {
        if chat.calls.get(&id).is_some_and(|call| call.state.is_final() && !call.is_undelivered()) {
            chat.calls.remove(&id);
        }
    }
}

fn take_from_inbox(chat: &mut Chat, agent: &AgentId, taken: &[Waiting]) {
    if taken.is_empty() {
        return;
    }
    with_desk(chat, agent, |desk| desk.inbox.retain(|waiting| !taken.contains(waiting)));
    for waiting in taken {
        if let Waiting::Background { call } = waiting {
            chat.calls.remove(call);
        }
    }
}

fn tool_called(chat: &mut Chat, called: &ToolCalled, at: Timestamp) {
    let call = Call {
        made: Arc::new(called.clone()),
        state: CallState::Pending,
        approval: None,
        edited: None,
        binding: None,
        attempt: 0,
        requested_at: at,
        started_at: None,
        ended_at: None,
        denied_by_person: false,
    };
    chat.calls.insert(called.call.clone(), Arc::new(call));
}

fn tool_finished(chat: &mut Chat, finished: &ToolFinished, at: Timestamp) {
    with_call(chat, &finished.call, |call| {
        call.state = CallState::Ended(finished.outcome);
        call.ended_at = Some(at);
    });
    let Some(call) = chat.calls.get(&finished.call).cloned() else {
        return;
    };
    if call.is_undelivered() {
        with_desk(chat, &call.made.agent, |desk| {
            desk.inbox.push_back(Waiting::Background { call: finished.call.clone() });
        });
    } else if !in_open_batch(chat, &call) {
        chat.calls.remove(&finished.call);
    }
}

fn in_open_batch(chat: &Chat, call: &Call) -> bool {
    match chat.turns.get(&call.made.turn).map(|turn| &turn.phase) {
        Some(Phase::RunningTools { calls, .. } | Phase::AwaitingHuman { calls }) => {
            calls.contains(&call.made.call)
        }
        _ => false,
    }
}

fn approval_requested(chat: &mut Chat, requested: &ApprovalRequested, at: Timestamp) {
    let Some(agent) = chat.calls.get(&requested.call).map(|call| call.made.agent.clone()) else {
        return;
    };
    // One that is asked something while it runs goes on running.
    if requested.form.is_none() {
        with_call(chat, &requested.call, |call| {
            call.state = CallState::AwaitingApproval;
            call.approval = Some(requested.approval.clone());
            call.binding = requested.binding.clone().map(Arc::new);
        });
    }
    let position = Position { seq: chat.head, index: 0 };
    let request = Request { asked: Arc::new(requested.clone()), agent, position, at };
    chat.approvals.insert(requested.approval.clone(), Arc::new(request));
}

fn approval_decided(chat: &mut Chat, decided: &ApprovalDecided) {
    let Some(request) = chat.approvals.remove(&decided.approval) else {
        return;
    };
    match &decided.decision {
        Decision::Approved { scope, arguments, .. } => {
            with_call(chat, &request.asked.call, |call| {
                call.state = CallState::Pending;
                // Asked again after it was edited, a call keeps what the person made of it.
                if let Some(arguments) = arguments {
                    call.edited = Some(Arc::new(arguments.clone()));
                    call.binding = decided.binding.clone().map(Arc::new);
                }
            });
            if let Permission::Session(grant) = scope {
                chat.grants.insert(grant.id.clone(), Arc::new(grant.clone()));
            }
        }
        Decision::Denied { .. } => with_call(chat, &request.asked.call, |call| {
            call.denied_by_person =
                request.asked.form.is_none() && matches!(decided.by, Decider::Person(_));
        }),
        Decision::Answered { .. } => {}
    }
}

fn with_desk(chat: &mut Chat, agent: &AgentId, change: impl FnOnce(&mut Desk)) {
    let desk = chat.agents.entry(agent.clone()).or_default();
    change(Arc::make_mut(desk));
}

fn with_turn(chat: &mut Chat, turn: &TurnId, change: impl FnOnce(&mut Turn)) {
    if let Some(turn) = chat.turns.get_mut(turn) {
        change(Arc::make_mut(turn));
    }
}

fn with_call(chat: &mut Chat, call: &CallId, change: impl FnOnce(&mut Call)) {
    if let Some(call) = chat.calls.get_mut(call) {
        change(Arc::make_mut(call));
    }
}
