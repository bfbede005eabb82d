//! One card of a board: a product profile with this card's own settings.

use super::instance::{self, Instance};
use super::{Architecture, BoardError, CardSetting, Ecc, Profile};

/// A card with every default filled in.
#[derive(Debug, Clone)]
pub struct Card {
    /// Position on the board, which is the minor number of `/dev/nvidiaN` too.
    pub index: usize,
    /// The product.
    pub profile: &'static Profile,
    /// What the board file says about this card.
    pub setting: CardSetting,
    /// `GPU-…` name.
    pub uuid: String,
    /// Serial number.
    pub serial: String,
    /// PCI bus number.
    pub pci_bus: u8,
    /// Frame buffer in bytes.
    pub memory_bytes: u64,
    /// Taken by driver and firmware, in bytes.
    pub reserved_bytes: u64,
    /// Taken by one context, in bytes.
    pub context_bytes: u64,
    /// BAR1 aperture in bytes.
    pub bar1_bytes: u64,
    /// Limit that was set, in watts.
    pub power_limit_w: f64,
    /// Limit that holds, in watts.
    pub enforced_power_limit_w: f64,
    /// Highest SM clock that is allowed, in MHz.
    pub clock_limit_mhz: u32,
    /// Highest link generation.
    pub pcie_generation: u32,
    /// Most lanes.
    pub pcie_width: u32,
    /// Link generation under load.
    pub pcie_current_generation: u32,
    /// Lanes in use.
    pub pcie_current_width: u32,
    /// Highest link generation of the card alone.
    pub pcie_card_generation: u32,
    /// Air temperature in degrees Celsius.
    pub ambient_c: f64,
    /// MIG instances.
    pub instances: Vec<Instance>,
}

impl Card {
    /// Fills in what `setting` leaves open for the card at `index`.
    ///
    /// # Errors
    /// Fails for an unknown profile and for limits that the product cannot have.
    pub fn resolve(index: usize, setting: &CardSetting) -> Result<Self, BoardError> {
        let profile = Profile::named(&setting.profile)?;
        let memory_mib = setting.memory_mib.unwrap_or(profile.memory_mib);
        let context_mib = setting.context_mib.unwrap_or(profile.context_mib);
        if memory_mib <= profile.reserved_mib + context_mib {
            return Err(BoardError::Impossible {
                what: format!("card {index} has {memory_mib} MiB, too little for one context"),
            });
        }
        let power_limit_w = setting.power_limit_w.unwrap_or(profile.power.default);
        let enforced_power_limit_w = setting.enforced_power_limit_w.unwrap_or(power_limit_w);
        if enforced_power_limit_w <= profile.power.context || power_limit_w > profile.power.maximum {
            return Err(BoardError::Impossible {
                what: format!(
                    "card {index} has a power limit outside {} to {} W",
                    profile.power.context, profile.power.maximum
                ),
            });
        }
        let pcie_generation = setting.pcie_generation.unwrap_or(profile.pcie.generation);
        let pcie_width = setting.pcie_width.unwrap_or(profile.pcie.width);
        let clock_limit_mhz = setting.clock_limit_mhz.unwrap_or(profile.clocks.maximum);
        let uuid = setting.uuid.clone().unwrap_or_else(|| default_uuid(&setting.profile, index));
        let for_clients = mebibytes(memory_mib - profile.reserved_mib);
        Ok(Self {
            index,
            profile,
            setting: setting.clone(),
            instances: instance::cut(profile, &setting.mig, &uuid, for_clients)?,
            uuid,
            serial: setting.serial.clone().unwrap_or_else(|| format!("1{:012}", 320_921_000_000 + index)),
            pci_bus: setting.pci_bus.unwrap_or_else(|| default_bus(index)),
            memory_bytes: mebibytes(memory_mib),
            reserved_bytes: mebibytes(profile.reserved_mib),
            context_bytes: mebibytes(context_mib),
            bar1_bytes: mebibytes(setting.bar1_mib.unwrap_or(profile.bar1_mib)),
            power_limit_w,
            enforced_power_limit_w,
            clock_limit_mhz: clock_limit_mhz.clamp(profile.clocks.idle, profile.clocks.maximum),
            pcie_generation,
            pcie_width,
            pcie_current_generation: setting.pcie_current_generation.unwrap_or(pcie_generation),
            pcie_current_width: setting.pcie_current_width.unwrap_or(pcie_width),
            pcie_card_generation: setting.pcie_card_generation.unwrap_or(profile.pcie.generation),
            ambient_c: setting.ambient_c.unwrap_or(28.0),
        })
    }

    /// PCI address as sysfs writes it, e.g. `0000:0f:00.0`.
    pub fn pci_address(&self) -> String {
        format!("0000:{:02x}:00.0", self.pci_bus)
    }

    /// PCI address as NVML writes it, e.g. `00000000:0F:00.0`.
    pub fn pci_bus_id(&self) -> String {
        format!("00000000:{:02X}:00.0", self.pci_bus)
    }

    /// Whether the card is lost, `since_start` seconds after the box came up.
    pub fn is_lost(&self, since_start: f64) -> bool {
        self.setting.lost || self.setting.lost_after_s.is_some_and(|after| since_start >= after)
    }

    /// Whether the card has ECC and it is on.
    pub fn has_ecc(&self) -> bool {
        self.profile.ecc != Ecc::None && !self.setting.ecc.disabled
    }

    /// Banks of the frame buffer that have rows of their own to spare; 0 for products without.
    pub fn memory_banks(&self) -> u32 {
        if self.profile.ecc != Ecc::RowRemapping {
            return 0;
        }
        let bits_per_bank = if self.profile.architecture >= Architecture::Hopper { 2 } else { 8 };
        self.profile.memory_bus_bits / bits_per_bank
    }

    /// Bytes per second that the link carries in one direction, after coding and packet overhead.
    pub fn link_bytes_per_s(&self) -> f64 {
        let per_lane = match self.pcie_current_generation {
            0 | 1 => 0.25e9,
            2 => 0.5e9,
            3 => 0.985e9,
            4 => 1.969e9,
            5 => 3.938e9,
            _ => 7.563e9,
        };
        per_lane * f64::from(self.pcie_current_width) * 0.85
    }
}

fn mebibytes(count: u64) -> u64 {
    count << 20
}

/// Buses are spread as on a server board; sixteen cards fit.
fn default_bus(index: usize) -> u8 {
    u8::try_from(0x0F + index * 0x0E).unwrap_or(u8::MAX)
}

/// A name that is the same in every run, and differs between cards and products.
fn default_uuid(profile: &str, index: usize) -> String {
    let low = fingerprint(&format!("{profile}/{index}"));
    let high = fingerprint(&format!("{index}/{profile}/uuid"));
    format!(
        "GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        low >> 32,
        (low >> 16) & 0xFFFF,
        low & 0xFFFF,
        high >> 48,
        high & 0xFFFF_FFFF_FFFF
    )
}

/// 64-bit FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(setting: &CardSetting) -> Card {
        Card::resolve(0, setting).unwrap()
    }

    #[test]
    fn names_and_addresses_are_distinct_and_stable() {
        let setting = CardSetting { profile: "t4".into(), ..CardSetting::default() };
        let mut uuids = std::collections::BTreeSet::new();
        let mut buses = std::collections::BTreeSet::new();
        for index in 0..16 {
            let card = Card::resolve(index, &setting).unwrap();
            assert_eq!(card.uuid, Card::resolve(index, &setting).unwrap().uuid);
            assert_eq!(card.uuid.len(), 40);
            uuids.insert(card.uuid);
            buses.insert(card.pci_bus);
        }
        assert_eq!((uuids.len(), buses.len()), (16, 16));
    }

    #[test]
    fn a_set_limit_is_the_enforced_one_unless_the_board_says_otherwise() {
        let set = CardSetting {
            profile: "a100-sxm4-80gb".into(),
            power_limit_w: Some(250.0),
            ..CardSetting::default()
        };
        assert!((resolved(&set).enforced_power_limit_w - 250.0).abs() < 1e-9);
        let capped = CardSetting { enforced_power_limit_w: Some(200.0), ..set };
        assert!((resolved(&capped).enforced_power_limit_w - 200.0).abs() < 1e-9);
    }

    #[test]
    fn impossible_limits_are_refused() {
        let setting =
            CardSetting { profile: "t4".into(), power_limit_w: Some(900.0), ..CardSetting::default() };
        assert!(Card::resolve(0, &setting).is_err());
        let setting = CardSetting { profile: "t4".into(), memory_mib: Some(100), ..CardSetting::default() };
        assert!(Card::resolve(0, &setting).is_err());
    }
}
