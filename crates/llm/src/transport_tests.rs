//! Tests of what a transport decides without a network: pauses, headers, proxies. The rest is tested with servers, in
//! `tests/network`.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::*;
use crate::Class;

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &'static str)| {
        (HeaderName::from_static(name), HeaderValue::from_static(value))
    };
    pairs.iter().map(pair).collect()
}

#[test]
fn a_vendors_delay_is_read_in_all_its_forms() {
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (pairs, milliseconds) in [
        (vec![], None),
        (vec![("retry-after", "7")], Some(7_000)),
        (vec![("retry-after", " 1.5 ")], Some(1_500)),
        (vec![("retry-after-ms", "20"), ("retry-after", "7")], Some(20)),
        (vec![("retry-after-ms", "soon"), ("retry-after", "7")], Some(7_000)),
        (vec![date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30_000)),
        (vec![date, ("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0)),
        // Without the vendor's own date, ours; this one is long past by any clock.
        (vec![("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(0)),
        (vec![("retry-after", "-3")], None),
        (vec![("retry-after", "NaN")], None),
        (vec![("retry-after", "tomorrow")], None),
    ] {
        let expected = milliseconds.map(Duration::from_millis);
        assert_eq!(asked_delay(&headers(&pairs)), expected, "{pairs:?}");
    }
    // Longer than anybody waits, and no more than can be reckoned with.
    for value in ["1e300", "inf", "99999999999999999999"] {
        let delay = asked_delay(&headers(&[("retry-after", value)])).unwrap();
        assert!(delay > Duration::from_secs(1_000_000), "{value}");
        assert!(delay.checked_mul(1_000).is_some(), "{value}");
    }
}

#[test]
fn the_most_telling_id_of_a_request_is_taken() {
    let all = [
        ("cf-ray", "5"),
        ("apim-request-id", "4"),
        ("x-goog-request-id", "3"),
        ("request-id", "2"),
        ("x-request-id", "1"),
    ];
    for count in 1..=all.len() {
        let expected = all.get(count - 1).map(|(_, id)| (*id).to_owned());
        assert_eq!(request_id(&headers(all.get(..count).unwrap())), expected);
    }
    assert_eq!(
        request_id(&headers(&[("x-request-id", ""), ("cf-ray", "5")])).as_deref(),
        Some("5")
    );
    assert_eq!(request_id(&headers(&[])), None);
}

fn limited(wait: Option<u64>) -> Failed {
    let error = Error::new(Class::RateLimited { retry_after: None }, "toy", "");
    Failed::from(error).asked_to_wait(wait.map(Duration::from_secs))
}

#[test]
fn a_pause_is_ours_unless_the_vendor_asks_for_one() {
    let (retry, second) = (Retry::default(), Duration::from_secs(1));
    assert_eq!(retry.pause(&limited(None), second), Some(second));
    let pause = retry.pause(&limited(Some(5)), second).unwrap();
    assert!(pause > 5 * second && pause < 6 * second, "{pause:?}");
    assert_eq!(retry.pause(&limited(Some(60)), second), Some(60 * second));
    assert_eq!(retry.pause(&limited(Some(61)), second), None);
    let impatient = Retry { longest_wait: Duration::from_millis(1), ..retry };
    assert_eq!(impatient.pause(&limited(None), second), Some(Duration::from_millis(1)));
}

#[test]
fn a_delay_inside_an_error_counts_like_one_in_a_header() {
    let wait = Some(Duration::from_secs(7));
    let failed = Failed::from(Error::new(Class::RateLimited { retry_after: wait }, "toy", ""));
    assert_eq!(failed.wait, wait);
    let failed = failed.asked_to_wait(Some(Duration::from_secs(9)));
    let told = failed.error.class.retry_after();
    assert_eq!((failed.wait, told), (told, Some(Duration::from_secs(9))));
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_and_differ() {
    let retry = Retry { attempts: 4, ..Retry::default() };
    let mut times = Vec::new();
    let outcome: Result<(), Error> = retry
        .run("toy", || {
            times.push(tokio::time::Instant::now());
            async { Err(Failed::from(Error::new(Class::Overloaded, "toy", "full"))) }
        })
        .await;
    assert_eq!(outcome.unwrap_err().class, Class::Overloaded);
    let pauses: Vec<_> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    let [first, second, third] = pauses[..] else { panic!("{pauses:?}") };
    // tokio's clock counts whole milliseconds and never wakes early.
    assert!((500..=1_002).contains(&first), "{pauses:?}");
    assert!((1_000..=2_002).contains(&second), "{pauses:?}");
    assert!((2_000..=4_002).contains(&third), "{pauses:?}");
}

#[test]
fn proxies_are_read_from_variables() {
    let read = |variables: &'static [(&str, &str)]| {
        Proxies::read(|name| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    };
    let applies = |proxies: &Proxies, url: &str| proxies.apply_to(&Url::parse(url).unwrap());
    let both = ["http://a.example/", "https://a.example/"];
    for (variables, expected) in [
        (&[][..], [false, false]),
        (&[("HTTP_PROXY", "http://p:1")], [true, false]),
        (&[("https_proxy", "http://p:1")], [false, true]),
        (&[("ALL_PROXY", "p:1")], [true, true]),
        (&[("HTTPS_PROXY", " "), ("https_proxy", "p:1")], [false, true]),
        // What a visitor of a web server sent as a header.
        (&[("HTTP_PROXY", "http://p:1"), ("REQUEST_METHOD", "GET")], [false, false]),
    ] {
        let proxies = read(variables);
        assert_eq!(both.map(|url| applies(&proxies, url)), expected, "{variables:?}");
        assert!(proxies.to_client().is_ok(), "{variables:?}");
    }
    let proxies = read(&[("ALL_PROXY", "http://p:1")]);
    for url in ["http://localhost:11434/", "http://127.0.0.1/", "https://[::1]/"] {
        assert!(!applies(&proxies, url), "{url}");
        assert!(applies(&proxies.clone().even_loopback(), url), "{url}");
    }
}

#[test]
fn a_transport_is_made_without_anything_installed_for_the_process() {
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
    let transport = Transport::builder().proxies(Proxies::none()).build();
    assert!(transport.is_ok(), "{transport:?}");
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}

#[test]
fn a_header_that_cannot_be_sent_is_refused_without_its_value() {
    let error = header("x-key", "secret-word\n").unwrap_err();
    assert!(error.message.contains("x-key"), "{error}");
    assert!(!error.message.contains("secret-word"), "{error}");
    assert!(header("no name", "").is_err());
    let (_, value) = header("x-key", "secret-word").unwrap();
    assert!(!format!("{value:?}").contains("secret-word"));
}
