//! What is varied: keys, and the values that they take.

use super::SweepError;
use crate::ScenarioError;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use toml::{Spanned, Value};

/// A key, and the values that it takes one after the other.
#[derive(Clone, Debug)]
pub struct Varied {
    /// Its path in the scenario.
    pub(super) key: String,
    pub(super) values: Vec<Value>,
    /// Where it says so, for messages.
    pub(super) place: String,
}

impl Varied {
    /// From `KEY=VALUE,VALUE`, as a command line has it. Values are TOML, or else text.
    ///
    /// # Errors
    /// When it is not of that form.
    pub fn parse(text: &str) -> Result<Self, SweepError> {
        let place = format!("--vary {text}");
        let Some((key, list)) = text.split_once('=').filter(|(_, list)| !list.trim().is_empty()) else {
            return Err(SweepError::new(
                place,
                "write KEY=VALUE,VALUE, such as volume.size=\"40% of data\",\"60% of data\"",
            ));
        };
        let toml =
            |text: &str| format!("v = {text}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("v"));
        let values = match toml(&format!("[{list}]")) {
            Some(Value::Array(values)) => values,
            _ => {
                let one = |text: &str| toml(text.trim()).unwrap_or_else(|| Value::String(text.trim().into()));
                list.split(',').map(one).collect()
            }
        };
        Ok(Self { key: key.trim().into(), values, place })
    }
}

/// A `[grid]` or a `[list]` of a file: keys with their values, as deep as its tables go.
#[derive(Debug, Default)]
pub(super) struct Tree(BTreeMap<Spanned<String>, Node>);

#[derive(Debug)]
enum Node {
    Tree(Tree),
    Values(Vec<Value>),
    /// What is neither: something was forgotten.
    Bare,
}

impl Tree {
    /// Its keys with their values, in the order of the file.
    ///
    /// # Errors
    /// When a key has no list of values, or one of none.
    pub fn varied(&self, file: &str, text: &str) -> Result<Vec<Varied>, SweepError> {
        let mut found = Vec::new();
        self.collect("", file, text, &mut found)?;
        found.sort_by_key(|(at, _)| *at);
        Ok(found.into_iter().map(|(_, varied)| varied).collect())
    }

    fn collect(&self, above: &str, file: &str, text: &str, found: &mut Vec<(usize, Varied)>) -> Result<(), SweepError> {
        for (name, node) in &self.0 {
            let key = format!("{above}{}", name.as_ref());
            let wrong = |message: String| Err(ScenarioError::at(file, text, Some(name.span()), message).into());
            match node {
                Node::Tree(tree) => tree.collect(&format!("{key}."), file, text, found)?,
                Node::Bare => return wrong(format!("{key}: write the values in brackets: [VALUE, VALUE]")),
                Node::Values(values) if values.is_empty() => {
                    return wrong(format!("{key} has no values, so there is nothing to run: name one at least"));
                }
                Node::Values(values) => {
                    let ScenarioError { line, column, .. } = ScenarioError::at(file, text, Some(name.span()), "");
                    let place = format!("{file}:{line}:{column}");
                    found.push((name.span().start, Varied { key, values: values.clone(), place }));
                }
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(Tree)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Node::Values(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Node, A::Error> {
        let mut tree = BTreeMap::new();
        while let Some((key, node)) = table.next_entry()? {
            tree.insert(key, node);
        }
        Ok(Node::Tree(Tree(tree)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Bare)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Bare)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Bare)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Bare)
    }
}
