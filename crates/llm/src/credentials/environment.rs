//! Decides which environment variable holds the key.
//! A source like any other; it asks the environment every time, so nothing is kept.

use std::fmt;

use async_trait::async_trait;

use super::{Ask, Credential, Credentials};
use crate::Error;

/// The first of some environment variables that is set and not empty, as a key.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<String>,
    read: fn(&str) -> Option<String>,
}

impl Environment {
    /// Looks at these variables, in this order.
    pub fn new<N: Into<String>>(variables: impl IntoIterator<Item = N>) -> Self {
        Self::reading(variables, |name| std::env::var(name).ok())
    }

    /// With another environment than the process's: a test must not change that one.
    pub(crate) fn reading<N: Into<String>>(
        variables: impl IntoIterator<Item = N>,
        read: fn(&str) -> Option<String>,
    ) -> Self {
        Self { variables: variables.into_iter().map(Into::into).collect(), read }
    }
}

#[async_trait]
impl Credentials for Environment {
    async fn get(&self, _: &Ask<'_>) -> Result<Option<Credential>, Error> {
        let values = self.variables.iter().filter_map(|name| (self.read)(name));
        // A variable filled from a file often ends with its line break.
        let mut keys = values.map(|value| value.trim().to_owned()).filter(|key| !key.is_empty());
        Ok(keys.next().map(Credential::key))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Environment").field(&self.variables).finish()
    }
}
