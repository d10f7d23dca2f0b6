//! What people decide, through the engine: answers to requests, revocations, results of a client's tools.
//! Part of the embedder's API. Which chat and call an answer is about comes from the store, never from its sender.

use agent_world_core::command::{Answer, AnswerApproval, Claims, Command, Rejection};
use agent_world_core::event::Output;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, GrantId};
use agent_world_core::view::{ApprovalView, Row};

use super::Engine;
use crate::error::Error;
use crate::ledger::Committed;

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
        let command = Command::AnswerApproval(AnswerApproval {
            approval: approval.clone(),
            answer,
            by: by.to_owned(),
            claims,
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
        let command = Command::RecordClientResult { call: call.clone(), output, is_error };
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
