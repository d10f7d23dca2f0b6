//! Decides what one request to a vendor consists of and what its outcome means: encoded once, sent as often as the rules
//! for another attempt allow, with a credential asked for anew each time.
//! Made by `Provider` for every part of a reply. An attempt ends with the first event that says something: from there
//! on nothing is repeated.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Url};
use serde_json::Value;

use super::Setup;
use super::reply::Reply;
use crate::credentials::{Ask, Credential};
use crate::dialect::{Asked, Outgoing};
use crate::secret::Mask;
use crate::transport::{Arrival, Call, Failed, Retry, asked_delay, header, host_of, request_id};
use crate::{Class, Error, Event, Request, Response};

/// One request, without its key.
pub(super) struct Round<'a> {
    setup: &'a Setup,
    asked: Asked,
    user: Option<&'a str>,
    call: Call,
    first_byte: Duration,
}

/// Bytes of a list of models.
const LIST_CAP: usize = 16 * 1024 * 1024;
/// How long the check of a key may take to be answered, whatever replies may.
const ACCESS_LIMIT: Duration = Duration::from_secs(30);

impl<'a> Round<'a> {
    /// # Errors
    /// When the request makes no sense.
    pub fn prepare(setup: &'a Setup, request: &'a Request, stream: bool) -> Result<Self, Error> {
        let asked = setup.asked(&request.model, stream);
        let outgoing = setup.dialect.encode(request, &asked).map_err(|error| setup.named(error))?;
        let Outgoing { path, query, headers, body } = outgoing;
        let accepted =
            if stream { "text/event-stream, application/json" } else { "application/json" };
        let mut sent = HeaderMap::new();
        sent.insert(ACCEPT, HeaderValue::from_static(accepted));
        sent.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &headers {
            let (name, value) = header(name, value).map_err(|error| setup.named(error))?;
            sent.insert(name, value);
        }
        let url = setup.address.join(&path, query.iter().chain(&setup.query));
        let url = url.map_err(|error| setup.named(error))?;
        let call = setup.call(Method::POST, url, sent, Bytes::from(body));
        let first_byte = if stream { setup.timeouts.stream } else { setup.timeouts.whole };
        Ok(Self { setup, asked, user: request.user.as_deref(), call, first_byte })
    }

    /// A request that asks no model anything.
    ///
    /// # Errors
    /// When the path is none.
    pub fn access(setup: &'a Setup, path: &str) -> Result<Self, Error> {
        let url =
            setup.address.join(path, setup.query.iter()).map_err(|error| setup.named(error))?;
        let accepted = (ACCEPT, HeaderValue::from_static("application/json"));
        let call = setup.call(Method::GET, url, HeaderMap::from_iter([accepted]), Bytes::new());
        let first_byte = setup.timeouts.whole.min(ACCESS_LIMIT);
        Ok(Self { setup, asked: setup.asked("", false), user: None, call, first_byte })
    }

    /// The reply up to the first event that says something, and the rest of it. That the vendor began to answer is held
    /// back until then: vendors often say so before they find that they cannot.
    pub async fn begin(&self) -> Result<(Vec<Event>, Reply), Error> {
        let attempt = || async {
            let mut reply = self.open().await?;
            let mut told = Vec::new();
            while told.iter().all(|event| matches!(event, Event::Started(_))) {
                told.extend(reply.next().await?);
            }
            Ok((told, reply))
        };
        self.setup.retry.run(&self.setup.name, attempt).await
    }

    /// The reply when it is complete. As nobody has seen anything of it before, all of it may be repeated.
    pub async fn whole(&self) -> Result<Response, Error> {
        let attempt = || async { self.open().await?.whole().await };
        self.setup.retry.run(&self.setup.name, attempt).await
    }

    /// Whether there is a reply of success. Asked once: whoever checks a key wants to know now.
    pub async fn reach(&self) -> Result<(), Error> {
        let attempt = || async { self.arrive().await.map(|_| ()) };
        Retry::never().run(&self.setup.name, attempt).await
    }

    /// A reply of success as JSON; none where it is something else. Asked once, as `reach`.
    pub async fn fetch(&self) -> Result<Option<Value>, Error> {
        let attempt = || async {
            let (mut arrival, mask) = self.arrive().await?;
            let body = arrival.body.whole(Vec::new(), LIST_CAP).await;
            let body = body.map_err(|error| Failed::from(mask.error(self.setup.named(error))))?;
            Ok(serde_json::from_slice(&body).ok())
        };
        Retry::never().run(&self.setup.name, attempt).await
    }

    async fn open(&self) -> Result<Reply, Failed> {
        let (arrival, mask) = self.arrive().await?;
        Reply::open(arrival, self.setup, &self.asked, mask).await
    }

    /// A reply of success, and what must not be told of it. A credential that is refused although it was good before is
    /// replaced once, if its source has another.
    async fn arrive(&self) -> Result<(Arrival, Mask), Failed> {
        let ask = Ask { vendor: &self.setup.name, user: self.user };
        let credential = self.setup.credential(&ask).await?;
        let failed = match self.send(credential.as_ref()).await {
            Err(failed) if failed.error.class == Class::Auth => failed,
            outcome => return outcome,
        };
        let (Some(source), Some(refused)) = (&self.setup.credentials, &credential) else {
            return Err(failed);
        };
        if !source.rejected(&ask, refused) {
            return Err(failed);
        }
        match self.setup.credential(&ask).await? {
            Some(fresh) if !fresh.is_same(refused) => self.send(Some(&fresh)).await,
            _ => Err(failed),
        }
    }

    async fn send(&self, credential: Option<&Credential>) -> Result<(Arrival, Mask), Failed> {
        let mask = self.setup.mask_with(credential.map(Credential::secret));
        let mut call = self.call.clone();
        if let Some(credential) = credential {
            let (name, value) = self.setup.key_header(credential)?;
            call.headers.insert(name, value);
        }
        let failed = |error| Failed::from(mask.error(self.setup.named(error)));
        let sent = self.setup.transport.send(call, self.first_byte, self.setup.timeouts.idle);
        let mut arrival = sent.await.map_err(failed)?;
        match arrival.status {
            200..300 => Ok((arrival, mask)),
            status => {
                let mut error = self.refusal(status, &mut arrival).await;
                error.request_id = error.request_id.or_else(|| request_id(&arrival.headers));
                Err(failed(error).asked_to_wait(asked_delay(&arrival.headers)))
            }
        }
    }

    async fn refusal(&self, status: u16, arrival: &mut Arrival) -> Error {
        let body = arrival.body.complaint().await;
        if (300..400).contains(&status) {
            return self.redirected(&arrival.headers).with_status(status);
        }
        let mut error = self.setup.dialect.explain(status, &body, &self.asked);
        error.status.get_or_insert(status);
        error
    }

    /// A key must not follow to wherever a reply points.
    fn redirected(&self, headers: &HeaderMap) -> Error {
        let place = headers.get(LOCATION).and_then(|place| place.to_str().ok());
        let place = place.and_then(|place| self.call.url.join(place).ok());
        let message = match place {
            Some(place) => format!(
                "{} points to {}://{}{}; set the base URL accordingly if that is right",
                host_of(&self.call.url),
                place.scheme(),
                host_of(&place),
                place.path(),
            ),
            None => format!("{} points elsewhere; check the base URL", host_of(&self.call.url)),
        };
        self.setup.error(Class::InvalidRequest, message)
    }
}

impl Setup {
    /// What the settings say of headers goes over what the dialect says.
    fn call(&self, method: Method, url: Url, mut headers: HeaderMap, body: Bytes) -> Call {
        let settings = self.headers.iter().cloned();
        settings.for_each(|(name, value): (HeaderName, HeaderValue)| {
            headers.insert(name, value);
        });
        Call { method, url, headers, body }
    }
}
