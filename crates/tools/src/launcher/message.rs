//! What a server, a launcher and the process that becomes the program say to each other, and how it is framed.
//! Used on both ends of one socket: an order goes in, messages come out, the end of the stream means "end it all".
//! Never read by the program that is run: its end of the socket is closed before it starts.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::record::Identity;
use crate::sandbox::{Confinement, InForce};

/// No order is larger: the kernel takes far less for a program.
const LARGEST: usize = 64 * 1024 * 1024;
const LENGTH: usize = 4;

/// What to run, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    pub call: String,
    pub program: OsString,
    /// What the program is told that it is called.
    pub name: OsString,
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub directory: OsString,
    /// Of the processor's time; the server's without it.
    pub priority: Option<i32>,
    /// Nothing is confined or limited without it.
    pub confinement: Option<Confinement>,
    /// Where to note what runs, for the case that nobody is left to end it.
    pub record: Option<Note>,
}

/// A record to be kept while something runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    pub path: OsString,
    pub server: Identity,
}

/// What comes back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The program is about to be started, confined like this.
    Confined(InForce),
    /// It was not started.
    NotStarted(Problem),
    /// It has ended, and so has everything it started.
    Ended(Ended),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// The program could not be executed: the system's error number.
    Program(i32),
    /// The world asks for more than this system can do.
    Refused(String),
    Other(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// The limit for which it was killed.
    pub limit: Option<Limit>,
    /// Processes that could not be ended.
    pub survivors: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Processes,
    Memory,
    FileSize,
}

impl Order {
    pub fn directory(&self) -> PathBuf {
        PathBuf::from(&self.directory)
    }
}

impl Problem {
    pub fn other(what: &str, error: &dyn std::fmt::Display) -> Self {
        Self::Other(format!("{what}: {error}"))
    }
}

/// A message as it travels: its length, then itself as JSON.
pub fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(|_| too_large())?;
    let mut bytes = Vec::with_capacity(LENGTH + body.len());
    bytes.extend(length.to_be_bytes());
    bytes.extend(body);
    Ok(bytes)
}

pub fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&frame(message)?)
}

/// Waits for one message and takes no byte more.
pub fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; LENGTH];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; checked(length)?];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Bytes of messages that have arrived so far.
#[derive(Debug, Default)]
pub struct Arriving {
    pub bytes: Vec<u8>,
}

impl Arriving {
    /// The next message that is complete.
    pub fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(length) = self.bytes.first_chunk::<LENGTH>() else {
            return Ok(None);
        };
        let end = LENGTH + checked(*length)?;
        let Some(body) = self.bytes.get(LENGTH..end) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(body)?;
        self.bytes.drain(..end);
        Ok(Some(message))
    }
}

fn checked(length: [u8; LENGTH]) -> io::Result<usize> {
    let length = u32::from_be_bytes(length) as usize;
    if length > LARGEST { Err(too_large()) } else { Ok(length) }
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the message is too large")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_however_they_are_cut() {
        let messages = [Limit::Memory, Limit::Processes];
        let bytes: Vec<u8> = messages.iter().flat_map(|message| frame(message).unwrap()).collect();
        let mut arriving = Arriving::default();
        let mut seen: Vec<Limit> = Vec::new();
        for byte in bytes {
            arriving.bytes.push(byte);
            seen.extend(arriving.next::<Limit>().unwrap());
        }
        assert_eq!(seen, messages);
        assert!(arriving.bytes.is_empty());
    }

    #[test]
    fn a_length_that_cannot_be_meant_is_an_error_and_takes_no_memory() {
        let mut arriving = Arriving { bytes: vec![0xff; 8] };
        assert!(arriving.next::<Limit>().is_err());
        assert!(receive::<Limit>(&mut [0xff_u8; 8].as_slice()).is_err());
    }
}
