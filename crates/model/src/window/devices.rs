//! Disks and network links over a window.

use std::collections::BTreeMap;

use super::series::{growth, newest};
use crate::reading::Reading;
use crate::sample::{DiskSample, InterfaceSample, Paging as PagingSample, ReadTime, Sample};
use crate::scene::{Disk, Interface, Paging};
use crate::units::{BytesPerSecond, Share};

/// Returns the disks of the newest list, by name.
pub(super) fn disks(samples: &[Sample]) -> Reading<Vec<Disk>> {
    let list = newest(samples, |sample| sample.host.value.as_ref().and_then(|host| host.disks.as_ref()));
    let mut looks: BTreeMap<&str, Vec<(ReadTime, &DiskSample)>> = BTreeMap::new();
    for sample in samples {
        let disks = sample.host.value.known().and_then(|host| host.disks.known());
        for disk in disks.into_iter().flatten() {
            looks.entry(&disk.name).or_default().push((sample.host.read, disk));
        }
    }
    list.map(|list| {
        list.iter().filter_map(|disk| Some(disk_over_window(disk, looks.get(disk.name.as_str())?))).collect()
    })
}

fn disk_over_window(newest: &DiskSample, looks: &[(ReadTime, &DiskSample)]) -> Disk {
    let counter = |pick: fn(&DiskSample) -> u64| {
        growth(looks.iter().map(move |(at, disk)| (*at, Reading::Known(pick(disk)))))
    };
    Disk {
        name: newest.name.clone(),
        device: newest.device.clone(),
        read: counter(|disk| disk.read_bytes).map(|bytes| BytesPerSecond(bytes.per_second())),
        written: counter(|disk| disk.written_bytes).map(|bytes| BytesPerSecond(bytes.per_second())),
        busy: counter(|disk| disk.busy_ms).map(|busy| Share((busy.per_second() / 1e3).min(1.0))),
        queue: counter(|disk| disk.waited_ms).map(|waited| waited.per_second() / 1e3),
    }
}

/// Returns the network links of the newest list, by name.
pub(super) fn interfaces(samples: &[Sample]) -> Reading<Vec<Interface>> {
    let list = newest(samples, |sample| sample.host.value.as_ref().and_then(|host| host.interfaces.as_ref()));
    let mut looks: BTreeMap<&str, Vec<(ReadTime, &InterfaceSample)>> = BTreeMap::new();
    for sample in samples {
        let interfaces = sample.host.value.known().and_then(|host| host.interfaces.known());
        for interface in interfaces.into_iter().flatten() {
            looks.entry(&interface.name).or_default().push((sample.host.read, interface));
        }
    }
    list.map(|list| {
        list.iter()
            .filter_map(|interface| {
                Some(interface_over_window(interface, looks.get(interface.name.as_str())?))
            })
            .collect()
    })
}

fn interface_over_window(newest: &InterfaceSample, looks: &[(ReadTime, &InterfaceSample)]) -> Interface {
    let counter = |pick: fn(&InterfaceSample) -> &Reading<u64>| {
        growth(looks.iter().map(move |(at, interface)| (*at, pick(interface).as_ref().copied())))
    };
    let rate = |pick| counter(pick).map(|bytes| BytesPerSecond(bytes.per_second()));
    Interface {
        name: newest.name.clone(),
        received: rate(|interface| &interface.received_bytes),
        sent: rate(|interface| &interface.sent_bytes),
        link: newest.speed.clone(),
        kind: newest.kind,
        up: newest.up.clone(),
        errors: counter(|interface| &interface.errors).map(super::series::Growth::whole),
        downs: counter(|interface| &interface.downs).map(super::series::Growth::whole),
        congestion_per_s: counter(|interface| &interface.congestion).map(|ticks| ticks.per_second()),
    }
}

/// Returns what was paged in the window.
pub(super) fn paging(samples: &[Sample]) -> Paging {
    let counter = |pick: fn(&PagingSample) -> u64| {
        growth(samples.iter().map(move |sample| {
            let paging = sample.host.value.as_ref().and_then(|host| host.paging.as_ref());
            (sample.host.read, paging.map(pick))
        }))
    };
    Paging {
        major_faults_per_s: counter(|paging| paging.major_faults).map(|faults| faults.per_second()),
        swapped_in_per_s: counter(|paging| paging.swapped_in).map(|pages| pages.per_second()),
        swapped_out_per_s: counter(|paging| paging.swapped_out).map(|pages| pages.per_second()),
        oom_kills: counter(|paging| paging.oom_kills).map(super::series::Growth::whole),
    }
}
