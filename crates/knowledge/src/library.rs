//! What the file names of loaded libraries say about a process.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::pattern::is_one_of;

/// A framework that takes nearly all memory of a card at its start, by design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GreedyFramework {
    /// TensorFlow.
    TensorFlow,
    /// JAX.
    Jax,
}

impl GreedyFramework {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TensorFlow => "TensorFlow",
            Self::Jax => "JAX",
        }
    }
}

/// A version of CUDA as the file name of its runtime gives it: `libcudart.so.11.0`, `libcudart.so.13`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaRuntime {
    /// The family.
    pub major: u32,
    /// The release in it; none where the name says only the family.
    pub minor: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Libraries {
    framework: Vec<FrameworkNames>,
    driver: List,
    runtime: List,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrameworkNames {
    framework: GreedyFramework,
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    names: Vec<String>,
}

fn libraries() -> &'static Libraries {
    static LIBRARIES: OnceLock<Libraries> = OnceLock::new();
    LIBRARIES.get_or_init(|| {
        toml::from_str(include_str!("../data/libraries.toml")).expect("the built-in names are read by a test")
    })
}

/// Returns the framework that a library belongs to, if it is one that takes nearly all memory by design.
pub fn greedy_framework(library: &str) -> Option<GreedyFramework> {
    libraries().framework.iter().find(|row| is_one_of(library, &row.names)).map(|row| row.framework)
}

/// Returns the version of CUDA that a library is the runtime of.
pub fn cuda_runtime(library: &str) -> Option<CudaRuntime> {
    let version = version_behind(library, &libraries().runtime)?;
    let mut numbers = version.split('.').map(str::parse::<u32>);
    let major = numbers.next()?.ok()?;
    Some(CudaRuntime { major, minor: numbers.next().and_then(Result::ok) })
}

/// Returns the version of the driver that a file of the driver's CUDA library belongs to: `libcuda.so.580.95.05`.
///
/// The bare `libcuda.so.1` says none.
pub fn cuda_driver(library: &str) -> Option<&str> {
    version_behind(library, &libraries().driver).filter(|version| version.contains('.'))
}

/// Returns what stands behind `.so.` in the name of a library, which may have a hash behind its name.
fn version_behind<'name>(library: &'name str, list: &List) -> Option<&'name str> {
    let (name, version) = library.split_once(".so.")?;
    let stem = name.split('-').next().unwrap_or(name);
    list.names.iter().any(|known| known == stem).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::{CudaRuntime, GreedyFramework, cuda_driver, cuda_runtime, greedy_framework, libraries};

    #[test]
    fn every_list_is_read() {
        assert!(libraries().framework.iter().all(|row| !row.names.is_empty()));
    }

    #[test]
    fn the_runtime_tells_its_version() {
        let runtime = |major, minor| Some(CudaRuntime { major, minor });
        assert_eq!(cuda_runtime("libcudart.so.13"), runtime(13, None));
        assert_eq!(cuda_runtime("libcudart.so.12.4.127"), runtime(12, Some(4)));
        assert_eq!(cuda_runtime("libcudart-d0da41ae.so.11.0"), runtime(11, Some(0)));
        for other in ["libcudart.so", "libcudart_static.so.12", "libcuda.so.1", "libcublas.so.12", ""] {
            assert_eq!(cuda_runtime(other), None, "{other}");
        }
    }

    #[test]
    fn the_drivers_library_tells_its_version() {
        assert_eq!(cuda_driver("libcuda.so.580.95.05"), Some("580.95.05"));
        assert_eq!(cuda_driver("libcuda.so.1"), None);
        assert_eq!(cuda_driver("libcudart.so.12.4"), None);
    }

    #[test]
    fn frameworks_are_known_by_their_files() {
        assert_eq!(greedy_framework("libtensorflow_cc.so.2"), Some(GreedyFramework::TensorFlow));
        assert_eq!(greedy_framework("xla_extension.so"), Some(GreedyFramework::Jax));
        assert_eq!(greedy_framework("libtorch_cuda.so"), None);
        assert_eq!(GreedyFramework::Jax.name(), "JAX");
    }
}
