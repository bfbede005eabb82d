//! Clocks, performance states, and why clocks are not higher.
#![expect(unsafe_code, reason = "exports the C ABI")]

use std::ffi::{c_uint, c_ulonglong};

use gpuwhy_lab::cards::{CardView, Reasons};
use gpuwhy_lab::state::Clock;

use crate::Code;
use crate::abi::ViolationTime;
use crate::device::Device;
use crate::pointer::Out;
use crate::session::{Asked, card_call};

/// `nvmlClockType_t`.
mod clock_type {
    use std::ffi::c_uint;

    pub(super) const GRAPHICS: c_uint = 0;
    pub(super) const SM: c_uint = 1;
    pub(super) const MEMORY: c_uint = 2;
    pub(super) const VIDEO: c_uint = 3;
}

/// All reasons that a card can give.
const KNOWN_REASONS: c_ulonglong = 0x1FF;

/// Clock at this moment, in MHz.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetClockInfo(device: Device, kind: c_uint, clock: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetClockInfo", device, |asked| {
        let view = asked.look();
        clock.put(clock_of(kind, view.sm_mhz, view.memory_mhz)?)
    })
}

/// Highest clock, in MHz.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMaxClockInfo(device: Device, kind: c_uint, clock: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetMaxClockInfo", device, |asked| clock.put(highest_clock(asked, kind)?))
}

/// Highest clock that a customer may boost to, in MHz.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMaxCustomerBoostClock(
    device: Device,
    kind: c_uint,
    clock: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetMaxCustomerBoostClock", device, |asked| clock.put(highest_clock(asked, kind)?))
}

fn highest_clock(asked: &Asked, kind: c_uint) -> Result<c_uint, Code> {
    let clocks = &asked.card.profile.clocks;
    clock_of(kind, clocks.maximum, clocks.memory)
}

/// The video clock follows the SM clock at nine tenths.
fn clock_of(kind: c_uint, sm_mhz: c_uint, memory_mhz: c_uint) -> Result<c_uint, Code> {
    match kind {
        clock_type::GRAPHICS | clock_type::SM => Ok(sm_mhz),
        clock_type::MEMORY => Ok(memory_mhz),
        clock_type::VIDEO => Ok(sm_mhz * 9 / 10),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// A clock in MHz: 0 now, 1 as set, 2 as it would be without a setting, 3 the highest that can be set.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetClock(
    device: Device,
    kind: c_uint,
    which: c_uint,
    clock: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetClock", device, |asked| {
        let view = asked.look();
        let clocks = &asked.card.profile.clocks;
        clock.put(match which {
            0 => clock_of(kind, view.sm_mhz, view.memory_mhz)?,
            1 => clock_of(kind, asked.card.clock_limit_mhz, clocks.memory)?,
            2 | 3 => highest_clock(asked, kind)?,
            _ => return Err(Code::INVALID_ARGUMENT),
        })
    })
}

/// Clock that programs get unless it is limited, in MHz.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetApplicationsClock(
    device: Device,
    kind: c_uint,
    clock: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetApplicationsClock", device, |asked| {
        clock.put(clock_of(kind, asked.card.clock_limit_mhz, asked.card.profile.clocks.memory)?)
    })
}

/// Clock that programs get where nobody limits it, in MHz.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetDefaultApplicationsClock(
    device: Device,
    kind: c_uint,
    clock: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetDefaultApplicationsClock", device, |asked| clock.put(highest_clock(asked, kind)?))
}

/// Lowest and highest clock of a performance state, in MHz.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetMinMaxClockOfPState(
    device: Device,
    kind: c_uint,
    state: c_uint,
    lowest: Out<c_uint>,
    highest: Out<c_uint>,
) -> Code {
    card_call("nvmlDeviceGetMinMaxClockOfPState", device, |asked| {
        let profile = asked.card.profile;
        let (states, clocks) = (&profile.states, &profile.clocks);
        if ![states.idle, states.context, states.busy].contains(&state) {
            return Err(Code::NOT_SUPPORTED);
        }
        let is_slow = state >= 5;
        let (sm, memory) =
            if is_slow { (clocks.idle, clocks.memory_idle) } else { (clocks.maximum, clocks.memory) };
        lowest.put(clock_of(kind, clocks.idle, memory)?)?;
        highest.put(clock_of(kind, sm, memory)?)
    })
}

/// Performance state, 0 fastest.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPerformanceState(device: Device, state: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPerformanceState", device, |asked| state.put(asked.look().performance_state))
}

/// Performance state, 0 fastest; the older name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetPowerState(device: Device, state: Out<c_uint>) -> Code {
    card_call("nvmlDeviceGetPowerState", device, |asked| state.put(asked.look().performance_state))
}

/// Mask of the reasons at this moment.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCurrentClocksEventReasons(
    device: Device,
    reasons: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetCurrentClocksEventReasons", device, |asked| {
        reasons.put(asked.look().reasons.mask())
    })
}

/// Mask of the reasons at this moment; the older name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(
    device: Device,
    reasons: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetCurrentClocksThrottleReasons", device, |asked| {
        reasons.put(asked.look().reasons.mask())
    })
}

/// Mask of the reasons that the card can give.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSupportedClocksEventReasons(
    device: Device,
    reasons: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetSupportedClocksEventReasons", device, |_| reasons.put(KNOWN_REASONS))
}

/// Mask of the reasons that the card can give; the older name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetSupportedClocksThrottleReasons(
    device: Device,
    reasons: Out<c_ulonglong>,
) -> Code {
    card_call("nvmlDeviceGetSupportedClocksThrottleReasons", device, |_| reasons.put(KNOWN_REASONS))
}

/// How long a policy has kept clocks low: time stamp in microseconds, duration in nanoseconds.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvmlDeviceGetViolationStatus(
    device: Device,
    policy: c_uint,
    violation: Out<ViolationTime>,
) -> Code {
    card_call("nvmlDeviceGetViolationStatus", device, |asked| {
        let violation_time = policy_ns(&asked.look(), policy)?;
        let reference_time = asked.machine.clock().stamp_us(Clock::now());
        violation.put(ViolationTime { reference_time, violation_time })
    })
}

/// Nanoseconds that a policy of `nvmlPerfPolicyType_t` has kept clocks low.
pub(crate) fn policy_ns(view: &CardView, policy: c_uint) -> Result<u64, Code> {
    const POWER: c_uint = 0;
    const THERMAL: c_uint = 1;
    const SYNC_BOOST: c_uint = 2;
    const BOARD_LIMIT: c_uint = 3;
    const LOW_UTILIZATION: c_uint = 4;
    const RELIABILITY: c_uint = 5;
    const TOTAL_APPLICATION_CLOCKS: c_uint = 10;
    const TOTAL_BASE_CLOCKS: c_uint = 11;
    match policy {
        POWER => Ok(reason_ns(view, Reasons::SW_POWER_CAP)),
        SYNC_BOOST => Ok(reason_ns(view, Reasons::SYNC_BOOST)),
        // What the hardware slowed down for another reason than heat.
        BOARD_LIMIT => {
            Ok(reason_ns(view, Reasons::HW_SLOWDOWN).saturating_sub(reason_ns(view, Reasons::HW_THERMAL)))
        }
        THERMAL => Ok(reason_ns(view, Reasons::SW_THERMAL).max(reason_ns(view, Reasons::HW_THERMAL))),
        LOW_UTILIZATION => Ok(reason_ns(view, Reasons::GPU_IDLE)),
        TOTAL_APPLICATION_CLOCKS => Ok(reason_ns(view, Reasons::APPLICATIONS_CLOCKS)),
        TOTAL_BASE_CLOCKS => Ok(view.below_base_ns),
        RELIABILITY => Ok(0),
        _ => Err(Code::INVALID_ARGUMENT),
    }
}

/// Nanoseconds that a single reason was active.
pub(crate) fn reason_ns(view: &CardView, reason: Reasons) -> u64 {
    reason.positions().map(|position| view.reason_ns[position]).sum()
}
