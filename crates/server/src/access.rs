//! Decides who is asking and what they may do.
//! `identify` runs before every route; a route then names the role it needs by taking one of the extractors here.

mod identify;
mod origin;
mod register;
mod routes;
mod sessions;
mod signing_in;
pub mod tokens;

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problem::Problem;

pub(crate) use identify::{Identity, identify};
pub use register::Clock;
pub(crate) use register::{Pass, Register};
pub(crate) use routes::routes;
pub(crate) use sessions::{COOKIE as SESSION_COOKIE, Sessions};
pub(crate) use signing_in::PATH as SESSION;

/// What a token's holder may do; each role may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Posts messages and runs chats.
    Member,
    /// Decides what waits for approval.
    Approver,
    /// Changes settings.
    Admin,
}

impl Role {
    /// From the least to the most.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Member, Self::Approver, Self::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Member => "member",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }
}

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Recorded with everything they post and decide.
    pub name: String,
    pub role: Role,
    pub proof: Proof,
}

/// How somebody was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By being on this machine; anybody there has the same name.
    Local,
    Token,
}

/// How people are let in.
#[derive(Clone, Debug)]
pub struct Access {
    /// Who is at the keyboard when there are no tokens.
    pub local: Principal,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            local: Principal { name: "human".to_owned(), role: Role::Admin, proof: Proof::Local },
        }
    }
}

/// Somebody with at least a role. The routes that take it answer others with 401 or 403.
macro_rules! at_least {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name(pub Principal);

        impl Deref for $name {
            type Target = Principal;

            fn deref(&self) -> &Principal {
                &self.0
            }
        }

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
                allowed(parts, Role::$name).map(Self)
            }
        }
    };
}

at_least!(
    /// May read.
    Viewer
);
at_least!(
    /// May post.
    Member
);
at_least!(
    /// May decide.
    Approver
);
at_least!(
    /// May change settings.
    Admin
);

fn allowed(parts: &Parts, needed: Role) -> Result<Principal, Problem> {
    let Some(principal) = parts.extensions.get::<Principal>() else {
        return Err(Problem::unauthorized("this needs a token; send `Authorization: Bearer ...`"));
    };
    principal.require(needed)?;
    Ok(principal.clone())
}

impl Principal {
    /// The authenticated user's name, when there is one.
    pub(crate) fn user(&self) -> Option<String> {
        (self.proof == Proof::Token).then(|| self.name.clone())
    }

    /// Refuses what the role is not enough for.
    pub(crate) fn require(&self, needed: Role) -> Result<(), Problem> {
        if self.role >= needed {
            return Ok(());
        }
        Err(Problem::forbidden(format!(
            "{} has the role {} and this needs {}; ask an admin for a token with that role",
            self.name,
            self.role.name(),
            needed.name()
        )))
    }
}
