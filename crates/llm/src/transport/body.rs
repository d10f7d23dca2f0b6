//! Decides how a reply's bytes are read: piece by piece, none later than allowed and no more than allowed.
//! Used by whoever has a reply. Never waits without a limit; dropping it closes the connection.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use super::failure;
use crate::{Class, Error};

/// Bytes of a body of failure that are read: enough for what a vendor says, whatever it repeats of the request.
const LONGEST_COMPLAINT: usize = 1 << 20;

/// How long the rest of a reply is waited for that nobody needs, so that its connection can be used again.
const REST: Duration = Duration::from_millis(100);

/// The bytes of a reply.
#[derive(Debug)]
pub(crate) struct Body {
    response: reqwest::Response,
    idle: Duration,
}

impl Body {
    pub(super) fn new(response: reqwest::Response, idle: Duration) -> Self {
        Self { response, idle }
    }

    /// The next bytes; nothing at the end.
    ///
    /// # Errors
    /// When the connection is lost or silent for too long.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match timeout(self.idle, self.response.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => {
                let cause = failure::root(&error.without_url());
                let message =
                    format!("the connection was lost in the middle of the reply: {cause}");
                Err(Error::new(Class::StreamCut, "", message))
            }
            Err(_) => {
                let limit = self.idle.as_secs_f64();
                let message = format!("the reply stopped: nothing came for {limit}s");
                Err(Error::new(Class::Timeout, "", message))
            }
        }
    }

    /// Everything, or an error when it is more than allowed.
    ///
    /// # Errors
    /// When it is too large, too slow or cut.
    pub async fn whole(&mut self, mut read: Vec<u8>, cap: usize) -> Result<Vec<u8>, Error> {
        loop {
            if read.len() > cap {
                let message = format!("the reply is larger than {cap} bytes");
                return Err(Error::new(Class::Server, "", message));
            }
            match self.next().await? {
                Some(bytes) => read.extend_from_slice(&bytes),
                None => return Ok(read),
            }
        }
    }

    /// What a reply of failure says, as far as it comes. It is waited for no longer than for one piece of a reply: a
    /// failure that trickles in would keep everybody from trying again.
    pub async fn complaint(&mut self) -> Vec<u8> {
        let mut read = Vec::new();
        let reading = async {
            while read.len() < LONGEST_COMPLAINT {
                match self.response.chunk().await {
                    Ok(Some(bytes)) => read.extend_from_slice(&bytes),
                    Ok(None) | Err(_) => break,
                }
            }
        };
        // What came in time is what there is to say.
        timeout(self.idle, reading).await.ok();
        read.truncate(LONGEST_COMPLAINT);
        read
    }

    /// Lets a reply that is understood come to its end, if the end is near.
    pub async fn finish(&mut self) {
        let rest = async {
            let mut left = LONGEST_COMPLAINT;
            while let Ok(Some(bytes)) = self.response.chunk().await {
                match left.checked_sub(bytes.len()) {
                    Some(less) => left = less,
                    None => break,
                }
            }
        };
        // When the end is not near, the connection closes with the reply; nothing else depends on it.
        timeout(REST, rest).await.ok();
    }
}
