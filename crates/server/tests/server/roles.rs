//! Who may use which route: a table of all of them, tried with every role and with none.

use agent_world_server::Role;
use reqwest::Method;

use crate::door::Door;

/// The least role each route needs; `public` needs nobody. Names of parameters do not matter.
const LEAST: &str = "
    public    GET     /healthz
    public    GET     /readyz
    viewer    GET     /metrics
    viewer    GET     /api/me
    public    GET     /api/session
    public    POST    /api/session
    public    DELETE  /api/session
    viewer    POST    /api/render
    admin     GET     /api/tokens
    admin     POST    /api/tokens
    admin     DELETE  /api/tokens/{}

    viewer    GET     /api/worlds
    admin     POST    /api/worlds
    viewer    GET     /api/worlds/{}
    admin     PATCH   /api/worlds/{}
    admin     DELETE  /api/worlds/{}
    admin     GET     /api/worlds/{}/export
    admin     POST    /api/worlds/import
    admin     PUT     /api/worlds/{}/folder
    viewer    GET     /api/worlds/{}/agents
    admin     POST    /api/worlds/{}/agents
    viewer    GET     /api/worlds/{}/agents/{}
    admin     PATCH   /api/worlds/{}/agents/{}
    admin     DELETE  /api/worlds/{}/agents/{}
    viewer    GET     /api/worlds/{}/policy
    admin     PUT     /api/worlds/{}/policy
    viewer    POST    /api/worlds/{}/policy/test
    viewer    POST    /api/worlds/{}/policy/diff
    approver  DELETE  /api/worlds/{}/policy/rules/{}
    viewer    GET     /api/worlds/{}/tools
    viewer    GET     /api/models
    viewer    GET     /api/models/{}
    viewer    GET     /api/worlds/{}/stats
    viewer    GET     /api/stats
    admin     POST    /api/verify
    viewer    GET     /api/worlds/{}/mcp-servers
    admin     POST    /api/worlds/{}/mcp-servers
    admin     DELETE  /api/worlds/{}/mcp-servers
    viewer    GET     /api/worlds/{}/mcp-servers/{}
    admin     PATCH   /api/worlds/{}/mcp-servers/{}
    admin     DELETE  /api/worlds/{}/mcp-servers/{}
    admin     POST    /api/worlds/{}/mcp-servers/{}/restart
    admin     GET     /api/webhooks
    admin     POST    /api/webhooks
    admin     GET     /api/webhooks/{}
    admin     PATCH   /api/webhooks/{}
    admin     DELETE  /api/webhooks/{}

    viewer    GET     /api/worlds/{}/chats
    member    POST    /api/worlds/{}/chats
    viewer    GET     /api/worlds/{}/chats/{}
    viewer    GET     /api/worlds/{}/chats/{}/standing
    member    PATCH   /api/worlds/{}/chats/{}
    member    DELETE  /api/worlds/{}/chats/{}
    viewer    GET     /api/worlds/{}/chats/{}/messages
    member    POST    /api/worlds/{}/chats/{}/messages
    viewer    GET     /api/worlds/{}/chats/{}/messages/{}
    member    PUT     /api/worlds/{}/chats/{}/messages/{}
    member    DELETE  /api/worlds/{}/chats/{}/messages/{}
    member    POST    /api/worlds/{}/chats/{}/stop
    member    POST    /api/worlds/{}/chats/{}/fork
    member    POST    /api/worlds/{}/chats/{}/retry
    member    PUT     /api/worlds/{}/chats/{}/client-tools/{}
    member    POST    /api/worlds/{}/chats/{}/tool-results
    viewer    GET     /api/worlds/{}/chats/{}/tool-calls
    viewer    GET     /api/worlds/{}/chats/{}/tool-calls/{}
    viewer    GET     /api/worlds/{}/chats/{}/tool-calls/{}/result
    viewer    GET     /api/worlds/{}/chats/{}/grants
    approver  DELETE  /api/worlds/{}/chats/{}/grants/{}
    viewer    GET     /api/approvals
    viewer    GET     /api/approvals/{}
    approver  POST    /api/approvals/{}
    viewer    GET     /api/audit
    viewer    GET     /api/worlds/{}/chats/{}/events
    viewer    GET     /api/worlds/{}/events
    viewer    GET     /api/events

    member    POST    /v1/responses
    member    GET     /v1/responses
    member    POST    /v1/responses/compact
    member    GET     /v1/responses/{}
    member    DELETE  /v1/responses/{}
    member    POST    /v1/responses/{}/cancel
    member    GET     /v1/responses/{}/input_items
    member    POST    /v1/chat/completions
    member    GET     /v1/models
    member    GET     /v1/models/{}
";

#[tokio::test]
async fn every_route_is_for_the_role_it_is_meant_for() {
    let routes = routes();
    assert!(routes.len() > 5);
    let unlisted: Vec<&Route> = routes.iter().filter(|route| route.least().is_none()).collect();
    assert!(unlisted.is_empty(), "say in the table who may use {unlisted:#?}");

    for route in &routes {
        let least = match route.least().unwrap() {
            Least::Public => "public",
            Least::Role(role) => role.name(),
        };
        assert_eq!(route.told, least, "what the document tells of {route:?}");
    }

    let door = Door::open().await;
    let mut holders = vec![(None, None)];
    for role in Role::ALL {
        holders.push((Some(role), Some(door.token(role.name(), role).await)));
    }
    for route in &routes {
        for (role, token) in &holders {
            let answer = door.ask(route.method.clone(), &route.address(), token.as_deref()).await;
            let expected = match (route.least().unwrap(), role) {
                (Least::Public, _) => None,
                (Least::Role(_), None) => Some(401),
                (Least::Role(least), Some(role)) if *role < least => Some(403),
                (Least::Role(_), Some(_)) => None,
            };
            let status = answer.status().as_u16();
            match expected {
                Some(expected) => assert_eq!(status, expected, "{route:?} as {role:?}"),
                None => {
                    assert!(!matches!(status, 401 | 403), "{status} from {route:?} as {role:?}")
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Least {
    Public,
    Role(Role),
}

#[derive(Debug)]
struct Route {
    method: Method,
    /// With `{}` for each parameter.
    path: String,
    /// The role that the document tells of.
    told: String,
}

impl Route {
    fn least(&self) -> Option<Least> {
        let listed = LEAST.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let mut found = listed.filter(|words| {
            matches!(words.as_slice(), [_, method, path] if *method == self.method.as_str() && *path == self.path)
        });
        let words = found.next()?;
        assert!(found.next().is_none(), "{self:?} stands in the table twice");
        if words[0] == "public" {
            return Some(Least::Public);
        }
        let role = Role::ALL.into_iter().find(|role| role.name() == words[0]);
        Some(Least::Role(role.expect("a role")))
    }

    fn address(&self) -> String {
        self.path.replace("{}", "none")
    }
}

/// Every route that the OpenAPI document describes.
fn routes() -> Vec<Route> {
    let document = serde_json::to_value(agent_world_server::openapi()).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in ["get", "put", "post", "delete", "patch", "head", "options", "trace"] {
            if methods.get(method).is_some() {
                let told = methods[method]["security"][0]["bearer"][0].as_str();
                let told = told.unwrap_or("public").to_owned();
                let method = method.to_uppercase().parse().unwrap();
                routes.push(Route { method, path: without_names(path), told });
            }
        }
    }
    routes
}

fn without_names(path: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for letter in path.chars() {
        inside = inside && letter != '}';
        if !inside {
            plain.push(letter);
        }
        inside = inside || letter == '{';
    }
    plain
}
