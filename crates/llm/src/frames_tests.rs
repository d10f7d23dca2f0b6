//! Checks where messages of a stream end, for every way in which vendors end their lines and networks cut their bytes.

use super::*;

/// All messages of a stream that comes in chunks of one size.
fn frames(framing: Framing, bytes: &[u8], size: usize) -> Result<Vec<Frame>, Broken> {
    let mut frames = Frames::new(framing, 1 << 20);
    let mut all = Vec::new();
    for chunk in bytes.chunks(size) {
        all.extend(frames.push(&Bytes::copy_from_slice(chunk))?);
    }
    all.extend(frames.end()?);
    Ok(all)
}

const SIZES: [usize; 3] = [1, 7, 8192];

#[track_caller]
fn sse(bytes: &[u8], expected: &[(Option<&str>, &str)]) {
    let frame = |(event, data): &(Option<&str>, &str)| Frame {
        event: event.map(str::to_owned),
        data: (*data).to_owned(),
    };
    let expected: Vec<Frame> = expected.iter().map(frame).collect();
    for size in SIZES {
        assert_eq!(frames(Framing::Sse, bytes, size), Ok(expected.clone()), "in {size}s");
    }
}

#[track_caller]
fn lines(bytes: &[u8], expected: &[&str]) {
    for size in SIZES {
        let got = frames(Framing::Lines, bytes, size).unwrap();
        assert!(got.iter().all(|frame| frame.event.is_none()));
        let got: Vec<&str> = got.iter().map(|frame| frame.data.as_str()).collect();
        assert_eq!(got, expected, "in {size}s");
    }
}

#[test]
fn lines_of_events_end_in_any_of_three_ways() {
    for end in ["\n", "\r\n", "\r"] {
        let text = "event: a|data: 1||data: 2||".replace('|', end);
        sse(text.as_bytes(), &[(Some("a"), "1"), (None, "2")]);
    }
    sse(b"data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r", &[(None, "1"), (None, "2"), (None, "3")]);
}

#[test]
fn a_byte_order_mark_comments_and_other_fields_are_passed_over() {
    sse("\u{feff}data: 1\n\n".as_bytes(), &[(None, "1")]);
    sse(b": ping\n\n:\n\nid: 7\nretry: 3\n\ndata: 1\n: in between\n\n", &[(None, "1")]);
    sse(b"unknown: x\ndata:no blank\ndata\n\n", &[(None, "no blank\n")]);
    // What is not text does not matter where nobody reads it.
    sse(b": \xff\xfe\n\ndata: 1\n\n", &[(None, "1")]);
}

#[test]
fn data_of_several_lines_is_joined() {
    sse(
        b"data: {\ndata:   \"a\": 1\ndata: }\n\ndata: x\n\n",
        &[(None, "{\n  \"a\": 1\n}"), (None, "x")],
    );
}

#[test]
fn an_event_whose_end_is_missing_is_given_at_the_end() {
    sse(b"data: 1\n\ndata: 2", &[(None, "1"), (None, "2")]);
    sse(b"data: 1\n\ndata: 2\n", &[(None, "1"), (None, "2")]);
    sse(b"data: 1\r\n\r\ndata: 2\r\n", &[(None, "1"), (None, "2")]);
    sse(b"data: 1\r\rdata: 2\r", &[(None, "1"), (None, "2")]);
    sse(b"", &[]);
}

#[test]
fn characters_may_be_cut_anywhere() {
    sse("data: äöü €🦀\n\n".as_bytes(), &[(None, "äöü €🦀")]);
    lines("{\"a\":\"äöü €🦀\"}\n{}\n".as_bytes(), &["{\"a\":\"äöü €🦀\"}", "{}"]);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    for size in SIZES {
        for bytes in [&b"data: \xff\n\n"[..], b"event: \xc3\ndata: 1\n\n", b"data: \xe2\x82\n\n"] {
            let got = frames(Framing::Sse, bytes, size);
            assert!(matches!(got, Err(Broken::NotText(_))), "{got:?}");
        }
        for bytes in [&b"\xff\n"[..], b"{}\n\xe2\x82\n", b"\xe2\x82"] {
            let got = frames(Framing::Lines, bytes, size);
            assert!(matches!(got, Err(Broken::NotText(_))), "{got:?}");
        }
    }
}

#[test]
fn lines_may_be_empty_or_padded_and_the_last_may_lack_its_end() {
    lines(b"{\"a\":1}\n{\"b\":2}\n", &["{\"a\":1}", "{\"b\":2}"]);
    lines("\u{feff}{}\r\n\r\n\n  {\"a\":1}\t\n7".as_bytes(), &["{}", "{\"a\":1}", "7"]);
    lines(b"", &[]);
    lines(b"\n\n", &[]);
}

#[test]
fn what_came_before_the_broken_bytes_is_given_first() {
    for (framing, bytes) in [
        (Framing::Sse, &b"data: 1\n\ndata: \xff\n\ndata: 2\n\n"[..]),
        (Framing::Lines, b"1\n\xff\n2\n"),
    ] {
        let mut frames = Frames::new(framing, 100);
        let before = frames.push(&Bytes::from_static(bytes)).unwrap();
        assert_eq!(before, [Frame { event: None, data: "1".to_owned() }]);
        assert!(matches!(frames.broken(), Some(Broken::NotText(_))));
        assert!(frames.push(&Bytes::from_static(b"3\n")).is_err());
        assert!(frames.end().is_err());
    }
    let mut frames = Frames::new(Framing::Lines, 4);
    assert_eq!(frames.push(&Bytes::from_static(b"1\n1234567\n")).map(|frames| frames.len()), Ok(1));
    assert_eq!(frames.broken(), Some(&Broken::TooLarge(4)));
}

/// After how many bytes a stream is refused.
fn refused_at(framing: Framing, bytes: &[u8], size: usize, cap: usize) -> Option<usize> {
    let mut frames = Frames::new(framing, cap);
    let mut taken = 0;
    for chunk in bytes.chunks(size) {
        if let Err(broken) = frames.push(&Bytes::copy_from_slice(chunk)) {
            assert_eq!(broken, Broken::TooLarge(cap));
            return Some(taken);
        }
        taken += chunk.len();
    }
    None
}

#[test]
fn a_message_that_is_too_large_is_refused_however_it_is_cut() {
    let endless = [b'x'; 5_000];
    let data = [&b"data: "[..], &endless].concat();
    let comment = [&b": "[..], &endless].concat();
    let streams = [
        (Framing::Lines, &endless[..]),
        (Framing::Sse, &endless),
        (Framing::Sse, &data),
        (Framing::Sse, &comment),
    ];
    for (framing, bytes) in streams {
        for size in SIZES {
            let at = refused_at(framing, bytes, size, 1_000);
            assert_eq!(at, Some(1_000 / size * size), "{framing:?} in {size}s");
        }
    }
    // Many lines of data make one event; so do lines that mean nothing.
    for line in ["data: x\n", "id: 1\n", "what: ever\n"] {
        let bytes = line.repeat(1_000);
        assert!(refused_at(Framing::Sse, bytes.as_bytes(), 64, 1_000).is_some(), "{line}");
    }
}

#[test]
fn many_small_messages_are_not_too_large_however_they_are_cut() {
    let ends = ["\n\n", "\r\n\r\n", "\r\r"].map(|end| format!("data: {}{end}", "x".repeat(80)));
    let comments = ": ping\n\n".to_owned();
    for event in ends.iter().chain([&comments]) {
        let bytes = event.repeat(100);
        for size in [1, 7, 100, 8192] {
            assert_eq!(refused_at(Framing::Sse, bytes.as_bytes(), size, 100), None, "{event:?}");
        }
    }
    let line = format!("{}\n", "x".repeat(99)).repeat(100);
    for size in [1, 7, 100, 8192] {
        assert_eq!(refused_at(Framing::Lines, line.as_bytes(), size, 100), None);
    }
}

/// Were anything looked at anew with every chunk, this would take 1,280 times as long: minutes.
#[test]
fn a_large_event_in_small_chunks_is_read_once() {
    let text = "x".repeat(10 << 20);
    for (framing, bytes) in
        [(Framing::Sse, format!("data: {text}\n\n")), (Framing::Lines, format!("{text}\n"))]
    {
        let mut frames = Frames::new(framing, 32 << 20);
        let mut got = Vec::new();
        for chunk in bytes.as_bytes().chunks(8 << 10) {
            got.extend(frames.push(&Bytes::copy_from_slice(chunk)).unwrap());
            // Nothing is waiting but what has no end yet: no bytes are kept twice.
            assert!(frames.line.len() <= bytes.len());
            assert!(frames.queue.0.lock().unwrap().is_empty());
        }
        assert_eq!(got.len(), 1);
        assert_eq!(got[0].data.len(), text.len());
        assert_eq!(frames.end(), Ok(None));
    }
}
