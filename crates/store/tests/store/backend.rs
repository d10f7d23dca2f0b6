//! The stores the suite runs on. Each test gets an empty one and may restart it as another process would.

use std::path::PathBuf;
use std::sync::Arc;

use agent_world_store::sqlite::Role;
use agent_world_store::{Memory, Sqlite, Store};
use tempfile::TempDir;

pub trait Backend {
    fn empty() -> Self;
    fn store(&self) -> Arc<dyn Store>;
    /// The process ends and another begins on the same data.
    fn restart(&mut self);
}

pub struct InMemory(Memory);

impl Backend for InMemory {
    fn empty() -> Self {
        Self(Memory::new())
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }

    fn restart(&mut self) {
        self.0 = self.0.restart();
    }
}

pub struct OnDisk {
    folder: TempDir,
    store: Option<Sqlite>,
}

impl OnDisk {
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("world.db")
    }

    pub fn close(&mut self) {
        self.store = None;
    }

    pub fn sqlite(&self) -> Sqlite {
        self.store.clone().unwrap()
    }
}

impl Backend for OnDisk {
    fn empty() -> Self {
        let mut backend = Self { folder: tempfile::tempdir().unwrap(), store: None };
        backend.restart();
        backend
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.sqlite())
    }

    fn restart(&mut self) {
        self.close();
        self.store = Some(Sqlite::open(self.path(), Role::Worker).unwrap());
    }
}

/// Runs each function of a module on every store.
macro_rules! on_every_store {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $name() {
                use crate::backend::Backend;
                super::$name(crate::backend::InMemory::empty()).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                use crate::backend::Backend;
                super::$name(crate::backend::OnDisk::empty()).await;
            })*
        }
    };
}

pub(crate) use on_every_store;
