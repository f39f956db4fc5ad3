//! Equality of JSON values as JSON means it: numbers by value, members in any order.

use serde_json::Value;

/// Whether two values are the same; `10` and `10.0` are, and `9007199254740993` and its neighbour are not.
pub(super) fn same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            let both_whole = !left.is_f64() && !right.is_f64();
            left == right || (!both_whole && left.as_f64() == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same_value(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(key, value): (&String, &Value)| right.get(key).is_some_and(|other| same_value(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        (
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Number(_) | Value::Array(_) | Value::Object(_),
            _,
        ) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_compared_by_value_and_members_in_any_order() {
        assert!(same_value(
            &json!({"a": [10, 1], "b": 2}),
            &json!({"b": 2.0, "a": [10.0, 1]})
        ));
        assert!(!same_value(&json!(10), &json!(10.5)));
        assert!(!same_value(
            &json!(9_007_199_254_740_993_u64),
            &json!(9_007_199_254_740_992_u64)
        ));
        assert!(!same_value(&json!("10"), &json!(10)));
        assert!(!same_value(&json!({"a": 1}), &json!({"a": 1, "b": 1})));
        assert!(!same_value(&json!([1]), &json!([1, 1])));
    }
}
