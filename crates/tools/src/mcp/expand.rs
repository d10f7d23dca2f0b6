//! Decides what `${NAME}` and `${NAME:-default}` in a server's settings stand for.
//! Called when a server is started. Expands once: what a variable holds is never read for variables again.

/// # Errors
/// Names a variable that is not set and has no default; never what any of them holds.
pub fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            // Not ours, then: kept as it stands.
            expanded.push_str("${");
            rest = after;
            continue;
        };
        expanded.push_str(&value_of(inside, variable)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value_of(inside: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let set = variable(name).filter(|value| !value.is_empty() || default.is_none());
    match (set, default) {
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        // Whoever copies settings copies the names of keys, and not the right to have them.
        (None, None) if name.starts_with("MCP_") => Err(format!(
            "the variable {name} is not set, or it holds a key that is kept for another server or address; \
             send the server's key again, or set the variable"
        )),
        (None, None) => Err(format!(
            "the variable {name} is not set; set it, or write ${{{name}:-default}} in the server's settings"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<String, String> {
        expand(text, &|name| match name {
            "KEY" => Some("s3cret".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${KEY}".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn variables_and_defaults_are_filled_in() {
        assert_eq!(check("Bearer ${KEY}!").unwrap(), "Bearer s3cret!");
        assert_eq!(check("${NONE:-a}/${EMPTY:-b}/${KEY:-c}").unwrap(), "a/b/s3cret");
        assert_eq!(check("${EMPTY}").unwrap(), "");
        assert_eq!(check("$KEY ${KEY and $").unwrap(), "$KEY ${KEY and $");
    }

    #[test]
    fn a_value_is_not_expanded_again() {
        assert_eq!(check("${NESTED}").unwrap(), "${KEY}");
    }

    #[test]
    fn what_is_not_set_is_named() {
        let error = check("${KEY}${MISSING}").unwrap_err();
        assert!(error.contains("MISSING") && !error.contains("s3cret"), "{error}");
    }
}
