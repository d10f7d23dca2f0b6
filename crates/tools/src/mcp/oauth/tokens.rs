//! Keeps a server's tokens: in memory, and in a file that only its owner can read where the embedder names a folder.
//! Called by rmcp's authorization. Never prints them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use tokio::io::AsyncWriteExt;
use tokio::sync::Mutex;

#[derive(Clone)]
pub struct Tokens(Arc<Kept>);

struct Kept {
    file: Option<PathBuf>,
    memory: Mutex<Memory>,
}

enum Memory {
    NotRead,
    Known(Option<Box<StoredCredentials>>),
}

impl Tokens {
    pub fn new(file: Option<PathBuf>) -> Self {
        Self(Arc::new(Kept { file, memory: Mutex::new(Memory::NotRead) }))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("file", &self.0.file).finish_non_exhaustive()
    }
}

#[async_trait]
impl CredentialStore for Tokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let mut memory = self.0.memory.lock().await;
        if matches!(*memory, Memory::NotRead) {
            let read = match &self.0.file {
                Some(file) => read(file).await.map_err(problem)?,
                None => None,
            };
            *memory = Memory::Known(read.map(Box::new));
        }
        match &*memory {
            Memory::Known(known) => Ok(known.as_deref().cloned()),
            Memory::NotRead => Ok(None),
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let mut memory = self.0.memory.lock().await;
        if let Some(file) = &self.0.file {
            write(file, &credentials).await.map_err(problem)?;
        }
        *memory = Memory::Known(Some(Box::new(credentials)));
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let mut memory = self.0.memory.lock().await;
        *memory = Memory::Known(None);
        match &self.0.file {
            Some(file) => match tokio::fs::remove_file(file).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(problem(error)),
                _ => Ok(()),
            },
            None => Ok(()),
        }
    }
}

async fn read(file: &Path) -> io::Result<Option<StoredCredentials>> {
    match tokio::fs::read(file).await {
        // One that cannot be read is as good as none: a person logs in again.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whole or not at all, and never for a moment readable by others.
async fn write(file: &Path, credentials: &StoredCredentials) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    tokio::fs::create_dir_all(folder).await?;
    let new = file.with_extension("new");
    // What an earlier attempt left may have other rights.
    if let Err(error) = tokio::fs::remove_file(&new).await
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut opened =
        tokio::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).await?;
    opened.write_all(&serde_json::to_vec(credentials)?).await?;
    opened.sync_all().await?;
    tokio::fs::rename(&new, file).await
}

fn problem(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn credentials(client: &str) -> StoredCredentials {
        let token = serde_json::json!({
            "client_id": client, "granted_scopes": [], "token_received_at": 1,
            "token_response": {"access_token": "s3cret", "token_type": "bearer"}
        });
        serde_json::from_value(token).unwrap()
    }

    #[tokio::test]
    async fn tokens_come_back_from_a_file_that_only_its_owner_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/tokens.json");
        let tokens = Tokens::new(Some(file.clone()));
        assert!(tokens.load().await.unwrap().is_none());
        tokens.save(credentials("one")).await.unwrap();
        tokens.save(credentials("two")).await.unwrap();
        assert!(!format!("{tokens:?}").contains("s3cret"));
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = Tokens::new(Some(file.clone()));
        assert_eq!(again.load().await.unwrap().unwrap().client_id, "two");
        again.clear().await.unwrap();
        assert!(!file.exists());
        again.clear().await.unwrap();
    }

    #[tokio::test]
    async fn without_a_folder_nothing_is_written() {
        let tokens = Tokens::new(None);
        tokens.save(credentials("one")).await.unwrap();
        assert!(tokens.load().await.unwrap().is_some());
    }
}
