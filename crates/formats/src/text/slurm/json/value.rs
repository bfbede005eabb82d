//! Values as the versions of Slurm's data parser write them.

use serde_json::Value;

/// Returns a number: plain, as text, or `{ "set", "infinite", "number" }`; none where it is not set or without bound.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        Value::Object(fields) => {
            let is = |name: &str| fields.get(name).and_then(Value::as_bool);
            let is_set = is("set").unwrap_or(true) && !is("infinite").unwrap_or(false);
            is_set.then(|| fields.get("number").and_then(number)).flatten()
        }
        _ => None,
    }
}

/// Returns whether a value stands for no bound: `{ "infinite": true }`, -1, `UNLIMITED`.
pub(super) fn is_unlimited(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.get("infinite").and_then(Value::as_bool).unwrap_or(false),
        Value::Number(number) => number.as_i64() == Some(-1),
        Value::String(text) => text.eq_ignore_ascii_case("unlimited"),
        _ => false,
    }
}

/// Returns a whole number that is not negative and not one of the numbers that older versions write for "not set".
pub(super) fn whole(number: f64) -> Option<u64> {
    const NOT_SET_FROM: f64 = 4_294_967_290.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    (0.0..NOT_SET_FROM).contains(&number).then_some(number as u64)
}

/// Returns text: a word, a number, or a list of words between commas.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Array(parts) => {
            let parts: Vec<String> = parts.iter().filter_map(text).collect();
            (!parts.is_empty()).then(|| parts.join(","))
        }
        Value::Object(_) => number(value).and_then(whole).map(|number| number.to_string()),
        Value::Null => None,
    }
}

/// Returns a member of a member of a value.
pub(super) fn at<'value>(value: &'value Value, path: &str) -> Option<&'value Value> {
    path.split('/').try_fold(value, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{at, is_unlimited, number, text, whole};

    #[test]
    fn numbers_of_all_versions() {
        assert_eq!(number(&json!(4)), Some(4.0));
        assert_eq!(number(&json!("4")), Some(4.0));
        assert_eq!(number(&json!({"set": true, "infinite": false, "number": 4})), Some(4.0));
        assert_eq!(number(&json!({"set": false, "infinite": false, "number": 0})), None);
        assert_eq!(number(&json!({"set": true, "infinite": true, "number": 0})), None);
        assert_eq!(number(&json!(null)), None);
        assert!(is_unlimited(&json!({"set": true, "infinite": true})) && is_unlimited(&json!(-1)));
        assert_eq!((whole(3.0), whole(-1.0), whole(4_294_967_294.0)), (Some(3), None, None));
    }

    #[test]
    fn words_and_lists() {
        assert_eq!(text(&json!(["IDLE", "DRAIN"])).as_deref(), Some("IDLE,DRAIN"));
        assert_eq!(text(&json!("up")).as_deref(), Some("up"));
        assert_eq!(text(&json!([])), None);
        assert_eq!(at(&json!({"a": {"b": 1}}), "a/b"), Some(&json!(1)));
        assert_eq!(at(&json!({"a": 1}), "a/b"), None);
    }
}
