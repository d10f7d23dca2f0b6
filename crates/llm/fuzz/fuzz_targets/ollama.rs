//! Throws bytes at the `ollama` dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    agent_world_llm_fuzz::throw(&agent_world_llm::ollama::Ollama, "ollama", data);
});
