//! The one place through which every call goes: initialised or not, which card, which fault.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpuwhy_lab::board::{Board, BoxDirectory, Card, Fault, Hang};
use gpuwhy_lab::cards::{CardView, Machine};
use gpuwhy_lab::state::{Clock, State};

use crate::code::{Answer, Code};
use crate::device::Device;
use crate::location::own_box;

/// What is known since the first call and until the process ends: the board's faults count calls even while the
/// library is not initialised.
struct Faults {
    directory: BoxDirectory,
    board: Board,
    /// Calls that each fault has seen so far.
    calls: Vec<AtomicU64>,
}

/// An initialised library.
pub(crate) struct Session {
    faults: Arc<Faults>,
    machine: Machine,
    /// The driver's control device, open as the real library has it.
    _control: Option<File>,
}

/// How often the library was initialised, and what came of it.
struct Library {
    faults: Option<Arc<Faults>>,
    session: Option<Arc<Session>>,
    initialisations: u32,
}

static LIBRARY: Mutex<Library> = Mutex::new(Library { faults: None, session: None, initialisations: 0 });

/// One card as a call sees it.
pub(crate) struct Asked<'a> {
    /// The box.
    pub(crate) machine: &'a Machine,
    /// The card.
    pub(crate) card: &'a Card,
}

impl Asked<'_> {
    /// The card at this moment.
    pub(crate) fn look(&self) -> CardView {
        self.machine.look(self.card)
    }
}

/// Initialises the library, or counts one more initialisation.
pub(crate) fn initialise(function: &'static str) -> Code {
    Code::of(try_initialise(function))
}

fn try_initialise(function: &'static str) -> Answer {
    let faults = faults()?;
    faults.apply(function, None)?;
    let driver = &faults.board.driver;
    if lock().session.is_none() {
        std::thread::sleep(Duration::from_millis(driver.init_ms));
    }
    if !driver.loaded {
        return Err(Code::DRIVER_NOT_LOADED);
    }
    let mut library = lock();
    if library.session.is_none() {
        let machine = Machine::open(&faults.directory).map_err(|_| Code::UNKNOWN)?;
        let control = File::options().read(true).write(true).open("/dev/nvidiactl").ok();
        library.session = Some(Arc::new(Session { faults: Arc::clone(&faults), machine, _control: control }));
    }
    library.initialisations += 1;
    Ok(())
}

/// Takes back one initialisation.
pub(crate) fn shut_down(function: &'static str) -> Code {
    call(function, |_| {
        let mut library = lock();
        library.initialisations = library.initialisations.saturating_sub(1);
        if library.initialisations == 0 {
            library.session = None;
        }
        Ok(())
    })
}

/// Answers a call that is about no card.
pub(crate) fn call(function: &'static str, body: impl FnOnce(&Session) -> Answer) -> Code {
    Code::of(session().and_then(|session| {
        session.faults.apply(function, None)?;
        body(&session)
    }))
}

/// Answers a call about a card; a card that is lost does not answer.
pub(crate) fn card_call(function: &'static str, device: Device, body: impl FnOnce(&Asked) -> Answer) -> Code {
    identity_call(function, device, |asked| {
        if asked.machine.is_lost(asked.card) {
            return Err(Code::GPU_IS_LOST);
        }
        body(asked)
    })
}

/// Answers a call about what the library remembers of a card, lost or not.
pub(crate) fn identity_call(
    function: &'static str,
    device: Device,
    body: impl FnOnce(&Asked) -> Answer,
) -> Code {
    Code::of(session().and_then(|session| {
        let index = device.index().ok_or(Code::INVALID_ARGUMENT)?;
        let card = session.machine.card(index).ok_or(Code::INVALID_ARGUMENT)?;
        session.faults.apply(function, Some(index))?;
        body(&Asked { machine: &session.machine, card })
    }))
}

impl Session {
    /// The board.
    pub(crate) fn board(&self) -> &Board {
        self.machine.board()
    }

    /// The cards that the driver enumerates, in NVML's order.
    pub(crate) fn enumerated(&self) -> Vec<&Card> {
        self.board().cards.iter().filter(|card| !card.setting.missing).collect()
    }

    /// The handle of a card, unless the card is lost or a fault concerns the call.
    pub(crate) fn handle(&self, function: &'static str, card: Option<&&Card>) -> Result<Device, Code> {
        let card = card.ok_or(Code::NOT_FOUND)?;
        self.faults.apply_to_card(function, card.index)?;
        if self.machine.is_lost(card) {
            return Err(Code::GPU_IS_LOST);
        }
        Device::of(card.index).ok_or(Code::UNKNOWN)
    }
}

impl Faults {
    /// Does what the board says about a call: nothing, a delay, an error, or never to return.
    fn apply(&self, function: &str, card: Option<usize>) -> Answer {
        self.apply_where(|fault| fault.concerns(function, card))
    }

    /// As [`Faults::apply`], for a call that was already looked at before it was known which card it is
    /// about.
    fn apply_to_card(&self, function: &str, card: usize) -> Answer {
        self.apply_where(|fault| fault.card == Some(card) && fault.concerns(function, Some(card)))
    }

    fn apply_where(&self, concerns: impl Fn(&Fault) -> bool) -> Answer {
        for (fault, calls) in self.board.faults.iter().zip(&self.calls) {
            if !concerns(fault) {
                continue;
            }
            let calls_before = calls.fetch_add(1, Relaxed);
            if calls_before < fault.after_calls || !self.has_begun(fault) {
                continue;
            }
            std::thread::sleep(fault.latency());
            if let Some(hang) = fault.hang {
                self.never_return(hang, fault);
            }
            return fault.code.map_or(Ok(()), |code| Err(Code(code)));
        }
        Ok(())
    }

    fn never_return(&self, hang: Hang, fault: &Fault) -> ! {
        if hang == Hang::File
            && let Some(file) = &fault.file
        {
            // The read blocks in the kernel for as long as the mount does not answer.
            let _ = std::fs::read(self.directory.path().join(file));
        }
        loop {
            std::thread::sleep(Duration::from_hours(1));
        }
    }

    /// Whether the time at which the fault begins is over; before initialisation only the state file knows.
    fn has_begun(&self, fault: &Fault) -> bool {
        fault.after_s <= 0.0
            || State::open(&self.directory)
                .is_ok_and(|state| state.clock().seconds_since_start(Clock::now()) >= fault.after_s)
    }
}

fn session() -> Result<Arc<Session>, Code> {
    lock().session.clone().ok_or(Code::UNINITIALIZED)
}

fn faults() -> Result<Arc<Faults>, Code> {
    let mut library = lock();
    if let Some(faults) = &library.faults {
        return Ok(Arc::clone(faults));
    }
    let directory = own_box().ok_or(Code::UNKNOWN)?;
    let board = Board::of(&directory).map_err(|_| Code::UNKNOWN)?;
    let calls = board.faults.iter().map(|_| AtomicU64::new(0)).collect();
    let faults = Arc::new(Faults { directory, board, calls });
    library.faults = Some(Arc::clone(&faults));
    Ok(faults)
}

fn lock() -> std::sync::MutexGuard<'static, Library> {
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}
