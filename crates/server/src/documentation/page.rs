//! Decides how the OpenAPI document is shown to people: one page, made here, that needs no script and nothing from elsewhere.
//! Called once, when the routes are made. Everything of the document is text: none of it becomes markup.

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub(super) const STYLE: &str = include_str!("style.css");

const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
/// Levels of a schema that are spelled out; deeper ones are told by their type.
const DEPTH: usize = 3;

/// The whole page.
pub(super) fn page(document: &Value) -> String {
    let title = text(document, "/info/title");
    let mut main = String::new();
    let mut menu = String::new();
    for tag in list(document, "/tags") {
        let name = text(tag, "/name");
        let found = operations_of(document, name);
        put(&mut main, &format!("<section id=\"{}\"><h2>{}</h2>", anchor(name), escape(name)));
        put(&mut main, &paragraphs(text(tag, "/description")));
        put(&mut menu, &format!("<li><a href=\"#{}\">{}</a><ul>", anchor(name), escape(name)));
        for (method, path, operation) in found {
            put(&mut main, &operation_html(method, path, operation));
            let id = anchor(text(operation, "/operationId"));
            let (method, path) = (method.to_uppercase(), escape(path));
            put(
                &mut menu,
                &format!(
                    "<li><a href=\"#{id}\"><b class=\"{method}\">{method}</b> {path}</a></li>"
                ),
            );
        }
        put(&mut main, "</section>");
        put(&mut menu, "</ul></li>");
    }
    put(&mut main, &schemas(document));
    put(&mut menu, "<li><a href=\"#schemas\">schemas</a></li>");
    let about = paragraphs(text(document, "/info/description"));
    let scheme = |name: &str| {
        paragraphs(text(document, &format!("/components/securitySchemes/{name}/description")))
    };
    let access = scheme("bearer") + &scheme("session");
    let (version, title) = (escape(text(document, "/info/version")), escape(title));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{title}: interface</title><link rel=\"stylesheet\" href=\"/docs/style.css\"></head>\n\
         <body><nav aria-label=\"Routes\"><ul>{menu}</ul></nav>\n<main><header><h1>{title} \
         <small>{version}</small></h1>{about}{access}<p><a href=\"/openapi.json\">OpenAPI document</a></p></header>\n\
         {main}</main></body></html>\n"
    )
}

fn operations_of<'d>(document: &'d Value, tag: &str) -> Vec<(&'d str, &'d str, &'d Value)> {
    let mut found = Vec::new();
    for (path, item) in object(document.get("paths")) {
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            if list(operation, "/tags").first().and_then(Value::as_str) == Some(tag) {
                found.push((method, path.as_str(), operation));
            }
        }
    }
    found
}

fn operation_html(method: &str, path: &str, operation: &Value) -> String {
    let id = anchor(text(operation, "/operationId"));
    let method = method.to_uppercase();
    let summary = text(operation, "/summary");
    let mut html = format!(
        "<article id=\"{id}\"><h3><b class=\"{method}\">{method}</b> <code>{}</code></h3>",
        broken(path)
    );
    put(&mut html, &paragraphs(summary));
    // The long text begins with the summary where both come from the same words.
    let description = text(operation, "/description");
    put(&mut html, &paragraphs(description.strip_prefix(summary).unwrap_or(description)));
    let roles: Vec<&str> = list(operation, "/security")
        .iter()
        .flat_map(|one| list(one, "/bearer"))
        .filter_map(Value::as_str)
        .collect();
    if !roles.is_empty() {
        put(&mut html, &format!("<p class=\"role\">role: {}</p>", escape(&roles.join(", "))));
    }
    put(&mut html, &parameters(operation));
    for (kind, content) in object(operation.pointer("/requestBody/content")) {
        put(&mut html, &format!("<h4>Body <small>{}</small></h4>", escape(kind)));
        put(&mut html, &body(content.get("schema")));
    }
    put(&mut html, &responses(operation));
    put(&mut html, "</article>\n");
    html
}

fn parameters(operation: &Value) -> String {
    let parameters = list(operation, "/parameters");
    if parameters.is_empty() {
        return String::new();
    }
    let mut html = "<h4>Parameters</h4><table>".to_owned();
    for one in parameters {
        let required = one.get("required").and_then(Value::as_bool).unwrap_or(false);
        let needed = if required { "" } else { " <i>optional</i>" };
        put(
            &mut html,
            &format!(
                "<tr><th><code>{}</code></th><td>{}{needed}</td><td>{} {}</td></tr>",
                escape(text(one, "/name")),
                escape(text(one, "/in")),
                kind(one.get("schema")),
                marked(&escape(text(one, "/description"))),
            ),
        );
    }
    html + "</table>"
}

fn responses(operation: &Value) -> String {
    let mut html = "<h4>Answers</h4><table>".to_owned();
    for (status, response) in object(operation.get("responses")) {
        let class = if status.starts_with('2') { "good" } else { "bad" };
        let contents: Vec<String> = object(response.get("content"))
            .map(|(name, content)| {
                let kind = kind(content.get("schema"));
                format!("{kind} <small>{}</small>", escape(name))
            })
            .collect();
        let headers: Vec<String> = object(response.get("headers"))
            .map(|(name, header)| {
                let about = marked(&escape(text(header, "/description")));
                format!("<br><small>{}: {about}</small>", escape(name))
            })
            .collect();
        put(
            &mut html,
            &format!(
                "<tr><th class=\"{class}\">{}</th><td>{}{}</td><td>{}</td></tr>",
                escape(status),
                marked(&escape(text(response, "/description"))),
                headers.concat(),
                contents.join("<br>"),
            ),
        );
    }
    html + "</table>"
}

fn schemas(document: &Value) -> String {
    let mut html = "<section id=\"schemas\"><h2>schemas</h2>".to_owned();
    for (name, schema) in object(document.pointer("/components/schemas")) {
        put(&mut html, &format!("<article id=\"schema-{}\">", anchor(name)));
        put(&mut html, &format!("<h3><code>{}</code></h3>", escape(name)));
        put(&mut html, &paragraphs(text(schema, "/description")));
        put(&mut html, &spelled_out(schema, 0));
        put(&mut html, "</article>\n");
    }
    html + "</section>"
}

/// A body that is a schema of its own is shown there; any other is spelled out.
fn body(schema: Option<&Value>) -> String {
    match schema {
        Some(schema) if schema.get("$ref").is_none() && schema.get("properties").is_some() => {
            fields(schema, 0)
        }
        schema => format!("<p>{}</p>", kind(schema)),
    }
}

/// The fields of an object; of anything else, what it is.
fn spelled_out(schema: &Value, depth: usize) -> String {
    match fields(schema, depth) {
        html if html.is_empty() => format!("<p>{}</p>", kind(Some(schema))),
        html => html,
    }
}

/// What is said about a field, also where it stands beside the type that it refers to.
fn about(field: &Value) -> &str {
    let own = text(field, "/description");
    let parts = ["/oneOf", "/anyOf", "/allOf"].into_iter().flat_map(|way| list(field, way));
    let mut said = parts.map(|part| text(part, "/description")).filter(|said| !said.is_empty());
    if own.is_empty() { said.next().unwrap_or_default() } else { own }
}

fn fields(schema: &Value, depth: usize) -> String {
    if depth == DEPTH {
        return String::new();
    }
    let needed: Vec<&str> = list(schema, "/required").iter().filter_map(Value::as_str).collect();
    let mut rows = String::new();
    for (name, field) in object(schema.get("properties")) {
        let optional = if needed.contains(&name.as_str()) { "" } else { " <i>optional</i>" };
        put(
            &mut rows,
            &format!(
                "<tr><th><code>{}</code></th><td>{}{optional}</td><td>{}</td></tr>",
                escape(name),
                kind(Some(field)),
                marked(&escape(about(field))),
            ),
        );
    }
    let mut html = match rows.is_empty() {
        true => String::new(),
        false => format!("<table>{rows}</table>"),
    };
    for way in ["allOf", "oneOf", "anyOf"] {
        let parts = list(schema, &format!("/{way}"));
        for part in parts {
            match part.get("$ref") {
                Some(_) => put(&mut html, &format!("<p>{}</p>", kind(Some(part)))),
                None => put(&mut html, &spelled_out(part, depth + 1)),
            }
        }
    }
    html
}

/// What a value is, in a few words, with a link where it has a name.
fn kind(schema: Option<&Value>) -> String {
    let Some(schema) = schema else {
        return String::new();
    };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or(name);
        return format!("<a href=\"#schema-{}\">{}</a>", anchor(name), escape(name));
    }
    for way in ["oneOf", "anyOf", "allOf"] {
        let parts = list(schema, &format!("/{way}"));
        if !parts.is_empty() {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| kind(Some(part)))
                .filter(|part| part != "null" && !part.is_empty())
                .collect();
            return parts.join(" or ");
        }
    }
    let values: Vec<String> = list(schema, "/enum")
        .iter()
        .filter_map(Value::as_str)
        .map(|value| format!("<code>{}</code>", escape(value)))
        .collect();
    if !values.is_empty() {
        return values.join(" or ");
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
        }
        _ => return "anything".to_owned(),
    };
    let inner = |place: &str| kind(schema.get(place).filter(|inner| inner.is_object()));
    match names.as_slice() {
        ["array"] => format!("list of {}", inner("items")),
        ["object"] if !inner("additionalProperties").is_empty() => {
            format!("object of {}", inner("additionalProperties"))
        }
        [] => "null".to_owned(),
        names => match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => "time".to_owned(),
            _ => escape(&names.join(" or ")),
        },
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn object(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn paragraphs(words: &str) -> String {
    words
        .split("\n\n")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| format!("<p>{}</p>", marked(&escape(part))))
        .collect()
}

/// Words between backticks are code.
fn marked(escaped: &str) -> String {
    let mut html = String::new();
    for (number, part) in escaped.split('`').enumerate() {
        match number % 2 {
            0 => html.push_str(part),
            _ => put(&mut html, &format!("<code>{part}</code>")),
        }
    }
    html
}

/// A path that may be broken between its parts.
fn broken(path: &str) -> String {
    escape(path).replace('/', "<wbr>/")
}

fn anchor(name: &str) -> String {
    name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '-' }).collect()
}

fn escape(words: &str) -> String {
    let mut escaped = String::with_capacity(words.len());
    for one in words.chars() {
        match one {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn put(html: &mut String, more: &str) {
    // Writing to a string cannot fail.
    html.write_str(more).ok();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_of_the_document_becomes_markup() {
        let evil = "<script>alert(1)</script>\"'&";
        let document = json!({
            "info": {"title": evil, "version": evil, "description": evil},
            "tags": [{"name": evil, "description": evil}],
            "paths": {evil: {"get": {
                "tags": [evil], "operationId": evil, "summary": evil, "description": evil,
                "security": [{"bearer": [evil]}],
                "parameters": [{"name": evil, "in": evil, "description": evil, "schema": {"type": evil}}],
                "requestBody": {"content": {evil: {"schema": {"properties": {evil: {"type": "string"}}}}}},
                "responses": {evil: {"description": evil, "headers": {evil: {"description": evil}},
                    "content": {evil: {"schema": {"$ref": evil}}}}},
            }}},
            "components": {"schemas": {evil: {"description": evil, "properties": {evil: {
                "type": "array", "items": {"type": evil}, "description": evil,
            }}}}},
        });
        let html = page(&document);
        assert!(!html.contains("<script"), "{html}");
        assert!(html.matches("&lt;script&gt;").count() > 20, "{html}");
    }

    #[test]
    fn types_are_told_in_a_few_words() {
        for (schema, expected) in [
            (json!({"type": ["string", "null"]}), "string"),
            (json!({"type": "array", "items": {"type": "integer"}}), "list of integer"),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "object of string",
            ),
            (json!({"type": "string", "format": "date-time"}), "time"),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/A"}]}),
                "<a href=\"#schema-A\">A</a>",
            ),
            (json!({}), "anything"),
        ] {
            assert_eq!(kind(Some(&schema)), expected);
        }
    }
}
