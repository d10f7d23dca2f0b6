//! Tests that the command line is what its help says, and that every example in it can be typed.

use super::*;

#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory as _;
    Arguments::command().debug_assert();
}

#[test]
fn every_command_speaks_json_but_those_the_readme_names() {
    use clap::CommandFactory as _;
    let mut without: Vec<String> = Vec::new();
    let mut left = vec![Arguments::command()];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        let speaks = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        if !speaks && !command.has_subcommands() {
            without.push(command.get_name().to_owned());
        }
    }
    without.sort();
    assert_eq!(without, ["chat", "delete", "export", "openapi", "serve"]);
}

#[test]
fn a_moment_is_a_time_a_day_or_how_long_ago() {
    let moment = |text: &str| moment(text).map(|at| at.to_string());
    assert_eq!(moment("2026-11-15T05:59:00+01:00").unwrap(), "2026-11-15T04:59:00Z");
    assert_eq!(moment("2026-11-15").unwrap(), "2026-11-15T00:00:00Z");
    let ago = super::moment("2h").unwrap();
    let passed = Timestamp::now().duration_since(ago).as_secs();
    assert!((7_200..7_260).contains(&passed), "{passed}");
    for wrong in ["", "2", "h", "2 hours", "-2h", "99999999999999999999d", "9999999999w", "now"] {
        assert!(moment(wrong).unwrap_err().contains("is no time"), "{wrong}");
    }
}

/// The words of a line as a shell would see them, as far as examples need it: one list for each command.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut word, mut quote) = (vec![Vec::new()], None::<String>, None);
    for character in line.chars().chain([' ']) {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | ';' | '|' | '&') => {
                commands.last_mut().unwrap().extend(word.take());
                if character != ' ' {
                    commands.push(Vec::new());
                }
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    // Where output goes is not the command's to know.
    for command in &mut commands {
        command.truncate(command.iter().position(|one| one == ">").unwrap_or(command.len()));
    }
    commands
}

#[track_caller]
fn assert_can_be_typed(line: &str) {
    let typed = |words: &&Vec<String>| words.first().is_some_and(|one| one == "agent-world");
    for words in commands(line).iter().filter(typed) {
        let known = Arguments::try_parse_from(words);
        assert!(known.is_ok(), "{words:?}: {known:?}");
    }
}

#[test]
fn every_example_of_a_command_can_be_typed() {
    use clap::CommandFactory as _;
    let (mut left, mut tried) = (vec![Arguments::command()], 0);
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.split_once("Examples:\n").map_or("", |(_, examples)| examples);
        for example in examples.lines() {
            // What it does may stand beside it.
            assert_can_be_typed(example.trim().split("  ").next().unwrap());
            tried += 1;
        }
    }
    assert!(tried > 10, "{tried}");
}

#[test]
fn without_a_word_it_serves() {
    let (data, command) = Arguments::parse_from(["agent-world", "--data", "x"]).wanted();
    assert_eq!(data.as_deref(), Some(std::path::Path::new("x")));
    assert!(matches!(command, Command::Serve(Serve { config: None, open: false, .. })));
}

/// What is shipped for deployment names commands and flags that are there.
#[test]
fn what_is_deployed_can_be_typed() {
    let unit = include_str!("../../../deploy/agent-world.service");
    let recipe = include_str!("../../../deploy/Dockerfile");
    let started = unit.lines().filter_map(|line| line.strip_prefix("ExecStart="));
    let mut typed: Vec<Vec<String>> =
        started.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
    let entry: Vec<String> = one_list(recipe, "ENTRYPOINT ");
    typed.push([entry.clone(), one_list(recipe, "CMD ")].concat());
    typed.push(one_list(recipe, "  CMD "));
    assert_eq!(typed.len(), 3, "{typed:?}");
    for words in &mut typed {
        assert!(words[0].ends_with("agent-world"), "{words:?}");
        let known = Arguments::try_parse_from(&*words);
        assert!(known.is_ok(), "{words:?}: {known:?}");
    }
    let commands: Vec<&str> = typed.iter().map(|words| words[1].as_str()).collect();
    assert_eq!(commands, ["serve", "serve", "health"]);
}

fn one_list(recipe: &str, instruction: &str) -> Vec<String> {
    let mut lines = recipe.lines().filter_map(|line| line.strip_prefix(instruction));
    serde_json::from_str(lines.next().unwrap()).unwrap()
}
