//! Files on the real disk, and reading them so that the disk is really asked.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::Advice;

use super::plan::DataSet;
use super::store::data_file_name;

/// Writes the data set into `folder` and makes the kernel forget it.
///
/// # Errors
/// Fails when the disk is full or refuses.
pub fn write(folder: &Path, set: DataSet) -> io::Result<()> {
    const BLOCK: usize = 1 << 20;
    fs::create_dir_all(folder)?;
    let block: Vec<u8> =
        (0..BLOCK).map(|at| at.to_le_bytes()[0].wrapping_mul(31) ^ at.to_le_bytes()[1]).collect();
    for number in 0..set.files {
        let mut file = File::create(folder.join(data_file_name(number)))?;
        let mut left = set.file_bytes;
        while left > 0 {
            let length = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            file.write_all(&block[..length])?;
            left -= length as u64;
        }
        file.sync_data()?;
        forget(&file)?;
    }
    Ok(())
}

/// Drops the pages of `file` from the page cache, so that the next read asks the disk.
///
/// # Errors
/// Fails when the file system does not take advice.
pub fn forget(file: &File) -> io::Result<()> {
    rustix::fs::fadvise(file, 0, None, Advice::DontNeed).map_err(io::Error::from)
}
