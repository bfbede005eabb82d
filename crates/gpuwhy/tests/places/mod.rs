//! A machine without anything.

use std::path::Path;

/// Returns the options that make a folder the whole machine.
pub(crate) fn places(empty: &Path) -> Vec<String> {
    let folder = empty.display();
    vec![
        format!("--proc={folder}"),
        format!("--sys={folder}"),
        format!("--dev={folder}"),
        format!("--nvml-lib={folder}/libnvidia-ml.so.1"),
        format!("--journal={folder}/kmsg"),
    ]
}
