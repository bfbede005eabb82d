//! A rule that breaks stays silent: its panic becomes a note of the verdict, not a backtrace on somebody's terminal.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

thread_local! {
    /// Whether this thread runs a rule.
    static RUNS_A_RULE: Cell<bool> = const { Cell::new(false) };
}

/// Runs a rule's check. Returns whether it came to its end.
pub(super) fn completes(check: impl FnOnce()) -> bool {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| set_hook(quiet_in_rules(take_hook())));
    RUNS_A_RULE.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(check));
    RUNS_A_RULE.set(false);
    outcome.is_ok()
}

/// Returns a hook that keeps quiet while the panicking thread runs a rule, and otherwise does what the given one does.
fn quiet_in_rules(otherwise: Hook) -> Hook {
    Box::new(move |panic| {
        if !RUNS_A_RULE.get() {
            otherwise(panic);
        }
    })
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, set_hook, take_hook};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::{completes, quiet_in_rules};

    static OUTSIDE: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn only_panics_of_rules_are_quiet() {
        assert!(completes(|| ()));
        let this_thread = thread::current().id();
        let installed = take_hook();
        set_hook(quiet_in_rules(Box::new(move |panic| {
            if thread::current().id() == this_thread {
                OUTSIDE.fetch_add(1, Ordering::Relaxed);
            } else {
                installed(panic);
            }
        })));
        assert!(!completes(|| panic!("in a rule")));
        assert_eq!(OUTSIDE.load(Ordering::Relaxed), 0);
        assert!(catch_unwind(|| panic!("outside")).is_err());
        assert_eq!(OUTSIDE.load(Ordering::Relaxed), 1);
    }
}
