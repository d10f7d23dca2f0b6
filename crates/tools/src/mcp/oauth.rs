//! Gets us let in where a server asks who we are: OAuth, with a person's browser or with the client's own secret.
//! Called by `supervisor` before a server is ready and by `call` when one asks for more. The protocol is rmcp's; whom to ask,
//! where tokens are kept and when to give up is decided here. No token or secret is ever put into a text.

mod callback;
mod neighbours;
mod requests;
mod tokens;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, ClientCredentialsConfig,
    OAuthClientConfig, OAuthHttpClient, OAuthState,
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, OnceCell, mpsc};

use super::http::Http;
use super::plan::{Grant, Oauth};
use crate::person::{Answer, Person, Question};

use callback::Listener;
use requests::Requests;
use tokens::Tokens;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long the browser's answer may take once the person says that it is done.
const AFTERWARDS: Duration = Duration::from_secs(30);
const CLIENT_NAME: &str = "Agent World";

/// Where a browser is sent once a person has logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Redirect {
    /// To a port of this machine, opened when it is needed.
    #[default]
    Loopback,
    /// To an address of the embedder's, who hands what arrives there to `Servers::redirected`.
    To(String),
}

/// What a server asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// To know who we are; with the header that says so.
    Login(String),
    /// More than we were given.
    Scope(String),
}

/// Lets us in at one server.
pub struct Authorizer {
    url: Url,
    oauth: Oauth,
    requests: Arc<Requests>,
    tokens: Tokens,
    client: AuthClient<Http>,
    redirect: Redirect,
    listener: OnceCell<Listener>,
    /// Addresses that a browser was sent to. What comes while nobody waits is dropped.
    arrived: mpsc::Sender<String>,
    arrivals: Mutex<mpsc::Receiver<String>>,
    times_let_in: AtomicU64,
}

impl Authorizer {
    /// # Errors
    /// When tokens that were kept cannot be read.
    pub async fn new(
        url: Url,
        oauth: Oauth,
        http: Http,
        redirect: Redirect,
        kept_in: Option<PathBuf>,
    ) -> Result<Self, String> {
        let requests = Arc::new(Requests::new(&url)?);
        let tokens = Tokens::new(kept_in);
        let manager = manager(&url, &requests, &tokens).await.map_err(said)?;
        let (arrived, arrivals) = mpsc::channel(4);
        let authorizer = Self {
            client: AuthClient::new(http, manager),
            url,
            oauth,
            requests,
            tokens,
            redirect,
            listener: OnceCell::new(),
            arrived,
            arrivals: Mutex::new(arrivals),
            times_let_in: AtomicU64::new(0),
        };
        authorizer.remember().await;
        Ok(authorizer)
    }

    /// Sends the token with every message of a connection.
    pub fn client(&self, http: Http) -> AuthClient<Http> {
        let mut client = self.client.clone();
        client.http_client = http;
        client
    }

    /// Tells an attempt that failed apart from one that was overtaken.
    pub fn times_let_in(&self) -> u64 {
        self.times_let_in.load(Ordering::Acquire)
    }

    /// An address that a browser was sent to after a person logged in.
    pub fn redirected(&self, address: String) -> Result<(), String> {
        self.arrived
            .try_send(address)
            .map_err(|_| "several answers wait already; try again in a moment".to_owned())
    }

    /// Gets us let in. Whoever comes second while a person is being asked waits for the same answer.
    ///
    /// # Errors
    /// When a person does not want to, takes too long, or the authorization server refuses.
    pub async fn authorize(
        &self,
        challenge: &Challenge,
        seen: u64,
        person: Option<&dyn Person>,
        publish: &(dyn Fn(Option<String>) + Sync),
    ) -> Result<(), String> {
        let mut arrivals = self.arrivals.lock().await;
        if self.times_let_in() != seen {
            return Ok(());
        }
        if self.oauth.grant == Grant::ClientCredentials {
            self.with_credentials().await.map_err(said)?;
        } else {
            let begun = self.begin(challenge).await?;
            while arrivals.try_recv().is_ok() {}
            publish(Some(begun.url.clone()));
            let redirected = self.wait(&mut arrivals, &begun.url, person).await;
            publish(None);
            self.finish(begun, &redirected?).await.map_err(said)?;
        }
        self.times_let_in.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Uses what was kept from an earlier run. Whatever is wrong with it, a person can log in again.
    async fn remember(&self) {
        let mut manager = self.client.auth_manager.lock().await;
        match manager.initialize_from_store().await {
            Ok(true) => {
                let config = self.preregistered().map(|config| manager.configure_client(config));
                if let Some(Err(error)) = config {
                    tracing::warn!(%error, "kept tokens of an MCP server cannot be renewed");
                }
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "kept tokens of an MCP server cannot be used"),
        }
    }

    fn preregistered(&self) -> Option<OAuthClientConfig> {
        let (id, secret) = (self.oauth.client_id.clone()?, self.oauth.client_secret.clone()?);
        Some(OAuthClientConfig::new(id, self.url.as_str()).with_client_secret(secret))
    }

    async fn with_credentials(&self) -> Result<(), AuthError> {
        let (Some(client_id), Some(client_secret)) =
            (self.oauth.client_id.clone(), self.oauth.client_secret.clone())
        else {
            return Err(AuthError::ClientCredentialsError(
                "set `clientId` and `clientSecret` in the server's `oauth`".to_owned(),
            ));
        };
        let manager = manager(&self.url, &self.requests, &self.tokens).await?;
        let mut state = OAuthState::Unauthorized(manager);
        let scopes = self.oauth.scopes.clone();
        state
            .authenticate_client_credentials(ClientCredentialsConfig::ClientSecret {
                client_id,
                client_secret,
                scopes,
                resource: Some(self.url.to_string()),
            })
            .await?;
        self.keep(state).await
    }

    async fn begin(&self, challenge: &Challenge) -> Result<Begun, String> {
        if let Challenge::Scope(scope) = challenge {
            let manager = self.client.auth_manager.lock().await;
            let url = manager.request_scope_upgrade(scope).await.map_err(said)?;
            return Ok(Begun { url, state: None });
        }
        let mut request =
            AuthorizationRequest::new(self.redirect_uri().await?).with_client_name(CLIENT_NAME);
        if let Challenge::Login(header) = challenge
            && !header.is_empty()
        {
            request = request.with_challenge(header.clone());
        }
        if let Some(id) = &self.oauth.client_id {
            request = request.with_preregistered_client(id.clone());
        }
        if let Some(secret) = &self.oauth.client_secret {
            request = request.with_client_secret(secret.clone());
        }
        if let Some(url) = &self.oauth.client_metadata_url {
            request = request.with_client_metadata_url(url.clone());
        }
        if !self.oauth.scopes.is_empty() {
            request = request.with_scopes(self.oauth.scopes.clone());
        }
        let manager = manager(&self.url, &self.requests, &self.tokens).await.map_err(said)?;
        let mut state = OAuthState::Unauthorized(manager);
        state.start_authorization(request).await.map_err(said)?;
        let url = state.get_authorization_url().await.map_err(said)?;
        Ok(Begun { url, state: Some(state) })
    }

    async fn finish(&self, begun: Begun, redirected: &str) -> Result<(), AuthError> {
        match begun.state {
            Some(mut state) => {
                state.handle_callback_url(redirected).await?;
                self.keep(state).await
            }
            None => {
                use rmcp::transport::auth::AuthorizationCallback;
                let callback = AuthorizationCallback::from_redirect_url(redirected)?;
                let manager = self.client.auth_manager.lock().await;
                let issuer = callback.issuer.as_deref();
                manager
                    .exchange_code_for_token_with_issuer(
                        &callback.code,
                        &callback.csrf_token,
                        issuer,
                    )
                    .await
                    .map(|_| ())
            }
        }
    }

    async fn keep(&self, state: OAuthState) -> Result<(), AuthError> {
        let manager = state.into_authorization_manager().ok_or(AuthError::AuthorizationRequired)?;
        *self.client.auth_manager.lock().await = manager;
        Ok(())
    }

    async fn redirect_uri(&self) -> Result<String, String> {
        match &self.redirect {
            Redirect::To(address) => Ok(address.clone()),
            Redirect::Loopback => {
                let listener =
                    self.listener.get_or_try_init(|| Listener::open(self.arrived.clone())).await?;
                Ok(listener.address().to_owned())
            }
        }
    }

    /// The address that a browser was sent to. Others' are not taken for it.
    async fn wait(
        &self,
        arrivals: &mut mpsc::Receiver<String>,
        url: &str,
        person: Option<&dyn Person>,
    ) -> Result<String, String> {
        let host = self.url.host_str().unwrap_or_default();
        let asked = async {
            match person {
                Some(person) => person.ask(question(host, url)).await,
                None => std::future::pending().await,
            }
        };
        let patience = tokio::time::sleep(PATIENCE);
        tokio::pin!(asked, patience);
        let mut answered = false;
        loop {
            tokio::select! {
                Some(address) = arrivals.recv() => {
                    if state_of(&address) == state_of(url) {
                        return Ok(address);
                    }
                }
                answer = &mut asked, if !answered => {
                    answered = true;
                    match answer {
                        Answer::Given(given) => {
                            if let Some(address) = given.get("redirected_to").and_then(Value::as_str)
                                && !address.is_empty()
                            {
                                return Ok(address.to_owned());
                            }
                            let soon = tokio::time::Instant::now() + AFTERWARDS;
                            patience.as_mut().reset(soon);
                        }
                        Answer::Declined => {
                            return Err("a person declined to log in to the server".to_owned());
                        }
                        Answer::Unanswered => {
                            return Err("the server wants a person to log in, and nobody did".to_owned());
                        }
                    }
                }
                () = &mut patience => {
                    return Err("nobody logged in to the server in time".to_owned());
                }
            }
        }
    }
}

/// An authorization that waits for a browser.
struct Begun {
    url: String,
    /// None when only more is asked for.
    state: Option<OAuthState>,
}

async fn manager(
    url: &Url,
    requests: &Arc<Requests>,
    tokens: &Tokens,
) -> Result<AuthorizationManager, AuthError> {
    let requests = Arc::clone(requests) as Arc<dyn OAuthHttpClient>;
    let mut manager =
        AuthorizationManager::new_with_oauth_http_client(url.clone(), requests).await?;
    manager.set_credential_store(tokens.clone());
    Ok(manager)
}

fn question(host: &str, url: &str) -> Question {
    let message = format!(
        "The MCP server at {host} wants you to log in. Visit the address and answer here when it is done. If the browser \
         then shows a page that cannot be opened, give that page's address."
    );
    let redirected =
        json!({"type": "string", "title": "Address of the page that cannot be opened"});
    let schema = json!({"type": "object", "properties": {"redirected_to": redirected}});
    Question { message, schema, url: Some(url.to_owned()) }
}

fn state_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned())
}

fn said(error: AuthError) -> String {
    format!("the server's authorization failed: {error}")
}
