//! Where a loader's bytes come from: files on a disk or a store, or a server behind a socket.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::actor::Actor;
use super::specification::{Data, Train};
use crate::board::BoxDirectory;
use crate::place::data_set;
use crate::place::server::Download;
use crate::place::store::data_file_name;

const READ_AT_ONCE: usize = 256 * 1024;

/// The bytes of one loader, for ever.
pub(super) struct Source {
    kind: Kind,
    block: Vec<u8>,
}

enum Kind {
    Memory,
    Files(Files),
    Server(Download),
}

impl Source {
    /// The bytes of loader `number` of `rank`.
    pub(super) fn new(actor: &Actor, train: &Train, rank: usize, number: u32) -> io::Result<Self> {
        let files = |name: &str| Files::new(BoxDirectory::mount_point(name), train, rank, number);
        let kind = match &train.data {
            Data::Disk => Kind::Files(files("data")),
            Data::Store(name) => Kind::Files(files(name)),
            Data::Server(name) => Kind::Server(Download::open(&actor.directory, name)?),
            Data::Memory => Kind::Memory,
        };
        Ok(Self { kind, block: vec![0; READ_AT_ONCE] })
    }

    /// Reads `length` bytes and returns the last block of them.
    pub(super) fn read(&mut self, length: u64) -> io::Result<&[u8]> {
        match &mut self.kind {
            Kind::Memory => {}
            Kind::Files(files) => files.read(length, &mut self.block)?,
            Kind::Server(download) => download.read(length, &mut self.block)?,
        }
        Ok(&self.block)
    }
}

/// Every `step`-th file of a folder, one after the other.
struct Files {
    folder: PathBuf,
    count: u32,
    number: u32,
    step: u32,
    keeps_cache: bool,
    open: Option<File>,
}

impl Files {
    fn new(folder: PathBuf, train: &Train, rank: usize, number: u32) -> Self {
        let count = count_files(&folder);
        // Ranks read different parts of the data, else one would find in memory what another has read.
        let part = u32::try_from(rank).unwrap_or(0).wrapping_mul(count / 2 + 1);
        let (number, step) = (number.wrapping_add(part), train.loaders.max(1));
        Self { folder, count, number, step, keeps_cache: train.keeps_cache, open: None }
    }

    fn read(&mut self, length: u64, block: &mut [u8]) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(block.len()).min(block.len());
            let mut file = match self.open.take() {
                Some(file) => file,
                None => self.open_next()?,
            };
            let got = file.read(&mut block[..wanted])?;
            if got == 0 {
                // The next reader of this file asks the disk again.
                self.forget(&file)?;
                continue;
            }
            left -= got as u64;
            self.open = Some(file);
        }
        Ok(())
    }

    fn open_next(&mut self) -> io::Result<File> {
        if self.count == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        let file = File::open(self.folder.join(data_file_name(self.number % self.count)))?;
        self.number = self.number.wrapping_add(self.step);
        self.forget(&file)?;
        Ok(file)
    }

    fn forget(&self, file: &File) -> io::Result<()> {
        if self.keeps_cache { Ok(()) } else { data_set::forget(file) }
    }
}

fn count_files(folder: &Path) -> u32 {
    let mut count = 0;
    while folder.join(data_file_name(count)).exists() {
        count += 1;
    }
    count
}
