//! How a card stands in the fabric of switches.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uchar, c_uint};

use gpuwhy_lab::board::{Architecture, FabricSetting, FabricState};

use crate::Code;
use crate::abi::{FabricInfo, FabricInfoV2, FabricInfoV3, version_word};
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// Cluster of a board that stands alone.
const NO_CLUSTER: [c_uchar; 16] = [0; 16];

/// What a card says about the fabric.
struct Standing {
    state: c_uchar,
    status: c_uint,
    health_mask: c_uint,
    health_summary: c_uchar,
}

/// Registration with the fabric.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGpuFabricInfo(device: Device, info: Out<FabricInfo>) -> Code {
    card_call("nvmlDeviceGetGpuFabricInfo", device, |asked| {
        let Standing { state, status, .. } = standing(asked)?;
        info.put(FabricInfo { cluster_uuid: NO_CLUSTER, status, clique_id: 0, state })
    })
}

/// Registration with the fabric and its health, in the version that the caller asks for.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetGpuFabricInfoV(device: Device, version: Out<c_uint>) -> Code {
    const V2: c_uint = version_word::<FabricInfoV2>(2);
    const V3: c_uint = version_word::<FabricInfoV3>(3);
    card_call("nvmlDeviceGetGpuFabricInfoV", device, |asked| {
        let wanted = version.get()?;
        if wanted != V2 && wanted != V3 {
            return Err(Code::ARGUMENT_VERSION_MISMATCH);
        }
        let Standing { state, status, health_mask, health_summary } = standing(asked)?;
        let (cluster_uuid, clique_id) = (NO_CLUSTER, 0);
        if wanted == V2 {
            let info = FabricInfoV2 { version: V2, cluster_uuid, status, clique_id, state, health_mask };
            return version.whole().put(info);
        }
        version.whole().put(FabricInfoV3 {
            version: V3,
            cluster_uuid,
            status,
            clique_id,
            state,
            health_mask,
            health_summary,
        })
    })
}

/// Cards before Hopper do not register; later ones say that there is nothing to register with.
fn standing(asked: &Asked) -> Result<Standing, Code> {
    const NOTHING_TO_REGISTER_WITH: c_uchar = 0;
    const UNKNOWN: (c_uint, c_uchar) = (0, 0);
    if asked.card.profile.architecture < Architecture::Hopper {
        return Err(Code::NOT_SUPPORTED);
    }
    let setting = &asked.card.setting.fabric;
    let (state, is_complete) = match asked.machine.board().fabric_state(asked.card) {
        None => (NOTHING_TO_REGISTER_WITH, false),
        Some(FabricState::NotStarted) => (1, false),
        Some(FabricState::InProgress) => (2, false),
        Some(FabricState::Completed) => (3, true),
    };
    let (health_mask, health_summary) = if is_complete { health(setting) } else { UNKNOWN };
    Ok(Standing { state, status: setting.status, health_mask, health_summary })
}

/// Mask of what is wrong, and what that comes to: 1 healthy, 2 not.
fn health(setting: &FabricSetting) -> (c_uint, c_uchar) {
    const NOTHING_MISCONFIGURED: c_uint = 1;
    let is_so = |wrong: bool| -> c_uint { if wrong { 1 } else { 2 } };
    let misconfiguration = setting.misconfiguration.max(NOTHING_MISCONFIGURED);
    let mask = is_so(setting.degraded_bandwidth)
        | is_so(setting.route_recovery) << 2
        | is_so(setting.route_unhealthy) << 4
        | is_so(setting.access_timeout_recovery) << 6
        | misconfiguration << 8;
    let is_healthy = *setting
        == FabricSetting { state: setting.state, status: setting.status, ..FabricSetting::default() };
    (mask, if is_healthy { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_says_what_is_wrong() {
        assert_eq!(health(&FabricSetting::default()), (0b1_10_10_10_10, 1));
        let degraded = FabricSetting { degraded_bandwidth: true, ..FabricSetting::default() };
        assert_eq!(health(&degraded), (0b1_10_10_10_01, 2));
        let wrong = FabricSetting { misconfiguration: 4, ..FabricSetting::default() };
        assert_eq!(health(&wrong).0 >> 8, 4);
    }
}
