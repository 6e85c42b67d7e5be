//! Values as the releases write them: numbers and flags as text, `0` and `1` for flags, `null`, and
//! `nan` where a division failed.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Parses an answer. Old managers print `nan`, which JSON does not have, for OSDs without space.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| {
        let text = String::from_utf8_lossy(bytes);
        let mut repaired = text.into_owned();
        for number in ["-nan", "nan", "-inf", "inf"] {
            for space in ["", " "] {
                repaired = repaired.replace(&format!(":{space}{number}"), &format!(":{space}null"));
            }
        }
        serde_json::from_str(&repaired).map_err(|_| error)
    })
}

pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        _ => None,
    }
}

/// A whole number without the detour over `f64`, which rounds beyond 2^53.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let exact = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    exact.or_else(|| number(value).filter(|number| *number >= 0.0).map(|number| number as u64))
}

pub(crate) fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => number.as_f64().map(|number| number != 0.0),
        Value::String(text) => match text.as_str() {
            "1" | "true" | "yes" => Some(true),
            "0" | "false" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// The text of a scalar; empty text counts as missing.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// For `#[serde(deserialize_with)]`.
pub(crate) fn de_number<'de, D: Deserializer<'de>>(of: D) -> Result<Option<f64>, D::Error> {
    Value::deserialize(of).map(|value| number(&value))
}

pub(crate) fn de_whole<'de, D: Deserializer<'de>>(of: D) -> Result<Option<u64>, D::Error> {
    Value::deserialize(of).map(|value| whole(&value))
}

pub(crate) fn de_flag<'de, D: Deserializer<'de>>(of: D) -> Result<Option<bool>, D::Error> {
    Value::deserialize(of).map(|value| flag(&value))
}

pub(crate) fn de_text<'de, D: Deserializer<'de>>(of: D) -> Result<Option<String>, D::Error> {
    Value::deserialize(of).map(|value| text(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_flags_and_texts_come_in_several_forms() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let whole_numbers = ["1", "\"1\"", "1.0", "18446744073709551615", "\"x\"", "null", "-1"]
            .map(|text| whole(&value(text)));
        assert_eq!(whole_numbers, [Some(1), Some(1), Some(1), Some(u64::MAX), None, None, None]);
        let flags = ["1", "\"0\"", "true", "\"maybe\""].map(|text| flag(&value(text)));
        assert_eq!(flags, [Some(true), Some(false), Some(true), None]);
        assert_eq!(text(&value("\"\"")), None);
        assert_eq!(text(&value("5")).as_deref(), Some("5"));
    }

    #[test]
    fn a_failed_division_leaves_its_value_unknown() {
        let parsed: Result<Value, _> = parse(br#"{"utilization": -nan, "var":nan, "id": 3}"#);
        assert_eq!(
            parsed.unwrap_or_default(),
            serde_json::json!({"utilization": null, "var": null, "id": 3})
        );
        assert!(parse::<Value>(b"{").is_err());
    }
}
