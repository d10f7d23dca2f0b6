//! Checks who is addressed, who answers and how a final text is changed, mostly as tables.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Ids and display names of the agents in every test here.
const AGENTS: [(&str, &str); 6] = [
    ("ada", "Ada"),
    ("bob", "Robert"),
    ("me", "Myself"),
    ("dash-", "Dash"),
    ("lovelace", "Countess of Lovelace"),
    ("élise", "Élise"),
];

fn with_roster<T>(test: impl FnOnce(&Roster<'_>) -> T) -> T {
    let ids: Vec<AgentId> = AGENTS.iter().map(|(id, _)| AgentId::new(*id)).collect();
    let names = AGENTS.iter().map(|(_, name)| *name);
    test(&Roster::new(ids.iter().zip(names)))
}

fn words(ids: &[AgentId]) -> String {
    let ids: Vec<&str> = ids.iter().map(AgentId::as_str).collect();
    ids.join(" ")
}

fn finished(text: &str, answering: &str) -> String {
    let author = AgentId::new("me");
    with_roster(|roster| finish_reply(text, &author, &Sender::parse(answering), true, roster))
}

#[test]
fn a_mention_addresses_in_a_leading_run_and_refers_elsewhere() {
    for (text, addressed, referenced) in [
        ("", "", ""),
        ("@ada, look", "ada", ""),
        ("  @ada", "ada", ""),
        ("\t@ADA", "ada", ""),
        ("hi @ada", "ada", ""),
        ("hi, @ada", "ada", ""),
        ("HELLO   @ada", "ada", ""),
        ("hey,@ada", "ada", ""),
        ("To @ada: go", "ada", ""),
        (", @ada go", "ada", ""),
        ("@ada @bob both of you", "ada bob", ""),
        ("@ada,@bob hi", "ada bob", ""),
        ("@bob , @ada , @bob hi", "bob ada", ""),
        ("@robert hi", "bob", ""),
        ("@Élise salut", "élise", ""),
        ("@ÉLISE salut", "élise", ""),
        ("@ada\n@bob", "ada bob", ""),
        ("hello\r\n  @bob look\r\n", "bob", ""),
        ("@ada: hi", "ada", ""),
        ("@ada. hi", "ada", ""),
        ("@ada! @bob hi", "ada", "bob"),
        ("@ada: @bob is wrong", "ada", "bob"),
        ("@ada's idea", "ada", ""),
        ("look, @ada", "", "ada"),
        ("ask @bob and @ada about @bob", "", "bob ada"),
        ("hi there @ada", "", "ada"),
        ("hey hi @ada", "", "ada"),
        ("@ada tell @bob and @ada", "ada", "bob"),
        ("tell @bob\n@bob hi", "bob", ""),
        ("- @ada do it", "", "ada"),
    ] {
        let mentions = with_roster(|roster| parse(text, roster));
        let found = (words(&mentions.addressed), words(&mentions.referenced));
        assert_eq!(found, (addressed.into(), referenced.into()), "{text:?}");
    }
}

#[test]
fn what_only_looks_like_a_mention_is_none() {
    for text in [
        "ada@example.com",
        "hi@ada",
        "@nobody",
        "@adam",
        "@",
        "@ ada",
        "@@ada",
        "(@ada)",
        "x,@ada",
        "@human",
        "@world hi",
        "@Countess of Lovelace",
        "@--",
    ] {
        let mentions = with_roster(|roster| parse(text, roster));
        assert_eq!(mentions, Mentions::default(), "{text:?}");
    }
}

#[test]
fn an_unknown_mention_does_not_end_the_run() {
    let mentions = with_roster(|roster| parse("@nobody, @human @ada hi @bob", roster));
    assert_eq!(words(&mentions.addressed), "ada");
    assert_eq!(words(&mentions.referenced), "bob");
}

#[test]
fn a_mention_stuck_to_another_is_none() {
    let mentions = with_roster(|roster| parse("@ada@bob hi", roster));
    assert_eq!(words(&mentions.addressed), "ada");
    assert_eq!(words(&mentions.referenced), "");
}

#[test]
fn trailing_dashes_belong_to_a_name_only_if_an_agent_has_them() {
    for (text, addressed) in [
        ("@dash- hi", "dash-"),
        ("@dash hi", "dash-"),
        ("@ada- hi", "ada"),
        ("@ada_, @bob-- hi", "ada bob"),
    ] {
        let mentions = with_roster(|roster| parse(text, roster));
        assert_eq!(words(&mentions.addressed), addressed, "{text:?}");
    }
}

#[test]
fn an_id_goes_before_a_name_and_a_reserved_name_finds_nobody() {
    let [first, second] = ["first", "second"].map(AgentId::new);
    let roster = Roster::new([(&first, "second"), (&second, "Human")]);
    assert_eq!(roster.find(" SECOND "), Some(&second));
    assert_eq!(roster.find("human"), None);
    assert_eq!(roster.find(""), None);
}

#[test]
fn the_routing_table() {
    let everyone = "ada bob me dash- lovelace élise";
    for (sender, text, main_agent, expected) in [
        ("human", "hello", "", everyone),
        ("human", "hello @nobody", "", everyone),
        ("human", "@ada hi", "", "ada"),
        ("human", "@ada hi\n@BOB hi", "", "ada bob"),
        ("human", "ask @ada", "", "notice"),
        ("world", "hello", "", everyone),
        ("world", "@ada hi", "", "ada"),
        ("world", "ask @ada", "", "notice"),
        ("bob", "hello", "", ""),
        ("bob", "@ada hi", "", "ada"),
        ("bob", "ask @ada", "", ""),
        ("bob", "@human Turn limit reached (5 turns).", "ada", ""),
        ("system", "hello", "ada", ""),
        ("system", "@ada hi", "", ""),
        ("", "ask @ada", "", ""),
        ("human", "hello", "ADA", "ada"),
        ("world", "hello", "ada", "ada"),
        ("human", "ask @bob", "ada", "ada"),
        ("human", "@bob hi", "ada", "bob"),
        ("bob", "hello", "ada", ""),
        ("human", "hello", "departed", everyone),
    ] {
        let main_agent = Some(main_agent).filter(|id| !id.is_empty()).map(AgentId::new);
        let sender = Sender::parse(sender);
        let route = with_roster(|roster| route(&sender, text, roster, main_agent.as_ref()));
        let found = match route.notice() {
            Some(_) => "notice".to_owned(),
            None => words(route.recipients()),
        };
        assert_eq!(found, expected, "{sender} says {text:?} with {main_agent:?}");
    }
}

#[test]
fn an_agent_never_answers_itself_however_its_id_is_written() {
    for (id, text, expected) in [
        ("ada", "@ada hi", ""),
        ("Ada", "@ada @bob hi", "bob"),
        ("ADA", "@aDa hi", ""),
        ("bob", "@robert hi", ""),
    ] {
        let sender = Sender::Agent(AgentId::new(id));
        let route = with_roster(|roster| route(&sender, text, roster, None));
        assert_eq!(words(route.recipients()), expected, "{id} says {text:?}");
    }
}

#[test]
fn the_notice_says_why_and_what_to_do() {
    for (text, expected) in [
        (
            "ask @ada",
            "Nobody answers: @ada is only mentioned inside a line, which does not address an agent. To get an answer, put the mention at the start of a line: @ada ...",
        ),
        (
            "ask @robert or @ada",
            "Nobody answers: @bob, @ada are only mentioned inside a line, which does not address an agent. To get an answer, put the mention at the start of a line: @bob ...",
        ),
    ] {
        let route = with_roster(|roster| route(&Sender::Human, text, roster, None));
        assert_eq!(route.recipients(), []);
        assert_eq!(route.notice().as_deref(), Some(expected));
    }
}

#[test]
fn own_mentions_leave_line_starts_and_stay_inside_lines() {
    for (text, expected) in [
        ("@me hi", "hi"),
        ("@ME, @me,@Myself , hi", "hi"),
        ("  @me hi", "  hi"),
        ("hello\n@me: done\nas @me said", "hello\ndone\nas @me said"),
        ("@me @bob hi", "@bob hi"),
        ("@bob, @me, hi", "@bob, hi"),
        ("@bob @me: hi", "@bob hi"),
        ("@bob @me", "@bob"),
        ("@me,@bob hi", "@bob hi"),
        ("@nobody @me hi", "@nobody hi"),
        ("hi @me, look", "hi look"),
        ("hi, @me", "hi,"),
        ("@me hi @me there", "hi there"),
        ("@me: @bob is wrong", ": @bob is wrong"),
        ("@me", ""),
        ("@me\n@me,", ""),
        ("@me\nhello\n\nbye", "hello\n\nbye"),
        ("```\n@me run\n```", "```\nrun\n```"),
        ("plain text \n", "plain text \n"),
        ("  \n", ""),
    ] {
        assert_eq!(finished(text, "human"), expected, "{text:?}");
    }
}

#[test]
fn a_reply_to_another_agent_gets_its_mention_unless_it_addresses_somebody() {
    for (text, answering, expected) in [
        ("done", "bob", "@bob done"),
        ("done", "BOB", "@bob done"),
        ("done", "human", "done"),
        ("done", "world", "done"),
        ("done", "system", "done"),
        ("done", "me", "done"),
        ("done", "departed", "done"),
        ("@me done", "bob", "@bob done"),
        ("as @ada said", "bob", "@bob as @ada said"),
        ("@nobody hi", "bob", "@bob @nobody hi"),
        ("@ada done", "bob", "@ada done"),
        ("done\n@ada look", "bob", "done\n@ada look"),
        ("@bob done", "bob", "@bob done"),
        ("@robert done", "bob", "@robert done"),
        ("@human please decide", "bob", "@human please decide"),
        ("", "bob", ""),
        (" \n", "bob", ""),
        ("@me,", "bob", ""),
    ] {
        assert_eq!(finished(text, answering), expected, "{text:?} to {answering}");
    }
}

#[test]
fn auto_reply_off_skips_only_the_added_mention() {
    let author = AgentId::new("me");
    let bob = Sender::parse("bob");
    for (text, expected) in [
        ("@me done", "done"),
        ("<world>TO: ada</world>done", "@ada\ndone"),
        ("@ada done <world>PASS</world>", "done"),
    ] {
        let found = with_roster(|roster| finish_reply(text, &author, &bob, false, roster));
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn tags_are_removed_and_obeyed() {
    for (text, expected) in [
        ("@ada done <world>STOP</world>", "done"),
        ("done <WORLD> done </World>", "done"),
        ("<world>pass</world>@ada, @human bye\nhi @bob ok", "bye\nhi ok"),
        ("@ada: bye<world>\nSTOP\n</world>", "bye"),
        ("as @ada said <world>STOP</world>", "as @ada said"),
        ("@ada hi @bob x <world>STOP</world>", "hi x"),
        ("<world>TO: ada, Robert</world>look", "@ada\n@bob\nlook"),
        ("@ada look\n@lovelace too\n<world>to : @bob</world>", "@bob\nlook\ntoo"),
        ("hi @ada look<world>TO: bob</world>", "@bob\nhi look"),
        ("<world>TO: Countess of Lovelace, ada, ADA</world>x", "@lovelace\n@ada\nx"),
        ("<world>TO: ada</world>x<world>TO: bob,ada</world>", "@ada\n@bob\nx"),
        ("<world>TO: human</world>@ada x", "@human\nx"),
        ("<world>TO: ada</world>x<world>DONE</world>", "x"),
        ("<world>TO:</world>x", "@bob x"),
        ("<world>TO</world>@ada x", "@ada x"),
        ("<world>TO: ,nobody, me</world>@me x", "@bob x"),
        ("<world>STOP</world>", ""),
        ("<world>TO: ada</world>\n@bob", ""),
        ("<wor<world>PASS</world>ld>STOP</world>x", "x"),
        ("<world>Earth</world>", "@bob <world>Earth</world>"),
        ("<world>STOP: now</world>", "@bob <world>STOP: now</world>"),
        ("<world>STOP", "@bob <world>STOP"),
        ("STOP</world>", "@bob STOP</world>"),
    ] {
        assert_eq!(finished(text, "bob"), expected, "{text:?}");
    }
}

#[test]
fn hostile_texts_take_linear_time() {
    let size = 1 << 18;
    for unit in [
        "@",
        "@ ",
        "@me ",
        "@me: ",
        "@me hi ",
        "@me@me",
        "@bob @me:",
        "hi @me\n",
        ",",
        "<world>",
        "</world>",
        "<world>STOP</world>",
        "<world>TO: ada",
        "a-",
    ] {
        let text = unit.repeat(size / unit.len());
        let nested = " ".repeat(size / 2) + &text;
        let started = Instant::now();
        for text in [&text, &nested] {
            let _ = finished(text, "bob");
            let _ = with_roster(|roster| route(&Sender::Human, text, roster, None));
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{unit:?}");
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "@me",
        "@ME",
        "@bob",
        "@ada",
        "@nobody",
        "@human",
        "hi",
        "to",
        ",",
        ":",
        " ",
        "  ",
        "\n",
        "@",
        "-",
        "word",
        "é",
        "<wor",
        "ld>",
        "<world>TO: ada</world>",
        "<world>TO:</world>",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn finishing_a_finished_text_changes_nothing(text in hostile_text(), answering in "bob|human|me") {
        let once = finished(&text, &answering);
        prop_assert_eq!(finished(&once, &answering), once);
    }

    #[test]
    fn a_finished_text_never_addresses_its_author(text in hostile_text()) {
        let mentions = with_roster(|roster| parse(&finished(&text, "bob"), roster));
        prop_assert!(!mentions.addressed.contains(&AgentId::new("me")));
    }

    #[test]
    fn a_stopped_text_addresses_nobody(text in hostile_text()) {
        let stopped = finished(&(text + "<world>STOP</world>"), "bob");
        let mentions = with_roster(|roster| parse(&stopped, roster));
        prop_assert_eq!(mentions.addressed, vec![]);
    }

    #[test]
    fn every_text_is_handled(text in any::<String>()) {
        let _ = finished(&text, "bob");
    }
}
