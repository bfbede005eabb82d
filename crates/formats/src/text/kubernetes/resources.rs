//! What a pod asks for, a node has or a quota allows, by the names that Kubernetes has for it.

use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::Resources;
use gpuwhy_model::units::{Bytes, Cores};

use super::quantity::{bytes, cores, count};

/// Names of cards of other makers, or their begins.
const OF_OTHER_MAKERS: &[&str] = &[
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "google.com/tpu",
    "aws.amazon.com/neuron",
    "huawei.com/ascend",
    "cambricon.com/mlu",
    "cambricon.com/vmlu",
    "hygon.com/dcu",
    "metax-tech.com/gpu",
    "iluvatar.ai/gpu",
    "iluvatar.ai/vgpu",
    "enflame.com/gcu",
    "mthreads.com/gpu",
    "mthreads.com/vgpu",
    "kunlunxin.com/xpu",
    "volcano.sh/vgpu-number",
];

/// What of a card is given away apart from the card, and so is none.
const PARTS_OF_CARDS: &[&str] = &["mem", "memory", "core", "cores", "percentage", "priority", "milli"];

/// Returns the kind of card that a name stands for: none where it is no card, empty where it says no kind.
pub(super) fn card_kind(name: &str) -> Option<String> {
    let name = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    let lower = name.to_ascii_lowercase();
    if let Some(own) = lower.strip_prefix("nvidia.com/") {
        let own = own.strip_suffix(".shared").unwrap_or(own);
        if own == "gpu" {
            return Some(String::new());
        }
        let is_part =
            PARTS_OF_CARDS.iter().any(|part| own.ends_with(part) || own.contains(&format!("{part}-")));
        let is_card = own.starts_with("mig-") || name.bytes().any(|byte| byte.is_ascii_uppercase());
        return (is_card && !is_part).then(|| own.to_owned());
    }
    if lower == "alpha.kubernetes.io/nvidia-gpu" {
        return Some(String::new());
    }
    let is_part = PARTS_OF_CARDS.iter().any(|part| lower.ends_with(part));
    let is_card = OF_OTHER_MAKERS.iter().any(|begin| lower.starts_with(begin));
    (is_card && !is_part).then_some(lower)
}

/// Gathers amounts by name; what two of them say of one thing is added up.
pub(super) fn resources<'name>(amounts: impl IntoIterator<Item = (&'name str, &'name str)>) -> Resources {
    let mut sum = Resources::default();
    for (name, amount) in amounts {
        let plain = name.strip_prefix("requests.").unwrap_or(name);
        match plain {
            "cpu" => add_cores(&mut sum.cpus, cores(amount)),
            "memory" => add_bytes(&mut sum.memory, bytes(amount)),
            "pods" => add(&mut sum.jobs, count(amount)),
            _ => {
                let (Some(kind), Some(number)) = (card_kind(plain), count(amount)) else {
                    continue;
                };
                add(&mut sum.cards, Some(number));
                if !kind.is_empty() {
                    *sum.card_kinds.entry(kind).or_default() += number;
                }
            }
        }
    }
    sum
}

fn add(sum: &mut Reading<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Reading::Known(sum.known().copied().unwrap_or(0).saturating_add(more));
    }
}

fn add_cores(sum: &mut Reading<Cores>, more: Option<Cores>) {
    if let Some(more) = more {
        *sum = Reading::Known(Cores(sum.known().map_or(0.0, |sum| sum.0) + more.0));
    }
}

fn add_bytes(sum: &mut Reading<Bytes>, more: Option<Bytes>) {
    if let Some(more) = more {
        *sum = Reading::Known(Bytes(sum.known().map_or(0, |sum| sum.0).saturating_add(more.0)));
    }
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::reading::Reading;

    use super::{card_kind, resources};

    #[test]
    fn cards_are_known_by_their_names() {
        for (name, kind) in [
            ("nvidia.com/gpu", Some("")),
            ("nvidia.com/gpu.shared", Some("")),
            ("requests.nvidia.com/gpu", Some("")),
            ("nvidia.com/mig-1g.5gb", Some("mig-1g.5gb")),
            ("nvidia.com/GA102GL_A10", Some("ga102gl_a10")),
            ("amd.com/gpu", Some("amd.com/gpu")),
            ("huawei.com/Ascend910", Some("huawei.com/ascend910")),
            ("nvidia.com/gpumem", None),
            ("nvidia.com/gpucores", None),
            ("nvidia.com/gpumem-percentage", None),
            ("huawei.com/Ascend910-memory", None),
            ("gpu.intel.com/memory.max", None),
            ("cpu", None),
        ] {
            assert_eq!(card_kind(name).as_deref(), kind, "{name}");
        }
    }

    #[test]
    fn amounts_are_added_up() {
        let sum = resources([
            ("nvidia.com/gpu", "0"),
            ("nvidia.com/mig-7g.40gb", "2"),
            ("cpu", "500m"),
            ("cpu", "1"),
        ]);
        assert_eq!(sum.cards, Reading::Known(2));
        assert_eq!(sum.card_kinds.get("mig-7g.40gb"), Some(&2));
        assert_eq!(sum.cpus.known().map(|cores| cores.0), Some(1.5));
        assert!(sum.memory.is_not_in_source());
    }
}
