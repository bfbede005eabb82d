//! Checkpoints: written in blocks that are on disk before the next one goes out, then moved into place.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use crate::workloads::actor::Actor;

const BLOCK: usize = 1 << 20;

/// Saves `bytes` as rank `rank`, and calls `written` after each block.
pub(super) fn save(actor: &Actor, rank: usize, bytes: u64, mut written: impl FnMut(u64)) -> io::Result<()> {
    let folder = actor.directory.checkpoints().join(&actor.specification.member);
    let draft = folder.join(format!("rank{rank}.pt.draft"));
    let flags = i32::try_from(OFlags::DSYNC.bits()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut file =
        File::options().create(true).write(true).truncate(true).custom_flags(flags).open(&draft)?;
    let block = vec![0x5A; BLOCK];
    let mut left = bytes;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        file.write_all(&block[..length])?;
        left -= length as u64;
        written(length as u64);
    }
    std::fs::rename(&draft, folder.join(format!("rank{rank}.pt")))
}
