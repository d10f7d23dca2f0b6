//! Throws bytes at the `anthropic` dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    agent_world_llm_fuzz::throw(&agent_world_llm::anthropic::Anthropic, "anthropic", data);
});
