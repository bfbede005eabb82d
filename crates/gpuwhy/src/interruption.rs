//! Whether somebody has asked the program to end: with ctrl-c, or as a service manager does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Set when somebody asks the program to end.
#[derive(Debug, Default)]
pub(crate) struct Interruption(Arc<AtomicBool>);

impl Interruption {
    /// Listens from now on. A second signal ends the program at once, should the first not be heard.
    pub(crate) fn listen() -> Self {
        let interruption = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // Without a handler the signal ends the program, and a recording counts as cut.
            let _ = signal_hook::flag::register_conditional_default(signal, Arc::clone(&interruption.0));
            let _ = signal_hook::flag::register(signal, Arc::clone(&interruption.0));
        }
        interruption
    }

    /// Returns whether it happened.
    pub(crate) fn happened(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
