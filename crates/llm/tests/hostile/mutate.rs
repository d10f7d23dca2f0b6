//! Decides how good input is made bad: byte by byte, line by line and value by value.
//! Used by the hostile test. Everything follows from a seed; nothing here knows a vendor.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use serde_json::{Map, Value, json};

/// How long to go on.
#[derive(Debug)]
pub struct Budget {
    first: u64,
    rounds: u64,
    until: Option<Instant>,
}

impl Budget {
    /// `SEED` repeats one round; `AGENT_WORLD_FUZZ_SECONDS` goes on for so long; else a fixed number of rounds.
    pub fn from_environment(rounds: u64) -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
        };
        if let Some(seed) = number("SEED") {
            return Self { first: seed, rounds: 1, until: None };
        }
        match number("AGENT_WORLD_FUZZ_SECONDS") {
            Some(seconds) => Self {
                first: 0,
                rounds: u64::MAX,
                until: Some(Instant::now() + Duration::from_secs(seconds)),
            },
            None => Self { first: 0, rounds, until: None },
        }
    }

    /// The seeds to run.
    pub fn seeds(self) -> impl Iterator<Item = u64> {
        (self.first..self.first.saturating_add(self.rounds))
            .take_while(move |_| self.until.is_none_or(|until| Instant::now() < until))
    }
}

/// A source of mischief.
#[derive(Debug)]
pub struct Mutator {
    random: StdRng,
    longest: usize,
}

impl Mutator {
    pub fn new(seed: u64, longest: usize) -> Self {
        Self { random: StdRng::seed_from_u64(seed), longest }
    }

    /// A number below the end, which is at least one.
    pub fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end.max(1))
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.choose(&mut self.random)
    }

    /// One of the inputs with a few things changed, and now and then nothing but noise.
    pub fn input(&mut self, good: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.pick(good).cloned().unwrap_or_default();
        if self.below(50) == 0 {
            let length = self.below(2_000);
            bytes = self.noise(length);
        }
        for _ in 0..self.below(6) {
            bytes = self.mutate(bytes, good);
            bytes.truncate(self.longest);
        }
        bytes
    }

    /// Cuts bytes into pieces: equal ones, or whatever comes.
    pub fn chunks<'a>(&mut self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let size = *self.pick(&[1, 2, 7, 64, 1_500, 8_192, usize::MAX]).unwrap_or(&1);
        let random = self.below(2) == 0;
        let (mut chunks, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let size = if random { 1 + self.below(size.min(10_000)) } else { size };
            let (chunk, behind) = rest.split_at(size.min(rest.len()));
            chunks.push(chunk);
            rest = behind;
        }
        chunks
    }

    fn noise(&mut self, length: usize) -> Vec<u8> {
        let mut noise = vec![0; length];
        self.random.fill_bytes(&mut noise);
        noise
    }

    fn mutate(&mut self, bytes: Vec<u8>, good: &[Vec<u8>]) -> Vec<u8> {
        match self.below(12) {
            0 => self.flip(bytes),
            1 => self.insert(bytes),
            2 => self.delete(bytes),
            3 => self.repeat(bytes),
            4 => self.splice(&bytes, good),
            5 => self.line_ends(&bytes),
            6 => self.number(bytes),
            7 | 8 => self.lines(&bytes),
            _ => self.value(&bytes),
        }
    }

    fn flip(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        for _ in 0..=self.below(4) {
            let (place, bit) = (self.below(bytes.len()), self.below(8));
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << bit;
            }
        }
        bytes
    }

    fn insert(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let length = self.below(9);
        let noise = self.noise(length);
        let deep = "[".repeat(300);
        let piece: &[u8] = match self.below(9) {
            0 => b"\n\n",
            1 => b"\xef\xbb\xbf",
            2 => b"data: [DONE]\n\n",
            3 => b"\xe2\x82",
            4 => b"\\ud800",
            5 => b"\0",
            6 => deep.as_bytes(),
            _ => &noise,
        };
        let place = self.below(bytes.len() + 1);
        bytes.splice(place..place, piece.iter().copied());
        bytes
    }

    fn delete(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let start = self.below(bytes.len() + 1);
        // Often just the end is missing, as when a connection breaks.
        if self.below(3) == 0 {
            bytes.truncate(start);
        } else {
            let end = (start + self.below(40)).min(bytes.len());
            bytes.drain(start..end);
        }
        bytes
    }

    fn repeat(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let start = self.below(bytes.len() + 1);
        let end = (start + self.below(200)).min(bytes.len());
        let piece = bytes[start..end].to_vec();
        let times = self.below(30);
        bytes.splice(end..end, piece.repeat(times));
        bytes
    }

    fn splice(&mut self, bytes: &[u8], good: &[Vec<u8>]) -> Vec<u8> {
        let other = self.pick(good).cloned().unwrap_or_default();
        let (head, tail) = (self.below(bytes.len() + 1), self.below(other.len() + 1));
        [&bytes[..head], &other[tail..]].concat()
    }

    fn line_ends(&mut self, bytes: &[u8]) -> Vec<u8> {
        let end: &[u8] = if self.below(2) == 0 { b"\r\n" } else { b"\r" };
        let with = |byte: &u8| if *byte == b'\n' { end.to_vec() } else { vec![*byte] };
        bytes.iter().flat_map(with).collect()
    }

    /// Puts another number where one is.
    fn number(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        let from = self.below(bytes.len());
        let Some(start) = bytes.iter().skip(from).position(u8::is_ascii_digit) else {
            return bytes;
        };
        let start = from + start;
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = *self.pick(NUMBERS).unwrap_or(&"0");
        bytes.splice(start..start + digits, number.bytes());
        bytes
    }

    fn lines(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        if lines.is_empty() {
            return Vec::new();
        }
        let (one, other) = (self.below(lines.len()), self.below(lines.len()));
        match self.below(4) {
            0 => lines.insert(other, lines[one]),
            1 => {
                lines.remove(one);
            }
            2 => lines.swap(one, other),
            _ => lines.truncate(one),
        }
        lines.concat()
    }

    /// Changes a value inside a line that is JSON, or inside the whole of it.
    fn value(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut lines: Vec<Vec<u8>> =
            bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let chosen = self.below(lines.len());
        let Some(line) = lines.get_mut(chosen) else { return bytes.to_vec() };
        let start = line.iter().position(|byte| b"{[".contains(byte)).unwrap_or(line.len());
        if let Ok(mut value) = serde_json::from_slice::<Value>(&line[start..]) {
            self.change(&mut value);
            line.truncate(start);
            line.extend_from_slice(value.to_string().as_bytes());
            line.push(b'\n');
        }
        lines.concat()
    }

    /// Goes down to some place and does something there.
    fn change(&mut self, value: &mut Value) {
        let size = match value {
            Value::Object(fields) => fields.len(),
            Value::Array(list) => list.len(),
            _ => 0,
        };
        let chosen = self.below(size);
        if size > 0 && self.below(5) > 0 {
            let inner = match value {
                Value::Object(fields) => fields.values_mut().nth(chosen),
                Value::Array(list) => list.get_mut(chosen),
                _ => None,
            };
            return inner.into_iter().for_each(|inner| self.change(inner));
        }
        match (self.below(4), value) {
            (0, Value::Object(fields)) => {
                if let Some(key) = fields.keys().nth(chosen).cloned() {
                    fields.shift_remove(&key);
                }
            }
            (1, Value::Object(fields)) => {
                let key = *self.pick(KEYS).unwrap_or(&"");
                fields.insert(key.to_owned(), self.odd());
            }
            (0, Value::Array(list)) if size > 0 => {
                list.remove(chosen);
            }
            (1, Value::Array(list)) if size > 0 => list.push(list[chosen].clone()),
            (2, Value::String(text)) => text.push_str("\u{feff}\u{0}\"}]\n\ndata: {}\n\n"),
            (_, value) => *value = self.odd(),
        }
    }

    /// A value that nobody expects.
    fn odd(&mut self) -> Value {
        match self.below(14) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(1e300),
            5 => json!(""),
            6 => json!([]),
            7 => json!({}),
            8 => json!([null, [{}], "x"]),
            9 => json!({"type": "text", "text": {"value": []}}),
            10 => json!("x".repeat(3_000)),
            11 => json!("\u{1f980}\u{0}"),
            12 => (0..60).fold(json!(0), |inner, _| json!([inner])),
            _ => (0..40).map(|n| (format!("key{n}"), json!(n))).collect::<Map<_, _>>().into(),
        }
    }
}

const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1e999",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "999999999999999999999999999999",
    "0.1",
    "4294967296",
    "1500",
    "00",
    "NaN",
];

/// Names that mean something to some vendor.
const KEYS: &[&str] = &[
    "error",
    "type",
    "index",
    "done",
    "content",
    "message",
    "delta",
    "usage",
    "id",
    "status",
    "output_index",
    "content_index",
    "finish_reason",
    "tool_calls",
    "parts",
    "origin",
    "code",
];
