//! Decides what a body means for a world's settings, and which settings cannot be taken over HTTP.
//! Used by the routes of worlds and agents. Stores nothing; what settings must be like at all is checked by `core`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent_world_core::config::{Agent, McpServer, World};
use agent_world_core::display::mask_text;
use agent_world_core::ids::{AgentId, SLUG_LIMIT, WorldId};
use agent_world_core::policy::Policy;
use agent_world_core::unambiguous::Unambiguous;
use agent_world_runtime::tools::mcp;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::problem::Problem;
use crate::secrets::{self, Folder, Sent};
use crate::wire::{AgentInput, Patch, WorldInput};

/// Problems of a policy that are told; what is no policy at all may have thousands.
const TOLD: usize = 50;
/// What stands where a secret was masked.
const MASKED: &str = "[secret masked: ";

/// A field that cannot be what it is.
pub(super) fn refused(field: &str, why: &str) -> Problem {
    let detail = format!("the body is refused: {why}");
    Problem::unprocessable("body_invalid", detail).with("field", field)
}

/// A change of a world, read and looked at, ready to be made on whatever is stored.
#[derive(Clone, Debug)]
pub(super) struct Change {
    input: WorldInput,
    agents: Patch<Vec<Agent>>,
    /// Taken out where there is none.
    servers: BTreeMap<String, Option<McpServer>>,
}

impl Change {
    /// Looks at what does not depend on what is stored.
    pub async fn read(app: &App, mut input: WorldInput) -> Result<Self, Problem> {
        if input.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(refused("name", "a world needs a name"));
        }
        let variables = std::mem::take(&mut input.variables);
        if let Patch::Set(given) = &variables {
            let marked =
                |value: &Option<String>| value.as_ref().is_some_and(|v| v.contains(MASKED));
            if let Some((name, _)) = given.iter().find(|(_, value)| marked(value)) {
                let why =
                    "it holds the mark of a masked secret; leave it out, or write what stood there";
                return Err(refused(&format!("variables.{name}"), why));
            }
        }
        input.variables = variables;
        if let Patch::Set(folder) = input.working_directory {
            input.working_directory = Patch::Set(working_directory(app, folder).await?);
        }
        let agents = match std::mem::take(&mut input.agents) {
            Patch::Keep => Patch::Keep,
            Patch::Reset => Patch::Reset,
            Patch::Set(given) => Patch::Set(new_agents(given)?),
        };
        let servers = match std::mem::take(&mut input.mcp_servers) {
            Patch::Set(given) => read_servers(given)?,
            Patch::Keep => BTreeMap::new(),
            Patch::Reset => {
                let why = "name the servers that are to be taken out, each with null";
                return Err(refused("mcp_servers", why));
            }
        };
        Ok(Self { input, agents, servers })
    }

    /// What it would make of a world, keys and all: nothing that is to be stored. Takes over from what is there what the
    /// sender was not shown.
    pub fn trial(&self, stored: &World) -> Result<World, Problem> {
        let mut trial = stored.clone();
        self.apply_rest(&mut trial)?;
        let folder = Folder::between(stored, &trial);
        secrets::check_left(stored, &self.servers, folder)?;
        for (name, server) in &self.servers {
            let Some(mut server) = server.clone() else {
                trial.mcp_servers.remove(name);
                continue;
            };
            secrets::fill_in(name, &mut server, stored.mcp_servers.get(name), folder)?;
            trial.mcp_servers.insert(name.clone(), server);
        }
        Ok(trial)
    }

    /// Puts away the keys of its servers. What comes of it says whether it could be stored.
    pub async fn put_away(self, app: &App, world: &WorldId) -> Result<Ready, Problem> {
        let mut ready = Ready { change: self, sent: BTreeMap::new() };
        for (name, server) in ready.change.servers.clone() {
            let Some(server) = server else { continue };
            match Sent::put_away(app, world.as_str(), &name, server).await {
                Ok(sent) => drop(ready.sent.insert(name, sent)),
                Err(problem) => {
                    ready.take_back(app, world).await;
                    return Err(problem);
                }
            }
        }
        Ok(ready)
    }

    fn apply_rest(&self, world: &mut World) -> Result<(), Problem> {
        let input = self.input.clone();
        let usual = World::new(world.id.clone(), "", world.created_at);
        if let Some(name) = input.name {
            world.name = name;
        }
        input.description.apply(&mut world.description, String::new);
        input.turn_limit.apply(&mut world.turn_limit, || usual.turn_limit);
        input.max_iterations.apply(&mut world.max_iterations, || usual.max_iterations);
        input.main_agent.map(AgentId::new).apply_optional(&mut world.main_agent);
        input.after_denial.apply(&mut world.after_denial, || usual.after_denial);
        input.approval_timeout_seconds.apply_optional(&mut world.approval_timeout_seconds);
        input.working_directory.apply_optional(&mut world.working_directory);
        input.default_model.apply_optional(&mut world.default_model);
        input.title_model.apply_optional(&mut world.title_model);
        input.streaming.apply(&mut world.streaming, || usual.streaming);
        input.result_limit.apply(&mut world.result_limit, || usual.result_limit);
        apply_variables(input.variables, &mut world.variables);
        match input.sandbox {
            Patch::Keep => {}
            Patch::Reset => world.sandbox = usual.sandbox,
            Patch::Set(sandbox) => sandbox.apply(&mut world.sandbox),
        }
        self.agents.clone().apply(&mut world.agents, Vec::new);
        apply_policy(input.policy, &mut world.policy)
    }
}

/// A change whose keys are put away: it can be stored.
#[derive(Debug)]
pub(super) struct Ready {
    change: Change,
    sent: BTreeMap<String, Sent>,
}

impl Ready {
    /// The same for a change of nothing but servers.
    pub async fn of_servers(
        app: &App,
        world: &WorldId,
        servers: BTreeMap<String, McpServer>,
    ) -> Result<Self, Problem> {
        let servers = servers.into_iter().map(|(name, server)| (name, Some(server))).collect();
        let change = Change { input: WorldInput::default(), agents: Patch::Keep, servers };
        change.put_away(app, world).await
    }

    pub fn apply(&self, world: &mut World) -> Result<(), Problem> {
        let before = world.clone();
        self.change.apply_rest(world)?;
        let folder = Folder::between(&before, world);
        secrets::check_left(&before, &self.change.servers, folder)?;
        for name in self.change.servers.keys() {
            match self.sent.get(name) {
                Some(sent) => {
                    let server = sent.settled(name, world.mcp_servers.get(name), folder)?;
                    world.mcp_servers.insert(name.clone(), server);
                }
                None => drop(world.mcp_servers.remove(name)),
            }
        }
        Ok(())
    }

    /// Forgets its keys: it was refused.
    pub async fn take_back(&self, app: &App, world: &WorldId) {
        for (name, sent) in &self.sent {
            sent.take_back(app, world.as_str(), name).await;
        }
    }

    /// Forgets what it replaced.
    pub async fn tidy(&self, app: &App, before: &World, after: &World) {
        for name in self.change.servers.keys() {
            let (old, new) = (before.mcp_servers.get(name), after.mcp_servers.get(name));
            secrets::forget_replaced(app, after.id.as_str(), name, old, new).await;
        }
    }
}

fn apply_variables(
    change: Patch<BTreeMap<String, Option<String>>>,
    variables: &mut BTreeMap<String, String>,
) {
    match change {
        Patch::Keep => {}
        Patch::Reset => variables.clear(),
        Patch::Set(given) => {
            for (name, value) in given {
                match value {
                    Some(value) => variables.insert(name, value),
                    None => variables.remove(&name),
                };
            }
        }
    }
}

fn apply_policy(change: Patch<Unambiguous>, policy: &mut Policy) -> Result<(), Problem> {
    let given = match change {
        Patch::Keep => return Ok(()),
        Patch::Reset => json!({}),
        Patch::Set(Unambiguous(given)) => merged(given, policy),
    };
    *policy = replaced(policy, &given)?;
    Ok(())
}

/// A document that leaves out the preset or the rules keeps those there are.
fn merged(mut given: Value, policy: &Policy) -> Value {
    if let Some(fields) = given.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        fields.entry("preset").or_insert_with(|| json!(policy.preset));
        fields.entry("rules").or_insert_with(|| json!(policy.rules));
    }
    given
}

/// A document in place of a policy. All that is wrong with it is told.
pub(super) fn replaced(policy: &Policy, document: &Value) -> Result<Policy, Problem> {
    policy.replaced_by(document).map_err(|problems| {
        let told: Vec<String> =
            problems.iter().take(TOLD).map(|one| mask_text(one).into_owned()).collect();
        let detail = format!("the policy is refused: {}", told.join("; "));
        Problem::unprocessable("policy_invalid", detail).with("problems", told)
    })
}

fn new_agents(given: Vec<AgentInput>) -> Result<Vec<Agent>, Problem> {
    given.into_iter().map(new_agent).collect()
}

/// An agent that somebody describes. Whether its id is free is for others to say.
pub(super) fn new_agent(input: AgentInput) -> Result<Agent, Problem> {
    if input.version.is_some() {
        return Err(refused("version", "a version is counted, and cannot be chosen"));
    }
    check_name(&input)?;
    let id = match (&input.id, &input.name) {
        (Some(id), _) => id.clone(),
        (None, Some(name)) => slug(name, "agent"),
        (None, None) => return Err(refused("id", "an agent needs an id or a name")),
    };
    Ok(input.make(AgentId::new(id)))
}

pub(super) fn check_name(input: &AgentInput) -> Result<(), Problem> {
    match input.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        true => Err(refused("name", "the name of an agent cannot be empty")),
        false => Ok(()),
    }
}

fn read_servers(
    given: BTreeMap<String, Option<Value>>,
) -> Result<BTreeMap<String, Option<McpServer>>, Problem> {
    let mut gone = BTreeMap::new();
    let mut written = Map::new();
    for (name, server) in given {
        match server {
            Some(server) => drop(written.insert(name, server)),
            None => drop(gone.insert(name, None)),
        }
    }
    let mut servers: BTreeMap<_, _> =
        import(written)?.into_iter().map(|(name, server)| (name, Some(server))).collect();
    servers.append(&mut gone);
    Ok(servers)
}

/// Servers by name, as everybody writes them.
pub(super) fn import(written: Map<String, Value>) -> Result<BTreeMap<String, McpServer>, Problem> {
    mcp::import(&json!({ "mcpServers": written }).to_string()).map_err(|why| {
        Problem::unprocessable("mcp_server_invalid", mask_text(&why)).with("field", "mcp_servers")
    })
}

/// An id made of a name.
pub(super) fn slug(name: &str, otherwise: &str) -> String {
    let mut slug = String::new();
    for letter in name.to_lowercase().chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == SLUG_LIMIT {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { otherwise.to_owned() } else { slug.to_owned() }
}

/// A folder for tools. Not one that holds this program's own data: agents would work on the log of what they do.
async fn working_directory(app: &App, folder: String) -> Result<String, Problem> {
    let (own, workspace) = (app.data_folder.clone(), app.workspace.clone());
    let looked = tokio::task::spawn_blocking(move || {
        usable(Path::new(&folder), own.as_deref(), workspace.as_deref())
    });
    let folder = looked.await.map_err(Problem::internal)?;
    folder.map_err(|why| refused("working_directory", why))
}

fn usable(
    folder: &Path,
    own: Option<&Path>,
    workspace: Option<&Path>,
) -> Result<String, &'static str> {
    if !folder.is_absolute() {
        return Err("the working directory must be written from the root on");
    }
    let unusable = "the working directory is no folder that exists; make it, or name another";
    let path = folder.canonicalize().map_err(|_| unusable)?;
    if !path.is_dir() {
        return Err(unusable);
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    let allowed = workspace.map(real).is_some_and(|workspace| path.starts_with(workspace));
    let holds = |own: PathBuf| own.starts_with(&path) || path.starts_with(&own) && !allowed;
    if own.map(real).is_some_and(holds) {
        return Err(
            "the working directory holds this program's own data, its keys and its log among them; name another",
        );
    }
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use agent_world_core::ids::is_slug;

    use super::*;

    #[test]
    fn an_id_is_made_of_any_name() {
        for (name, expected) in [
            ("My World", "my-world"),
            ("  --Ünïcode & Söns--  ", "n-code-s-ns"),
            ("日本", "world"),
            ("", "world"),
            ("a__b", "a-b"),
            ("\0\u{202e}x", "x"),
        ] {
            assert_eq!(slug(name, "world"), expected, "{name}");
        }
        for long in ["x".repeat(10_000), "x ".repeat(200)] {
            assert!(is_slug(&slug(&long, "world")));
        }
    }

    #[test]
    fn a_folder_with_the_programs_own_data_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("data");
        let workspace = own.join("workspace");
        let (inside, beside) = (workspace.join("w"), folder.path().join("project"));
        for path in [&inside, &beside] {
            std::fs::create_dir_all(path).unwrap();
        }
        let look = |path: &Path| usable(path, Some(&own), Some(&workspace));
        for good in [&inside, &beside] {
            look(good).unwrap();
        }
        for bad in [folder.path(), &own, Path::new("/")] {
            let why = look(bad).unwrap_err();
            assert!(why.contains("own data"), "{}: {why}", bad.display());
        }
        assert!(look(Path::new("project")).unwrap_err().contains("from the root"));
        assert!(look(&own.join("nowhere")).unwrap_err().contains("no folder"));
        assert!(look(Path::new("/a\0b")).unwrap_err().contains("no folder"));
    }
}
