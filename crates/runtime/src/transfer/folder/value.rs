//! Decides how a value of the settings is written in TOML and read back as the same value.
//! TOML knows no null and no number above 2^63: such a value is written as JSON, in a table whose only field is `$json`, and
//! so is a text with a line that would be taken for a fence.
//! Called by `folder`. Knows no setting.

use serde_json::{Map, Number, Value as Json};
use toml::Value as Toml;

use super::FENCE;

/// The only field of a table that stands for a value TOML does not know.
const ESCAPE: &str = "$json";

pub(super) fn to_toml(value: &Json) -> Result<Toml, String> {
    Ok(match value {
        Json::Null => escaped(value),
        Json::Bool(value) => Toml::Boolean(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), _, _) => Toml::Integer(whole),
            (None, None, Some(float)) if float.is_finite() => Toml::Float(float),
            _ => escaped(value),
        },
        // Written over several lines it would end the settings at the head of a file.
        Json::String(text) if text.lines().any(|line| line == FENCE) => escaped(value),
        Json::String(text) => Toml::String(text.clone()),
        Json::Array(items) => Toml::Array(items.iter().map(to_toml).collect::<Result<_, _>>()?),
        // What looks like our own mark must not be taken for it.
        Json::Object(fields) if is_escape(fields) => escaped(value),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| Ok((name.clone(), to_toml(value)?)));
            Toml::Table(fields.collect::<Result<_, String>>()?)
        }
    })
}

pub(super) fn from_toml(value: Toml) -> Result<Json, String> {
    Ok(match value {
        Toml::Boolean(value) => Json::Bool(value),
        Toml::Integer(whole) => Json::from(whole),
        Toml::Float(float) => match Number::from_f64(float) {
            Some(number) => Json::Number(number),
            None => return Err(format!("{float} is not a number")),
        },
        Toml::String(text) => Json::String(text),
        Toml::Datetime(moment) => return Err(format!("write {moment} between quotes")),
        Toml::Array(items) => {
            Json::Array(items.into_iter().map(from_toml).collect::<Result<_, _>>()?)
        }
        Toml::Table(table) => {
            let fields = table.into_iter().map(|(name, value)| {
                let value = from_toml(value).map_err(|error| format!("{name}: {error}"))?;
                Ok((name, value))
            });
            let fields = fields.collect::<Result<Map<_, _>, String>>()?;
            match fields.get(ESCAPE) {
                Some(Json::String(text)) if fields.len() == 1 => serde_json::from_str(text)
                    .map_err(|error| format!("{ESCAPE}: it must be JSON: {error}"))?,
                _ => Json::Object(fields),
            }
        }
    })
}

fn is_escape(fields: &Map<String, Json>) -> bool {
    fields.len() == 1 && fields.contains_key(ESCAPE)
}

fn escaped(value: &Json) -> Toml {
    Toml::Table([(ESCAPE.to_owned(), Toml::String(value.to_string()))].into_iter().collect())
}
