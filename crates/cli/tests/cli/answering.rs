//! Everybody who may answer a command: the bare store, a server that runs on the data folder, and a server elsewhere that is
//! named and wants a token. Started by `both` and `whoever`, which hold what is said against each other.

use crate::home::{Ended, Home, Running};
use crate::serve::address;

/// Somebody who answers, and the commands that ask them.
pub struct Asked {
    /// For people who look at a failure.
    pub name: &'static str,
    /// Where the store is.
    pub home: Home,
    /// Where commands believe to be at home, if the server is elsewhere.
    away: Option<Home>,
    server: Option<Running>,
    variables: Vec<(String, String)>,
}

impl Asked {
    pub fn run(&self, arguments: &[&str]) -> Ended {
        let mut running = self.start(arguments);
        running.close();
        running.wait()
    }

    pub fn start(&self, arguments: &[&str]) -> Running {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.commands_home().start_where(&variables, arguments)
    }

    /// Where commands are run.
    pub fn commands_home(&self) -> &Home {
        self.away.as_ref().unwrap_or(&self.home)
    }

    pub fn away(&self) -> Option<&Home> {
        self.away.as_ref()
    }

    pub fn is_served(&self) -> bool {
        self.server.is_some()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // A test that failed ends it at once.
        if let Some(server) = self.server.take().filter(|_| !std::thread::panicking()) {
            server.signal("TERM");
            server.wait();
        }
    }
}

fn serve(home: &Home, variables: &[(&str, &str)]) -> (Running, String) {
    let server = home.start_where(variables, &["serve", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    (server, url)
}

fn nobody(variables: &[(&str, &str)]) -> Asked {
    Asked {
        name: "the bare store",
        home: Home::new(),
        away: None,
        server: None,
        variables: owned(variables),
    }
}

fn beside(variables: &[(&str, &str)]) -> Asked {
    let home = Home::new();
    let (server, _) = serve(&home, variables);
    Asked {
        name: "a server on the data folder",
        home,
        away: None,
        server: Some(server),
        variables: owned(variables),
    }
}

fn named(variables: &[(&str, &str)]) -> Asked {
    let home = Home::new();
    let made = home.run(&["token", "create", "tester", "--role", "admin", "--json"]).succeeded();
    let token = made.json()[0]["token"].as_str().unwrap().to_owned();
    let (server, url) = serve(&home, variables);
    let mut variables = owned(variables);
    variables.push(("AGENT_WORLD_URL".to_owned(), url));
    variables.push(("AGENT_WORLD_TOKEN".to_owned(), token));
    Asked {
        name: "a server that was named",
        home,
        away: Some(Home::new()),
        server: Some(server),
        variables,
    }
}

fn owned(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Everybody who may answer, the bare store first. Servers and commands have these variables.
pub fn answering(variables: &[(&str, &str)]) -> [Asked; 3] {
    [nobody(variables), beside(variables), named(variables)]
}
