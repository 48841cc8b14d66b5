//! The keys of a scenario by their paths, and putting values there.

use toml::{Table, Value};

/// Stands for every entry of a list.
const EACH: &str = "*";

/// Puts a value where the path leads: `volume.size`; `workload.fio.0.depth`, an entry of a list by its number;
/// `array.swan.segment`, by its name; `array.*.segment`, all of them. Tables on the way that are not there are made.
///
/// # Errors
/// Where the path leads nowhere, and what there is.
pub(super) fn put(scenario: &mut Table, path: &str, value: &Value) -> Result<(), String> {
    let parts: Vec<&str> = path.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Err(format!("\"{path}\" is no key: write its path with dots, such as volume.size"));
    }
    into_table(scenario, &parts, value)
}

fn into_table(table: &mut Table, path: &[&str], value: &Value) -> Result<(), String> {
    let (first, rest) = path.split_first().expect("a path has parts");
    if rest.is_empty() {
        table.insert((*first).into(), value.clone());
        return Ok(());
    }
    match table.entry(*first).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) => into_table(inner, rest, value),
        Value::Array(list) => into_list(first, list, rest, value),
        _ => Err(format!("{first} is a value and has no {}: vary {first} itself", rest.join("."))),
    }
}

fn into_list(name: &str, list: &mut [Value], path: &[&str], value: &Value) -> Result<(), String> {
    let (which, rest) = path.split_first().expect("a path that leads into a list goes on");
    let is_meant = |(number, entry): &(usize, &mut Value)| {
        *which == EACH || which.parse() == Ok(*number) || called(entry).is_some_and(|called| called == *which)
    };
    let known = names(list);
    let mut found = false;
    for (_, entry) in list.iter_mut().enumerate().filter(is_meant) {
        found = true;
        match (rest.is_empty(), entry) {
            (true, entry) => *entry = value.clone(),
            (false, Value::Table(inner)) => into_table(inner, rest, value)?,
            (false, _) => return Err(format!("{name}.{which} is a value and has no {}", rest.join("."))),
        }
    }
    if found { Ok(()) } else { Err(format!("there is no {name}.{which}; there are {known}, or * for all of them")) }
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

    fn with(path: &str) -> Result<Table, String> {
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
            let error = with(path).unwrap_err();
            assert!(error.contains(words), "{path}: {error}");
        }
    }
}
