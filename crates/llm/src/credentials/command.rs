//! Decides how a key is had from a program, such as a password manager.
//! A source like any other. The program runs without a shell; what it prints on its standard output is in no message.

use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout};

use super::cache::{Cache, Fetched};
use super::{Ask, Credential, Credentials};
use crate::secret::{Mask, SecretString};
use crate::{Class, Error};

/// Bytes that are read of each output; a key has a hundred.
const LONGEST_OUTPUT: u64 = 64 << 10;
/// Characters of the program's complaint that are passed on.
const LONGEST_COMPLAINT: usize = 500;

/// The first line a program prints. It is run once for all who wait, and again when what it gave is too old or was
/// rejected.
#[derive(Clone)]
pub struct Command {
    call: Arc<Call>,
    keep: Duration,
    cache: Cache,
}

#[derive(Clone)]
struct Call {
    program: String,
    arguments: Vec<String>,
    limit: Duration,
    make: fn(String) -> Credential,
}

impl Command {
    /// Runs this program with these arguments. What it prints is a key, used for ten minutes; the program has 30
    /// seconds.
    pub fn new<A: Into<String>>(
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let call = Call {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            limit: Duration::from_secs(30),
            make: Credential::key,
        };
        Self { call: Arc::new(call), keep: Duration::from_secs(600), cache: Cache::default() }
    }

    /// What it prints is an access token.
    pub fn prints_token(mut self) -> Self {
        Arc::make_mut(&mut self.call).make = Credential::token;
        // A clone made before this one may hold a key.
        self.cache = Cache::default();
        self
    }

    /// How long the program may take; it is ended after that.
    pub fn limit(mut self, limit: Duration) -> Self {
        Arc::make_mut(&mut self.call).limit = limit;
        self
    }

    /// How long its output is used before it is run again.
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }
}

#[async_trait]
impl Credentials for Command {
    async fn get(&self, _: &Ask<'_>) -> Result<Option<Credential>, Error> {
        let fetch = || {
            let (call, keep) = (Arc::clone(&self.call), self.keep);
            async move {
                let credential = call.credential().await?;
                Ok(Fetched { credential, until: Instant::now().checked_add(keep) })
            }
            .boxed()
        };
        self.cache.get(fetch).await.map(Some)
    }

    fn rejected(&self, _: &Ask<'_>, credential: &Credential) -> bool {
        self.cache.forget(credential);
        true
    }
}

impl Call {
    async fn credential(&self) -> Result<Credential, Error> {
        let run = timeout(self.limit, self.run()).await;
        let line = run.map_err(|_| {
            self.failed(format!("gave no key within {}s", self.limit.as_secs_f64()))
        })??;
        Ok((self.make)(line))
    }

    async fn run(&self) -> Result<String, Error> {
        let mut child = tokio::process::Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.failed(format!("cannot be started: {error}")))?;
        let (output, complaint) =
            tokio::join!(beginning(child.stdout.take()), beginning(child.stderr.take()));
        let status =
            child.wait().await.map_err(|error| self.failed(format!("was lost: {error}")))?;
        let line = output.lines().map(str::trim).next();
        // A program that says what it does, as a shell can be told to, says the key too.
        let mask = Mask::default().with(&SecretString::from(line.unwrap_or_default()));
        let complaint = mask.text(complaint.trim());
        let complaint: String = complaint.chars().take(LONGEST_COMPLAINT).collect();
        if !status.success() {
            return Err(self.failed(format!("failed ({status}): {complaint}")));
        }
        match line {
            Some(line) if !line.is_empty() => Ok(line.to_owned()),
            _ => Err(self.failed(format!("printed no key in its first line: {complaint}"))),
        }
    }

    /// Not worth another attempt by itself: a program that fails or waits for somebody will do so again.
    fn failed(&self, what: String) -> Error {
        let what = what.trim_end_matches([':', ' ']);
        Error::new(Class::Auth, "", format!("the command {} {what}", self.program))
    }
}

/// What can be read of an output, up to a limit. A program that prints more finds its output closed.
async fn beginning(output: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(output) = output {
        // What was read before a failure still counts; whether it is enough is for the caller to say.
        output.take(LONGEST_OUTPUT).read_to_end(&mut bytes).await.ok();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl fmt::Debug for Command {
    /// Without arguments: people put secrets there.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.call.program)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
