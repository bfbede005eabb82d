//! Cards of other vendors than NVIDIA, as the kernel's graphics drivers show them.

mod device;
mod holders;
mod kfd;
mod sensors;

use std::collections::BTreeMap;
use std::path::Path;

use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardSample, Section};
use gpuwhy_model::units::Percent;

use crate::clock;
use crate::proc::ProcRoot;
use crate::roots::Roots;
use device::Device;
use holders::{EngineTimes, Holders};

/// The cards, and what is kept of them from look to look.
#[derive(Debug)]
pub(crate) struct OtherCards {
    devices: Vec<Device>,
    holders: Holders,
    /// What the engines of each card had worked at the last full look, in the order of the cards.
    worked: BTreeMap<String, (u64, EngineTimes)>,
}

impl OtherCards {
    pub(crate) fn new(proc_root: &Path) -> Self {
        Self { devices: Vec::new(), holders: Holders::new(proc_root), worked: BTreeMap::new() }
    }

    /// Reads the cards. At a full look they are listed anew, and their holders are found among the given processes.
    pub(crate) fn look(
        &mut self,
        roots: &Roots,
        proc: Option<&mut ProcRoot>,
        full: Option<&[Pid]>,
        buffer: &mut Vec<u8>,
    ) -> Section<Vec<CardSample>> {
        let read = clock::now();
        if full.is_some() {
            self.devices = device::list(&roots.sys, buffer);
        }
        if self.devices.is_empty() {
            // Nothing to say, and after a full look this is known.
            let value = if full.is_some() { Reading::Known(Vec::new()) } else { Reading::default() };
            return Section { read, value };
        }
        let mut cards: Vec<CardSample> =
            self.devices.iter().zip(0..).map(|(device, index)| device.sample(index, buffer)).collect();
        if let (Some(processes), Some(proc)) = (full, proc) {
            let found = self.holders.find(proc, roots, processes, &self.devices, buffer);
            for ((card, device), held) in cards.iter_mut().zip(&self.devices).zip(found) {
                card.clients = held.clients;
                let before = self.worked.insert(device.address.clone(), (read.boot_ns, held.worked.clone()));
                // Some drivers count only what each client's work took.
                if !card.busy.is_known()
                    && let Some((at, before)) = before
                {
                    card.busy = busy(&before, &held.worked, read.boot_ns.saturating_sub(at));
                }
            }
        }
        Section { read, value: Reading::Known(cards) }
    }
}

/// Returns how busy the busiest engine was, by the work of those who were there at both ends.
fn busy(before: &EngineTimes, now: &EngineTimes, elapsed_ns: u64) -> Reading<Percent> {
    if elapsed_ns == 0 || now.is_empty() {
        return Reading::Unsupported;
    }
    let mut by_engine: BTreeMap<&str, u64> = BTreeMap::new();
    for (client, engines) in now {
        let Some(earlier) = before.get(client) else {
            continue;
        };
        for (engine, worked) in engines {
            let grown = worked.saturating_sub(earlier.get(engine).copied().unwrap_or(*worked));
            *by_engine.entry(engine).or_default() += grown;
        }
    }
    let busiest = by_engine.into_values().max().unwrap_or(0);
    Reading::Known(Percent((busiest as f64 / elapsed_ns as f64 * 100.0).min(100.0)))
}

#[cfg(test)]
mod tests {
    use super::OtherCards;
    use crate::proc::ProcRoot;
    use crate::roots::Roots;
    use gpuwhy_model::process::Pid;
    use gpuwhy_model::reading::Reading;
    use gpuwhy_model::sample::{CardSample, ClientKind, Vendor};
    use gpuwhy_model::units::{Bytes, Celsius, Percent, Watts};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes a card with the files that its driver shows.
    fn card(root: &Path, number: u32, address: &str, files: &[(&str, &str)]) {
        let device = format!("sys/devices/{address}");
        for (file, text) in files {
            write(root, &format!("{device}/{file}"), text);
        }
        let place = root.join(format!("sys/class/drm/card{number}"));
        std::fs::create_dir_all(&place).unwrap();
        symlink(root.join(&device), place.join("device")).unwrap();
        std::fs::create_dir_all(root.join(&device).join(format!("drm/renderD{}", 128 + number))).unwrap();
    }

    struct Machine {
        root: tempfile::TempDir,
        roots: Roots,
    }

    impl Machine {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let place = |name: &str| root.path().join(name);
            std::fs::create_dir_all(place("proc")).unwrap();
            let roots =
                Roots { proc: place("proc"), sys: place("sys"), dev: place("dev"), ..Roots::default() };
            Self { root, roots }
        }

        fn look(&self, cards: &mut OtherCards, processes: &[Pid]) -> Vec<CardSample> {
            let mut proc = ProcRoot::open(&self.roots.proc).unwrap();
            let section = cards.look(&self.roots, Some(&mut proc), Some(processes), &mut Vec::new());
            section.value.into_known().unwrap()
        }
    }

    #[test]
    fn an_amd_card_is_read_with_its_holders() {
        let machine = Machine::new();
        let root = machine.root.path();
        card(
            root,
            0,
            "0000:0a:00.0",
            &[("vendor", "0x10de\n"), ("device", "0x2330\n"), ("class", "0x030000\n")],
        );
        card(
            root,
            1,
            "0000:09:00.0",
            &[
                ("vendor", "0x1002\n"),
                ("device", "0x744c\n"),
                ("class", "0x030000\n"),
                ("mem_info_vram_total", "25753026560\n"),
                ("mem_info_vram_used", "4000000000\n"),
                ("gpu_busy_percent", "37\n"),
                ("hwmon/hwmon3/temp1_input", "51000\n"),
                ("hwmon/hwmon3/power1_average", "85000000\n"),
                ("hwmon/hwmon3/power1_cap", "303000000\n"),
            ],
        );
        write(root, "proc/70/stat", "70 (python) S 1 70 70 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9 0 0\n");
        std::fs::create_dir_all(root.join("proc/70/fd")).unwrap();
        for number in [5, 6] {
            symlink(root.join("dev/dri/renderD129"), root.join(format!("proc/70/fd/{number}"))).unwrap();
            // Two descriptors of one client.
            let info = "drm-driver:\tamdgpu\ndrm-client-id:\t3\ndrm-pdev:\t0000:09:00.0\ndrm-memory-vram:\t2048 KiB\n\
                        drm-engine-compute:\t500 ns\n";
            write(root, &format!("proc/70/fdinfo/{number}"), info);
        }
        let mut cards = OtherCards::new(&machine.roots.proc);
        let seen = machine.look(&mut cards, &[Pid(70)]);
        assert_eq!(seen.len(), 1, "NVIDIA's own library speaks for its cards");
        let card = &seen[0];
        assert_eq!((card.vendor, card.index), (Vendor::Amd, 0));
        assert_eq!(card.pci_address, Reading::Known("0000:09:00.0".to_owned()));
        assert_eq!(card.busy, Reading::Known(Percent(37.0)));
        assert_eq!(card.memory.known().unwrap().used, Bytes(4_000_000_000));
        assert_eq!(card.temperature, Reading::Known(Celsius(51.0)));
        assert_eq!(card.power, Reading::Known(Watts(85.0)));
        assert_eq!(card.power_limits.enforced, Reading::Known(Watts(303.0)));
        let clients = card.clients.known().unwrap();
        assert_eq!(clients.len(), 1);
        assert_eq!((clients[0].pid, clients[0].kind), (Pid(70), ClientKind::Compute));
        assert_eq!(clients[0].memory, Reading::Known(Bytes(2 << 20)));
    }

    #[test]
    fn a_card_without_a_counter_of_its_own_is_as_busy_as_its_clients_make_it() {
        let machine = Machine::new();
        let root = machine.root.path();
        card(
            root,
            0,
            "0000:03:00.0",
            &[("vendor", "0x8086\n"), ("device", "0x56a0\n"), ("class", "0x030000\n")],
        );
        std::fs::create_dir_all(root.join("proc/70/fd")).unwrap();
        symlink(root.join("dev/dri/renderD128"), root.join("proc/70/fd/5")).unwrap();
        let info = |nanoseconds: u64| {
            let text = format!(
                "drm-driver: i915\ndrm-client-id: 3\ndrm-pdev: 0000:03:00.0\ndrm-engine-render: {nanoseconds} ns\n"
            );
            write(root, "proc/70/fdinfo/5", &text);
        };
        info(0);
        let mut cards = OtherCards::new(&machine.roots.proc);
        assert_eq!(machine.look(&mut cards, &[Pid(70)])[0].busy, Reading::Unsupported);
        info(1 << 60);
        assert_eq!(machine.look(&mut cards, &[Pid(70)])[0].busy, Reading::Known(Percent(100.0)));
        info(1 << 60);
        assert_eq!(machine.look(&mut cards, &[Pid(70)])[0].busy, Reading::Known(Percent(0.0)));
        std::fs::remove_dir_all(root.join("sys/class/drm")).unwrap();
        assert!(machine.look(&mut cards, &[Pid(70)]).is_empty(), "a card that is gone");
    }

    #[test]
    fn screens_of_servers_are_no_cards() {
        let machine = Machine::new();
        let root = machine.root.path();
        card(
            root,
            0,
            "0000:04:00.0",
            &[("vendor", "0x1a03\n"), ("device", "0x2000\n"), ("class", "0x030000\n")],
        );
        std::fs::remove_dir_all(root.join("sys/devices/0000:04:00.0/drm")).unwrap();
        std::fs::create_dir_all(root.join("sys/class/drm/card0-VGA-1")).unwrap();
        let mut cards = OtherCards::new(&machine.roots.proc);
        assert!(machine.look(&mut cards, &[]).is_empty());
        let calm = cards.look(&machine.roots, None, None, &mut Vec::new());
        assert!(calm.value.is_not_in_source());
    }
}
