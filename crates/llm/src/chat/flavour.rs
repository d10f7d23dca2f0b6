//! Decides what sets the hosts of the chat completions format apart: which roles, parameters and fields each takes and
//! where each writes a model's thoughts. Chosen by whoever sets up a vendor, read by the rest of this dialect.
//! Holds data alone; what a single model takes is in the table of capabilities.

/// One host's way with the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flavour {
    pub name: &'static str,
    /// Where a request goes.
    pub path: Path,
    /// Instructions are told by the `developer`; elsewhere by the `system`.
    pub developer_role: bool,
    /// A `system` message may stand between others. Templates of many open models fail on it.
    pub system_anywhere: bool,
    /// The limit is `max_completion_tokens`; elsewhere the older `max_tokens`.
    pub max_completion_tokens: bool,
    /// A stream reports usage only when `stream_options` asks for it.
    pub include_usage: bool,
    pub parallel_tool_calls: bool,
    /// Tools may say `strict`.
    pub strict: bool,
    /// A reply can be held to a schema; elsewhere to JSON at most.
    pub json_schema: bool,
    /// `tool_choice` may name several tools; elsewhere only these are offered.
    pub allowed_tools: bool,
    /// A content of nothing but texts may be a list; elsewhere it is one string.
    pub text_parts: bool,
    pub files: Files,
    /// Takes `store`, `metadata`, `prompt_cache_key`, `verbosity`, and a refusal apart from the content.
    pub openai_fields: bool,
    /// Refuses fields that OpenAI added after the version of the interface that is asked for. So what changes nothing
    /// in the reply is not said: a key of the cache, and that nothing is to be kept.
    pub dated: bool,
    /// Behind results only the assistant may speak, and the last word is never the assistant's.
    pub strict_turns: bool,
    pub effort: Effort,
    /// What a model thought goes back to it with the turn.
    pub thoughts_return: Thoughts,
    /// Fields of a message that nobody here knows go back with it; elsewhere an unknown field is refused.
    pub unknown_fields_return: bool,
    /// Has models of many makers, whose sealed thoughts are no use to each other.
    pub many_makers: bool,
    /// Models may think aloud: a text that begins with `<think>`.
    pub think_tags: bool,
    pub ids: Ids,
    /// Arguments of past calls may be broken JSON; elsewhere the host parses them and fails.
    pub broken_arguments: bool,
}

/// Where a request goes, behind the base URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// `/chat/completions`.
    Plain,
    /// `/openai/deployments/{model}/chat/completions`, the base URL being the resource's. Behind a base URL that ends
    /// in `/openai/v1` the same host speaks plainly: set it up as OpenAI's.
    Deployment,
}

/// How files are shown to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Not at all.
    None,
    /// As a part `file`.
    File,
    /// By their address, as a part `document_url`.
    Document,
}

/// How the amount of thinking is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// `reasoning_effort`, in the words of the request.
    Word,
    /// `reasoning_effort`: `none` or `high`.
    OnOrOff,
    /// `reasoning_effort`; Qwen's models know `none` and `default` alone and think apart from the text only on demand.
    Groq,
    /// `thinking.type` for whether, `reasoning_effort` for how much.
    Switch,
    /// `reasoning`, with an effort or a number of tokens.
    Object,
    /// `reasoning_effort` for how much, `reasoning.enabled` for not at all.
    WordOrOff,
    /// `reasoning_effort` for how much, and a switch that the model's template may know.
    Template,
}

/// Whether and how thoughts go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thoughts {
    Never,
    /// In the field in which they came.
    AsTheyCame,
    /// As they came, and every turn of a model that thinks must have some: one that has none, having been made by
    /// another vendor, gets a blank.
    Always,
}

/// What the id of a call may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// Up to forty letters, digits, `_` and `-`.
    Short,
    /// Exactly nine letters and digits.
    Nine,
}

impl Flavour {
    /// A host of which nothing is known: only what nearly all take is sent.
    pub const GENERIC: Self = Self {
        name: "generic",
        path: Path::Plain,
        developer_role: false,
        system_anywhere: false,
        max_completion_tokens: false,
        include_usage: true,
        parallel_tool_calls: true,
        strict: true,
        json_schema: true,
        allowed_tools: false,
        text_parts: false,
        files: Files::None,
        openai_fields: false,
        dated: false,
        strict_turns: false,
        effort: Effort::Word,
        thoughts_return: Thoughts::AsTheyCame,
        unknown_fields_return: true,
        many_makers: false,
        think_tags: true,
        ids: Ids::Short,
        broken_arguments: false,
    };

    pub const OPENAI: Self = Self {
        name: "openai",
        developer_role: true,
        system_anywhere: true,
        max_completion_tokens: true,
        allowed_tools: true,
        text_parts: true,
        files: Files::File,
        openai_fields: true,
        thoughts_return: Thoughts::Never,
        think_tags: false,
        broken_arguments: true,
        ..Self::GENERIC
    };

    pub const AZURE: Self = Self {
        name: "azure",
        path: Path::Deployment,
        developer_role: false,
        dated: true,
        ..Self::OPENAI
    };

    pub const GROQ: Self = Self {
        name: "groq",
        system_anywhere: true,
        max_completion_tokens: true,
        strict: false,
        text_parts: true,
        effort: Effort::Groq,
        unknown_fields_return: false,
        ..Self::GENERIC
    };

    pub const TOGETHER: Self =
        Self { name: "together", strict: false, effort: Effort::WordOrOff, ..Self::GENERIC };

    pub const MISTRAL: Self = Self {
        name: "mistral",
        include_usage: false,
        strict_turns: true,
        text_parts: true,
        files: Files::Document,
        effort: Effort::OnOrOff,
        unknown_fields_return: false,
        think_tags: false,
        ids: Ids::Nine,
        ..Self::GENERIC
    };

    pub const DEEPSEEK: Self = Self {
        name: "deepseek",
        system_anywhere: true,
        parallel_tool_calls: false,
        strict: false,
        json_schema: false,
        effort: Effort::Switch,
        thoughts_return: Thoughts::Always,
        think_tags: false,
        ..Self::GENERIC
    };

    pub const OPENROUTER: Self = Self {
        name: "openrouter",
        system_anywhere: true,
        text_parts: true,
        files: Files::File,
        effort: Effort::Object,
        many_makers: true,
        ..Self::GENERIC
    };

    pub const LLAMACPP: Self = Self {
        name: "llamacpp",
        strict: false,
        text_parts: true,
        effort: Effort::Template,
        ..Self::GENERIC
    };

    pub const VLLM: Self = Self { name: "vllm", ..Self::LLAMACPP };

    pub const XAI: Self = Self {
        name: "xai",
        system_anywhere: true,
        max_completion_tokens: true,
        text_parts: true,
        think_tags: false,
        ..Self::GENERIC
    };

    const ALL: [Self; 11] = [
        Self::OPENAI,
        Self::AZURE,
        Self::GROQ,
        Self::TOGETHER,
        Self::MISTRAL,
        Self::DEEPSEEK,
        Self::OPENROUTER,
        Self::LLAMACPP,
        Self::VLLM,
        Self::XAI,
        Self::GENERIC,
    ];

    /// The host of this name, as it is written in a configuration.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flavour| flavour.name == name)
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(|flavour| flavour.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_found_by_its_own_name() {
        for name in Flavour::names() {
            assert_eq!(Flavour::named(name).map(|flavour| flavour.name), Some(name));
        }
        assert_eq!(Flavour::names().count(), 11);
        assert_eq!(Flavour::named("nobody"), None);
    }
}
