//! What a mailbox does when it is full, closed, or waited for.

use std::sync::Arc;
use std::task::{Context, Poll};

use agent_world_core::ids::{AgentId, ChatId, MessageId, WorldId};
use agent_world_runtime::Chunk;
use futures::task::noop_waker;

use super::*;
use crate::events::wire::{Form, Types};

fn frame(text: &str) -> Frame {
    let chunk = Chunk {
        world: WorldId::new("w"),
        chat: ChatId::new("chat_1"),
        agent: AgentId::new("ada"),
        message: MessageId::new("msg_1"),
        offset: 0,
        text: text.to_owned(),
        reasoning: String::new(),
        number: 1,
    };
    Frame::of_chunk(&chunk, None).unwrap()
}

fn told(text: &str) -> Told {
    let ends = crate::events::telling::Ends::Nothing;
    Told {
        position: 7,
        world: WorldId::new("w"),
        chat: None,
        frames: vec![frame(text)],
        ends,
        ended: None,
    }
}

fn wish(types: Types) -> Wish {
    Wish { types, form: Form::Plain }
}

fn mailbox() -> Mailbox {
    Mailbox::new(None, wish(Types::ALL), 0)
}

fn live() -> Mailbox {
    let mailbox = mailbox();
    assert_eq!(mailbox.caught_up(), Caught::Up);
    mailbox
}

fn take(mailbox: &Mailbox) -> Poll<(Found, usize)> {
    let waker = noop_waker();
    let mut taken = Vec::new();
    let found = mailbox.poll_take(&mut Context::from_waker(&waker), &mut taken);
    found.map(|found| (found, taken.len()))
}

#[test]
fn a_live_reader_that_takes_nothing_is_cut_off_by_number_and_by_size() {
    for (text, fits) in [("x".to_owned(), FRAMES), ("x".repeat(BYTES / 8), 7)] {
        let mailbox = live();
        let event = told(&text);
        for _ in 0..fits {
            mailbox.put(&event);
        }
        assert!(mailbox.inside().bytes > 0);
        mailbox.put(&event);
        assert_eq!(take(&mailbox), Poll::Ready((Found::TooSlow, 0)));
        let inside = mailbox.inside();
        assert_eq!((inside.bytes, inside.frames.capacity()), (0, 0), "nothing is held for it");
    }
}

#[test]
fn one_frame_fits_however_long_it_is() {
    let mailbox = live();
    mailbox.put(&told(&"x".repeat(BYTES * 3)));
    assert_eq!(take(&mailbox), Poll::Ready((Found::Frames, 1)));
    assert_eq!(take(&mailbox), Poll::Pending);
}

#[test]
fn a_reader_of_the_log_is_left_behind_and_told_to_read_on() {
    let mailbox = mailbox();
    let event = told("x");
    (0..=FRAMES).for_each(|_| mailbox.put(&event));
    assert_eq!(mailbox.caught_up(), Caught::Behind);
    mailbox.put(&event);
    assert_eq!(mailbox.caught_up(), Caught::Up);
    assert_eq!(take(&mailbox), Poll::Ready((Found::Frames, 1)));
}

#[test]
fn pieces_are_for_live_readers_who_want_them() {
    let piece = frame("x");
    let behind = mailbox();
    behind.put_piece(Kind::Stream, || Some(&piece));
    assert_eq!(behind.caught_up(), Caught::Up);
    assert_eq!(take(&behind), Poll::Pending);
    let uninterested = Mailbox::new(None, wish(Types::read("message").unwrap()), 0);
    uninterested.caught_up();
    uninterested.put_piece(Kind::Stream, || panic!("made for nobody"));
    behind.put_piece(Kind::Stream, || Some(&piece));
    assert_eq!(take(&behind), Poll::Ready((Found::Frames, 1)));
}

#[test]
fn what_is_in_a_closed_mailbox_is_still_taken_and_nothing_follows() {
    let mailbox = live();
    mailbox.put(&told("x"));
    mailbox.close(Closed::Gone { at: 7 });
    mailbox.put(&told("too late"));
    assert_eq!(take(&mailbox), Poll::Ready((Found::Frames, 1)));
    assert_eq!(take(&mailbox), Poll::Ready((Found::End, 0)));
}

#[test]
fn batches_are_bounded_and_the_rest_is_taken_next() {
    let mailbox = live();
    let event = told(&"x".repeat(BATCH / 3));
    (0..5).for_each(|_| mailbox.put(&event));
    assert_eq!(take(&mailbox), Poll::Ready((Found::Frames, 2)));
    assert_eq!(take(&mailbox), Poll::Ready((Found::Frames, 2)));
    assert_eq!(take(&mailbox), Poll::Ready((Found::Frames, 1)));
}

#[tokio::test]
async fn a_sleeping_reader_is_woken_by_what_comes_by_the_end_and_by_being_cut_off() {
    type Act = fn(&Mailbox);
    let cases: [(Act, Found); 2] = [
        (|mailbox| mailbox.put(&told("x")), Found::Frames),
        (|mailbox| mailbox.close(Closed::Stopping), Found::End),
    ];
    for (act, expected) in cases {
        let mailbox = Arc::new(live());
        let reader = tokio::spawn({
            let mailbox = Arc::clone(&mailbox);
            async move {
                let mut taken = Vec::new();
                std::future::poll_fn(|context| mailbox.poll_take(context, &mut taken)).await
            }
        });
        tokio::task::yield_now().await;
        act(&mailbox);
        assert_eq!(reader.await.unwrap(), expected);
    }
}

#[test]
fn the_end_of_a_namesake_ends_nothing_and_what_was_missed_meanwhile_is_read() {
    let mailbox = mailbox();
    mailbox.end_with(&told("x"));
    mailbox.put(&told("y"));
    mailbox.is_there(7);
    assert_eq!(mailbox.caught_up(), Caught::Behind);
    assert_eq!(mailbox.caught_up(), Caught::Up);
    mailbox.end_with(&told("x"));
    assert_eq!(take(&mailbox), Poll::Pending);
    mailbox.end_with(&Told { position: 8, ..told("x") });
    assert_eq!(take(&mailbox), Poll::Ready((Found::End, 0)));
}
