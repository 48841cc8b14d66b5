//! A device as a scenario file describes it: a preset's name and what is to be different, or the whole construction.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::ConfigError;
use crate::model::ModelConfig;
use crate::preset::Preset;

/// A device in a scenario file, for example
///
/// ```toml
/// preset = "850-pro"
/// scale = 8
/// override.ssd = { spare = 0.3, flash.t_read = "50us" }
/// ```
///
/// or, instead of `preset`, `construction.ssd` with every field. Sizes (`"120GB"`) and times (`"900us"`) have units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSpec {
    /// Name of a preset.
    pub preset: Option<String>,
    /// The whole construction, instead of a preset.
    pub construction: Option<ModelConfig>,
    /// Make the device this many times smaller, everything that makes speed unchanged.
    pub scale: Option<f64>,
    /// Make the device smaller until it has about this capacity, everything that makes speed unchanged.
    #[serde(default, with = "crate::units::optional_size")]
    pub capacity: Option<u64>,
    /// Fields of the construction that differ, in its form.
    #[serde(rename = "override")]
    pub overrides: Option<Value>,
}

/// Why a description is of no device.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// Neither or both.
    #[error("a device needs either \"preset\" or \"construction\"; give one of them")]
    OneOf,
    /// No such preset.
    #[error("there is no preset \"{name}\"; there are {}", known())]
    UnknownPreset {
        /// As given.
        name: String,
    },
    /// A number that cannot be.
    #[error("{what} is {value}; give {remedy}")]
    Value {
        /// The field.
        what: &'static str,
        /// As given.
        value: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The overridden fields do not make a construction.
    #[error("the overrides do not fit the device: {0}; name fields of its construction, with units")]
    Override(#[from] serde_json::Error),
    /// The construction cannot be built.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

fn known() -> String {
    Preset::ALL.map(Preset::name).join(", ")
}

impl DeviceSpec {
    /// A preset as it is.
    pub fn preset(name: &str) -> DeviceSpec {
        DeviceSpec { preset: Some(name.to_owned()), ..DeviceSpec::default() }
    }

    /// The construction that is meant, checked.
    pub fn resolve(&self) -> Result<ModelConfig, SpecError> {
        let base = match (&self.preset, &self.construction) {
            (Some(name), None) => {
                Preset::by_name(name).ok_or_else(|| SpecError::UnknownPreset { name: name.clone() })?.config()
            }
            (None, Some(config)) => config.clone(),
            _ => return Err(SpecError::OneOf),
        };
        let overridden = self.overridden(base)?;
        let config = match self.divisor(overridden.capacity())? {
            Some(divisor) => overridden.scaled_down(divisor),
            None => overridden,
        };
        config.validate()?;
        Ok(config)
    }

    fn overridden(&self, base: ModelConfig) -> Result<ModelConfig, SpecError> {
        let Some(overrides) = &self.overrides else { return Ok(base) };
        let mut value = serde_json::to_value(&base)?;
        merge(&mut value, overrides);
        Ok(serde_json::from_value(value)?)
    }

    fn divisor(&self, full: u64) -> Result<Option<f64>, SpecError> {
        match (self.scale, self.capacity) {
            (None, None) => Ok(None),
            (Some(scale), None) if scale.is_finite() && scale >= 1.0 => Ok(Some(scale)),
            (None, Some(wanted)) if wanted > 0 && wanted <= full => Ok(Some(full as f64 / wanted as f64)),
            (Some(scale), None) => {
                let remedy = "a number of at least 1";
                Err(SpecError::Value { what: "scale", value: scale.to_string(), remedy })
            }
            (None, Some(wanted)) => {
                let remedy = "at most the device's own, or a construction with more";
                Err(SpecError::Value { what: "capacity", value: wanted.to_string(), remedy })
            }
            (Some(_), Some(_)) => {
                let remedy = "either it or the capacity";
                Err(SpecError::Value { what: "scale", value: "given together with a capacity".to_owned(), remedy })
            }
        }
    }
}

/// Replaces what `changes` names, however deep. Another choice takes the place of the one that was there: both have one field alone.
fn merge(value: &mut Value, changes: &Value) {
    let choice = |value: &Value| value.as_object().filter(|fields| fields.len() == 1)?.keys().next().cloned();
    if choice(value).is_some_and(|was| choice(changes).is_some_and(|now| now != was)) {
        return *value = changes.clone();
    }
    match (value, changes) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (name, change) in changes {
                merge(fields.entry(name.clone()).or_insert(Value::Null), change);
            }
        }
        (value, change) => *value = change.clone(),
    }
}
