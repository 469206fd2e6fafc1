//! Types of arguments and results: the JSON schema, the check of a value, and the documentation come
//! from one description.

use serde_json::{Map, Value, json};

/// The type of a value.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string.
    Text,
    /// True or false.
    Flag,
    /// An integer between these, both included.
    Integer(u64, u64),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A list.
    List(&'static Kind),
    /// An object with these fields.
    Object(&'static [Field]),
    /// A value or null.
    Nullable(&'static Kind),
}

/// A field of an object.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether it must be there.
    pub required: bool,
    /// What it means.
    pub help: &'static str,
}

impl Field {
    /// A field that is always there.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, help: &'static str) -> Field {
        Field { name, kind, required: true, help }
    }

    /// A field that may be absent.
    #[must_use]
    pub const fn optional(name: &'static str, kind: Kind, help: &'static str) -> Field {
        Field { name, kind, required: false, help }
    }
}

/// Any number that is not negative and that every JSON reader represents exactly.
pub const NUMBER: Kind = Kind::Integer(0, (1 << 53) - 1);

impl Kind {
    /// The JSON schema. Unknown fields are allowed only in results, which may gain fields.
    #[must_use]
    pub fn json_schema(&self, closed: bool) -> Value {
        match self {
            Kind::Text => json!({ "type": "string" }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Integer(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Kind::OneOf(names) => json!({ "type": "string", "enum": names }),
            Kind::List(of) => json!({ "type": "array", "items": of.json_schema(closed) }),
            Kind::Object(fields) => object_schema(fields, closed),
            Kind::Nullable(of) => json!({ "anyOf": [of.json_schema(closed), { "type": "null" }] }),
        }
    }

    /// The type in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Kind::Text => "text".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Integer(0, most) if *most > u64::from(u32::MAX) => "number".to_owned(),
            Kind::Integer(least, most) => format!("number from {least} to {most}"),
            Kind::OneOf(names) => {
                names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            }
            Kind::List(of) => format!("list of: {}", of.words()),
            Kind::Object(fields) => {
                let names = fields.iter().map(|field| format!("`{}`", field.name));
                format!("object ({})", names.collect::<Vec<_>>().join(", "))
            }
            Kind::Nullable(of) => format!("{}, or null", of.words()),
        }
    }

    /// Checks a value. `at` names it.
    ///
    /// # Errors
    /// If the value does not have this type; the text says where and which type it should have.
    pub fn check(&self, value: &Value, at: &str, closed: bool) -> Result<(), String> {
        let wrong = || Err(format!("{at} must be: {}", self.words()));
        match self {
            Kind::Text if value.is_string() => Ok(()),
            Kind::Flag if value.is_boolean() => Ok(()),
            Kind::Integer(least, most) => match value.as_u64() {
                Some(number) if (*least..=*most).contains(&number) => Ok(()),
                _ => wrong(),
            },
            Kind::OneOf(names) if value.as_str().is_some_and(|text| names.contains(&text)) => {
                Ok(())
            }
            Kind::List(of) => match value.as_array() {
                Some(values) => values.iter().enumerate().try_for_each(|(index, value)| {
                    of.check(value, &format!("{at}[{index}]"), closed)
                }),
                None => wrong(),
            },
            Kind::Object(fields) => match value.as_object() {
                Some(map) => check_object(fields, map, at, closed),
                None => wrong(),
            },
            Kind::Nullable(_) if value.is_null() => Ok(()),
            Kind::Nullable(of) => of.check(value, at, closed),
            Kind::Text | Kind::Flag | Kind::OneOf(_) => wrong(),
        }
    }
}

/// The schema of an object.
#[must_use]
pub fn object_schema(fields: &[Field], closed: bool) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut schema = field.kind.json_schema(closed);
        schema["description"] = field.help.into();
        properties.insert(field.name.to_owned(), schema);
    }
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if closed {
        schema["additionalProperties"] = false.into();
    }
    schema
}

/// Checks the fields of an object; `at` is empty for the arguments of a method.
///
/// # Errors
/// If a field is missing, unknown or of another type.
pub fn check_object(
    fields: &[Field],
    map: &Map<String, Value>,
    at: &str,
    closed: bool,
) -> Result<(), String> {
    let path = |name: &str| match at {
        "" => format!("`{name}`"),
        at => format!("{at}.{name}"),
    };
    for field in fields {
        match map.get(field.name) {
            Some(value) => field.kind.check(value, &path(field.name), closed)?,
            None if field.required => return Err(format!("{} is missing", path(field.name))),
            None => {}
        }
    }
    let unknown = map.keys().find(|name| !fields.iter().any(|field| field.name == **name));
    match unknown {
        Some(name) if closed => {
            let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
            let shown: String = name.chars().take(40).collect();
            Err(match known.is_empty() {
                true => format!("`{shown}` is unknown: there are no arguments"),
                false => format!("`{shown}` is unknown: the arguments are {}", known.join(", ")),
            })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::new("count", Kind::Integer(1, 9), "a number"),
        Field::optional("names", Kind::List(&Kind::Text), "names"),
        Field::optional("way", Kind::OneOf(&["up", "down"]), "a way"),
        Field::optional("maybe", Kind::Nullable(&Kind::Flag), "perhaps"),
    ];

    fn check(value: &Value) -> Result<(), String> {
        check_object(FIELDS, value.as_object().expect("an object"), "", true)
    }

    #[test]
    fn values_of_another_type_are_refused_by_name() {
        assert_eq!(check(&json!({ "count": 9, "names": ["a"], "maybe": null })), Ok(()));
        for (value, message) in [
            (json!({}), "`count` is missing"),
            (json!({ "count": 10 }), "`count` must be: number from 1 to 9"),
            (json!({ "count": -1 }), "`count` must be: number from 1 to 9"),
            (json!({ "count": 1.5 }), "`count` must be: number from 1 to 9"),
            (json!({ "count": 1, "names": ["a", 2] }), "`names`[1] must be: text"),
            (json!({ "count": 1, "way": "left" }), "`way` must be: `up`, `down`"),
            (json!({ "count": 1, "maybe": 3 }), "`maybe` must be: true or false"),
            (
                json!({ "count": 1, "other": 3 }),
                "`other` is unknown: the arguments are count, names, way, maybe",
            ),
        ] {
            assert_eq!(check(&value), Err(message.to_owned()), "{value}");
        }
    }

    #[test]
    fn the_schema_accepts_what_the_check_accepts() {
        let schema = object_schema(FIELDS, true);
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        for value in [
            json!({ "count": 9, "names": ["a"], "maybe": null }),
            json!({ "count": 1 }),
            json!({}),
            json!({ "count": 10 }),
            json!({ "count": 1.5 }),
            json!({ "count": 1, "way": "left" }),
            json!({ "count": 1, "way": "up" }),
            json!({ "count": 1, "other": 3 }),
        ] {
            assert_eq!(validator.is_valid(&value), check(&value).is_ok(), "{value}");
        }
    }
}
