//! The people of the simulation: they post, decide, change their minds, and try again when they got no answer.

use std::collections::BTreeMap;

use agent_world_core::command::{Answer, Claims, Scope};
use agent_world_core::ids::{AgentId, ApprovalId, ChatId};
use agent_world_core::view::MessageRole;
use agent_world_runtime::{Engine, Error, NewMessage};
use agent_world_store::{ApprovalFilter, MessagePage, Store};

use crate::node::Node;
use crate::outside::AGENTS;
use crate::random::Random;

pub struct People {
    random: Random,
    chats: Vec<ChatId>,
    /// Texts whose post was answered with "stored".
    pub accepted: Vec<(ChatId, String)>,
    /// Posts whose fate is not known, to be repeated under the same key.
    unanswered: Vec<(ChatId, String)>,
    /// How often a decision on a request was answered with "taken".
    pub taken: BTreeMap<ApprovalId, u32>,
    posts: u64,
}

impl People {
    pub fn new(random: Random, chats: Vec<ChatId>) -> Self {
        Self {
            random,
            chats,
            accepted: Vec::new(),
            unanswered: Vec::new(),
            taken: BTreeMap::new(),
            posts: 0,
        }
    }

    /// One thing a person does. Errors are part of life; what they mean is checked at the end.
    pub async fn act(&mut self, node: &Node) {
        let chat = self.random.pick(&self.chats).unwrap().clone();
        let engine =
            if self.random.chance(70) { node.worker.clone() } else { node.visitor.clone() };
        match self.random.below(100) {
            0..=34 => self.post(&engine, &chat).await,
            35..=74 => self.decide(node).await,
            75..=79 => self.repeat_posts(&engine).await,
            80..=84 => self.take_back(&engine, &chat).await,
            85..=89 => {
                engine.retry(&chat, None).await.ok();
            }
            90..=93 => {
                let agent = AgentId::new(*self.random.pick(&AGENTS).unwrap());
                let agent = self.random.chance(50).then_some(agent);
                engine.stop(&chat, agent, "eve").await.ok();
            }
            94..=96 => self.revoke(&engine, &chat).await,
            _ => self.fork(&engine, &chat).await,
        }
    }

    async fn post(&mut self, engine: &Engine, chat: &ChatId) {
        self.posts += 1;
        let to = match self.random.below(4) {
            0 => String::new(),
            _ => format!("@{} ", self.random.pick(&AGENTS).unwrap()),
        };
        let text = format!("{to}message number {}.", self.posts);
        self.send(engine, chat.clone(), text).await;
    }

    // Noted before it is sent: if the process dies meanwhile, its fate is not known.
    async fn send(&mut self, engine: &Engine, chat: ChatId, text: String) {
        let mut message = NewMessage::human(text.clone());
        message.key = Some(text.clone());
        let post = (chat, text);
        self.unanswered.push(post.clone());
        match engine.post(&post.0, message).await {
            Ok(posted) => {
                assert_eq!(posted.message.text, post.1, "a post was answered with another message");
                self.accepted.push(post.clone());
            }
            Err(Error::Rejected(_)) => {}
            Err(_) => return,
        }
        self.unanswered.retain(|unanswered| *unanswered != post);
    }

    /// Who got no answer asks again, under the same key.
    pub async fn repeat_posts(&mut self, engine: &Engine) {
        for (chat, text) in self.unanswered.clone() {
            self.unanswered.retain(|unanswered| unanswered.1 != text);
            self.send(engine, chat, text).await;
        }
    }

    pub fn is_waiting(&self) -> bool {
        !self.unanswered.is_empty()
    }

    /// Decides something that waits, sometimes in a race between two people in two processes.
    async fn decide(&mut self, node: &Node) {
        let Some(approval) = self.waiting(&node.memory).await else {
            return;
        };
        if self.random.chance(40) {
            let (first, second) = (self.answer(), self.answer());
            let (one, two) = tokio::join!(
                node.worker.answer(&approval, first, "eve", Claims::default()),
                node.visitor.answer(&approval, second, "joe", Claims::default()),
            );
            self.note(&approval, &one);
            self.note(&approval, &two);
        } else {
            let answer = self.answer();
            let result = node.worker.answer(&approval, answer, "eve", Claims::default()).await;
            self.note(&approval, &result);
        }
    }

    /// Settles everything that waits, until nothing does.
    pub async fn decide_all(&mut self, node: &Node) {
        while let Some(approval) = self.waiting(&node.memory).await {
            let answer = self.answer();
            let result = node.worker.answer(&approval, answer, "eve", Claims::default()).await;
            self.note(&approval, &result);
            if result.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }

    async fn waiting(&self, store: &dyn Store) -> Option<ApprovalId> {
        let filter = ApprovalFilter { only_pending: true, ..ApprovalFilter::default() };
        let waiting = store.approvals(&filter, None, 100).await.ok()?;
        self.random.pick(&waiting).map(|approval| approval.id.clone())
    }

    fn answer(&self) -> Answer {
        let scope = match self.random.below(10) {
            0 => Scope::Always,
            1 | 2 => Scope::Session,
            _ => Scope::Once,
        };
        match self.random.below(10) {
            0..=2 => Answer::Deny { reason: Some("not now".to_owned()) },
            3 => {
                let edited = serde_json::json!({"what": "edited"});
                Answer::Approve {
                    scope,
                    matches: Vec::new(),
                    arguments: Some(edited),
                    reason: None,
                }
            }
            _ => Answer::Approve { scope, matches: Vec::new(), arguments: None, reason: None },
        }
    }

    fn note<T>(&mut self, approval: &ApprovalId, result: &Result<T, Error>) {
        match result {
            Ok(_) => *self.taken.entry(approval.clone()).or_default() += 1,
            Err(Error::AlreadySettled(_) | Error::Store(_) | Error::ShuttingDown) => {}
            Err(Error::Rejected(_) | Error::Overloaded(_)) => {}
            Err(error) => panic!("a decision on {approval} was answered with: {error}"),
        }
    }

    /// Edits or deletes a message of the human.
    async fn take_back(&mut self, engine: &Engine, chat: &ChatId) {
        let page = MessagePage::Before(None, 20);
        let Ok(messages) = engine.store().messages(chat, page).await else {
            return;
        };
        let own: Vec<_> =
            messages.into_iter().filter(|message| message.role == MessageRole::User).collect();
        let Some(message) = self.random.pick(&own) else {
            return;
        };
        if self.random.chance(50) {
            engine.delete_message(chat, &message.id, "eve").await.ok();
        } else {
            self.posts += 1;
            let text = format!("@ada edited number {}.", self.posts);
            engine.edit_message(chat, &message.id, &text, None, "eve").await.ok();
        }
    }

    async fn revoke(&self, engine: &Engine, chat: &ChatId) {
        if let Ok(grants) = engine.store().grants(chat).await
            && let Some(grant) = self.random.pick(&grants)
        {
            engine.revoke_grant(chat, &grant.id, "eve").await.ok();
        }
    }

    async fn fork(&mut self, engine: &Engine, chat: &ChatId) {
        let page = MessagePage::Before(None, 20);
        let Ok(messages) = engine.store().messages(chat, page).await else {
            return;
        };
        if let Some(message) = self.random.pick(&messages)
            && self.chats.len() < 5
            && let Ok(fork) = engine.fork(chat, &message.id, "eve").await
        {
            self.chats.push(fork.id);
        }
    }

    /// A turn that waits for the person after a denial is given its word.
    pub async fn speak_to(&mut self, engine: &Engine, chat: &ChatId, agent: &AgentId) {
        self.posts += 1;
        let text = format!("@{agent} go on, number {}.", self.posts);
        self.send(engine, chat.clone(), text).await;
    }
}
