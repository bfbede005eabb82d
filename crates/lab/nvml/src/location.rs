//! Finds the box by the library's own path, so that it works with a cleared environment.
#![expect(unsafe_code, reason = "asks the dynamic linker with dladdr")]

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gpuwhy_lab::board::BoxDirectory;

/// The box to which this library belongs.
pub(crate) fn own_box() -> Option<BoxDirectory> {
    BoxDirectory::of_library(&std::path::absolute(own_path()?).ok()?)
}

/// The path under which the dynamic linker loaded this library.
fn own_path() -> Option<PathBuf> {
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    let inside: *const c_void = (own_path as fn() -> Option<PathBuf> as *const ()).cast();
    // SAFETY: `inside` points into this library, and `found` has room for the answer.
    if unsafe { libc::dladdr(inside, found.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: dladdr returned success, so the structure is filled in.
    let name = unsafe { found.assume_init() }.dli_fname;
    if name.is_null() {
        return None;
    }
    // SAFETY: the name ends with NUL and lives as long as the library is loaded.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())).to_owned())
}
