//! What a paste says of a driver that serves no card: the tool's own words, modules and their builds, the kernel log.
//!
//! A text seldom speaks of the bus: that somebody asks the driver's tool, loads its module or builds it there stands for
//! a card. Nothing is said where a card answers or the module is known to be loaded.

mod signs;

use gpuwhy_model::action::Action;
use gpuwhy_model::reading::Failure;
use gpuwhy_model::sample::KernelLine;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::signal::{Reader, Signal};
use gpuwhy_model::text::Text;
use gpuwhy_model::units::Unit;
use gpuwhy_model::verdict::{Impact, Severity};

use super::{Kind, RULE, text};
use crate::draft::Draft;
use crate::evidence::{flag, once};
use crate::facts::cards::only_on_the_bus;
use crate::findings::Findings;
use signs::Signs;

/// What a paste shows, with how surely its own sign shows it, 0 to 1.
enum Shown<'scene> {
    Refused { line: &'scene KernelLine, strength: f64 },
    Bound { drivers: Vec<&'scene str> },
    OwnedByOther { line: &'scene KernelLine },
    OnlyOtherLoaded { modules: Vec<String> },
    DoesNotFit { line: &'scene KernelLine },
    NoFile,
    NotBuilt { kernel: &'scene str, built_for: Vec<String>, strength: f64 },
    Unbound,
    NoLibrary,
    NotInContainer { container: &'scene str },
    NotLoaded,
    NoTool,
}

/// Reports what a paste shows, if it shows that no usable module serves the cards.
pub(super) fn check(scene: &Scene, findings: &mut Findings) {
    let signs = Signs::of(scene);
    if signs.all_are_passed_on {
        findings.rule_out(Signal::PciCards, None);
        return;
    }
    if signs.has_no_card {
        if signs.tool.is_some() {
            findings.rule_out(Signal::PciCards, None);
        }
        return;
    }
    if let Some(shown) = shown(scene, &signs) {
        findings.report(judge(scene, &signs, &shown));
    }
}

fn shown<'scene>(scene: &'scene Scene, signs: &Signs<'scene>) -> Option<Shown<'scene>> {
    let driver = &scene.machine.driver;
    let container = scene.machine.container.known().map(String::as_str);
    if signs.a_card_answers && !signs.driver_is_unreachable() {
        return None;
    }
    if driver.module.is_known() || signs.some_are_served {
        return match (signs.tool, container) {
            (Some(_), Some(container)) => Some(Shown::NotInContainer { container }),
            (Some(Failure::LibraryNotLoaded { .. }), None) => Some(Shown::NoLibrary),
            _ => None,
        };
    }
    if signs.driver_spoke && signs.tool.is_none() {
        return None;
    }
    if let Some(line) = signs.refusal {
        return Some(Shown::Refused { line, strength: 0.95 });
    }
    if let Some(line) = signs.unnamed_refusal.filter(|_| signs.has_trouble() || signs.builds_driver) {
        return Some(Shown::Refused { line, strength: 0.7 });
    }
    if !signs.other_drivers.is_empty() {
        return Some(Shown::Bound { drivers: signs.other_drivers.clone() });
    }
    if let Some(line) = signs.owned_by_other {
        return Some(Shown::OwnedByOther { line });
    }
    if let Some(line) = signs.does_not_fit {
        return Some(Shown::DoesNotFit { line });
    }
    if !signs.stand_ins.is_empty() {
        return Some(Shown::OnlyOtherLoaded { modules: signs.stand_ins.clone() });
    }
    if signs.has_no_file {
        return Some(Shown::NoFile);
    }
    if let Some((kernel, built_for)) = signs.not_built.clone() {
        let strength = if signs.has_trouble() { 0.8 } else { 0.45 };
        return Some(Shown::NotBuilt { kernel, built_for, strength });
    }
    if signs.none_is_bound {
        return Some(Shown::Unbound);
    }
    match (signs.tool, container) {
        (Some(_), Some(container)) => Some(Shown::NotInContainer { container }),
        (Some(Failure::LibraryNotLoaded { .. }), None) => Some(Shown::NoLibrary),
        (Some(Failure::Missing { .. }), None) if !signs.module_is_absent => Some(Shown::NoTool),
        _ => signs.has_trouble().then_some(Shown::NotLoaded),
    }
}

impl Shown<'_> {
    fn kind(&self) -> Kind {
        match self {
            Self::Refused { .. } => Kind::RefusedByKernel,
            Self::Bound { drivers } if drivers.iter().any(|driver| *driver != "nouveau") => Kind::OtherDriver,
            Self::Bound { .. } | Self::OnlyOtherLoaded { .. } => Kind::Nouveau,
            Self::OwnedByOther { .. } => Kind::OtherDriver,
            Self::DoesNotFit { .. } | Self::NoFile | Self::NotBuilt { .. } => Kind::NotBuilt,
            Self::NoLibrary => Kind::LibraryNotFound,
            Self::NotInContainer { .. } => Kind::NotInContainer,
            Self::Unbound | Self::NotLoaded => Kind::NotLoaded,
            Self::NoTool => Kind::ToolMissing,
        }
    }
}

fn judge(scene: &Scene, signs: &Signs<'_>, shown: &Shown<'_>) -> Draft {
    let kind = shown.kind();
    let mut draft = Draft::about_machine(&RULE, scene, kind.summary()).severity(Severity::Fault);
    draft.finding.cards = only_on_the_bus(scene);
    draft.finding.impact = Impact { blocked: 1, ..Impact::default() };
    draft.finding.detail.insert("kind".to_owned(), kind.id().to_owned());
    draft.balance.past_decides = true;
    weigh_own_sign(shown, &mut draft);
    weigh_tool(signs, shown, &mut draft);
    if signs.module_is_absent {
        draft.agree_by(
            3.0,
            0.7,
            flag(Signal::DriverModule, Reader::ProcDriver, text::module_is_not_loaded()),
        );
    }
    if signs.secure_boot_is_on && matches!(kind, Kind::RefusedByKernel | Kind::NotLoaded) {
        draft.mention(flag(Signal::KernelLog, Reader::KernelLog, text::secure_boot_is_on()));
    }
    if signs.a_card_answers || signs.a_card_is_lost || signs.driver_spoke {
        // A module that spoke of its cards was loaded: they may be what is wrong.
        draft.only_possible();
    }
    let (action, words) = kind.fix();
    draft.advise(action, Vec::new(), words);
    if signs.secure_boot_is_on && kind == Kind::NotLoaded {
        draft.advise(Action::LoadDriver, Vec::new(), text::fix_refused());
    }
    draft
}

/// Weighs the sign that tells the kind.
fn weigh_own_sign(shown: &Shown<'_>, draft: &mut Draft) {
    let log = |line: &KernelLine| {
        let words = text::log_says(line.text.as_str());
        once(Signal::KernelLog, line.text.as_str(), Unit::Text, Reader::KernelLog, words)
    };
    let module = |words: Text| flag(Signal::DriverModule, Reader::ProcDriver, words);
    match shown {
        Shown::Refused { line, strength } => draft.agree_by(4.0, *strength, log(line)),
        Shown::OwnedByOther { line } => draft.agree_by(4.0, 0.8, log(line)),
        Shown::DoesNotFit { line } => draft.agree_by(4.0, 0.9, log(line)),
        Shown::Bound { drivers } => {
            let names = drivers.join(", ");
            let words = text::bound_to(names.as_str());
            draft.agree_by(4.0, 0.9, once(Signal::PciCards, names, Unit::Text, Reader::SysPci, words));
        }
        Shown::OnlyOtherLoaded { modules } => {
            draft.agree_by(4.0, 0.5, module(text::only_other_loaded(modules.clone())));
        }
        Shown::Unbound => {
            let words = text::bound_to_none();
            draft.agree_by(4.0, 0.5, flag(Signal::PciCards, Reader::SysPci, words));
        }
        Shown::NoFile => draft.agree_by(4.0, 0.9, module(text::no_module_file())),
        Shown::NotBuilt { kernel, built_for, strength } => {
            draft.agree_by(4.0, *strength, module(text::built_for(*kernel, built_for.clone())));
        }
        Shown::NotInContainer { container } => {
            let words = text::asked_in_container(*container);
            draft.agree_by(2.0, 0.5, once(Signal::Container, *container, Unit::Text, Reader::ProcPid, words));
        }
        Shown::NoLibrary | Shown::NotLoaded | Shown::NoTool => {}
    }
}

/// Weighs what the driver's tool says.
fn weigh_tool(signs: &Signs<'_>, shown: &Shown<'_>, draft: &mut Draft) {
    let tool = |words: Text| flag(Signal::DriverLibrary, Reader::NvidiaSmi, words);
    match signs.tool {
        Some(Failure::Nvml { .. }) => draft.agree_by(3.0, 0.6, tool(text::tool_is_cut_off())),
        Some(Failure::LibraryNotLoaded { .. }) => draft.agree_by(3.0, 0.7, tool(text::library_missing())),
        // It may stand where the shell does not look, or belong to a package of its own.
        Some(Failure::Missing { .. }) => {
            let strength = if matches!(shown, Shown::NoTool) { 0.4 } else { 0.6 };
            draft.agree_by(3.0, strength, tool(text::tool_is_missing()));
        }
        _ => {}
    }
}
