//! Says of each vendor where its key comes from, or what is missing, for a person who wants to know.
//! Called by programs that explain themselves. Never reads a key out, runs a command for one or asks anybody.

use super::{AZURE, AZURE_ENDPOINT, AZURE_KEY, KNOWN, Variables, hint, is_known, variable};
use crate::settings::{Key, Secret, Settings, Source, Vendor};

/// Where a vendor's key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The environment variable that holds it.
    Variable(String),
    /// It stands in the settings.
    Settings,
    /// The program that is run for it.
    Command(String),
    TokenServer,
    /// The vendor is asked without one.
    NotNeeded,
    /// What is to be done before the vendor can be asked.
    Missing(String),
}

/// Every vendor that `models` would make of the same, in order of their names.
pub fn keys(settings: &Settings, variables: Variables<'_>) -> Vec<(String, Origin)> {
    let unset = Vendor::default();
    let described = |name: &str| settings.vendors.get(name).unwrap_or(&unset);
    let mut found: Vec<(String, Origin)> = KNOWN
        .iter()
        .map(|known| {
            let missing = match known.key_optional {
                true => Origin::NotNeeded,
                false => Origin::Missing(hint(known.name, known.key_variables)),
            };
            let vendor = described(known.name);
            let origin = origin(vendor, known.key_variables, variables).unwrap_or(missing);
            (known.name.to_owned(), origin)
        })
        .collect();
    found.push((AZURE.to_owned(), azure(described(AZURE), variables)));
    let named = settings.vendors.iter().filter(|(name, _)| !is_known(name));
    found.extend(named.map(|(name, vendor)| {
        let missing = match &vendor.key {
            None => Origin::NotNeeded,
            Some(_) => Origin::Missing(unset_hint(vendor)),
        };
        (name.clone(), origin(vendor, &[], variables).unwrap_or(missing))
    }));
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

fn azure(vendor: &Vendor, variables: Variables<'_>) -> Origin {
    let placed = vendor.base_url.is_some() || variable(variables, AZURE_ENDPOINT).is_some();
    match origin(vendor, &[AZURE_KEY], variables) {
        Some(found) if placed => found,
        Some(_) => Origin::Missing(format!("set {AZURE_ENDPOINT} to the address of your resource")),
        None if placed => Origin::Missing(hint(AZURE, &[AZURE_KEY])),
        None => Origin::Missing(format!("set {AZURE_ENDPOINT} and {AZURE_KEY}")),
    }
}

/// What the settings say, or else the environment; none where neither has a key.
fn origin(vendor: &Vendor, usual: &[&str], variables: Variables<'_>) -> Option<Origin> {
    let set = |name: &str| variable(variables, name).is_some();
    let first = |names: Vec<String>| names.into_iter().find(|name| set(name)).map(Origin::Variable);
    match &vendor.key {
        None => first(usual.iter().map(|name| (*name).to_owned()).collect()),
        Some(Key::Text(_)) => Some(Origin::Settings),
        Some(Key::Source(Source::Env(names))) => first(names.names()),
        Some(Key::Source(Source::Command(words))) => words.first().cloned().map(Origin::Command),
        Some(Key::Source(Source::Oauth(oauth))) => {
            let there = |secret: &Option<Secret>| match secret {
                Some(Secret::Env { env }) => set(env),
                Some(Secret::Text(_)) | None => true,
            };
            let whole = there(&oauth.client_secret) && there(&oauth.refresh_token);
            whole.then_some(Origin::TokenServer)
        }
    }
}

fn unset_hint(vendor: &Vendor) -> String {
    match &vendor.key {
        Some(Key::Source(Source::Env(names))) => format!("set {}", names.names().join(" or ")),
        _ => "see `key` of this vendor in agent-world.toml".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vendor: &str, settings: &str, set: &[&str]) -> Origin {
        let settings: Settings = serde_json::from_str(settings).unwrap();
        let found = keys(&settings, &|name| set.contains(&name).then(|| "sk-hidden".to_owned()));
        assert!(found.is_sorted_by_key(|(name, _)| name.clone()), "{found:?}");
        assert!(!format!("{found:?}").contains("sk-hidden"), "{found:?}");
        found.into_iter().find(|(name, _)| name == vendor).unwrap().1
    }

    #[test]
    fn the_place_of_a_key_is_told_and_never_the_key() {
        let variable = |name: &str| Origin::Variable(name.to_owned());
        assert_eq!(of("google", "{}", &["GOOGLE_API_KEY"]), variable("GOOGLE_API_KEY"));
        let text = r#"{"vendors": {"openai": {"key": "sk-hidden"}}}"#;
        assert_eq!(of("openai", text, &["OPENAI_API_KEY"]), Origin::Settings);
        let command = r#"{"vendors": {"openai": {"key": {"command": ["pass", "sk-hidden"]}}}}"#;
        assert_eq!(of("openai", command, &[]), Origin::Command("pass".to_owned()));
        let other = r#"{"vendors": {"openai": {"key": {"env": ["A", "B"]}}}}"#;
        assert_eq!(of("openai", other, &["B", "OPENAI_API_KEY"]), variable("B"));
        let oauth = r#"{"vendors": {"mine": {"base_url": "https://x", "key": {"oauth":
            {"token_url": "https://x", "client_id": "i", "client_secret": {"env": "S"}}}}}}"#;
        assert_eq!(of("mine", oauth, &["S"]), Origin::TokenServer);
        assert!(matches!(of("mine", oauth, &[]), Origin::Missing(_)));
    }

    #[test]
    fn what_is_missing_is_named() {
        let Origin::Missing(fix) = of("anthropic", "{}", &[]) else { panic!("no key is set") };
        assert!(fix.contains("set ANTHROPIC_API_KEY"), "{fix}");
        assert_eq!(of("ollama", "{}", &[]), Origin::NotNeeded);
        let Origin::Missing(fix) = of("azure", "{}", &[AZURE_KEY]) else { panic!("no address") };
        assert!(fix.contains(AZURE_ENDPOINT), "{fix}");
        assert_eq!(
            of("azure", "{}", &[AZURE_KEY, AZURE_ENDPOINT]),
            Origin::Variable(AZURE_KEY.to_owned())
        );
        let host = r#"{"vendors": {"mine": {"base_url": "https://x"}}}"#;
        assert_eq!(of("mine", host, &[]), Origin::NotNeeded);
    }

    #[test]
    fn every_vendor_that_can_be_asked_is_told_of() {
        let told = keys(&Settings::default(), &|_| None);
        let models = super::super::models(&Settings::default(), &|_| None).unwrap();
        assert_eq!(
            told.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            models.vendors().collect::<Vec<_>>()
        );
    }
}
