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
    assert_eq!(
        without,
        [
            "completions",
            "delete",
            "delete",
            "delete",
            "export",
            "init",
            "man",
            "openapi",
            "serve",
            "tui"
        ]
    );
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

/// The lines of the page about commands that stand between marks of code.
fn documented() -> Vec<&'static str> {
    let page = include_str!("../../../docs/commands.md");
    let blocks = page.split("```sh\n").skip(1).filter_map(|block| block.split_once("```"));
    blocks.flat_map(|(block, _)| block.lines()).collect()
}

#[test]
fn the_page_about_commands_has_an_example_of_each_that_can_be_typed() {
    use clap::CommandFactory as _;
    let lines: Vec<&str> =
        documented().into_iter().map(|line| line.split(" #").next().unwrap().trim()).collect();
    for line in &lines {
        assert_can_be_typed(line);
    }
    let mut left = vec![(Arguments::command(), "agent-world".to_owned())];
    while let Some((command, path)) = left.pop() {
        for below in command.get_subcommands() {
            left.push((below.clone(), format!("{path} {}", below.get_name())));
        }
        let shown = |line: &&str| line.split([';', '|', '&']).any(|one| begins(one.trim(), &path));
        assert!(lines.iter().any(shown), "docs/commands.md has no `{path}`");
    }
}

fn begins(line: &str, path: &str) -> bool {
    line.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[test]
fn every_command_has_examples() {
    use clap::CommandFactory as _;
    let mut left: Vec<clap::Command> = Arguments::command().get_subcommands().cloned().collect();
    // Others are explained by what they are part of.
    let own = [
        "world",
        "agent",
        "tool",
        "policy",
        "mcp",
        "export",
        "import",
        "completions",
        "man",
        "init",
    ];
    left.retain(|command| own.contains(&command.get_name()));
    assert_eq!(left.len(), own.len());
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(
            command.has_subcommands() || help.contains("Examples:\n"),
            "{}",
            command.get_name()
        );
    }
}

#[test]
fn without_a_word_it_serves() {
    let Wanted { data, command, .. } =
        Arguments::parse_from(["agent-world", "--data", "x"]).wanted();
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
