//! Decides which vendor a model's name means, and offers the calls most programs need.
//! Used by programs and by the runtime. Asks a model at most twice and runs no tools: a loop with tools is the
//! runtime's business.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Capabilities, Class, Error, Events, Model, Request, Response, Status};

/// The vendors that can be asked, by the first part of `vendor/model`.
#[derive(Clone, Debug, Default)]
pub struct Models {
    vendors: BTreeMap<String, Arc<dyn Model>>,
}

impl Models {
    pub fn with(mut self, vendor: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.vendors.insert(vendor.into(), model);
        self
    }

    /// Takes over another's vendors; of two with the same name, the other's.
    pub fn and(mut self, others: Self) -> Self {
        self.vendors.extend(others.vendors);
        self
    }

    /// The vendors' names, in order.
    pub fn vendors(&self) -> impl Iterator<Item = &str> {
        self.vendors.keys().map(String::as_str)
    }

    /// One vendor by its name.
    pub fn vendor(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.vendors.get(name)
    }

    /// The vendor and the model's own name behind `vendor/model`.
    ///
    /// # Errors
    /// When no vendor of that name is set up.
    pub fn find<'a>(&self, name: &'a str) -> Result<(Arc<dyn Model>, &'a str), Error> {
        let (vendor, model) = name.split_once('/').unwrap_or((name, ""));
        match self.vendors.get(vendor) {
            Some(found) => Ok((Arc::clone(found), model)),
            None => Err(Error::unknown_vendor(vendor, self.vendors())),
        }
    }

    /// What the model behind `vendor/model` can do.
    ///
    /// # Errors
    /// When no vendor of that name is set up.
    pub fn capabilities(&self, name: &str) -> Result<Capabilities, Error> {
        let (model, own_name) = self.find(name)?;
        Ok(model.capabilities(own_name))
    }

    /// Asks for a whole reply. The request's model is `vendor/model`.
    ///
    /// # Errors
    /// Whatever the vendor failed with.
    pub async fn generate(&self, request: Request) -> Result<Response, Error> {
        let (model, request) = self.addressed(request)?;
        model.generate(Request { stream: false, ..request }).await
    }

    /// Asks for a reply piece by piece. The request's model is `vendor/model`.
    ///
    /// # Errors
    /// When no such vendor is set up; what fails later is in the stream.
    pub fn stream(&self, request: Request) -> Result<Events, Error> {
        let (model, request) = self.addressed(request)?;
        Ok(model.stream(Request { stream: true, ..request }))
    }

    /// Asks for text and nothing else.
    ///
    /// # Errors
    /// Also when the model refused, or its reply was cut: half a text is not what was asked for.
    pub async fn generate_text(&self, request: Request) -> Result<String, Error> {
        let (vendor, _) = request.model.split_once('/').unwrap_or((&request.model, ""));
        let vendor = vendor.to_owned();
        whole_text(&self.generate(request).await?, &vendor)
    }

    fn addressed(&self, mut request: Request) -> Result<(Arc<dyn Model>, Request), Error> {
        let (model, own_name) = self.find(&request.model)?;
        request.model = own_name.to_owned();
        Ok((model, request))
    }
}

/// The text of a reply that is complete and no refusal.
pub(crate) fn whole_text(response: &Response, vendor: &str) -> Result<String, Error> {
    let text = response.output_text();
    if let (true, Some(refusal)) = (text.is_empty(), response.refusal()) {
        return Err(Error::new(Class::ContentRefused, vendor, refusal));
    }
    if response.status == Status::Completed {
        return Ok(text);
    }
    let reason = response.incomplete_details.as_ref().map_or("", |details| &details.reason);
    let (class, message) = match reason {
        "content_filter" => (Class::ContentRefused, "a filter cut the reply".to_owned()),
        "max_output_tokens" => (
            Class::InvalidRequest,
            "the reply was cut at the limit of output tokens; raise max_output_tokens".to_owned(),
        ),
        reason => (Class::Server, format!("the reply is not complete: {reason}")),
    };
    Err(Error::new(class, vendor, message))
}
