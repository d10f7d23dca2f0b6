//! What people decide, through the engine: answers to requests, revocations, results of a client's tools.
//! Part of the embedder's API. Which chat and call an answer is about comes from the store, never from its sender.

use agent_world_core::command::{Answer, AnswerApproval, Claims, Command, Look, Rejection};
use agent_world_core::config::ToolSpec;
use agent_world_core::event::Output;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, GrantId};
use agent_world_core::view::{ApprovalView, Row};

use super::Engine;
use crate::effects::look::{self, Caller};
use crate::error::Error;
use crate::ledger::Committed;
use crate::results;

impl Engine {
    /// Decides a waiting request. Of racing answers exactly one takes effect; the others are told which.
    pub async fn answer(
        &self,
        approval: &ApprovalId,
        answer: Answer,
        by: &str,
        claims: Claims,
    ) -> Result<ApprovalView, Error> {
        let known = self.approval(approval).await?;
        let look = self.look_at_edited(&known, &answer).await?;
        let command = Command::AnswerApproval(AnswerApproval {
            approval: approval.clone(),
            answer,
            by: by.to_owned(),
            claims,
            look,
        });
        match self.input(&known.chat, command, None).await {
            Ok(committed) => match decided(committed, approval) {
                Some(view) => Ok(view),
                None => self.approval(approval).await,
            },
            Err(Error::Rejected(Rejection::ApprovalNotPending(_) | Rejection::ChatDeleted)) => {
                Err(Error::AlreadySettled(Box::new(self.approval(approval).await?)))
            }
            Err(error) => Err(error),
        }
    }

    /// What the tool finds of arguments that a person put in place of the model's.
    async fn look_at_edited(
        &self,
        approval: &ApprovalView,
        answer: &Answer,
    ) -> Result<Option<Look>, Error> {
        let Answer::Approve { arguments: Some(arguments), .. } = answer else {
            return Ok(None);
        };
        if approval.form.is_some() {
            return Ok(None);
        }
        let world = self.world(&approval.world).await?;
        let caller = Caller {
            world: &world,
            chat: &approval.chat,
            agent: &approval.agent,
            directory: approval.working_directory.as_deref(),
        };
        Ok(look::at_edited(&self.shared, caller, &approval.tool, arguments).await)
    }

    /// A client executes these tools for a chat from now on, in place of what it offered before. Calls wait, durably,
    /// for [`Engine::client_result`]; without one a call fails when its time is up.
    pub async fn offer_tools(
        &self,
        chat: &ChatId,
        client: &str,
        tools: Vec<ToolSpec>,
        by: &str,
    ) -> Result<(), Error> {
        let (client, by) = (client.to_owned(), by.to_owned());
        self.input(chat, Command::OfferTools { client, tools, by }, None).await.map(drop)
    }

    pub async fn approval(&self, id: &ApprovalId) -> Result<ApprovalView, Error> {
        self.shared.store.approval(id).await?.ok_or_else(|| Error::UnknownApproval(id.clone()))
    }

    pub async fn revoke_grant(
        &self,
        chat: &ChatId,
        grant: &GrantId,
        by: &str,
    ) -> Result<(), Error> {
        let (grant, by) = (grant.clone(), by.to_owned());
        self.input(chat, Command::RevokeGrant { grant, by }, None).await.map(drop)
    }

    /// The result of a tool that the client executed.
    pub async fn client_result(
        &self,
        chat: &ChatId,
        call: &CallId,
        output: Output,
        is_error: bool,
    ) -> Result<(), Error> {
        let mut command = Command::RecordClientResult { call: call.clone(), output, is_error };
        if let Some(known) = self.shared.store.chat(chat).await? {
            command = results::set_apart(&self.shared, &known.world, command).await;
        }
        self.input(chat, command, None).await.map(drop)
    }
}

/// The request as the decision left it.
fn decided(committed: Committed, approval: &ApprovalId) -> Option<ApprovalView> {
    committed.rows.into_iter().find_map(|row| match row {
        Row::Approval(view) if view.id == *approval => Some(*view),
        _ => None,
    })
}
