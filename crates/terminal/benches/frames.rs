//! What the frames of the full-screen view cost while something huge is shown: a reply of 5 MB, a tool's output of 100,000
//! lines, and the details of a call with a result as long.
//!
//! Run it with `cargo bench -p agent-world-terminal`. Required: no frame takes 50 ms, and the worst one of something a
//! hundred times as long takes a few times as long as that of something short. In processor time, so that a busy machine
//! can be measured as well; absolute numbers are the machine's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

use std::time::Duration;

use agent_world_terminal::markdown;
use agent_world_terminal::tui::rehearsal::Rehearsal;
use crossterm::event::KeyCode;
use nix::time::{ClockId, clock_gettime};

const SIZE: (u16, u16) = (160, 50);
/// Frames after everything is laid out.
const LATER: usize = 100;

/// What the frames of one scene cost: the worst one with what led to it, and one of the later ones.
struct Cost {
    worst: Duration,
    later: Duration,
    frames: usize,
}

fn main() {
    // `cargo test` starts benches to see whether they run.
    let scale = if std::env::args().any(|argument| argument == "--bench") { 100 } else { 1 };
    // As the view does while it starts.
    markdown::prepare();
    println!(
        "worst frame, a later frame, frames until all is laid out (required: worst under 50 ms):"
    );
    let scenes: [(&str, &dyn Fn(usize) -> Cost); 5] = [
        ("a reply in prose", &|many| reply(&"A sentence of a long reply. ".repeat(many * 1_800))),
        ("a reply in lines", &|many| reply(&"a line of a long reply\n".repeat(many * 2_200))),
        ("a reply in code", &|many| {
            reply(&format!("```rust\n{}", "let line = made(1, \"two\");\n".repeat(many * 1_900)))
        }),
        ("a tool's output, as it comes", &|many| output(many * 1_000)),
        ("the details of a call", &|many| details(many * 1_000)),
    ];
    for (name, scene) in scenes {
        let (short, long) = (scene(1), scene(scale));
        println!(
            "  {name:<30} {:>9.2?} {:>9.2?} {:>5}   {:.1} times the worst of a hundredth",
            long.worst,
            long.later,
            long.frames,
            long.worst.as_secs_f64() / short.worst.as_secs_f64()
        );
    }
}

fn reply(text: &str) -> Cost {
    let mut view = Rehearsal::new(SIZE.0, SIZE.1).unwrap();
    frames(&mut view, |view| view.says(0, text))
}

/// Pieces of a thousand lines, with a frame after each.
fn output(lines: usize) -> Cost {
    let mut view = Rehearsal::new(SIZE.0, SIZE.1).unwrap();
    view.calls(None).unwrap();
    let piece = "some output of a build\n".repeat(1_000);
    let mut cost = frames(&mut view, |view| view.writes(&piece));
    for _ in 1..lines / 1_000 {
        let more = frames(&mut view, |view| view.writes(&piece));
        cost = Cost { worst: cost.worst.max(more.worst), frames: cost.frames + 1, ..more };
    }
    cost
}

fn details(lines: usize) -> Cost {
    let mut view = Rehearsal::new(SIZE.0, SIZE.1).unwrap();
    let result = "some output of a build\n".repeat(lines);
    view.calls(Some(&result)).unwrap();
    view.presses(KeyCode::Esc);
    view.draws().unwrap();
    frames(&mut view, |view| view.presses(KeyCode::Char('t')))
}

fn frames(view: &mut Rehearsal, happens: impl FnOnce(&mut Rehearsal)) -> Cost {
    let mut begun = used();
    happens(view);
    let (mut worst, mut frames) = (Duration::ZERO, 0);
    loop {
        view.draws().unwrap();
        worst = worst.max(used() - begun);
        frames += 1;
        if !view.is_unfinished() {
            break;
        }
        begun = used();
    }
    begun = used();
    for _ in 0..LATER {
        view.draws().unwrap();
    }
    Cost { worst, later: (used() - begun) / u32::try_from(LATER).unwrap(), frames }
}

/// Processor time of this thread.
fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}
