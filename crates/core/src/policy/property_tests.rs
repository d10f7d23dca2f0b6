//! Checks on random rules and calls what must hold for all of them.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::condition::{Conditions, Facts, Reach};
use super::*;
use crate::command_line::{CommandLine, TOOL};

const WORDS: [&str; 6] = ["git", "status", "push", "rm", "-f", "ls"];

fn word() -> impl Strategy<Value = String> + Clone {
    select(WORDS.as_slice()).prop_map(str::to_owned)
}

/// A command with its separators and wrappers, as scripts have them.
fn script() -> impl Strategy<Value = String> {
    let command = (
        select(["", "", "", "env ", "sudo ", "\\", "/usr/bin/", "./", "X=1 ", "$x "].as_slice()),
        prop::collection::vec(word(), 1..4),
        select(["", "", "", " >x", " 2>&1", " $(ls)", " *"].as_slice()),
    )
        .prop_map(|(before, words, after)| format!("{before}{}{after}", words.join(" ")));
    let joint = select([" ; ", " && ", " | ", "\n", " & "].as_slice());
    (command.clone(), prop::collection::vec((joint, command), 0..3)).prop_map(|(first, rest)| {
        rest.iter().fold(first, |script, (joint, command)| format!("{script}{joint}{command}"))
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => script().prop_map(|script| json!({ "script": script })),
        2 => (word(), prop::collection::vec(word(), 0..3))
            .prop_map(|(command, parameters)| json!({ "command": command, "parameters": parameters })),
        1 => select(["src/a", "../x", "/etc/x", "src/../b"].as_slice()).prop_map(|path| json!({ "path": path })),
        1 => Just(json!({})),
    ]
}

fn condition() -> impl Strategy<Value = Match> {
    let pointed = |pointer: &'static str| move |test| Match { pointer: pointer.to_owned(), test };
    let program = select(["git", "rm", "ls", "*", "g*", "/usr/bin/git"].as_slice());
    let parameter = select(["status", "push", "-*", "*"].as_slice());
    prop_oneof![
        4 => (program, prop::collection::vec(parameter, 0..2)).prop_map(|(program, parameters)| {
            Match::command(program, parameters.into_iter().map(str::to_owned).collect())
        }),
        1 => word().prop_map(|word| Test::Equals(word.into())).prop_map(pointed("/command")),
        1 => arguments().prop_map(Test::Equals).prop_map(pointed("")),
        1 => script().prop_map(|script| Test::Equals(script.into())).prop_map(pointed("/script")),
        1 => Just(Test::Glob("git *".to_owned())).prop_map(pointed("/script")),
        1 => Just(Test::Regex("(git|ls).*".to_owned())).prop_map(pointed("/script")),
        1 => Just(Test::Regex("(".to_owned())).prop_map(pointed("/script")),
        1 => Just(Match::within(vec!["src".to_owned()])),
        1 => any::<bool>().prop_map(|read_only| {
            let read_only = Some(read_only);
            Test::Annotations(Annotations { read_only, ..Annotations::default() })
        }).prop_map(pointed("")),
    ]
}

fn ruling() -> impl Strategy<Value = Ruling> {
    select([Ruling::Allow, Ruling::Ask, Ruling::Deny].as_slice())
}

fn rules(ruling: impl Strategy<Value = Ruling>) -> impl Strategy<Value = Vec<Rule>> {
    let rule = (
        ruling,
        select([TOOL, "shell_*", "*", "read"].as_slice()),
        prop::option::of(select(["ada", "bob"].as_slice())),
        prop::collection::vec(condition(), 0..3),
    );
    prop::collection::vec(rule, 0..6).prop_map(|rules| {
        let numbered = rules.into_iter().enumerate();
        numbered
            .map(|(number, (ruling, tool, agent, matches))| Rule {
                agent: agent.map(AgentId::from),
                matches,
                ..Rule::new(format!("rule-{number}"), ruling, tool)
            })
            .collect()
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    let preset = select([Preset::ReadOnly, Preset::Ask, Preset::Trusted].as_slice());
    (preset, rules(ruling()), rules(ruling())).prop_map(|(preset, rules, granted)| Policy {
        preset,
        rules: rules.into(),
        granted: granted.into(),
    })
}

fn grants() -> impl Strategy<Value = Vec<Grant>> {
    let grant = prop::collection::vec(condition(), 0..2).prop_map(|matches| Grant {
        id: "grant".into(),
        agent: "ada".into(),
        tool: TOOL.to_owned(),
        matches,
        approval: "apr_1".into(),
        by: "human".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    });
    prop::collection::vec(grant, 0..3)
}

fn spec() -> impl Strategy<Value = ToolSpec> {
    (select([TOOL, "read"].as_slice()), any::<[bool; 3]>()).prop_map(
        |(tool, [read_only, destructive, required])| {
            let mut spec = ToolSpec::new(tool, "a tool", json!({ "type": "object" }));
            spec.read_only = read_only;
            spec.destructive = destructive;
            spec.approval.required = required;
            spec
        },
    )
}

fn judged(policy: &Policy, grants: &[Grant], spec: &ToolSpec, arguments: &Value) -> Verdict {
    let agent = AgentId::new("ada");
    let question = Question { agent: &agent, tool: &spec.name, arguments, directory: Some("/w") };
    judge(policy, grants, spec, question)
}

/// The same verdict in the plainest words, asking every rule about every command.
fn plainly(policy: &Policy, grants: &[Grant], spec: &ToolSpec, arguments: &Value) -> Verdict {
    let agent = AgentId::new("ada");
    let question = Question { agent: &agent, tool: &spec.name, arguments, directory: Some("/w") };
    let facts = Facts::new(question, Some(spec));
    let certain = facts.is_certain();
    let commands: Vec<_> = match facts.commands() {
        [] => vec![None],
        commands => commands.iter().map(Some).collect(),
    };
    let speaks = |rule: &Rule, command: Option<&crate::command_line::Command>| {
        let conditions = Conditions::new(&rule.matches);
        let reach = Reach::from(rule.ruling);
        rule.agent.as_ref().is_none_or(|one| *one == agent)
            && pattern::glob(&rule.tool, &spec.name)
            && conditions.hold(&facts, reach)
            && (conditions.commands.is_empty()
                || (reach == Reach::Wide || certain)
                    && command.is_some_and(|command| conditions.cover(command, reach)))
    };
    let guarded = policy
        .rules
        .iter()
        .chain(&policy.granted)
        .any(|rule| rule.ruling != Ruling::Allow && !rule.matches.is_empty());
    let pins =
        |matches: &[Match]| matches.is_empty() && !guarded || Conditions::new(matches).pin(&facts);
    let names = |matches: &[Match]| Conditions::new(matches).pin(&facts);
    let by = |rule: &Rule| Verdict { ruling: rule.ruling, ground: Ground::Rule(rule.id.clone()) };
    let one = |command: Option<&crate::command_line::Command>| {
        let all = || policy.rules.iter().chain(&policy.granted);
        if let Some(rule) = all().find(|rule| rule.ruling == Ruling::Deny && speaks(rule, command))
        {
            return by(rule);
        }
        let written = policy.rules.iter().find(|rule| speaks(rule, command));
        if written.is_none() && policy.preset == Preset::ReadOnly && !spec.read_only {
            return Verdict { ruling: Ruling::Deny, ground: Ground::Preset(policy.preset) };
        }
        let granted = || policy.granted.iter().filter(|rule| speaks(rule, command));
        let pinned = granted().find(|rule| !certain && names(&rule.matches));
        let mut verdict = match (pinned.or(granted().next()), written) {
            (Some(rule), _) | (None, Some(rule)) => {
                let uncertain = rule.ruling == Ruling::Allow && !certain && !pins(&rule.matches);
                if uncertain {
                    Verdict { ruling: Ruling::Ask, ground: Ground::CommandLine }
                } else {
                    by(rule)
                }
            }
            (None, None) => {
                let preset =
                    Verdict { ruling: Ruling::Allow, ground: Ground::Preset(policy.preset) };
                let unruled = match policy.preset {
                    Preset::Trusted if spec.read_only || !spec.destructive => preset,
                    _ if spec.approval.required => {
                        Verdict { ruling: Ruling::Ask, ground: Ground::Tool }
                    }
                    _ => Verdict { ruling: Ruling::Allow, ground: Ground::Tool },
                };
                match unruled.ruling {
                    Ruling::Allow if !certain => {
                        Verdict { ruling: Ruling::Ask, ground: Ground::CommandLine }
                    }
                    _ => unruled,
                }
            }
        };
        if verdict.ruling == Ruling::Ask {
            let settles = grants.iter().find(|grant| {
                let conditions = Conditions::new(&grant.matches);
                grant.tool == spec.name
                    && conditions.hold(&facts, Reach::Narrow)
                    && if conditions.commands.is_empty() {
                        certain || pins(&grant.matches)
                    } else {
                        certain && command.is_some_and(|one| conditions.cover(one, Reach::Narrow))
                    }
            });
            if let Some(grant) = settles {
                verdict =
                    Verdict { ruling: Ruling::Allow, ground: Ground::Grant(grant.id.clone()) };
            }
        }
        verdict
    };
    let verdicts: Vec<Verdict> = commands.into_iter().map(one).collect();
    let strictest = verdicts.iter().map(|verdict| verdict.ruling).max().unwrap();
    verdicts.into_iter().find(|verdict| verdict.ruling == strictest).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_index_finds_what_asking_every_rule_finds(
        policy in policy(), grants in grants(), spec in spec(), arguments in arguments(),
    ) {
        prop_assert_eq!(
            judged(&policy, &grants, &spec, &arguments),
            plainly(&policy, &grants, &spec, &arguments)
        );
    }

    #[test]
    fn a_denial_is_never_undone_by_permissions(
        policy in policy(), more in rules(Just(Ruling::Allow)), granted in rules(Just(Ruling::Allow)),
        grants in grants(), spec in spec(), arguments in arguments(),
    ) {
        let before = judged(&policy, &[], &spec, &arguments);
        let by_rule = matches!(before.ground, Ground::Rule(_));
        if before.ruling == Ruling::Deny && by_rule {
            let mut wider = policy.clone();
            wider.rules.splice(0..0, more);
            wider.granted.extend(granted);
            prop_assert_eq!(judged(&wider, &grants, &spec, &arguments).ruling, Ruling::Deny);
        }
        // What the preset denies, no answer brings back.
        if before.ruling == Ruling::Deny {
            prop_assert_eq!(judged(&policy, &grants, &spec, &arguments).ruling, Ruling::Deny);
        }
    }

    #[test]
    fn the_strictest_command_decides(policy in policy(), one in script(), other in script()) {
        let spec = ToolSpec::new(TOOL, "a tool", json!({ "type": "object" }));
        // Without rules that name the words of a whole line: those are about the line and not its commands.
        let mut policy = policy;
        let about_commands = |rule: &Rule| rule.matches.iter().all(|one| matches!(one.test, Test::Command(_)));
        policy.rules.retain(about_commands);
        policy.granted.retain(about_commands);
        let ruling = |script: &str| judged(&policy, &[], &spec, &json!({ "script": script })).ruling;
        let together = ruling(&format!("{one}\n{other}"));
        prop_assert!(together >= ruling(&one).max(ruling(&other)), "{} {}", one, other);
    }

    #[test]
    fn what_is_suggested_covers_the_call(arguments in arguments(), tool in select([TOOL, "read"].as_slice())) {
        let agent = AgentId::new("ada");
        let question = Question { agent: &agent, tool, arguments: &arguments, directory: Some("/w") };
        let offered = suggestions(question);
        prop_assert_eq!(&offered[0].label, "exactly this call");
        for one in offered {
            prop_assert!(fits(&one.matches, question, None), "{:?}", one);
            let rule = Rule { matches: one.matches, ..Rule::new("r", Ruling::Allow, tool) };
            prop_assert!(rule.covers(question), "{:?}", rule);
        }
    }

    #[test]
    fn quotes_and_spaces_never_loosen_a_verdict(
        policy in policy(), words in prop::collection::vec(word(), 1..5), how in prop::collection::vec(0..8usize, 5),
    ) {
        let spec = ToolSpec::new(TOOL, "a tool", json!({ "type": "object" }));
        let mut policy = policy;
        let about_commands = |rule: &Rule| rule.matches.iter().all(|one| matches!(one.test, Test::Command(_)));
        policy.rules.retain(about_commands);
        policy.granted.retain(about_commands);
        let dressed: Vec<String> = words.iter().zip(&how).map(|(word, how)| {
            let (first, rest) = word.split_at(1);
            match how {
                0 => format!("'{word}'"),
                1 => format!("\"{word}\""),
                2 => format!("\\{word}"),
                3 => format!("{first}\"\"{rest}"),
                4 => format!("{first}''{rest}"),
                5 => format!("  {word}\t"),
                6 => format!("{first}\\\n{rest}"),
                _ => format!("$'{word}'"),
            }
        }).collect();
        let ruling = |script: String| judged(&policy, &[], &spec, &json!({ "script": script })).ruling;
        let plain = ruling(words.join(" "));
        prop_assert!(ruling(dressed.join(" ")) >= plain, "{:?}", dressed);
    }

    #[test]
    fn any_text_at_all_is_read_without_a_panic(text in "\\PC{0,200}") {
        let line = CommandLine::parse(&json!({ "script": text }));
        prop_assert!(line.commands.len() <= 400);
    }

    #[test]
    fn any_heap_of_shell_is_read_without_a_panic(
        pieces in prop::collection::vec(select([
            "$(", ")", "`", "'", "\"", "{", "}", "((", "))", "[[", "]]", "<<E", "\nE\n", "<(", ";", ";;", "&&", "|", "\n", " ",
            "if ", "then ", "fi", "case ", "in ", "esac", "for ", "do ", "done", "x", "rm", "$x", "${x:-", "\\", "#", ">", "2>&1",
            "=", "$'", "\\x72", "*", "~", "!", "function f", "()", "coproc ", "é", "\u{0}", "\r", "$[", "]", "<<<", "eval ", "bash -c ",
        ].as_slice()), 0..40),
    ) {
        let line = CommandLine::parse(&json!({ "script": pieces.concat() }));
        prop_assert!(line.commands.len() <= 400);
    }
}
