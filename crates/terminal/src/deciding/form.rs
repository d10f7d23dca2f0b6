//! Asks for what a running tool wants to know, field by field where its schema is that simple.
//! Used by `deciding`. Only reads what was typed: whether the answer fits is the server's to say.

use serde_json::{Map, Value};

use super::input::Input;

/// Fields that are asked one by one; more are easier to see together.
const MOST: usize = 12;

#[derive(Clone, Debug)]
pub struct Fields {
    fields: Vec<Field>,
    place: usize,
    answer: Map<String, Value>,
    pub input: Input,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub description: String,
    pub kind: Kind,
    pub required: bool,
    /// What is taken unless something else is typed.
    default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Text,
    Integer,
    Number,
    YesOrNo,
    One(Vec<Value>),
}

/// What the end of a line led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Entered {
    Next,
    Problem(String),
    Whole(Value),
}

impl Fields {
    /// None where the schema is not a flat list of simple values.
    pub fn of(form: &Value) -> Option<Self> {
        let schema = form.get("schema")?;
        let is_more = ["$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"]
            .iter()
            .any(|word| schema.get(word).is_some());
        let properties = schema.get("properties")?.as_object()?;
        if is_more || properties.is_empty() || properties.len() > MOST {
            return None;
        }
        let required: Vec<&str> = match schema.get("required").and_then(Value::as_array) {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        let field = |(name, schema): (&String, &Value)| {
            let text = |word: &str| schema.get(word).and_then(Value::as_str).unwrap_or_default();
            let description = match (text("title"), text("description")) {
                ("", description) => description.to_owned(),
                (title, "") => title.to_owned(),
                (title, description) => format!("{title}: {description}"),
            };
            let required = required.contains(&name.as_str());
            let default = schema.get("default").cloned();
            Some(Field { name: name.clone(), description, kind: kind(schema)?, required, default })
        };
        let fields = properties.iter().map(field).collect::<Option<Vec<Field>>>()?;
        let input = fields.first().map_or_else(Input::line, Field::input);
        Some(Self { fields, place: 0, answer: Map::new(), input })
    }

    /// The field that is asked for now, its number and how many there are.
    pub fn current(&self) -> Option<(&Field, usize, usize)> {
        Some((self.fields.get(self.place)?, self.place + 1, self.fields.len()))
    }

    /// Takes what was typed for the field.
    pub fn enter(&mut self) -> Entered {
        if let Some(field) = self.fields.get(self.place) {
            match field.read(&self.input.text()) {
                Ok(Some(value)) => {
                    self.answer.insert(field.name.clone(), value);
                }
                Ok(None) => {
                    self.answer.remove(&field.name);
                }
                Err(problem) => return Entered::Problem(problem),
            }
        }
        self.place += 1;
        self.input = self.fields.get(self.place).map_or_else(Input::line, Field::input);
        match self.place < self.fields.len() {
            true => Entered::Next,
            false => Entered::Whole(Value::Object(self.answer.clone())),
        }
    }
}

impl Field {
    fn input(&self) -> Input {
        let mut input = Input::line();
        if let Some(default) = &self.default {
            input.insert(&plain(default));
        }
        input
    }

    /// What may be typed.
    pub fn expects(&self) -> String {
        let kind = match &self.kind {
            Kind::Text => "text".to_owned(),
            Kind::Integer => "a whole number".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::YesOrNo => "yes or no".to_owned(),
            Kind::One(values) => {
                let values: Vec<String> = values.iter().map(plain).collect();
                format!("one of {}", values.join(", "))
            }
        };
        if self.required { kind } else { format!("{kind}, or nothing") }
    }

    fn read(&self, text: &str) -> Result<Option<Value>, String> {
        let text = text.trim();
        if text.is_empty() {
            return if self.required {
                Err("an answer is needed here".to_owned())
            } else {
                Ok(None)
            };
        }
        let value = match &self.kind {
            Kind::Text => Some(Value::from(text)),
            Kind::Integer => text.parse::<i64>().ok().map(Value::from),
            Kind::Number => serde_json::from_str(text).ok().filter(Value::is_number),
            Kind::YesOrNo => match text.to_lowercase().as_str() {
                "yes" | "y" | "true" => Some(Value::from(true)),
                "no" | "n" | "false" => Some(Value::from(false)),
                _ => None,
            },
            Kind::One(values) => values.iter().find(|value| plain(value) == text).cloned(),
        };
        match value {
            Some(value) => Ok(Some(value)),
            None => Err(format!("expected is {}", self.expects())),
        }
    }
}

fn kind(schema: &Value) -> Option<Kind> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let is_simple = values.iter().all(|value| !value.is_object() && !value.is_array());
        return is_simple.then(|| Kind::One(values.clone()));
    }
    match schema.get("type")?.as_str()? {
        "string" => Some(Kind::Text),
        "integer" => Some(Kind::Integer),
        "number" => Some(Kind::Number),
        "boolean" => Some(Kind::YesOrNo),
        _ => None,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;
