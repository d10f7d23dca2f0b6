//! Tests of tokens on a bare store.

use agent_world_runtime::store::Memory;

use super::*;

fn moment(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn wanted(name: &str) -> Wanted {
    Wanted { name: name.to_owned(), role: Role::Member, expires_at: None, by: "root".to_owned() }
}

#[tokio::test]
async fn what_is_stored_recognises_a_token_and_does_not_tell_it() {
    let store = Memory::new();
    let now = moment("2026-11-15T12:00:00Z");
    let first = create(&store, wanted("ada"), now).await.unwrap();
    let second = create(&store, wanted("bob"), now).await.unwrap();
    assert_ne!(first.text, second.text);
    assert_eq!(first.text.len(), PREFIX.len() + LENGTH);
    let stored = store.document(KIND, &first.token.id).await.unwrap().unwrap();
    assert!(!stored.body.contains(first.text.trim_start_matches(PREFIX)));
    let body: serde_json::Value = serde_json::from_str(&stored.body).unwrap();
    assert_eq!(body["hash"], hex(&fingerprint(&first.text)));
    assert_eq!((&body["name"], &body["role"]), (&"ada".into(), &"member".into()));
    assert!(!format!("{first:?}").contains(&first.text));
}

#[tokio::test]
async fn a_name_is_given_once_in_whatever_case_until_it_is_revoked() {
    let store = Memory::new();
    let now = moment("2026-11-15T12:00:00Z");
    let first = create(&store, wanted("Ada"), now).await.unwrap();
    let again = create(&store, wanted("aDA"), now).await.unwrap_err();
    assert!(matches!(again, Refusal::Exists(_)), "{again}");
    revoke(&store, "ADA", Last::MayGo, now).await.unwrap();
    assert!(matches!(revoke(&store, "ada", Last::MayGo, now).await, Err(Refusal::Unknown(_))));
    let second = create(&store, wanted("ada"), now).await.unwrap();
    assert_ne!(first.text, second.text);
    revoke(&store, &second.token.id, Last::MayGo, now).await.unwrap();
    assert_eq!(list(&store).await.unwrap(), []);
}

#[tokio::test]
async fn names_are_short_plain_and_nobody_elses() {
    let store = Memory::new();
    let now = moment("2026-11-15T12:00:00Z");
    let long = "n".repeat(LONGEST_NAME + 1);
    let refused = [
        "",
        " ",
        "a b",
        "a\nb",
        "a\0",
        "a\u{202e}b",
        "system",
        "World",
        "tok_1",
        "awt_x",
        "a/b",
        &long,
    ];
    for name in refused {
        let error = create(&store, wanted(name), now).await.unwrap_err();
        assert!(matches!(error, Refusal::Name(_)), "{name:?}: {error}");
    }
    for name in ["ada", "Ada.Lovelace", "ci-1", "ada@example.com", "zoë", &long[1..]] {
        create(&store, wanted(name), now).await.unwrap();
    }
}

#[tokio::test]
async fn a_token_cannot_have_expired_when_it_is_made() {
    let store = Memory::new();
    let now = moment("2026-11-15T12:00:00Z");
    let late = Wanted { expires_at: Some(now), ..wanted("ada") };
    assert!(matches!(create(&store, late, now).await, Err(Refusal::Expired(_))));
}

#[tokio::test]
async fn a_use_that_is_noted_late_does_not_bring_a_revoked_token_back() {
    let store = Memory::new();
    let now = moment("2026-11-15T12:00:00Z");
    let issued = create(&store, wanted("ada"), now).await.unwrap();
    revoke(&store, "ada", Last::MayGo, now).await.unwrap();
    note_use(&store, &issued.token, &fingerprint(&issued.text), 1, now).await.unwrap();
    assert_eq!(list(&store).await.unwrap(), []);
}

#[tokio::test]
async fn the_last_token_that_lets_anybody_in_stays_where_it_must() {
    let store = Memory::new();
    let now = moment("2026-11-15T12:00:00Z");
    create(&store, wanted("ada"), now).await.unwrap();
    let end = Some(moment("2026-11-15T13:00:00Z"));
    create(&store, Wanted { expires_at: end, ..wanted("bob") }, now).await.unwrap();
    let later = moment("2026-11-15T14:00:00Z");
    // Bob's is there and lets nobody in any more.
    let refused = revoke(&store, "ada", Last::Stays, later).await.unwrap_err();
    assert!(matches!(refused, Refusal::Last(_)), "{refused}");
    let unknown = revoke(&store, "eve", Last::Stays, later).await.unwrap_err();
    assert!(matches!(unknown, Refusal::Unknown(_)), "{unknown}");
    assert_eq!(list(&store).await.unwrap().len(), 2);
    assert_eq!(revoke(&store, "bob", Last::Stays, later).await.unwrap(), Left::Tokens);
    assert_eq!(revoke(&store, "ada", Last::MayGo, later).await.unwrap(), Left::Nothing);
}

#[test]
fn only_whole_fingerprints_are_read() {
    let whole = fingerprint("x");
    assert_eq!(from_hex(&hex(&whole)), Some(whole));
    for text in ["", "00", &"0".repeat(63), &"0".repeat(65), &"g".repeat(64)] {
        assert_eq!(from_hex(text), None, "{text}");
    }
}
