//! NVLink: one link at a time.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use gpuwhy_lab::board::{LinkPeer, NvLinkProfile};
use gpuwhy_lab::cards::LinkErrors;

use crate::Code;
use crate::abi::PciInfo;
use crate::device::Device;
use crate::identity::{VENDOR, letters, pci_info};
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// Most links that any card has.
pub(crate) const MOST_LINKS: c_uint = 18;
/// PCI device id of a switch.
const SWITCH_DEVICE: c_uint = 0x22A3;

/// The links of the product, if it has the one that is asked about.
fn links_with(asked: &Asked, link: c_uint) -> Result<&'static NvLinkProfile, Code> {
    let nvlink = asked.card.profile.nvlink.as_ref().ok_or(Code::NOT_SUPPORTED)?;
    if link >= MOST_LINKS {
        return Err(Code::INVALID_ARGUMENT);
    }
    if link < nvlink.links { Ok(nvlink) } else { Err(Code::NOT_SUPPORTED) }
}

/// What a link leads to, while it is up.
fn peer<'a>(asked: &'a Asked, link: c_uint) -> Result<LinkPeer<'a>, Code> {
    links_with(asked, link)?;
    let board = asked.machine.board();
    let is_up = board.is_link_up(asked.card, link);
    board.link_peer(asked.card, link).filter(|_| is_up).ok_or(Code::NOT_SUPPORTED)
}

/// Errors of a link.
pub(crate) fn errors(asked: &Asked, link: c_uint) -> Result<LinkErrors, Code> {
    links_with(asked, link)?;
    Ok(asked.machine.link_errors(asked.card, link))
}

/// Whether a link is up.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkState(device: Device, link: c_uint, is_up: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetNvLinkState", device, |asked| {
        links_with(asked, link)?;
        is_up.put(c_uint::from(asked.machine.board().is_link_up(asked.card, link)))
    })
}

/// Version of a link.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkVersion(
    device: Device,
    link: c_uint,
    version: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetNvLinkVersion", device, |asked| version.put(links_with(asked, link)?.version))
}

/// Whether a link can do something: 0 peers, 1 access to the host's memory, 2 atomics among peers, 3 atomics in
/// the host's memory, 4 join cards for graphics.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkCapability(
    device: Device,
    link: c_uint,
    capability: c_uint,
    result: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetNvLinkCapability", device, |asked| {
        const CAPABILITIES: c_uint = 6;
        links_with(asked, link)?;
        match capability {
            0 | 2 => result.put(1),
            other if other < CAPABILITIES => result.put(0),
            _ => Err(Code::INVALID_ARGUMENT),
        }
    })
}

/// What kind of thing a link leads to.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkRemoteDeviceType(
    device: Device,
    link: c_uint,
    kind: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetNvLinkRemoteDeviceType", device, |asked| {
        const CARD: c_uint = 0;
        const SWITCH: c_uint = 2;
        kind.put(match peer(asked, link)? {
            LinkPeer::Card(_) => CARD,
            LinkPeer::Switch(_) => SWITCH,
        })
    })
}

/// PCI address of what a link leads to.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo(
    device: Device,
    link: c_uint,
    pci: Out<PciInfo>,
) -> Code {
    card_call("nvmlDeviceGetNvLinkRemotePciInfo", device, |asked| pci.put(peer_address(asked, link)?))
}

/// PCI address of what a link leads to.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkRemotePciInfo_v2(
    device: Device,
    link: c_uint,
    pci: Out<PciInfo>,
) -> Code {
    card_call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, |asked| pci.put(peer_address(asked, link)?))
}

fn peer_address(asked: &Asked, link: c_uint) -> Result<PciInfo, Code> {
    Ok(match peer(asked, link)? {
        LinkPeer::Card(card) => pci_info(card),
        LinkPeer::Switch(bus) => PciInfo {
            bus_id_legacy: letters(&format!("0000:{bus:02X}:00.0")),
            domain: 0,
            bus: c_uint::from(bus),
            device: 0,
            pci_device_id: (SWITCH_DEVICE << 16) | VENDOR,
            pci_sub_system_id: VENDOR,
            bus_id: letters(&format!("00000000:{bus:02X}:00.0")),
        },
    })
}

/// Errors of a link since the driver was loaded: 0 replays, 1 recoveries, 2 wrong checksums of flow control, 3 of
/// data, 4 memory errors.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetNvLinkErrorCounter(
    device: Device,
    link: c_uint,
    counter: c_uint,
    count: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetNvLinkErrorCounter", device, |asked| {
        let errors = errors(asked, link)?;
        count.put(match counter {
            0 => errors.replays,
            1 => errors.recoveries,
            2 => errors.checksum,
            3 | 4 => 0,
            _ => return Err(Code::INVALID_ARGUMENT),
        })
    })
}
