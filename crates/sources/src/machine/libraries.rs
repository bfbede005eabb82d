//! Which versions of the driver's libraries this machine has, by the names of their files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gpuwhy_model::reading::Reading;

use crate::file::count_one;
use crate::roots::Roots;

/// Links under which programs find the driver's libraries; they lead to files with the version in their name.
const LINKS: &[&str] = &["libcuda.so.1", "libnvidia-ml.so.1"];

/// Folders where distributions, containers and the installer put them.
const FOLDERS: &[&str] = &[
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/lib64/nvidia",
    "usr/lib/nvidia",
    "usr/local/nvidia/lib64",
    "usr/lib/wsl/lib",
    "run/opengl-driver/lib",
    "opt/nvidia/lib64",
];

/// A link leads to a file over no more links.
const LINKS_MAX: usize = 4;

/// Returns the names of the files that programs here would load, sorted, each once; unsupported: there are none whose
/// names tell a version.
pub(super) fn versions(roots: &Roots) -> Reading<Vec<String>> {
    let mut names = BTreeSet::new();
    for folder in folders(roots) {
        for link in LINKS {
            names.extend(file_behind(&folder, link));
        }
    }
    if names.is_empty() { Reading::Unsupported } else { Reading::Known(names.into_iter().collect()) }
}

/// Returns where to look: beside the library that is asked, if it was named; else where the loader would look.
fn folders(roots: &Roots) -> Vec<PathBuf> {
    if let Some(library) = &roots.nvml_library {
        return library.parent().map(Path::to_path_buf).into_iter().collect();
    }
    let first = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let first = std::env::split_paths(&first).filter(|folder| folder.is_absolute());
    first.chain(FOLDERS.iter().map(|folder| roots.system.join(folder))).collect()
}

/// Returns the name of the file that a link leads to, if that has a version in it. Only names are looked at.
fn file_behind(folder: &Path, link: &str) -> Option<String> {
    let mut place = folder.join(link);
    for _ in 0..LINKS_MAX {
        count_one();
        let target = std::fs::read_link(&place).ok()?;
        let name = target.file_name()?.to_str()?.to_owned();
        if has_version(&name) {
            return Some(name);
        }
        place = place.parent()?.join(target);
    }
    None
}

/// Returns whether a name ends in a driver's version: `libcuda.so.580.95.05`, but not `libcuda.so.1`.
fn has_version(name: &str) -> bool {
    let Some((_, version)) = name.split_once(".so.") else {
        return false;
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    version.split('.').count() >= 2 && version.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::{has_version, versions};
    use crate::roots::Roots;
    use gpuwhy_model::reading::Reading;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_lead_to_versions() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots { system: root.path().to_owned(), ..Roots::default() };
        let before = versions(&roots);
        assert!(!before.known().into_iter().flatten().any(|name| name.contains("550.54.14")));
        let folder = root.path().join("usr/lib/x86_64-linux-gnu");
        std::fs::create_dir_all(&folder).unwrap();
        symlink("libcuda.so.550.54.14", folder.join("libcuda.so.1")).unwrap();
        // Over two links, and to an absolute place.
        symlink("libnvidia-ml.so.550", folder.join("libnvidia-ml.so.1")).unwrap();
        symlink(folder.join("libnvidia-ml.so.550.54.14"), folder.join("libnvidia-ml.so.550")).unwrap();
        let names = versions(&roots).into_known().unwrap();
        assert!(names.contains(&"libcuda.so.550.54.14".to_owned()), "{names:?}");
        assert!(names.contains(&"libnvidia-ml.so.550.54.14".to_owned()), "{names:?}");
    }

    #[test]
    fn beside_a_named_library_only_its_own_count() {
        let root = tempfile::tempdir().unwrap();
        let library = root.path().join("libnvidia-ml.so.1");
        let roots = Roots { nvml_library: Some(library.clone()), ..Roots::default() };
        assert_eq!(versions(&roots), Reading::Unsupported);
        // A link that leads in circles ends somewhere.
        symlink("libnvidia-ml.so.1", &library).unwrap();
        assert_eq!(versions(&roots), Reading::Unsupported);
    }

    #[test]
    fn a_version_has_a_point() {
        assert!(has_version("libcuda.so.580.95.05"));
        assert!(!has_version("libcuda.so.1"));
        assert!(!has_version("libcuda.so"));
        assert!(!has_version("libcuda.so.1.x"));
    }
}
