//! Throws bytes at the `google` dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    agent_world_llm_fuzz::throw(&agent_world_llm::google::Google, "google", data);
});
