//! What device plugins and the kubelet say of the cards that they offer, and of the library behind them.

use gpuwhy_model::reading::Failure;
use gpuwhy_model::scene::{PluginEvent, PluginReport};

use crate::text::kubernetes::event::too_few_devices;
use crate::text::kubernetes::resources::card_kind;

/// What a library that does not start says: words, and the code behind them.
const LIBRARY_ERRORS: &[(&str, u32)] = &[
    ("driver/library version mismatch", 18),
    ("error_lib_rm_version_mismatch", 18),
    ("error_driver_not_loaded", 9),
    ("driver not loaded", 9),
    ("error_no_permission", 4),
    ("insufficient permissions", 4),
    ("error_gpu_is_lost", 15),
    ("gpu is lost", 15),
    ("error_unknown", 999),
    ("unknown error", 999),
];

/// What says that the library is not there at all.
const NO_LIBRARY: &[&str] =
    &["could not load nvml", "error_library_not_found", "libnvidia-ml.so.1: cannot open"];

/// The call that starts the library.
const INIT: &str = "nvmlInit_v2";

/// Returns what a line says of the cards that are offered.
pub(super) fn plugin(text: &str) -> Option<PluginReport> {
    let lower = text.to_ascii_lowercase();
    let report = |event| PluginReport { event, resource: resource(text), device: device(text), xid: None };
    if let Some((_, rest)) = lower.split_once("xidcriticalerror: xid=") {
        let xid = leading_number(rest)?;
        let is_skipped = lower.contains("ignor") || lower.contains("skip");
        let event = if is_skipped { PluginEvent::ErrorIgnored } else { PluginEvent::Error };
        return Some(PluginReport { xid: Some(xid), ..report(event) });
    }
    // `Skipping event {Device:{Handle:0x…} EventType:8 EventData:13 …}`
    let is_skipped = lower.contains("skipping event")
        || lower.contains("ignoring event")
        || lower.contains("xid event ignored");
    if is_skipped {
        let xid = lower
            .split_once("eventdata:")
            .or_else(|| lower.split_once("xid"))
            .and_then(|(_, rest)| leading_number(rest.trim_start_matches([':', '=', ' '])));
        return xid.map(|xid| PluginReport { xid: Some(xid), ..report(PluginEvent::ErrorIgnored) });
    }
    if let Some(report) = too_few_devices(text) {
        return Some(report);
    }
    let is_all =
        ["marking all devices as unhealthy", "all devices will go unhealthy", "mark all resources unhealthy"];
    if is_all.iter().any(|words| lower.contains(words)) {
        return Some(report(PluginEvent::AllUnhealthy));
    }
    let is_unhealthy = [
        "device marked unhealthy",
        "marking it as unhealthy",
        "marking it unhealthy",
        "marking device as unhealthy",
        "mark device unhealthy",
    ];
    let names_device = lower.contains("marking device ") && lower.contains(" as unhealthy");
    if is_unhealthy.iter().any(|words| lower.contains(words)) || names_device {
        return Some(report(PluginEvent::Unhealthy));
    }
    let is_healthy = [
        "device marked healthy",
        "marking device as healthy",
        "device recovered",
        "marking it as healthy",
        "mark device healthy",
    ];
    if is_healthy.iter().any(|words| lower.contains(words)) {
        return Some(report(PluginEvent::Healthy));
    }
    let is_none = [
        "no devices found. waiting indefinitely",
        "no devices found, waiting indefinitely",
        "no gpu devices found",
        "no supported devices found",
    ];
    if is_none.iter().any(|words| lower.contains(words)) {
        return Some(report(PluginEvent::NoDevices));
    }
    let is_registered = ["registered device plugin", "got registration request from device plugin"];
    if is_registered.iter().any(|words| lower.contains(words))
        && (resource(text).is_some() || !names_a_resource(text))
    {
        return Some(report(PluginEvent::Registered));
    }
    let of_withdrawal = [
        "listandwatch ended unexpectedly for device plugin",
        "endpoint became unhealthy",
        "device plugin for resource",
        "plugin not registered",
    ];
    let is_about_cards = resource(text).is_some_and(|name| card_kind(&name).is_some());
    (is_about_cards && of_withdrawal.iter().any(|words| lower.contains(words)))
        .then(|| report(PluginEvent::Withdrawn))
}

/// Returns the failure of a library that does not start.
pub(super) fn library(text: &str) -> Option<Failure> {
    let lower = text.to_ascii_lowercase();
    let is_about_init = [
        "failed to initialize nvml",
        "nvml init failed",
        "failed to start nvml",
        "detected non-nvml platform",
        "error initializing nvml",
    ];
    let place = is_about_init.iter().find_map(|words| lower.find(words))?;
    // Alone at the begin of a line it is what nvidia-smi says.
    let is_of_component =
        place > 0 || lower.starts_with("detected non-nvml platform") || lower.starts_with("nvml init failed");
    is_of_component.then_some(())?;
    if NO_LIBRARY.iter().any(|words| lower.contains(words)) {
        return Some(Failure::LibraryNotLoaded { error: "libnvidia-ml.so.1".to_owned() });
    }
    let (_, code) = LIBRARY_ERRORS.iter().find(|(words, _)| lower[place..].contains(words))?;
    Some(Failure::Nvml { call: INIT.to_owned(), code: *code })
}

fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// Returns the name under which cards are offered, where the line has one.
fn resource(text: &str) -> Option<String> {
    let ends = |character: char| !(character.is_ascii_alphanumeric() || "-_./".contains(character));
    text.split(ends)
        .map(|word| word.trim_matches('.'))
        .find(|word| word.contains(".com/") && card_kind(word).is_some())
        .map(str::to_owned)
}

/// Returns whether a line names anything that is offered: `vendor.com/nic`.
fn names_a_resource(text: &str) -> bool {
    let ends = |character: char| !(character.is_ascii_alphanumeric() || "-_./".contains(character));
    text.split(ends).any(|word| {
        word.split_once('/')
            .is_some_and(|(owner, name)| owner.contains('.') && !owner.starts_with('.') && !name.is_empty())
    })
}

/// Returns the card that a line names: `GPU-…`, `MIG-…`.
fn device(text: &str) -> Option<String> {
    let ends = |character: char| !(character.is_ascii_alphanumeric() || "-/_:".contains(character));
    let mut words = text.split(ends).map(|word| word.trim_end_matches(':'));
    words
        .find(|word| (word.starts_with("GPU-") || word.starts_with("MIG-")) && word.len() > 8)
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use gpuwhy_model::scene::PluginEvent;

    use super::plugin;

    #[test]
    fn device_plugins_say_what_they_do_with_cards() {
        let card = "GPU-11111111-2222-3333-4444-555555555555";
        for (text, event, xid, names_card) in [
            (format!("2024/08/10 19:09:42 XidCriticalError: Xid=69 on Device={card}, the device will go unhealthy."), PluginEvent::Error, Some(69), true),
            (format!("I0810 19:09:42.000000       1 health.go:171] XidCriticalError: Xid=94 on Device={card}; marking device as unhealthy."), PluginEvent::Error, Some(94), true),
            (format!("2024/08/10 19:09:42 'nvidia.com/gpu' device marked unhealthy: {card}"), PluginEvent::Unhealthy, None, true),
            ("I0810 19:09:42.000000       1 health.go:131] Skipping event {Device:{Handle:0x7f} EventType:8 EventData:13 GpuInstanceId:4}".to_owned(), PluginEvent::ErrorIgnored, Some(13), false),
            ("I0810 19:09:42.000000 1 health.go:120] Error waiting for event: Unknown Error; Marking all devices as unhealthy".to_owned(), PluginEvent::AllUnhealthy, None, false),
            ("I0810 19:09:42.000000 1 main.go:311] No devices found. Waiting indefinitely.".to_owned(), PluginEvent::NoDevices, None, false),
            ("2024/08/10 19:10:42 Registered device plugin for 'nvidia.com/gpu' with Kubelet".to_owned(), PluginEvent::Registered, None, false),
            ("E0810 19:09:42.1 99 manager.go:400] Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected".to_owned(), PluginEvent::TooFew, None, false),
            ("E0810 19:09:42.1 99 endpoint.go:114] listAndWatch ended unexpectedly for device plugin nvidia.com/gpu with error rpc error".to_owned(), PluginEvent::Withdrawn, None, false),
        ] {
            let report = plugin(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((report.event, report.xid, report.device.is_some()), (event, xid, names_card), "{text}");
        }
        for text in [
            "Registered device plugin for 'vendor.com/nic' with Kubelet",
            "all is healthy",
            "no devices found",
        ] {
            assert_eq!(plugin(text), None, "{text}");
        }
    }
}
