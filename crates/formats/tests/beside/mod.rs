//! Real outputs and labelled incidents, which may lie beside this checkout and are not ours to publish.

use std::path::{Path, PathBuf};

/// Returns a file or folder of the data beside this checkout; says that the test is skipped when it is not there.
#[expect(clippy::print_stdout, reason = "a test that cannot look says so")]
pub(crate) fn beside(below: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(below);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no `{}`", path.display());
    None
}
