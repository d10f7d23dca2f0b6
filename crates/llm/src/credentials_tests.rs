//! Tests of the sources that need no network. The OAuth source is tested with a server, in `tests/network`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::join_all;
use secrecy::ExposeSecret as _;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::cache::{Cache, Fetched};
use super::*;
use crate::Class;

const ASK: Ask<'static> = Ask { vendor: "toy", user: None };

fn text(credential: &Credential) -> &str {
    credential.secret().expose_secret()
}

async fn given(source: &impl Credentials) -> Option<String> {
    source.get(&ASK).await.unwrap().map(|credential| text(&credential).to_owned())
}

fn environment(names: &[&str]) -> Environment {
    Environment::reading(names.iter().copied(), |name| match name {
        "FULL" => Some(" key-1\n".to_owned()),
        "OTHER" => Some("key-2".to_owned()),
        "BLANK" => Some(" \n".to_owned()),
        _ => None,
    })
}

#[tokio::test]
async fn the_first_variable_that_holds_something_is_the_key() {
    let found = given(&environment(&["UNSET", "BLANK", "FULL", "OTHER"])).await;
    assert_eq!(found.as_deref(), Some("key-1"));
    assert_eq!(given(&environment(&["UNSET", "BLANK"])).await, None);
    // The process's own environment, with a variable that every process has.
    let path = std::env::var("PATH").unwrap();
    assert_eq!(given(&Environment::new(["PATH"])).await.as_deref(), Some(path.trim()));
}

/// Fails, and counts what it is told was rejected.
#[derive(Debug, Default)]
struct Failing(AtomicUsize);

#[async_trait]
impl Credentials for Failing {
    async fn get(&self, _: &Ask<'_>) -> Result<Option<Credential>, Error> {
        Err(Error::new(Class::Auth, "", "the safe is locked"))
    }

    fn rejected(&self, _: &Ask<'_>, _: &Credential) -> bool {
        self.0.fetch_add(1, Ordering::SeqCst);
        false
    }
}

#[tokio::test]
async fn the_first_source_that_has_something_is_used() {
    let source = FirstOf::new()
        .then(environment(&["UNSET"]))
        .then(Fixed::key("key-3"))
        .then(Failing::default());
    assert_eq!(given(&source).await.as_deref(), Some("key-3"));
    assert_eq!(given(&FirstOf::new().then(environment(&["UNSET"]))).await, None);
}

#[tokio::test]
async fn a_source_that_fails_ends_the_search() {
    let source = FirstOf::new().then(Failing::default()).then(Fixed::key("key-3"));
    assert_eq!(source.get(&ASK).await.unwrap_err().message, "the safe is locked");
}

#[test]
fn every_source_is_told_what_was_rejected() {
    let (first, second) = (Arc::new(Failing::default()), Arc::new(Failing::default()));
    let both = FirstOf::new().then(Arc::clone(&first)).then(Arc::clone(&second));
    assert!(!both.rejected(&ASK, &Credential::key("key-1")));
    assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (1, 1));
    assert!(!Fixed::key("key-1").rejected(&ASK, &Credential::key("key-1")));
}

#[cfg(unix)]
mod commands {
    use super::*;

    fn shell(script: &str) -> Command {
        Command::new("sh", ["-c", script])
    }

    #[tokio::test]
    async fn the_first_line_is_the_key() {
        let command = shell("printf ' key-1 \\r\\nsomething else\\n'");
        assert_eq!(given(&command).await.as_deref(), Some("key-1"));
        let token = shell("echo token-1").prints_token().get(&ASK).await.unwrap().unwrap();
        assert!(matches!(&token, Credential::Token(_)), "{token:?}");
    }

    #[tokio::test]
    async fn no_shell_reads_the_arguments() {
        let command = Command::new("printf", ["%s", "$(id) `id` ; id"]);
        assert_eq!(given(&command).await.as_deref(), Some("$(id) `id` ; id"));
    }

    #[tokio::test]
    async fn a_failure_shows_the_complaint_and_never_the_output() {
        for (script, expected) in [
            ("echo secret-word; echo not signed in >&2; exit 3", "(exit status: 3): not signed in"),
            ("echo; echo secret-word; echo no such entry >&2", "in its first line: no such entry"),
            ("echo secret-word; exit 1", "failed (exit status: 1)"),
            (
                "echo secret-word; echo + print secret-word >&2; exit 1",
                "failed (exit status: 1): + print [hidden]",
            ),
        ] {
            let error = shell(script).get(&ASK).await.unwrap_err();
            assert_eq!(error.class, Class::Auth);
            assert!(error.message.starts_with("the command sh "), "{error}");
            assert!(error.message.ends_with(expected), "{error}");
            assert!(!error.message.contains("secret-word"), "{error}");
        }
        let missing = Command::new("agent-world-has-no-such-program", [""; 0]);
        let error = missing.get(&ASK).await.unwrap_err();
        assert!(error.message.contains("cannot be started"), "{error}");
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_ended() {
        let command = shell("exec sleep 600").limit(Duration::from_millis(50));
        let error = command.get(&ASK).await.unwrap_err();
        assert_eq!(error.message, "the command sh gave no key within 0.05s");
        assert!(!error.class.is_transient());
    }

    #[tokio::test]
    async fn a_program_that_never_stops_printing_is_not_listened_to_for_ever() {
        let command = shell("echo key-1; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done");
        // It ends when it finds its output closed, which is a failure of its own.
        let error = command.get(&ASK).await.unwrap_err();
        assert!(error.message.contains("failed"), "{error}");
    }

    #[tokio::test]
    async fn it_runs_once_for_all_and_again_when_the_key_is_old_or_rejected() {
        let folder = std::env::temp_dir();
        let counter = folder.join(format!("agent-world-command-{}", std::process::id()));
        let script = "echo x >> \"$0\"; echo key-number-$(wc -l < \"$0\")";
        let command = Command::new("sh", ["-c", script, counter.to_str().unwrap()]);
        let keys = join_all((0..10).map(|_| given(&command))).await;
        assert!(keys.iter().all(|key| key.as_deref() == Some("key-number-1")), "{keys:?}");
        assert!(command.rejected(&ASK, &Credential::key("key-number-0")));
        assert_eq!(given(&command).await.as_deref(), Some("key-number-1"));
        assert!(command.rejected(&ASK, &Credential::key("key-number-1")));
        assert_eq!(given(&command).await.as_deref(), Some("key-number-2"));
        let forgetful = command.clone().keep(Duration::ZERO);
        assert!(forgetful.rejected(&ASK, &Credential::key("key-number-2")));
        assert_eq!(given(&forgetful).await.as_deref(), Some("key-number-3"));
        assert_eq!(given(&forgetful).await.as_deref(), Some("key-number-4"));
        std::fs::remove_file(counter).unwrap();
    }
}

/// A fetch that gives a numbered key, good for ten seconds.
async fn fetched(cache: &Cache, number: usize) -> Result<String, Error> {
    let fetch = || {
        async move {
            let until = Instant::now() + Duration::from_secs(10);
            let credential = Credential::key(format!("key-{number}"));
            Ok(Fetched { credential, until: Some(until) })
        }
        .boxed()
    };
    cache.get(fetch).await.map(|credential| text(&credential).to_owned())
}

#[tokio::test(start_paused = true)]
async fn what_was_fetched_is_used_until_its_end() {
    let cache = Cache::default();
    assert_eq!(fetched(&cache, 1).await.unwrap(), "key-1");
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert_eq!(fetched(&cache, 2).await.unwrap(), "key-1");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(fetched(&cache, 3).await.unwrap(), "key-3");
}

#[tokio::test]
async fn a_failed_fetch_is_not_kept() {
    let cache = Cache::default();
    let failing = || async { Err(Error::new(Class::Network, "", "no line")) }.boxed();
    assert!(cache.get(failing).await.is_err());
    assert_eq!(fetched(&cache, 2).await.unwrap(), "key-2");
}

#[test]
fn a_fetch_that_was_ended_by_force_is_begun_anew() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (cache, begun) = (Cache::default(), Arc::new(Semaphore::new(0)));
    let first = runtime();
    first.block_on(async {
        let telling = Arc::clone(&begun);
        let fetch = move || {
            async move {
                telling.add_permits(1);
                std::future::pending().await
            }
            .boxed()
        };
        let cache = cache.clone();
        tokio::spawn(async move { cache.get(fetch).await });
        begun.acquire().await.unwrap().forget();
    });
    drop(first);
    assert_eq!(runtime().block_on(fetched(&cache, 2)).unwrap(), "key-2");
}

#[tokio::test]
async fn nothing_prints_its_secrets() {
    let secret = "sk-0123456789";
    let answering = secret.to_owned();
    let callback = Callback::new(move |_, _| {
        let key = Credential::key(answering.clone());
        async move { Ok(Some(key)) }
    });
    let command = Command::new("echo", [secret]);
    assert_eq!(given(&command).await.as_deref(), Some(secret));
    let sources = FirstOf::new()
        .then(Fixed::key(secret))
        .then(Fixed::new(Credential::token(secret)))
        .then(callback)
        .then(command)
        .then(PerUser::new().user("ada", Fixed::key(secret)).otherwise(Fixed::key(secret)));
    let credentials = [Credential::key(secret), Credential::token(secret)];
    let printed = format!("{sources:?} {sources:#?} {credentials:?}");
    assert!(!printed.contains("0123456789"), "{printed}");
}
