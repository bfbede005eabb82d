//! Containers of a box: members whose control groups lie where a container runtime puts them.

use std::path::PathBuf;

use super::plan::ContainerKind;
use crate::random::Random;

/// The path of the control group of container `name`, below the root of a hierarchy.
pub(super) fn group_path(kind: ContainerKind, seed: u64, name: &str) -> PathBuf {
    let mut random = Random::of(seed, name);
    let mut digit =
        || char::from_digit(u32::try_from(random.below(16)).unwrap_or_default(), 16).unwrap_or_default();
    let mut digits = |count: usize| -> String { (0..count).map(|_| digit()).collect() };
    match kind {
        ContainerKind::Docker => ["docker".to_owned(), digits(64)].iter().collect(),
        ContainerKind::Kubernetes => {
            let pod = format!("pod{}-{}-{}-{}-{}", digits(8), digits(4), digits(4), digits(4), digits(12));
            ["kubepods".to_owned(), "burstable".to_owned(), pod, digits(64)].iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::group_path;
    use crate::place::plan::ContainerKind;

    #[test]
    fn a_container_keeps_its_id_and_others_have_others() {
        let path = group_path(ContainerKind::Docker, 1, "run");
        assert_eq!(path, group_path(ContainerKind::Docker, 1, "run"));
        assert_ne!(path, group_path(ContainerKind::Docker, 1, "other"));
        assert_eq!(path.to_str().unwrap().len(), "docker/".len() + 64);
        let pod = group_path(ContainerKind::Kubernetes, 1, "run");
        assert!(pod.starts_with("kubepods/burstable"), "{}", pod.display());
    }
}
