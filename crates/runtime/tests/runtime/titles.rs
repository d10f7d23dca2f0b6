//! A chat gets its name from a model when it first comes to rest, unless a person was faster.

use agent_world_core::Timestamp;
use agent_world_core::event::{Author, Event};
use agent_world_core::ids::ChatId;
use agent_world_core::item::Reply;
use agent_world_core::prompt::TITLE_INSTRUCTIONS;
use agent_world_llm::scripted::{Answer, Scripted};
use agent_world_llm::{Capabilities, Class, Events, Model, Request};

use crate::props::gate;
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    a_model_names_a_chat_that_first_comes_to_rest,
    a_name_given_by_a_person_is_never_overwritten,
    a_name_given_while_the_model_thinks_is_kept,
    a_model_that_cannot_name_a_chat_is_not_asked_again,
    a_model_that_thinks_first_is_given_room_for_it,
);

/// A world, whose titles are made by a model of their own, and its first chat.
async fn stage_with_an_unnamed_chat(backend: Backend) -> (Stage, ChatId) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let chats = stage.store.chats(&stage.world, None, 1).await.unwrap();
    assert_eq!(chats[0].title, "New Chat");
    stage.model.push("ada", Answer::text("Hello."));
    (stage, chats[0].id.clone())
}

/// Returns once the chat owes nothing: no turn, and no name.
async fn at_rest(stage: &Stage, chat: &ChatId) {
    stage
        .until(async || {
            let due = stage.store.due(Timestamp::MAX, None, 10).await.unwrap();
            (!due.contains(chat)).then_some(())
        })
        .await;
}

async fn a_model_names_a_chat_that_first_comes_to_rest(backend: Backend) {
    let (stage, chat) = stage_with_an_unnamed_chat(backend).await;
    stage.model.push("titles", Answer::text("\"A Very Warm Welcome\""));
    stage.say_in(&chat, "hello there").await;
    at_rest(&stage, &chat).await;
    let view = stage.view(&chat).await;
    assert_eq!((view.title.as_str(), view.named_by), ("A Very Warm Welcome", Author::Model));
    let request = stage.requests_of("titles").remove(0);
    assert_eq!(request.instructions, TITLE_INSTRUCTIONS);
    assert!(request.tools.is_empty() && !request.stream);

    stage.model.push("ada", Answer::text("Again."));
    stage.say_in(&chat, "hello again").await;
    at_rest(&stage, &chat).await;
    assert_eq!(stage.requests_of("titles").len(), 1, "once is enough");
}

async fn a_name_given_by_a_person_is_never_overwritten(backend: Backend) {
    let (stage, chat) = stage_with_an_unnamed_chat(backend).await;
    stage.engine.rename_chat(&chat, "Mine", "eve").await.unwrap();
    stage.say_in(&chat, "hello there").await;
    at_rest(&stage, &chat).await;
    let view = stage.view(&chat).await;
    assert_eq!((view.title.as_str(), view.named_by), ("Mine", Author::Person("eve".to_owned())));
    assert_eq!(stage.requests_of("titles").len(), 0);
}

async fn a_name_given_while_the_model_thinks_is_kept(backend: Backend) {
    let (stage, chat) = stage_with_an_unnamed_chat(backend).await;
    let thinking = gate();
    stage.model.push("titles", Answer::text("A Very Warm Welcome").held_by(&thinking));
    stage.say_in(&chat, "hello there").await;
    stage.model.received(2).await;
    stage.engine.rename_chat(&chat, "Mine", "eve").await.unwrap();
    thinking.add_permits(1);
    // Whatever the model said has been dealt with when the next turn is over.
    stage.model.push("ada", Answer::text("Again."));
    stage.say_in(&chat, "hello again").await;
    at_rest(&stage, &chat).await;
    assert_eq!(stage.view(&chat).await.title, "Mine");
}

async fn a_model_that_cannot_name_a_chat_is_not_asked_again(backend: Backend) {
    let (stage, chat) = stage_with_an_unnamed_chat(backend).await;
    stage.model.push("titles", Answer::failure(Class::Quota, "no more titles"));
    stage.say_in(&chat, "hello there").await;
    at_rest(&stage, &chat).await;
    stage.model.push("ada", Answer::text("Again."));
    stage.say_in(&chat, "hello again").await;
    at_rest(&stage, &chat).await;
    assert_eq!(stage.view(&chat).await.title, "New Chat");
    assert_eq!(stage.requests_of("titles").len(), 1);
    let log = stage.log(&chat).await;
    let given_up = |event: &&Event| matches!(event, Event::NamingGivenUp { .. });
    assert_eq!(log.iter().filter(given_up).count(), 1);
}

async fn a_model_that_thinks_first_is_given_room_for_it(backend: Backend) {
    #[derive(Debug)]
    struct Plain(Scripted);

    impl Model for Plain {
        fn stream(&self, request: Request) -> Events {
            self.0.stream(request)
        }

        fn capabilities(&self, model: &str) -> Capabilities {
            Capabilities { reasoning: model == "thinker", ..Capabilities::default() }
        }
    }

    for (model, limit) in [("plain/thinker", 2_048), ("plain/talker", 64)] {
        let script = Scripted::answering(|_| Ok(Reply::text("A Very Warm Welcome")));
        let stage = Setup::of(&["ada"])
            .vendor("plain", Plain(script.clone()))
            .world(|world| world.title_model = Some(model.to_owned()))
            .open(backend)
            .await;
        let chat = stage.store.chats(&stage.world, None, 1).await.unwrap()[0].id.clone();
        stage.say_in(&chat, "hello there").await;
        at_rest(&stage, &chat).await;
        assert_eq!(script.requests()[0].max_output_tokens, Some(limit), "{model}");
    }
}
