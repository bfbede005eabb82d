//! The one place through which every call goes: initialised or not, which card, which fault.

use std::borrow::Cow;
use std::ffi::c_uint;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpuwhy_lab::board::{Board, BoxDirectory, Card, Fault, Hang, Instance};
use gpuwhy_lab::cards::{CardView, Machine};
use gpuwhy_lab::stand_in;
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
    /// The card, or the card of the instance.
    pub(crate) card: &'a Card,
    /// The MIG instance that is asked about, by its place on the card.
    pub(crate) instance: Option<usize>,
}

impl Asked<'_> {
    /// The card at this moment.
    pub(crate) fn look(&self) -> CardView {
        self.machine.look(self.card)
    }

    /// The MIG instance that is asked about.
    pub(crate) fn cut(&self) -> Option<&Instance> {
        self.instance.and_then(|position| self.card.instances.get(position))
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

/// Answers a call about a card; a card that is lost does not answer, and a MIG instance has no such thing.
pub(crate) fn card_call(function: &'static str, device: Device, body: impl FnOnce(&Asked) -> Answer) -> Code {
    identity_call(function, device, |asked| {
        refuse_lost(asked)?;
        body(asked)
    })
}

/// Answers a call about what the library remembers of a card, lost or not; not of a MIG instance.
pub(crate) fn identity_call(
    function: &'static str,
    device: Device,
    body: impl FnOnce(&Asked) -> Answer,
) -> Code {
    any_identity_call(function, device, |asked| {
        if asked.instance.is_some() {
            return Err(Code::NOT_SUPPORTED);
        }
        body(asked)
    })
}

/// Answers a call about a card or a MIG instance; a card that is lost does not answer.
pub(crate) fn any_call(function: &'static str, device: Device, body: impl FnOnce(&Asked) -> Answer) -> Code {
    any_identity_call(function, device, |asked| {
        refuse_lost(asked)?;
        body(asked)
    })
}

/// Answers a call about what the library remembers of a card or a MIG instance, lost or not.
pub(crate) fn any_identity_call(
    function: &'static str,
    device: Device,
    body: impl FnOnce(&Asked) -> Answer,
) -> Code {
    Code::of(session().and_then(|session| {
        let place = device.place().ok_or(Code::INVALID_ARGUMENT)?;
        let card = session.machine.card(place.card).ok_or(Code::INVALID_ARGUMENT)?;
        if place.instance.is_some_and(|instance| instance >= card.instances.len()) {
            return Err(Code::INVALID_ARGUMENT);
        }
        session.faults.apply(function, Some(place.card))?;
        body(&Asked { machine: &session.machine, card: &card, instance: place.instance })
    }))
}

fn refuse_lost(asked: &Asked) -> Answer {
    if asked.machine.is_lost(asked.card) { Err(Code::GPU_IS_LOST) } else { Ok(()) }
}

impl Session {
    /// The board.
    pub(crate) fn board(&self) -> &Board {
        self.machine.board()
    }

    /// The box.
    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The cards that the driver enumerates, in NVML's order.
    pub(crate) fn enumerated(&self) -> Vec<Cow<'_, Card>> {
        let cards = 0..self.board().cards.len();
        cards.filter_map(|index| self.machine.card(index)).filter(|card| !card.setting.missing).collect()
    }

    /// The handle of the card at `index` of the board, unless the card is lost or a fault concerns the call.
    pub(crate) fn handle(&self, function: &'static str, index: Option<usize>) -> Result<Device, Code> {
        let card = index.and_then(|index| self.machine.card(index)).ok_or(Code::NOT_FOUND)?;
        self.faults.apply_to_card(function, card.index)?;
        if self.machine.is_lost(&card) {
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

/// Writes down in the box that somebody wanted to change a card, and what came of it.
pub(crate) fn record_change(function: &str, card: usize, arguments: &[c_uint], code: Code) {
    let Some(faults) = lock().faults.clone() else { return };
    let mut command = vec![function.to_owned(), format!("card={card}")];
    command.extend(arguments.iter().map(c_uint::to_string));
    stand_in::record(&faults.directory, &command, i64::from(code.0));
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
