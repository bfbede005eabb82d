//! Product profiles: what a card model is made of, as data in `profiles.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::BoardError;

/// The profiles that come with the lab, by name.
static PROFILES: LazyLock<Result<BTreeMap<String, Profile>, toml::de::Error>> =
    LazyLock::new(|| toml::from_str(include_str!("profiles.toml")));

/// One product: everything that two cards of one model have in common.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Marketing name as NVML reports it.
    pub name: String,
    /// Product family.
    pub brand: Brand,
    /// Chip generation.
    pub architecture: Architecture,
    /// CUDA compute capability, major and minor.
    pub compute_capability: [i32; 2],
    /// PCI device id; the vendor is NVIDIA's.
    pub pci_device: u16,
    /// PCI subsystem id; the subsystem vendor is NVIDIA's.
    pub pci_subsystem: u16,
    /// Frame buffer in MiB.
    pub memory_mib: u64,
    /// Taken by driver and firmware, in MiB.
    pub reserved_mib: u64,
    /// Taken by one CUDA context, in MiB.
    pub context_mib: u64,
    /// BAR1 aperture in MiB.
    pub bar1_mib: u64,
    /// Width of the memory bus in bits.
    pub memory_bus_bits: u32,
    /// CUDA cores.
    pub cores: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// How the memory is protected and repaired.
    pub ecc: Ecc,
    /// Most MIG devices; 0 when the product has no MIG.
    pub mig_devices: u32,
    /// Power figures.
    pub power: PowerProfile,
    /// Clock figures.
    pub clocks: ClockProfile,
    /// Performance states.
    pub states: StateProfile,
    /// Temperature thresholds.
    pub heat: HeatProfile,
    /// Number of fans; 0 for a card cooled by the chassis.
    pub fans: u32,
    /// The slot that the product is made for.
    pub pcie: LinkProfile,
    /// Links to other cards; nothing for a product without.
    pub nvlink: Option<NvLinkProfile>,
    /// Period over which utilization is measured, in milliseconds.
    pub utilization_period_ms: u64,
}

/// Product families that NVML tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Brand {
    /// Tesla (data-centre cards up to Turing).
    Tesla,
    /// NVIDIA (data-centre cards since Ampere).
    Nvidia,
    /// NVIDIA RTX (workstation cards since Ampere).
    NvidiaRtx,
    /// `GeForce`.
    Geforce,
}

/// Chip generations of the profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// Volta.
    Volta,
    /// Turing.
    Turing,
    /// Ampere.
    Ampere,
    /// Ada Lovelace.
    Ada,
    /// Hopper.
    Hopper,
    /// Blackwell.
    Blackwell,
}

/// How a product protects and repairs its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ecc {
    /// No ECC (consumer cards).
    None,
    /// ECC with retired pages (up to Turing).
    PageRetirement,
    /// ECC with remapped rows (since Ampere).
    RowRemapping,
}

/// Power figures in watts.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerProfile {
    /// Drawn with no client.
    pub idle: f64,
    /// Drawn with a context and no kernel.
    pub context: f64,
    /// Lowest limit that can be set.
    pub minimum: f64,
    /// Default limit.
    pub default: f64,
    /// Highest limit that can be set.
    pub maximum: f64,
    /// Whether the sensor reports the mean of the last second; else the last sample.
    pub average_over_a_second: bool,
}

/// Clock figures in MHz.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockProfile {
    /// SM clock of an idle card.
    pub idle: u32,
    /// Guaranteed SM clock.
    pub base: u32,
    /// Highest SM clock.
    pub maximum: u32,
    /// Memory clock under load.
    pub memory: u32,
    /// Memory clock of an idle card.
    pub memory_idle: u32,
}

/// Performance states (0 fastest).
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateProfile {
    /// With no client.
    pub idle: u32,
    /// With a context and no kernel.
    pub context: u32,
    /// While kernels run.
    pub busy: u32,
}

/// Temperature thresholds in degrees Celsius.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeatProfile {
    /// The driver lowers clocks above this.
    pub maximum_operating: u32,
    /// The hardware halves clocks above this.
    pub slowdown: u32,
    /// The card switches off above this.
    pub shutdown: u32,
    /// Highest memory temperature, where the memory has a sensor.
    pub memory_maximum: Option<u32>,
    /// Whether the driver reports the margin to the limit.
    pub margin: bool,
}

/// A PCI Express link.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkProfile {
    /// Generation under load.
    pub generation: u32,
    /// Lanes.
    pub width: u32,
    /// Generation while the card is idle.
    pub idle_generation: u32,
}

/// NVLink of a product.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvLinkProfile {
    /// Links.
    pub links: u32,
    /// Version as NVML numbers it.
    pub version: u32,
    /// Megabytes per second of one link in one direction.
    pub mb_per_s: u32,
    /// Whether the links are connected only by a bridge that is sold apart.
    #[serde(default)]
    pub needs_bridge: bool,
    /// Switches on the product's own board of eight; 0 for a product without.
    #[serde(default)]
    pub switches: u8,
    /// Whether a card registers with the fabric that the switches make.
    #[serde(default)]
    pub registers: bool,
}

impl Profile {
    /// Returns the profile called `name`.
    ///
    /// # Errors
    /// Fails when there is no such profile, or when the profiles inside the crate are broken.
    pub fn named(name: &str) -> Result<&'static Profile, BoardError> {
        let profiles = PROFILES.as_ref().map_err(|source| BoardError::Profiles { source: source.clone() })?;
        profiles.get(name).ok_or_else(|| BoardError::UnknownProfile {
            name: name.to_owned(),
            known: profiles.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns the names of all profiles, sorted.
    pub fn names() -> Vec<&'static str> {
        PROFILES.as_ref().map(|profiles| profiles.keys().map(String::as_str).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_plausible() {
        assert!(Profile::names().len() >= 14);
        for name in Profile::names() {
            let profile = Profile::named(name).unwrap();
            assert!(profile.reserved_mib + profile.context_mib < profile.memory_mib, "{name}");
            assert!(profile.power.idle < profile.power.context, "{name}");
            assert!(profile.power.context < profile.power.minimum, "{name}");
            assert!(profile.power.minimum <= profile.power.default, "{name}");
            assert!(profile.power.default <= profile.power.maximum, "{name}");
            assert!(profile.clocks.idle < profile.clocks.base, "{name}");
            assert!(profile.clocks.base < profile.clocks.maximum, "{name}");
            assert!(profile.heat.maximum_operating < profile.heat.slowdown, "{name}");
            assert!(profile.heat.slowdown < profile.heat.shutdown, "{name}");
            assert!((100..=1000).contains(&profile.utilization_period_ms), "{name}");
        }
    }

    #[test]
    fn an_unknown_profile_names_the_known_ones() {
        let message = Profile::named("riva-128").unwrap_err().to_string();
        assert!(message.contains("riva-128") && message.contains("rtx-3090"), "{message}");
    }
}
