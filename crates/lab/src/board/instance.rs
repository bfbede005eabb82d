//! MIG instances of a card: what each has of it.

use super::{Architecture, BoardError, MigSetting, Profile};

/// Compute slices of a card that is cut.
const COMPUTE_SLICES: u32 = 7;
/// Memory slices of a card that is cut.
const MEMORY_SLICES: u32 = 8;
/// GPU instance ids begin here for instances of one slice; larger ones have the lower ids.
const FIRST_SINGLE_ID: u32 = 7;

/// One MIG instance: a GPU instance that is one compute instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Profile, e.g. `1g.10gb`.
    pub profile: String,
    /// Compute slices.
    pub slices: u32,
    /// Memory slices, of eight.
    pub memory_slices: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Id of the GPU instance.
    pub gpu_instance: u32,
    /// `MIG-…` name.
    pub uuid: String,
}

/// The instances that `setting` asks for, on a card called `card_uuid` with so much memory for clients.
///
/// # Errors
/// Fails when the product has no MIG, a profile is unknown, or all instances together are more than the card.
pub(super) fn cut(
    profile: &Profile,
    setting: &MigSetting,
    card_uuid: &str,
    memory_bytes: u64,
) -> Result<Vec<Instance>, BoardError> {
    let impossible = |what: &str| BoardError::Impossible { what: format!("{}: {what}", profile.name) };
    if (setting.enabled || setting.pending == Some(true)) && profile.mig_devices == 0 {
        return Err(impossible("the product has no mig"));
    }
    if !setting.enabled && !setting.instances.is_empty() {
        return Err(impossible("instances need `mig.enabled`"));
    }
    let mut instances = Vec::new();
    let (mut compute, mut memory) = (0, 0);
    for (position, name) in setting.instances.iter().enumerate() {
        let (slices, gigabytes) = parse(name).ok_or_else(|| impossible(&format!("no profile `{name}`")))?;
        let memory_slices = memory_slices(profile, gigabytes);
        compute += slices;
        memory += memory_slices;
        let id = if slices == 1 { FIRST_SINGLE_ID } else { COMPUTE_SLICES / slices - 1 };
        let used = |id: &u32| instances.iter().any(|other: &Instance| other.gpu_instance == *id);
        let gpu_instance = (id..id + COMPUTE_SLICES).find(|id| !used(id)).unwrap_or(id);
        instances.push(Instance {
            profile: name.clone(),
            slices,
            memory_slices,
            memory_bytes: memory_bytes * u64::from(memory_slices) / u64::from(MEMORY_SLICES),
            multiprocessors: multiprocessors(profile, slices),
            gpu_instance,
            uuid: instance_uuid(card_uuid, position),
        });
    }
    if compute > COMPUTE_SLICES || memory > MEMORY_SLICES || instances.len() > profile.mig_devices as usize {
        return Err(impossible("its instances are more than the card"));
    }
    Ok(instances)
}

/// Slices and gigabytes of a name such as `3g.40gb`.
fn parse(name: &str) -> Option<(u32, u64)> {
    let (slices, gigabytes) = name.split_once("g.")?;
    let slices = slices.parse().ok().filter(|slices| matches!(slices, 1 | 2 | 3 | 4 | 7))?;
    Some((slices, gigabytes.strip_suffix("gb")?.parse().ok()?))
}

fn memory_slices(profile: &Profile, gigabytes: u64) -> u32 {
    let per_slice_mib = profile.memory_mib / u64::from(MEMORY_SLICES);
    u32::try_from((gigabytes << 10) / per_slice_mib.max(1)).unwrap_or(MEMORY_SLICES).clamp(1, MEMORY_SLICES)
}

fn multiprocessors(profile: &Profile, slices: u32) -> u32 {
    let per_slice = if profile.architecture >= Architecture::Hopper { 16 } else { 14 };
    (per_slice * slices).min(profile.multiprocessors)
}

/// A name that differs between cards and positions.
fn instance_uuid(card_uuid: &str, position: usize) -> String {
    let tail = card_uuid.strip_prefix("GPU-").unwrap_or(card_uuid);
    let (first, rest) = tail.split_at(tail.len().min(7));
    format!("MIG-{first}{position:x}{}", rest.get(1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instances(names: &[&str]) -> Result<Vec<Instance>, BoardError> {
        let profile = Profile::named("a100-sxm4-80gb")?;
        let setting = MigSetting {
            enabled: true,
            pending: None,
            instances: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        cut(profile, &setting, "GPU-0a1b2c3d-0000-0000-0000-000000000000", 80 << 30)
    }

    #[test]
    fn instances_have_their_part_of_the_card() {
        let cut = instances(&["3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"]).unwrap();
        let memory: Vec<u64> = cut.iter().map(|instance| instance.memory_bytes >> 30).collect();
        assert_eq!(memory, [40, 20, 10, 10]);
        let processors: Vec<u32> = cut.iter().map(|instance| instance.multiprocessors).collect();
        assert_eq!(processors, [42, 28, 14, 14]);
        let ids: Vec<u32> = cut.iter().map(|instance| instance.gpu_instance).collect();
        assert_eq!(ids, [1, 2, 7, 8]);
        assert_eq!(cut[2].uuid.len(), 40);
        assert_ne!(cut[2].uuid, cut[3].uuid);
    }

    #[test]
    fn more_than_the_card_is_refused() {
        assert!(instances(&["4g.40gb", "4g.40gb"]).is_err());
        assert!(instances(&["1g.40gb", "1g.40gb", "1g.40gb"]).is_err());
        assert!(instances(&["5g.50gb"]).is_err());
        assert!(instances(&[]).unwrap().is_empty());
    }
}
