//! The keys of a scenario by their paths, and putting values there.

use toml::{Table, Value};

/// Stands for every entry of a list.
const EACH: &str = "*";

/// Where the path of a key leads nowhere, and what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongKey {
    /// A part of the path is empty.
    #[error("\"{0}\" is no key: write its path with dots, such as volume.size")]
    NoPath(String),
    /// The path goes on where a value is.
    #[error("{value} is a value and has no {below}: vary {value} itself")]
    Value {
        /// Path of the value.
        value: String,
        /// The rest of the path.
        below: String,
    },
    /// A list has no such entry.
    #[error("there is no {list}.{which}; there are {known}, or * for all of them")]
    NoEntry {
        /// Name.
        list: String,
        /// Number or name of what is wanted.
        which: String,
        /// Numbers and names of those that there are.
        known: String,
    },
}

/// Puts a value where the path leads: `volume.size`; `workload.fio.0.depth`, an entry of a list by its number;
/// `array.swan.segment`, by its name; `array.*.segment`, all of them. Tables on the way that are not there are made.
///
/// # Errors
/// Where the path leads nowhere, and what there is.
pub(super) fn put(scenario: &mut Table, path: &str, value: &Value) -> Result<(), WrongKey> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(WrongKey::NoPath(path.to_owned()));
    }
    into_table(scenario, &parts, value)
}

/// The places to which a path leads, each by the numbers of entries and not by their names; none where it leads nowhere.
pub(super) fn places(scenario: &Table, path: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let parts: Vec<&str> = path.split('.').collect();
    in_table(scenario, &parts, &mut Vec::new(), &mut found);
    found
}

fn in_table(table: &Table, path: &[&str], above: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let (first, rest) = path.split_first().expect("a path has parts");
    above.push((*first).into());
    match table.get(*first) {
        Some(value) => in_value(value, rest, above, found),
        // Tables on the way that are not there would be made.
        None => found.push(above.iter().cloned().chain(rest.iter().map(|part| (*part).into())).collect()),
    }
    above.pop();
}

fn in_value(value: &Value, path: &[&str], above: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match (value, path.split_first()) {
        (_, None) => found.push(above.clone()),
        (Value::Table(inner), Some(_)) => in_table(inner, path, above, found),
        (Value::Array(list), Some((which, rest))) => {
            for (number, entry) in list.iter().enumerate().filter(|(number, entry)| is_meant(which, *number, entry)) {
                above.push(number.to_string());
                in_value(entry, rest, above, found);
                above.pop();
            }
        }
        _ => {}
    }
}

/// What the scenario has at that place.
pub(super) fn at<'a>(scenario: &'a Table, place: &[String]) -> Option<&'a Value> {
    let (first, rest) = place.split_first().expect("a place has parts");
    let below = |value: &'a Value, part: &String| match value {
        Value::Array(list) => list.get(part.parse::<usize>().ok()?),
        other => other.get(part.as_str()),
    };
    rest.iter().try_fold(scenario.get(first)?, below)
}

fn into_table(table: &mut Table, path: &[&str], value: &Value) -> Result<(), WrongKey> {
    let (first, rest) = path.split_first().expect("a path has parts");
    if rest.is_empty() {
        table.insert((*first).into(), value.clone());
        return Ok(());
    }
    match table.entry(*first).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) => into_table(inner, rest, value),
        Value::Array(list) => into_list(first, list, rest, value),
        _ => Err(WrongKey::Value { value: (*first).to_owned(), below: rest.join(".") }),
    }
}

fn into_list(name: &str, list: &mut [Value], path: &[&str], value: &Value) -> Result<(), WrongKey> {
    let (which, rest) = path.split_first().expect("a path that leads into a list goes on");
    let known = names(list);
    let mut found = false;
    for (_, entry) in list.iter_mut().enumerate().filter(|(number, entry)| is_meant(which, *number, entry)) {
        found = true;
        match (rest.is_empty(), entry) {
            (true, entry) => *entry = value.clone(),
            (false, Value::Table(inner)) => into_table(inner, rest, value)?,
            (false, _) => {
                let value = format!("{name}.{which}");
                return Err(WrongKey::Value { value, below: rest.join(".") });
            }
        }
    }
    let none = || WrongKey::NoEntry { list: name.to_owned(), which: (*which).to_owned(), known };
    found.then_some(()).ok_or_else(none)
}

/// Whether a part of a path means that entry of a list.
fn is_meant(which: &str, number: usize, entry: &Value) -> bool {
    which == EACH || which.parse() == Ok(number) || called(entry).is_some_and(|called| called == which)
}

/// What an entry of a list is called: its name, or its preset as arrays are.
fn called(entry: &Value) -> Option<&str> {
    entry.get("name").or_else(|| entry.get("preset")).and_then(Value::as_str)
}

fn names(list: &[Value]) -> String {
    let name = |(number, entry): (usize, &Value)| match called(entry) {
        Some(called) => format!("{number} (or {called})"),
        None => number.to_string(),
    };
    list.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        [volume]
        size = "1GiB"
        [[array]]
        preset = "swan"
        [[array]]
        name = "log"
        preset = "log-raid"
        [[workload.fio]]
        depth = 1
    "#;

    fn with(path: &str) -> Result<Table, WrongKey> {
        let mut table: Table = SCENARIO.parse().unwrap();
        put(&mut table, path, &Value::Integer(7)).map(|()| table)
    }

    #[test]
    fn values_come_to_where_paths_lead() {
        assert_eq!(with("workload.fio.0.depth").unwrap()["workload"]["fio"][0]["depth"].as_integer(), Some(7));
        assert_eq!(with("array.log.groups").unwrap()["array"][1]["groups"].as_integer(), Some(7));
        assert_eq!(with("array.swan.groups").unwrap()["array"][0]["groups"].as_integer(), Some(7));
        assert_eq!(with("cpu.cores").unwrap()["cpu"]["cores"].as_integer(), Some(7), "a table that was not there");
        let all = with("array.*.groups").unwrap();
        assert!((0..2).all(|n| all["array"][n]["groups"].as_integer() == Some(7)));
        assert_eq!(with("array.1").unwrap()["array"][1].as_integer(), Some(7), "the whole entry");
    }

    #[test]
    fn paths_that_lead_nowhere_are_told() {
        for (path, words) in [
            ("array.raid5.groups", "there is no array.raid5; there are 0 (or swan), 1 (or log), or *"),
            ("workload.fio.1.depth", "there is no fio.1; there are 0, or *"),
            ("volume.size.unit", "size is a value and has no unit"),
            ("volume..size", "is no key"),
            ("", "is no key"),
        ] {
            let error = with(path).unwrap_err().to_string();
            assert!(error.contains(words), "{path}: {error}");
        }
    }
}
