//! Devices as scenario files describe them.

use cygnus_ssd::{BlockLayout, DeviceSpec, Mapping, ModelConfig, Preset};
use cygnus_types::Nanos;

fn resolve(text: &str) -> Result<ModelConfig, String> {
    let spec: DeviceSpec = toml::from_str(text).map_err(|error| error.to_string())?;
    spec.resolve().map_err(|error| error.to_string())
}

#[test]
fn a_preset_can_be_scaled_and_overridden() {
    let config =
        resolve("preset = '850-pro'\nscale = 8\n[override.ssd]\nspare = 0.3\nflash.t_read = '50.5us'").unwrap();
    let config = config.ssd().unwrap();
    let whole = Preset::Samsung850Pro.config();
    assert!(config.capacity.abs_diff(whole.capacity() / 8) < 4096);
    assert_eq!((config.spare, config.flash.t_read), (0.3, Nanos(50_500)));
    let small = resolve("preset = '850-pro'\ncapacity = '10GB'").unwrap();
    assert!(small.capacity().abs_diff(10_000_000_000) < 8192);
}

#[test]
fn the_mappings_of_the_documentation_can_be_said() {
    let text = "preset = '850-pro'\nscale = 32\noverride.ssd.mapping = { block = { log_blocks = 4 } }";
    let config = resolve(text).unwrap().ssd().unwrap();
    assert_eq!(config.mapping, Mapping::Block(BlockLayout { log_blocks: 4 }));
    let text = "preset = '850-pro'\n\
        override.ssd = { mapping = { zoned = { dies = 12, open = 8 } }, cache = { protected = true } }";
    assert!(matches!(resolve(text).unwrap().ssd().unwrap().mapping, Mapping::Zoned(_)));
    // Instead of the shingles that the preset has.
    let text = "preset = 'seagate-smr-8tb'\n\
        override.disk.recording = { host-managed = { zone = '256MiB', conventional = 1, open = 0 } }";
    let config = resolve(text).unwrap();
    assert!(config.is_zoned() && !Preset::SeagateSmr.config().is_zoned(), "{config:?}");
}

#[test]
fn every_preset_survives_its_written_form() {
    for preset in Preset::ALL {
        let spec = DeviceSpec { construction: Some(preset.config()), ..DeviceSpec::default() };
        let text = toml::to_string(&spec).unwrap();
        assert_eq!(resolve(&text).unwrap(), preset.config(), "{text}");
    }
}

#[test]
fn nonsense_is_refused_with_a_remedy() {
    for (text, complaint) in [
        ("", "give one of them"),
        ("preset = '850-prof'", "there are 850-pro,"),
        ("preset = '850-pro'\nspeed = 3", "unknown field"),
        ("preset = '850-pro'\nscale = 0.5", "at least 1"),
        ("preset = '850-pro'\ncapacity = '1PB'", "at most the device's own"),
        ("preset = '850-pro'\ncapacity = '1GB'\nscale = 2", "either it or the capacity"),
        ("preset = '850-pro'\n[override.ssd]\nflash.t_raed = '1us'", "unknown field `t_raed`"),
        ("preset = '850-pro'\n[override.ssd]\nflash.t_read = '1 fortnight'", "not a time"),
        ("preset = '850-pro'\n[override.ssd]\nspare = 0.001", "more spare"),
        ("preset = '850-pro'\n[override.ssd]\nmapping = { block = { logs = 1 } }", "unknown field `logs`"),
        ("preset = '850-pro'\n[override.ssd]\nmapping = { block = { log_blocks = 5000 } }", "fewer log blocks"),
        ("preset = '850-pro'\n[override.ssd]\nmapping = 'sector'", "unknown variant `sector`"),
    ] {
        let error = resolve(text).unwrap_err();
        assert!(error.contains(complaint), "{text:?} gave {error:?}");
    }
}
