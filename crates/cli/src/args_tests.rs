//! Tests that the command line is what its help says, and that every example in it can be typed.

use super::*;

#[test]
fn the_command_line_is_consistent() {
    use clap::CommandFactory as _;
    Arguments::command().debug_assert();
}

#[test]
fn every_command_speaks_json_but_those_the_readme_names() {
    let speaks = |command: &clap::Command| {
        command.get_arguments().any(|argument| argument.get_long() == Some("json"))
    };
    let silent = leaves().into_iter().filter(|(_, command)| !speaks(command));
    let mut silent: Vec<String> = silent.map(|(path, _)| path).collect();
    let readme = include_str!("../../../README.md");
    let (_, named) = readme.split_once("Every command has it but ").unwrap();
    let (named, _) = named.split_once(". ").unwrap();
    // Every other piece stands between marks.
    let mut named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
    silent.sort();
    named.sort_unstable();
    assert_eq!(silent, named);
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
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            left.push((below.clone(), format!("{path} {}", below.get_name())));
        }
        let shown = |line: &&str| line.split([';', '|', '&']).any(|one| begins(one.trim(), &path));
        assert!(lines.iter().any(shown), "docs/commands.md has no `{path}`");
    }
}

fn begins(line: &str, path: &str) -> bool {
    line.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Commands that do something, with all words that lead to them.
fn leaves() -> Vec<(String, clap::Command)> {
    use clap::CommandFactory as _;
    let mut left = vec![(String::new(), Arguments::command())];
    let mut leaves = Vec::new();
    while let Some((path, command)) = left.pop() {
        // `chat` does something without a further word, too.
        let is_leaf = !command.has_subcommands() || command.get_name() == "chat";
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            left.push((format!("{path} {}", below.get_name()).trim().to_owned(), below.clone()));
        }
        if is_leaf {
            leaves.push((path, command));
        }
    }
    assert!(leaves.len() > 40, "{}", leaves.len());
    leaves
}

/// The manual pages are made of the same texts.
#[test]
fn every_command_has_examples() {
    let without = leaves().into_iter().filter(|(path, command)| {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples = help.split_once("Examples:\n").map_or("", |(_, examples)| examples);
        let line = format!("agent-world {path}");
        // Flags of the program itself may stand before the command.
        !examples.lines().any(|one| one.contains(&line) || one.ends_with(&format!(" {path}")))
    });
    let without: Vec<String> = without.map(|(path, _)| path).collect();
    assert_eq!(without, [""; 0]);
}

/// What a command prints and how it ends is kept in files, which tests compare with what the program does: these here are
/// shown on a screen, never end by themselves, or tell of the machine they run on.
const NOT_COMPARED: [&str; 4] = ["chat", "tui", "serve", "doctor"];

#[test]
fn what_every_command_says_is_kept() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let kept: String = ["told", "answered"]
        .iter()
        .flat_map(|name| std::fs::read_dir(folder.join(name)).unwrap())
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let ran: Vec<&str> = kept.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let ran = ran.iter().map(|line| line.trim_start_matches("agent-world ").to_owned());
    let ran: Vec<String> = ran.collect();
    let missing: Vec<String> = leaves()
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| !NOT_COMPARED.contains(&path.as_str()))
        .filter(|path| !ran.iter().any(|line| begins(line, path)))
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// The words of the interface's description for what there is to administer.
#[test]
fn every_noun_has_every_verb() {
    use clap::CommandFactory as _;
    let command = Arguments::command();
    for noun in ["world", "agent", "chat", "tool", "policy"] {
        let found = command.find_subcommand(noun).unwrap();
        for verb in ["list", "show", "create", "update", "delete"] {
            assert!(found.find_subcommand(verb).is_some(), "{noun} {verb}");
        }
    }
}

#[test]
fn help_fits_a_terminal_and_is_not_ragged() {
    use clap::CommandFactory as _;
    const COLUMNS: usize = 80;
    let mut wrong: Vec<String> = Vec::new();
    let mut left = vec![flowing(Arguments::command())];
    while let Some(command) = left.pop() {
        left.extend(command.get_subcommands().cloned());
        let name = command.get_name().to_owned();
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in after.lines().filter(|line| line.starts_with(' ')) {
            if line.chars().count() > COLUMNS {
                wrong.push(format!("{name}: an example is too long: {line}"));
            }
        }
        let help = command.term_width(COLUMNS).render_long_help().to_string();
        let lines: Vec<&str> = help.lines().collect();
        for line in &lines {
            if line.chars().count() > COLUMNS {
                wrong.push(format!("{name}: too long: {line}"));
            }
        }
        // A line ends where the next word does not fit.
        for pair in lines.windows(2) {
            let is_prose = |line: &str| line.starts_with(|first: char| first.is_alphabetic());
            if let [line, next] = pair
                && is_prose(line)
                && is_prose(next)
                && !line.ends_with(':')
            {
                let word = next.split(' ').next().unwrap().chars().count();
                if line.chars().count() + 1 + word <= COLUMNS {
                    wrong.push(format!("{name}: {line} | {next}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
