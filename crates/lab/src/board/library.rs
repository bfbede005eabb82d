//! Puts the library into a box, without the functions that the board's driver does not have.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::BoxDirectory;

/// Why the library could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// A file could not be read or written.
    #[error("cannot install `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The board omits a function that the library does not have anyway.
    #[error("the board omits `{symbol}`, which the library does not export")]
    UnknownSymbol {
        /// The function.
        symbol: String,
    },
}

/// Copies the library at `built` into the box, under the names by which programs load it.
///
/// Omitted functions lose their names in the copy's tables, so that the dynamic linker does not find them.
///
/// # Errors
/// Fails when a file cannot be read or written, or when an omitted function is unknown.
pub fn install_library(
    built: &Path,
    directory: &BoxDirectory,
    omitted_symbols: &[String],
) -> Result<(), LibraryError> {
    let mut image = fs::read(built).map_err(|source| failure(built, source))?;
    for symbol in omitted_symbols {
        omit(&mut image, symbol)?;
    }
    let library = directory.library();
    let folder = directory.library_directory();
    fs::create_dir_all(&folder).map_err(|source| failure(&folder, source))?;
    // A process may have the old file mapped: it is replaced, never rewritten.
    let unfinished = folder.join("libnvidia-ml.so.1.new");
    fs::write(&unfinished, image).map_err(|source| failure(&unfinished, source))?;
    fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o755))
        .map_err(|source| failure(&unfinished, source))?;
    fs::rename(&unfinished, &library).map_err(|source| failure(&library, source))?;
    let development_name = folder.join("libnvidia-ml.so");
    match symlink("libnvidia-ml.so.1", &development_name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failure(&development_name, error)),
        _ => Ok(()),
    }
}

/// Overwrites the first letter of a name wherever it stands alone in a string table; its hash then leads to a
/// name that differs.
fn omit(image: &mut [u8], symbol: &str) -> Result<(), LibraryError> {
    let entry: Vec<u8> = [b"\0", symbol.as_bytes(), b"\0"].concat();
    let places: Vec<usize> = image
        .windows(entry.len())
        .enumerate()
        .filter(|(_, window)| *window == entry.as_slice())
        .map(|(at, _)| at + 1)
        .collect();
    if places.is_empty() {
        return Err(LibraryError::UnknownSymbol { symbol: symbol.to_owned() });
    }
    for place in places {
        image[place] = b'-';
    }
    Ok(())
}

fn failure(path: &Path, source: io::Error) -> LibraryError {
    LibraryError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_name_is_omitted() {
        let mut image = b"\0nvmlInit\0nvmlInit_v2\0".to_vec();
        omit(&mut image, "nvmlInit").unwrap();
        assert_eq!(image, b"\0-vmlInit\0nvmlInit_v2\0");
        assert!(omit(&mut image, "nvmlNothing").is_err());
    }
}
