//! Checks that vendors are set up from the environment and from settings, and what is said when they cannot be.
//! Nobody is asked anything: what the vendors get is checked over a real connection elsewhere.

use serde_json::json;

use super::*;
use crate::Request;

fn settings(vendors: serde_json::Value) -> Settings {
    serde_json::from_value(json!({"vendors": vendors})).unwrap()
}

fn nothing(_: &str) -> Option<String> {
    None
}

#[test]
fn every_known_vendor_is_there_without_any_settings() {
    let models = models(&Settings::default(), &nothing).unwrap();
    let names: Vec<&str> = models.vendors().collect();
    assert_eq!(
        names,
        [
            "anthropic",
            "azure",
            "deepseek",
            "google",
            "groq",
            "llamacpp",
            "mistral",
            "ollama",
            "openai",
            "openrouter",
            "together",
            "vllm",
            "xai",
        ]
    );
}

#[tokio::test]
async fn a_vendor_that_lacks_something_says_what_to_set() {
    let elsewhere = settings(json!({"openai": {"key": {"env": "NO_SUCH_VARIABLE_ANYWHERE"}}}));
    let wrong = |name: &str| (name == "XAI_BASE_URL").then(|| "localhost:99".to_owned());
    for (settings, variables, model, class, wanted) in [
        (
            &Settings::default(),
            &nothing as Variables<'_>,
            "openai/gpt-5",
            Class::Auth,
            "set OPENAI_API_KEY, or `key` under [vendors.openai] in agent-world.toml",
        ),
        (&elsewhere, &nothing, "openai/gpt-5", Class::Auth, "set NO_SUCH_VARIABLE_ANYWHERE"),
        (
            &Settings::default(),
            &nothing,
            "azure/x",
            Class::InvalidRequest,
            "set AZURE_OPENAI_ENDPOINT",
        ),
        // The others can be asked all the same.
        (
            &Settings::default(),
            &wrong,
            "xai/grok-4",
            Class::InvalidRequest,
            "XAI_BASE_URL: the base URL",
        ),
        (&Settings::default(), &wrong, "openai/gpt-5", Class::Auth, "set OPENAI_API_KEY"),
    ] {
        let models = models(settings, variables).unwrap();
        let error = models.generate(Request::new(model, "hello")).await.unwrap_err();
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.contains(wanted), "{error}");
    }
}

#[test]
fn limits_that_no_request_can_keep_are_refused() {
    for (vendor, problem) in [
        (json!({"attempts": 0}), "attempts must be"),
        (json!({"attempts": 1000}), "attempts must be"),
        (json!({"idle_seconds": 0}), "at least 1"),
        (json!({"first_byte_seconds": 0}), "at least 1"),
    ] {
        let error = models(&settings(json!({"openai": vendor})), &nothing).unwrap_err();
        assert!(error.message.contains(problem), "{error}");
    }
}

#[tokio::test]
async fn keys_come_from_the_environment_that_was_given() {
    let settings = settings(json!({
        "mine": {"base_url": "http://toy.example/v1", "key": {"env": ["NOT_SET", "MY_KEY"]}},
    }));
    let given = |name: &str| matches!(name, "MY_KEY" | "OLLAMA_API_KEY").then(|| "k".to_owned());
    let at = |name: &str| match name {
        "OLLAMA_BASE_URL" => Some("http://toy.example".to_owned()),
        name => given(name),
    };
    let models = models(&settings, &at).unwrap();
    for model in ["mine/any", "ollama/any"] {
        // That the key was found shows in that it is not sent unencrypted; nobody is asked anything.
        let error = models.generate(Request::new(model, "hello")).await.unwrap_err();
        assert!(error.message.contains("the key would go to toy.example"), "{error}");
    }
}

#[test]
fn an_azure_of_versions_and_one_without_are_spoken_to_differently() {
    let at = |version: Option<&str>| {
        let setup = Setup {
            transport: Transport::new().unwrap(),
            variables: &|name: &str| match name {
                AZURE_ENDPOINT => Some("https://mine.openai.azure.com".to_owned()),
                AZURE_VERSION => version.map(str::to_owned),
                _ => None,
            },
        };
        format!("{:?}", setup.azure(&Vendor::default()).unwrap())
    };
    let (plain, versioned) = (at(None), at(Some("2024-12-01-preview")));
    assert!(plain.contains("/openai/v1") && plain.contains("Responses"), "{plain}");
    assert!(!versioned.contains("/openai/v1") && versioned.contains("Chat"), "{versioned}");
}

#[test]
fn a_host_of_ones_own_needs_an_address_and_a_plain_name() {
    let found =
        models(&settings(json!({"mine": {"base_url": "http://localhost:1234/v1"}})), &nothing);
    assert!(found.unwrap().vendor("mine").is_some());
    for (vendors, problem) in [
        (json!({"mine": {}}), "give it a base_url"),
        (json!({"a/b": {"base_url": "http://localhost"}}), "letters, digits"),
        (json!({"mine": {"base_url": "ftp://x"}}), "http"),
        (json!({"openai": {"key": {"command": []}}}), "name a program"),
        (
            json!({"openai": {"key": {"oauth": {"token_url": "https://x/t", "client_id": "me"}}}}),
            "client_secret or a refresh_token",
        ),
        (
            json!({"openai": {"key": {"oauth": {"token_url": "http://x/t", "client_id": "me",
            "client_secret": "s"}}}}),
            "https://",
        ),
        (
            json!({"openai": {"key": {"oauth": {"token_url": "https://x/t", "client_id": "me",
            "client_secret": {"env": "NOT_SET"}}}}}),
            "NOT_SET is not set",
        ),
    ] {
        let error = models(&settings(vendors.clone()), &nothing).unwrap_err();
        assert!(error.to_string().contains(problem), "{vendors}: {error}");
        let name = vendors.as_object().unwrap().keys().next().unwrap();
        assert_eq!(error.vendor, *name);
    }
}

#[test]
fn settings_show_no_secret() {
    let secret = "sk-very-secret";
    let settings = settings(json!({
        "openai": {"key": secret, "users": {"joe": secret}},
        "mine": {"base_url": "http://localhost", "key": {"oauth": {"token_url": "https://x/t",
            "client_id": "me", "client_secret": secret, "refresh_token": secret}}},
        "xai": {"headers": {"x-proxy-token": secret}, "query": {"code": secret},
            "key": {"command": ["vault", "--token", secret]}},
    }));
    assert!(!format!("{settings:?}").contains(secret));
    let models = models(&settings, &nothing).unwrap();
    assert!(!format!("{models:?}").contains(secret));
}

#[test]
fn models_may_have_names_of_ones_own() {
    let settings = settings(json!({"anthropic": {"models": {"best": "claude-sonnet-4-5"}}}));
    let models = models(&settings, &nothing).unwrap();
    let (vendor, _) = models.find("anthropic/best").unwrap();
    assert_eq!(vendor.capabilities("best"), vendor.capabilities("claude-sonnet-4-5"));
    assert_ne!(vendor.capabilities("best"), vendor.capabilities("claude-3-haiku-20240307"));
}
