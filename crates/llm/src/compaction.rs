//! How a model is asked to put a conversation in fewer words, so that it can go on without the whole of it.
//! Used by whoever compacts; the demo model knows the request by its instructions.

pub const INSTRUCTIONS: &str = "You put conversations in fewer words. What you write replaces the conversation: \
    whoever goes on with it knows nothing else. Keep every fact, name, number, decision, open question and result \
    of a tool that may still matter, and say who said what. Leave out greetings, repetitions and what was taken \
    back. Answer with the summary alone.";

/// The last words of the conversation that is put in fewer words.
pub const REQUEST: &str = "Summarise the conversation so far.";
