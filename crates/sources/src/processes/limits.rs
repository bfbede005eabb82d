//! How much is read at one look, so that looking costs little however busy the machine is.

use std::time::Duration;

/// Places where processes wait that are read at one look, shared evenly by the trees in question.
pub(super) const WAITS_PER_LOOK: usize = 192;

/// Threads that are read at one look, shared evenly by the GPU processes in question.
pub(super) const THREADS_PER_LOOK: usize = 256;

/// Threads that are read of one process: the oldest, which are the program's own.
pub(super) const THREADS_PER_PROCESS: usize = 96;

/// The same of a GPU process whose children load its data: only its main thread and those beside it matter then.
pub(super) const THREADS_PER_PARENT: usize = 16;

/// However many share, each gets this much.
pub(super) const SHARE_MIN: usize = 2;

/// Processes whose open files are looked at in one look.
pub(super) const OPEN_FILES_PER_LOOK: usize = 48;

/// Control groups that are read at one look.
pub(super) const CGROUPS_PER_LOOK: usize = 128;

/// Children of GPU processes whose memory is read at one look, shared evenly by the trees in question.
pub(super) const STATUSES_PER_LOOK: usize = 96;

/// GPU processes whose libraries are read at one look.
pub(super) const LIBRARIES_PER_LOOK: usize = 8;

/// What the pass over all processes has seen may be this old to be used for a look that stays alone.
pub(super) const SEEN_LASTS: Duration = Duration::from_millis(500);

/// Children of trees that do nothing are read at every third look.
pub(super) const RESTING_EVERY: u64 = 3;
