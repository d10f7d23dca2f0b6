//! Chooses at random what happens next in a walk, and the settings it happens under.
//! Called by `walk`, which decides what the numbers stand for when the move is made.

use agent_world_core::command::Scope;
use proptest::prelude::*;

use crate::reference::{Settings, Tool, Who};

/// Something that may happen. Numbers choose among what there is, open or long closed.
#[derive(Clone, Debug)]
pub enum Move {
    Post { from: Who, to: Vec<usize>, unattended: bool },
    Speak { model_call: usize, to: Vec<usize> },
    Call { model_call: usize, calls: Vec<(Tool, u8)> },
    ModelFails { model_call: usize },
    Approve { request: usize, scope: Scope, edited: bool, narrowed: bool },
    Deny { request: usize },
    Misstate { request: usize },
    Start { call: usize },
    Finish { call: usize, how: usize, late: bool },
    Lose { call: usize },
    ClientAnswers { call: usize },
    Stop { agent: Option<usize> },
    Retract { message: usize, edited: bool },
    Retry,
    Expire { after: u64 },
    Revoke { grant: usize },
    Review,
    Rename,
    Title { found: bool },
    Crash,
}

fn agents() -> impl Strategy<Value = Vec<usize>> {
    proptest::sample::subsequence(vec![0, 1, 2], 0..=2)
}

fn tools() -> impl Strategy<Value = Tool> {
    prop_oneof![
        2 => Just(Tool::Allowed),
        5 => Just(Tool::Asks),
        2 => Just(Tool::Background),
        1 => Just(Tool::BackgroundAsks),
        1 => Just(Tool::Client),
        1 => Just(Tool::ClientAsks),
        2 => Just(Tool::Repeatable),
        1 => Just(Tool::Denied),
        1 => Just(Tool::Unknown),
        1 => Just(Tool::ClientsSide),
    ]
}

pub fn moves() -> impl Strategy<Value = Move> {
    let number = 0..1_000_usize;
    let from = prop_oneof![
        6 => Just(Who::Human),
        1 => Just(Who::World),
        1 => Just(Who::System),
        2 => (0..3_usize).prop_map(Who::Agent),
    ];
    let scope =
        prop_oneof![3 => Just(Scope::Once), 3 => Just(Scope::Session), 1 => Just(Scope::Always)];
    let often = proptest::bool::weighted(0.2);
    prop_oneof![
        8 => (from, agents(), often)
            .prop_map(|(from, to, unattended)| Move::Post { from, to, unattended }),
        6 => (number.clone(), agents())
            .prop_map(|(model_call, to)| Move::Speak { model_call, to }),
        18 => (number.clone(), proptest::collection::vec((tools(), 0..2_u8), 1..4))
            .prop_map(|(model_call, calls)| Move::Call { model_call, calls }),
        2 => number.clone().prop_map(|model_call| Move::ModelFails { model_call }),
        10 => (number.clone(), scope, any::<bool>(), any::<bool>()).prop_map(
            |(request, scope, edited, narrowed)| Move::Approve { request, scope, edited, narrowed }
        ),
        4 => number.clone().prop_map(|request| Move::Deny { request }),
        1 => number.clone().prop_map(|request| Move::Misstate { request }),
        14 => number.clone().prop_map(|call| Move::Start { call }),
        12 => (number.clone(), 0..4_usize, proptest::bool::weighted(0.1))
            .prop_map(|(call, how, late)| Move::Finish { call, how, late }),
        3 => number.clone().prop_map(|call| Move::Lose { call }),
        4 => number.clone().prop_map(|call| Move::ClientAnswers { call }),
        1 => proptest::option::of(0..3_usize).prop_map(|agent| Move::Stop { agent }),
        1 => (number.clone(), any::<bool>())
            .prop_map(|(message, edited)| Move::Retract { message, edited }),
        2 => Just(Move::Retry),
        4 => (0..60_u64).prop_map(|after| Move::Expire { after }),
        2 => number.prop_map(|grant| Move::Revoke { grant }),
        1 => Just(Move::Review),
        1 => Just(Move::Rename),
        2 => any::<bool>().prop_map(|found| Move::Title { found }),
        1 => Just(Move::Crash),
    ]
}

pub fn settings() -> impl Strategy<Value = Settings> {
    let timeout = proptest::option::weighted(0.5, Just(30_u64));
    (1..5_u32, 2..6_u32, any::<bool>(), timeout).prop_map(
        |(turn_limit, max_iterations, waits_after_denial, approval_timeout)| Settings {
            turn_limit,
            max_iterations,
            waits_after_denial,
            approval_timeout,
        },
    )
}
