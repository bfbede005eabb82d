//! `driver-not-loaded`: a card is there, and no usable kernel module.

mod pasted;
mod said;
mod start;

use gpuwhy_model::action::Action;
use gpuwhy_model::cause::Cause;
use gpuwhy_model::limits::Limits;
use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::sample::PciDevice;
use gpuwhy_model::scene::{Scene, SourceKind};
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use crate::draft::Draft;
use crate::evidence::{flag, once};
use crate::facts::cards::{nvidia_pci_cards, only_on_the_bus};
use crate::facts::kernel_log;
use crate::findings::Findings;
use crate::rule::{Needs, Rule, Span};

mod text {
    include!(concat!(env!("OUT_DIR"), "/text/driver_not_loaded.rs"));
}

/// The rule.
pub(crate) static RULE: Rule = Rule {
    cause: Cause::DriverNotLoaded,
    needs: Needs {
        span: Span::NONE,
        samples: 1,
        signals: &[
            Signal::PciCards,
            Signal::DriverModule,
            Signal::DriverLibrary,
            Signal::DeviceFiles,
            Signal::Container,
            Signal::KernelLog,
            Signal::ProgramLog,
        ],
    },
    check,
};

/// `NVML_ERROR_DRIVER_NOT_LOADED`
const DRIVER_NOT_LOADED: u32 = 9;

/// Why no usable module serves the cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NotInstalled,
    Nouveau,
    RefusedByKernel,
    NotLoaded,
    NotInContainer,
    LibraryMissing,
    /// A driver other than nouveau has the cards.
    OtherDriver,
    /// The module is not there for the running kernel.
    NotBuilt,
    /// The tool finds no library; of the module nothing is known.
    LibraryNotFound,
    /// Not even the tool is there.
    ToolMissing,
}

impl Kind {
    const fn id(self) -> &'static str {
        match self {
            Self::NotInstalled => "not-installed",
            Self::Nouveau => "nouveau",
            Self::RefusedByKernel => "refused-by-kernel",
            Self::NotLoaded => "not-loaded",
            Self::NotInContainer => "not-in-container",
            Self::LibraryMissing | Self::LibraryNotFound => "library-missing",
            Self::OtherDriver => "other-driver",
            Self::NotBuilt => "not-built",
            Self::ToolMissing => "tool-missing",
        }
    }

    fn summary(self) -> Text {
        match self {
            Self::NotInstalled => text::summary_not_installed(),
            Self::Nouveau => text::summary_nouveau(),
            Self::RefusedByKernel => text::summary_refused(),
            Self::NotLoaded => text::summary_not_loaded(),
            Self::NotInContainer => text::summary_not_in_container(),
            Self::LibraryMissing => text::summary_library_missing(),
            Self::OtherDriver => text::summary_other_driver(),
            Self::NotBuilt => text::summary_not_built(),
            Self::LibraryNotFound => text::summary_library_not_found(),
            Self::ToolMissing => text::summary_tool_missing(),
        }
    }

    fn fix(self) -> (Action, Text) {
        match self {
            Self::NotInstalled => (Action::LoadDriver, text::fix_install()),
            Self::Nouveau => (Action::LoadDriver, text::fix_nouveau()),
            Self::RefusedByKernel => (Action::LoadDriver, text::fix_refused()),
            Self::NotLoaded => (Action::LoadDriver, text::fix_load()),
            Self::NotInContainer => (Action::GrantDevice, text::fix_grant()),
            Self::LibraryMissing => (Action::LoadDriver, text::fix_library()),
            Self::OtherDriver => (Action::LoadDriver, text::fix_other_driver()),
            Self::NotBuilt => (Action::LoadDriver, text::fix_build()),
            Self::LibraryNotFound => (Action::LoadDriver, text::fix_library_or_install()),
            Self::ToolMissing => (Action::LookAgain, text::fix_tool()),
        }
    }
}

fn check(scene: &Scene, _: &Limits, findings: &mut Findings) {
    said::check(scene, findings);
    if start::check(scene, findings) {
        return;
    }
    if scene.provenance.source == SourceKind::Text {
        pasted::check(scene, findings);
        return;
    }
    let driver = &scene.machine.driver;
    let Reading::Failed(failure) = &driver.library else {
        return;
    };
    let library_is_missing = matches!(failure, Failure::LibraryNotLoaded { .. });
    let says_not_loaded = matches!(failure, Failure::Nvml { code: DRIVER_NOT_LOADED, .. });
    // Another error, or a call that does not return, is another trouble.
    if !library_is_missing && !says_not_loaded {
        return;
    }
    let cards = nvidia_pci_cards(scene);
    let was_promised = scene.machine.container.is_known() && is_promise(&scene.machine.promised_cards);
    if let Some(absence) = cards.absence()
        && !was_promised
    {
        findings.blind(Signal::PciCards, absence);
        return;
    }
    let cards = cards.into_known().unwrap_or_default();
    if cards.is_empty() && !was_promised {
        findings.rule_out(Signal::PciCards, None);
        return;
    }
    let Some(kind) = kind(scene, &cards, library_is_missing) else {
        findings.blind(
            Signal::DriverModule,
            driver.module.absence().unwrap_or(gpuwhy_model::reading::Absence::Unsupported),
        );
        return;
    };
    report(scene, &cards, kind, failure, findings);
}

/// Returns whether a container's list of cards names any.
fn is_promise(promised: &Reading<String>) -> bool {
    promised.known().is_some_and(|cards| !matches!(cards.as_str(), "" | "void" | "none"))
}

/// Tells the kinds apart; none when neither the module nor a stand-in can be seen.
fn kind(scene: &Scene, cards: &[&PciDevice], library_is_missing: bool) -> Option<Kind> {
    let driver = &scene.machine.driver;
    let is_bound_to =
        |name: &str| cards.iter().any(|card| card.driver.known().is_some_and(|bound| bound == name));
    let is_loaded =
        |name: &str| driver.modules.known().is_some_and(|modules| modules.iter().any(|one| one == name));
    let module_is_loaded = driver.module.is_known() || is_bound_to("nvidia");
    if module_is_loaded {
        if scene.machine.container.is_known() {
            return Some(Kind::NotInContainer);
        }
        // A library that is there and still finds no driver is another trouble.
        return library_is_missing.then_some(Kind::LibraryMissing);
    }
    if is_bound_to("nouveau") || cards.is_empty() && is_loaded("nouveau") {
        return Some(Kind::Nouveau);
    }
    if scene.machine.container.is_known() && cards.is_empty() {
        return Some(Kind::NotInContainer);
    }
    if driver.module != Reading::Unsupported {
        return None;
    }
    if kernel_log::lines(scene).iter().any(kernel_log::is_module_refusal) {
        return Some(Kind::RefusedByKernel);
    }
    Some(if library_is_missing { Kind::NotInstalled } else { Kind::NotLoaded })
}

fn report(scene: &Scene, cards: &[&PciDevice], kind: Kind, failure: &Failure, findings: &mut Findings) {
    let driver = &scene.machine.driver;
    let mut draft = Draft::about_machine(&RULE, scene, kind.summary()).severity(Severity::Fault);
    draft.finding.cards = only_on_the_bus(scene);
    draft.finding.impact =
        Impact { gpu_seconds: scene.window.span_s * cards.len() as f64, ..Impact::default() };
    draft.finding.detail.insert("kind".to_owned(), kind.id().to_owned());

    if cards.is_empty() {
        let promised = scene.machine.promised_cards.known().cloned().unwrap_or_default();
        draft.agree(
            2.0,
            once(
                Signal::Container,
                promised.as_str(),
                Unit::Text,
                Reader::ProcPid,
                text::promised(promised.as_str()),
            ),
        );
    } else {
        let addresses: Vec<String> = cards.iter().map(|card| card.address.clone()).collect();
        draft.agree(
            2.0,
            once(Signal::PciCards, cards.len(), Unit::Count, Reader::SysPci, text::on_the_bus(addresses)),
        );
    }
    draft.agree(2.0, library_evidence(scene, failure));
    match (&driver.module, kind) {
        (Reading::Known(version), Kind::NotInContainer) => draft.agree(
            2.0,
            once(
                Signal::DriverModule,
                version.as_str(),
                Unit::Text,
                Reader::ProcDriver,
                text::module_of_host(version.as_str()),
            ),
        ),
        (Reading::Known(version), _) => draft.contradict(
            0.8,
            once(
                Signal::DriverModule,
                version.as_str(),
                Unit::Text,
                Reader::ProcDriver,
                text::module_is_loaded(version.as_str()),
            ),
        ),
        (Reading::Unsupported, _) => {
            draft.agree(2.0, flag(Signal::DriverModule, Reader::ProcDriver, text::module_is_not_loaded()));
        }
        (other, _) => {
            if let Some(absence) = other.absence() {
                draft.unseen(2.0, Signal::DriverModule, absence);
            }
        }
    }
    if let Some(bound) = cards.iter().find_map(|card| card.driver.known())
        && kind == Kind::Nouveau
    {
        draft.agree(
            2.0,
            once(
                Signal::PciCards,
                bound.as_str(),
                Unit::Text,
                Reader::SysPci,
                text::bound_to(bound.as_str()),
            ),
        );
    }
    if kind == Kind::RefusedByKernel {
        draft.agree(2.0, flag(Signal::KernelLog, Reader::KernelLog, text::refusal_in_log()));
    }
    if scene
        .machine
        .device_files
        .known()
        .is_some_and(|files| !files.iter().any(|file| file.contains("nvidia")))
    {
        draft.agree(0.5, flag(Signal::DeviceFiles, Reader::Dev, text::no_device_files()));
    }
    let (action, words) = kind.fix();
    draft.advise(action, Vec::new(), words);
    findings.report(draft);
}

fn library_evidence(scene: &Scene, failure: &Failure) -> gpuwhy_model::evidence::Evidence {
    match failure {
        Failure::Nvml { call, code } => once(
            Signal::DriverLibrary,
            *code,
            Unit::Code,
            Reader::Nvml,
            if scene.provenance.source == SourceKind::Text {
                text::library_told(u64::from(*code))
            } else {
                text::library_says(call.as_str(), u64::from(*code))
            },
        ),
        _ => flag(Signal::DriverLibrary, Reader::NvmlChild, text::library_missing()),
    }
}
