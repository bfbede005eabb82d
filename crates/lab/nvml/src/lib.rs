//! `libnvidia-ml.so.1` of an emulated box: NVML's C ABI, answered from the board and from what the clients of
//! the box do.
//!
//! The functions carry NVML's names and stand in one file per area. Each goes through [`session`], which
//! applies the board's faults.

mod abi;
mod accounting;
mod clocks;
mod code;
mod device;
mod engines;
mod events;
mod fabric;
mod fans;
mod fields;
mod gpm;
mod health;
mod health_fields;
mod identity;
mod instances;
mod library;
mod link;
mod location;
mod memory;
mod modes;
mod nvlink;
mod nvlink_fields;
mod pointer;
mod power;
mod processes;
mod registry;
mod repair;
mod session;
mod settings;
mod temperature;
mod topology;

use code::Code;
