//! Which driver a version of CUDA needs.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::library::CudaRuntime;
use crate::table::{rows, words};

/// From this family on, a driver runs every release of its own family.
const FIRST_COMPATIBLE_FAMILY: u32 = 11;

/// A release of CUDA and the drivers for it on Linux.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CudaDriverFact {
    /// The release: `12.4 Update 1`.
    pub cuda: String,
    /// The driver that came with it, with which all of it works; empty: none came, or it is not known.
    pub packaged_driver: String,
    /// The oldest driver with which it works at all.
    pub minimum_driver: String,
    /// Source keys.
    #[serde(rename = "src", deserialize_with = "words")]
    pub sources: Vec<String>,
}

/// Returns every row, the newest release first.
pub fn cuda_drivers() -> &'static [CudaDriverFact] {
    static TABLE: OnceLock<Vec<CudaDriverFact>> = OnceLock::new();
    TABLE.get_or_init(|| rows(include_str!("../data/cuda_drivers.csv")))
}

/// Returns the oldest driver that runs programs of a version of CUDA; none for a version that the table does not know.
pub fn oldest_driver_for(runtime: CudaRuntime) -> Option<&'static str> {
    let of_family =
        cuda_drivers().iter().filter(|row| release(row).is_some_and(|one| one.0 == runtime.major));
    let mut fitting = of_family.filter(|row| {
        runtime.major >= FIRST_COMPATIBLE_FAMILY
            || runtime.minor.is_none_or(|minor| release(row).is_some_and(|one| one.1 == minor))
    });
    fitting.next().map(|row| row.minimum_driver.as_str())
}

/// Returns whether a driver whose highest version of CUDA is given runs programs of another version.
///
/// From family 11 on the family decides; before, every release needed its own driver.
pub const fn is_enough(highest: (u32, u32), runtime: CudaRuntime) -> bool {
    let (major, minor) = highest;
    if runtime.major != major || runtime.major >= FIRST_COMPATIBLE_FAMILY {
        return runtime.major <= major;
    }
    match runtime.minor {
        Some(wanted) => wanted <= minor,
        None => true,
    }
}

/// Returns family and release of a row.
fn release(row: &CudaDriverFact) -> Option<(u32, u32)> {
    let (major, minor) = row.cuda.split(' ').next()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{CudaRuntime, cuda_drivers, is_enough, oldest_driver_for, release};

    const fn runtime(major: u32, minor: Option<u32>) -> CudaRuntime {
        CudaRuntime { major, minor }
    }

    #[test]
    fn every_row_is_read_the_newest_first() {
        let releases: Vec<(u32, u32)> = cuda_drivers().iter().filter_map(release).collect();
        assert_eq!(releases.len(), cuda_drivers().len());
        assert_eq!(releases.len(), 67);
        assert!(releases.is_sorted_by(|one, next| one >= next));
        assert!(cuda_drivers().iter().all(|row| !row.minimum_driver.is_empty()));
    }

    #[test]
    fn families_have_one_oldest_driver_and_older_releases_their_own() {
        assert_eq!(oldest_driver_for(runtime(13, None)), Some("580"));
        assert_eq!(oldest_driver_for(runtime(12, Some(4))), Some("525.60.13"));
        assert_eq!(oldest_driver_for(runtime(11, Some(0))), Some("450.80.02"));
        assert_eq!(oldest_driver_for(runtime(10, Some(2))), Some("440.33"));
        assert_eq!(oldest_driver_for(runtime(99, None)), None);
    }

    #[test]
    fn a_driver_runs_its_own_family_and_all_before() {
        assert!(is_enough((12, 4), runtime(12, Some(8))));
        assert!(is_enough((13, 0), runtime(12, None)));
        assert!(!is_enough((12, 4), runtime(13, None)));
        assert!(!is_enough((10, 1), runtime(10, Some(2))));
        assert!(is_enough((10, 1), runtime(9, Some(2))));
    }
}
