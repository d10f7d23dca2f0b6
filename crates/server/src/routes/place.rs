//! Decides what an address names, and under which version of a world's settings something may be changed.
//! Used by the routes that read and change settings. Every change is made on the settings as they are: a change that
//! somebody overtakes is made again on theirs, unless its author said which version it was made for.

use agent_world_core::config::World;
use agent_world_core::ids::WorldId;
use agent_world_runtime::{Error, WorldPart, store};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, header};

use crate::app::App;
use crate::problem::Problem;

/// Attempts at a change that others keep overtaking.
const ATTEMPTS: u32 = 32;

/// The versions of the settings that a change may be made on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Whatever is stored.
    #[default]
    Any,
    /// Only these.
    OneOf(Vec<u64>),
}

impl<S: Send + Sync> FromRequestParts<S> for Wanted {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self::read(&parts.headers))
    }
}

impl Wanted {
    /// What `If-Match` says. A tag that we never gave matches no version.
    fn read(headers: &HeaderMap) -> Self {
        let mut given = headers.get_all(header::IF_MATCH).iter().peekable();
        if given.peek().is_none() {
            return Self::Any;
        }
        let text: Vec<&str> = given.filter_map(|value| value.to_str().ok()).collect();
        let mut tags = text.iter().flat_map(|text| text.split(',')).map(str::trim);
        if tags.clone().any(|tag| tag == "*") {
            return Self::Any;
        }
        let version = |tag: &str| tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
        Self::OneOf(tags.by_ref().filter_map(version).collect())
    }

    /// The same, and the version that a body names.
    pub fn and(self, version: Option<u64>) -> Self {
        match (self, version) {
            (wanted, None) => wanted,
            (Self::Any, Some(version)) => Self::OneOf(vec![version]),
            (Self::OneOf(mut versions), Some(version)) => {
                versions.retain(|one| *one == version);
                Self::OneOf(versions)
            }
        }
    }

    pub fn check(&self, world: &World) -> Result<(), Problem> {
        match self {
            Self::Any => Ok(()),
            Self::OneOf(versions) if versions.contains(&world.version) => Ok(()),
            Self::OneOf(_) => Err(overtaken(world)),
        }
    }
}

fn overtaken(world: &World) -> Problem {
    let detail = format!(
        "world {} is at version {} now, another than this change was made for; read it again and repeat the change",
        world.id, world.version
    );
    Problem::conflict("version_conflict", detail).with("version", world.version)
}

/// A world's settings as they are stored now, whichever process wrote them.
pub(crate) async fn world(app: &App, id: &str) -> Result<World, Problem> {
    let id = WorldId::new(id);
    let found = app.engine.store().world(&id).await?;
    found.ok_or_else(|| Error::UnknownWorld(id).into())
}

/// A world's settings as a change found them and as it left them.
#[derive(Debug)]
pub(crate) struct Changed {
    pub before: World,
    pub after: World,
}

/// Changes a world's settings. Where nothing would change, nothing is written.
pub(crate) async fn change(
    app: &App,
    id: &str,
    wanted: &Wanted,
    part: WorldPart<'_>,
    by: &str,
    edit: impl Fn(&mut World) -> Result<(), Problem>,
) -> Result<Changed, Problem> {
    for _ in 0..ATTEMPTS {
        let before = world(app, id).await?;
        wanted.check(&before)?;
        let mut after = before.clone();
        edit(&mut after)?;
        if after == before {
            return Ok(Changed { before, after });
        }
        match app.engine.update_part(after, part, by).await {
            // Somebody was faster: their change stays, and this one is made on top of it.
            Err(Error::Store(store::Error::WorldConflict { .. })) => {}
            written => return Ok(Changed { before, after: written? }),
        }
    }
    Err(overtaken(&world(app, id).await?))
}

/// The version of a world, for `If-Match`.
pub(crate) fn tag(world: &World) -> [(header::HeaderName, HeaderValue); 1] {
    let tag = HeaderValue::try_from(format!("\"{}\"", world.version));
    // A number between quotes is a valid header.
    [(header::ETAG, tag.unwrap_or_else(|_| HeaderValue::from_static("\"0\"")))]
}

/// Where something new is.
pub(crate) fn location(segments: &[&str]) -> [(header::HeaderName, HeaderValue); 1] {
    let path: String = segments.iter().map(|one| format!("/{}", escaped(one))).collect();
    let path = HeaderValue::try_from(path);
    [(header::LOCATION, path.unwrap_or_else(|_| HeaderValue::from_static("/")))]
}

/// A name as one segment of an address.
fn escaped(name: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    name.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(given: &[&str]) -> Wanted {
        let mut headers = HeaderMap::new();
        for one in given {
            headers.append(header::IF_MATCH, HeaderValue::try_from(*one).unwrap());
        }
        Wanted::read(&headers)
    }

    #[test]
    fn if_match_names_versions_and_what_is_no_version_matches_none() {
        assert_eq!(wanted(&[]), Wanted::Any);
        assert_eq!(wanted(&["*"]), Wanted::Any);
        assert_eq!(wanted(&["\"3\""]), Wanted::OneOf(vec![3]));
        assert_eq!(wanted(&["\"3\", \"4\"", "\"5\""]), Wanted::OneOf(vec![3, 4, 5]));
        for never in ["", "3", "W/\"3\"", "\"three\"", "\"-1\"", "\""] {
            assert_eq!(wanted(&[never]), Wanted::OneOf(Vec::new()), "{never}");
        }
    }

    #[test]
    fn a_version_in_the_body_and_one_in_the_header_must_both_hold() {
        assert_eq!(Wanted::Any.and(None), Wanted::Any);
        assert_eq!(Wanted::Any.and(Some(2)), Wanted::OneOf(vec![2]));
        assert_eq!(Wanted::OneOf(vec![2, 3]).and(Some(3)), Wanted::OneOf(vec![3]));
        assert_eq!(Wanted::OneOf(vec![2]).and(Some(3)), Wanted::OneOf(vec![]));
    }

    #[test]
    fn names_in_an_address_are_escaped() {
        let [(_, value)] = location(&["api", "a b", "ü/%"]);
        assert_eq!(value, "/api/a%20b/%C3%BC%2F%25");
    }
}
