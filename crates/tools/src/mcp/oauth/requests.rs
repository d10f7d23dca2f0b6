//! Carries rmcp's OAuth requests over our own client, with bounds.
//! Called by rmcp's authorization. Sends none of the server's own headers: an authorization server is somebody else. Goes to no
//! private address that the server itself is not on.

use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::Resolve;
use reqwest::{Client, Url};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy,
    OAuthHttpRequest,
};

use super::neighbours::Neighbours;
use crate::mcp::http::{Redirects, Route, client, read_body};

/// Bytes of one answer; metadata and tokens are short.
const LONGEST: usize = 1024 * 1024;
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Requests {
    following: Client,
    stopping: Client,
    neighbours: Arc<Neighbours>,
}

impl Requests {
    /// # Errors
    /// When no client can be made.
    pub fn new(server: &Url) -> Result<Self, String> {
        let neighbours = Arc::new(Neighbours::of(server));
        let made = |redirects| {
            let resolver = Arc::clone(&neighbours) as Arc<dyn Resolve>;
            client(redirects, Route::to(server), Some(resolver))
        };
        Ok(Self {
            following: made(Redirects::WithinOrigin)?,
            stopping: made(Redirects::None)?,
            neighbours,
        })
    }

    async fn send(
        &self,
        request: OAuthHttpRequest,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let client = match request.redirect_policy {
            OAuthHttpRedirectPolicy::Follow => &self.following,
            _ => &self.stopping,
        };
        let (parts, body) = request.request.into_parts();
        // Addresses that need no looking up are not seen by the resolver.
        self.neighbours.check_literal(parts.uri.host().unwrap_or_default()).await?;
        let response = client
            .request(parts.method, parts.uri.to_string())
            .headers(parts.headers)
            .body(body)
            .timeout(request.timeout.unwrap_or(LIMIT).min(LIMIT))
            .send()
            .await
            .map_err(reqwest::Error::without_url)?;
        let mut built = http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            built = built.header(name, value);
        }
        let body = read_body(response, LONGEST).await?;
        Ok(built.body(body)?)
    }
}

impl OAuthHttpClient for Requests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request))
    }
}
