//! Throws bytes at the `openai` dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    agent_world_llm_fuzz::throw(&agent_world_llm::openai::Responses::new(agent_world_llm::openai::Flavour::OpenAi), "openai", data);
});
