//! How much is read at one look, so that looking costs little however busy the machine is.

/// Threads that are read at one look, of all processes together.
pub(super) const THREADS_PER_LOOK: usize = 600;

/// Threads that are read of one process: the oldest, which are the program's own.
pub(super) const THREADS_PER_PROCESS: usize = 96;

/// Processes whose open files are looked at in one look.
pub(super) const OPEN_FILES_PER_LOOK: usize = 48;

/// Processes of which arguments and environment are asked for at once; each keeps a descriptor open meanwhile.
pub(super) const DESCRIBED_AT_ONCE: usize = 64;

/// Control groups that are read at one look.
pub(super) const CGROUPS_PER_LOOK: usize = 128;
