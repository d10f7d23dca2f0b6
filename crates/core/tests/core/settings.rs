//! Checks which settings a world accepts, and what they mean for its agents and tools.

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, Invalid, ToolSpec, Tools, World};
use agent_world_core::ids::{CallId, Ids, is_slug};
use serde_json::json;

fn world(agents: &[(&str, &str)]) -> World {
    let mut world = World::new("test".into(), "Test", Timestamp::UNIX_EPOCH);
    world.agents = agents
        .iter()
        .map(|(id, name)| Agent { name: (*name).to_owned(), ..Agent::new(*id) })
        .collect();
    world
}

#[test]
fn an_id_is_what_a_mention_can_name() {
    for good in ["a", "ada", "ada-2", "4da", "a_b", &"a".repeat(64)] {
        assert!(is_slug(good), "{good}");
    }
    for bad in ["", "Ada", "a b", "-a", "_a", "a.b", "é", "a@b", "a/b", &"a".repeat(65)] {
        assert!(!is_slug(bad), "{bad}");
        assert_eq!(world(&[(bad, "x")]).check(), Err(Invalid::Slug(bad.to_owned())));
    }
}

#[test]
fn nobody_may_have_the_name_of_somebody_else() {
    for name in ["human", "user", "you", "world", "system"] {
        let reserved = Err(Invalid::Reserved(name.to_owned()));
        assert_eq!(world(&[(name, "x")]).check(), reserved);
        assert_eq!(world(&[("ada", &name.to_uppercase())]).check(), reserved);
    }
}

#[test]
fn two_agents_never_answer_to_one_name_in_any_case() {
    for agents in [
        [("ada", "Ada"), ("ada", "Other")],
        [("ada", "Ada"), ("bob", "ADA")],
        [("ada", "Countess"), ("bob", " countess ")],
        [("ada", "bob"), ("bob", "Robert")],
    ] {
        assert!(matches!(world(&agents).check(), Err(Invalid::Ambiguous(_))), "{agents:?}");
    }
    assert_eq!(world(&[("ada", "Ada"), ("bob", "Robert")]).check(), Ok(()));
}

#[test]
fn the_main_agent_must_exist() {
    let mut world = world(&[("ada", "Ada")]);
    world.main_agent = Some("bob".into());
    assert_eq!(world.check(), Err(Invalid::MainAgent("bob".into())));
    world.main_agent = Some("ada".into());
    assert_eq!(world.check(), Ok(()));
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let mut world = world(&[]);
    world.turn_limit = 0;
    assert_eq!(world.check(), Err(Invalid::Zero { field: "turn_limit" }));
    world.turn_limit = 1;
    world.max_iterations = 0;
    assert_eq!(world.check(), Err(Invalid::Zero { field: "max_iterations" }));
}

#[test]
fn an_agents_own_setting_goes_before_the_worlds() {
    let mut world = world(&[("ada", "Ada")]);
    let mut agent = world.agents[0].clone();
    assert!(world.streams(&agent));
    assert_eq!(world.model_of(&agent), None);
    world.streaming = false;
    world.default_model = Some("vendor/small".to_owned());
    assert!(!world.streams(&agent));
    assert_eq!(world.model_of(&agent), Some("vendor/small"));
    agent.streaming = Some(true);
    agent.model = Some("vendor/large".to_owned());
    assert!(world.streams(&agent));
    assert_eq!(world.model_of(&agent), Some("vendor/large"));
}

#[test]
fn an_agent_is_offered_the_tools_it_names_or_all() {
    let names = ["write", "read"];
    let tools: Tools = names.iter().map(|name| ToolSpec::new(*name, "", json!({}))).collect();
    let offered = |agent: &Agent| tools.of(agent).map(|spec| spec.name.clone()).collect::<Vec<_>>();
    let mut agent = Agent::new("ada");
    assert_eq!(offered(&agent), ["read", "write"]);
    agent.tools = vec!["write".to_owned(), "fly".to_owned()];
    assert_eq!(offered(&agent), ["write"]);
    agent.tools = Vec::new();
    assert!(offered(&agent).is_empty());
}

#[test]
fn a_document_with_little_in_it_means_the_defaults() {
    let world: World = serde_json::from_value(json!({
        "id": "test",
        "name": "Test",
        "agents": [{ "id": "ada", "name": "Ada" }],
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }))
    .unwrap();
    assert_eq!((world.turn_limit, world.max_iterations), (5, 10));
    assert!(world.streaming && world.agents[0].auto_reply && world.agents[0].parallel_tool_calls);
    assert_eq!(world.approval_timeout_seconds, None);
    let written = serde_json::to_string(&world).unwrap();
    assert_eq!(serde_json::from_str::<World>(&written).unwrap(), world);

    let tool: ToolSpec =
        serde_json::from_value(json!({ "name": "t", "description": "", "parameters": {} }))
            .unwrap();
    assert_eq!(tool, ToolSpec::new("t", "", json!({})));
    assert!(tool.approval.required, "a tool that says nothing asks");
    assert_eq!(tool.timeout_seconds, 30);
}

#[test]
fn ids_of_one_command_sort_in_the_order_in_which_they_were_made() {
    let mut ids = Ids::new(Timestamp::UNIX_EPOCH, 7);
    let made: Vec<CallId> = (0..100).map(|_| CallId::next(&mut ids)).collect();
    assert!(made.is_sorted() && made.iter().all(|id| id.as_str().starts_with("call_")));
    let later = Timestamp::UNIX_EPOCH.checked_add(std::time::Duration::from_millis(1)).unwrap();
    assert!(CallId::next(&mut Ids::new(later, 0)) > made[99]);
}

#[test]
fn values_that_nobody_can_mean_are_refused_by_their_name() {
    type Change = fn(&mut World);
    let odd: [(&str, Change); 14] = [
        ("name", |world| world.name = "x".repeat(201)),
        ("description", |world| world.description = "x".repeat(20_001)),
        ("approval_timeout_seconds", |world| world.approval_timeout_seconds = Some(0)),
        ("approval_timeout_seconds", |world| world.approval_timeout_seconds = Some(u64::MAX)),
        ("default_model", |world| world.default_model = Some(" ".to_owned())),
        ("title_model", |world| world.title_model = Some("x".repeat(201))),
        ("result_limit", |world| world.result_limit = 0),
        ("variables.v", |world| {
            world.variables.insert("v".to_owned(), "x".repeat(100_001));
        }),
        ("agents.ada.name", |world| world.agents[0].name = "x".repeat(201)),
        ("agents.ada.instructions", |world| world.agents[0].instructions = "x".repeat(200_001)),
        ("agents.ada.temperature", |world| world.agents[0].temperature = Some(2.1)),
        ("agents.ada.temperature", |world| world.agents[0].temperature = Some(f64::NAN)),
        ("agents.ada.max_output_tokens", |world| world.agents[0].max_output_tokens = Some(0)),
        ("agents.ada.tools", |world| world.agents[0].tools = vec![String::new()]),
    ];
    for (field, change) in odd {
        let good = world(&[("ada", "Ada")]);
        assert_eq!(good.check_bounds(None), Ok(()));
        let mut bad = good.clone();
        change(&mut bad);
        for before in [None, Some(&good)] {
            let refused = bad.check_bounds(before).unwrap_err();
            assert_eq!(refused.field(), Some(field), "{refused}");
            assert!(refused.to_string().contains(field), "{refused}");
        }
    }
    let mut edge = world(&[("ada", "Ada")]);
    edge.name = "é".repeat(200);
    edge.agents[0].temperature = Some(2.0);
    assert_eq!(edge.check_bounds(None), Ok(()));
}

#[test]
fn a_stored_value_that_would_be_refused_today_hinders_no_other_change() {
    let mut stored = world(&[("ada", "Ada")]);
    stored.name = "x".repeat(500);
    stored.agents[0].temperature = Some(7.0);
    let mut changed = stored.clone();
    changed.description = "new".to_owned();
    changed.agents[0].instructions = "new".to_owned();
    assert_eq!(changed.check_bounds(Some(&stored)), Ok(()));
    changed.agents[0].temperature = Some(8.0);
    let refused = changed.check_bounds(Some(&stored)).unwrap_err();
    assert_eq!(refused.field(), Some("agents.ada.temperature"));
}
