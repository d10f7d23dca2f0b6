//! Decides how small documents are kept in memory. Used by `data`; never knows what is in one.

use std::collections::BTreeMap;

use agent_world_core::Timestamp;

use crate::error::Error;
use crate::placing::check_document;
use crate::types::{Document, DocumentWrite};

#[derive(Debug, Default)]
pub(super) struct Documents {
    all: BTreeMap<(String, String), Document>,
}

impl Documents {
    pub fn write(&mut self, write: DocumentWrite) -> Result<u64, Error> {
        let place = (write.kind.clone(), write.key.clone());
        let actual = self.all.get(&place).map(|document| document.version);
        check_document(&write, actual)?;
        let DocumentWrite { key, body, at, .. } = write;
        let version = actual.unwrap_or(0) + 1;
        let document = Document { key, version, at, body };
        self.all.insert(place, document);
        Ok(version)
    }

    pub fn one(&self, kind: &str, key: &str) -> Option<Document> {
        self.all.get(&(kind.to_owned(), key.to_owned())).cloned()
    }

    pub fn page(&self, kind: &str, after: Option<&str>, limit: usize) -> Vec<Document> {
        let of_kind = self.all.iter().filter(|((of, _), _)| of == kind);
        let later = of_kind.filter(|((_, key), _)| after.is_none_or(|after| key.as_str() > after));
        later.take(limit).map(|(_, document)| document.clone()).collect()
    }

    pub fn delete(&mut self, kind: &str, key: &str) -> bool {
        self.all.remove(&(kind.to_owned(), key.to_owned())).is_some()
    }

    pub fn delete_before(&mut self, kind: &str, before: Timestamp) -> u64 {
        let count = self.all.len();
        self.all.retain(|(of, _), document| of != kind || document.at >= before);
        u64::try_from(count - self.all.len()).unwrap_or(u64::MAX)
    }
}
