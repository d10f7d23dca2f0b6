//! Throws bytes at the `chat` dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    agent_world_llm_fuzz::throw(&agent_world_llm::chat::Chat::new(agent_world_llm::chat::Flavour::GENERIC), "chat", data);
});
