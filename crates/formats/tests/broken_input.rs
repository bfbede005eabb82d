//! Inputs that are cut anywhere or damaged: no parser may panic, and what is whole stays right.

#![expect(clippy::unwrap_used, reason = "helpers of tests outside of a test function")]

mod everything;

use everything::read_as_everything;
use gpuwhy_formats::{nvidia_smi_xml, proc, recording};
use gpuwhy_model::command_line::{CommandLine, masked_text};
use gpuwhy_model::sample::{ReadTime, Sample};
use proptest::prelude::*;

/// A line or two of each file of the machine that has several fields.
const MACHINE: &str = "Inter-| Receive\n face |bytes\n  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
    259 0 nvme0n1 1000 5 8000 700 20 1 160 30 2 650 730\npgmajfault 5\npswpin 2\nSome: 7 kB\nPss: 5 kB\n\
    drm-driver:\txe\ndrm-client-id:\t99\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram0:\t524288 KiB\n\
    drm-engine-rcs:\t98 ns\nTOTAL_ERR_COR 3\n 1: 0100007F:1F90 0100007F:D2A4 01 0:0 0:0 0 1000 0 7002 1\n\
    7f00-7f10 r-xp 0 08:01 77 /usr/lib/libcuda.so.580.95.05\nFabric Manager version is : 535.104.12\n\
    {\"MESSAGE\":\"NVRM: Xid (PCI:0000:65:00): 79\",\"__MONOTONIC_TIMESTAMP\":\"9\"}\n";

const DOCUMENT: &str = r#"<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
	<timestamp>Mon Nov  2 08:05:09 2026</timestamp>
	<driver_version>580.1</driver_version>
	<attached_gpus>2</attached_gpus>
	<gpu id="00000000:65:00.0">
		<product_name>Card &amp; Co</product_name>
		<mig_mode><current_mig>Enabled</current_mig></mig_mode>
		<mig_devices><mig_device><index>0</index><gpu_instance_id>3</gpu_instance_id></mig_device></mig_devices>
		<pci><pci_bus_id>00000000:65:00.0</pci_bus_id><replay_counter>7</replay_counter><tx_util>5 KB/s</tx_util></pci>
		<performance_state>P0</performance_state>
		<clocks_event_reasons><clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle></clocks_event_reasons>
		<fb_memory_usage><total>100 MiB</total><used>60 MiB</used><free>40 MiB</free></fb_memory_usage>
		<utilization><gpu_util>50 %</gpu_util></utilization>
		<temperature><gpu_temp>40 C</gpu_temp></temperature>
		<gpu_power_readings><average_power_draw>88.5 W</average_power_draw></gpu_power_readings>
		<processes><process_info><pid>7</pid><type>C</type><process_name>python</process_name>
			<used_memory>60 MiB</used_memory></process_info></processes>
	</gpu>
	<gpu id="00000000:66:00.0"><utilization>GPU is lost</utilization></gpu>
</nvidia_smi_log>
"#;

fn recorded(number: u64) -> Vec<u8> {
    let mut writer = recording::Writer::new(Vec::new()).unwrap();
    for boot_ns in 0..number {
        writer.write(&Sample::empty(ReadTime { boot_ns, ..ReadTime::default() })).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn a_document_cut_before_its_first_card_is_one_error() {
    let first_card = DOCUMENT.find("</gpu>").unwrap() + "</gpu>".len();
    let end = DOCUMENT.rfind("</nvidia_smi_log>").unwrap() + "</nvidia_smi_log>".len();
    for length in 0..end {
        let lines = DOCUMENT[..length].matches('\n').count() as u64 + 1;
        match nvidia_smi_xml::read_with_remarks(&DOCUMENT[..length]) {
            Err(error) => {
                assert!(length < first_card && error.line <= lines, "{length}: {error}");
                assert!(!error.expected.is_empty() && !error.found.is_empty());
            }
            Ok((scene, remarks)) => {
                assert!(length >= first_card && scene.cards.len() >= 2, "{length}");
                assert_eq!(remarks.len(), 1, "{length}");
            }
        }
    }
    let whole = nvidia_smi_xml::read(&DOCUMENT[..end]).unwrap();
    assert_eq!(whole.cards.len(), 3);
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_as_everything(&bytes);
    }

    #[test]
    fn damaged_files_of_the_machine_are_survived(
        start in 0..MACHINE.len(),
        changes in prop::collection::vec((0..MACHINE.len(), any::<u8>()), 0..8),
    ) {
        let mut bytes = MACHINE.as_bytes().to_vec();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        read_as_everything(&bytes[start..]);
    }

    #[test]
    fn a_damaged_document_is_survived(changes in prop::collection::vec((0..DOCUMENT.len(), any::<u8>()), 1..8)) {
        let mut bytes = DOCUMENT.as_bytes().to_vec();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        read_as_everything(&bytes);
    }

    #[test]
    fn a_damaged_recording_gives_whole_samples_or_an_error(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = recorded(5);
        bytes.truncate(length.index(bytes.len()) + 1);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(samples) = recording::Reader::new(bytes.as_slice()) {
            prop_assert!(samples.count() <= 7);
        }
    }

    #[test]
    fn numbers_between_blanks_never_make_a_wrong_stat(
        name in prop::collection::vec(any::<u8>(), 0..16),
        numbers in prop::collection::vec(any::<i64>(), 0..60),
    ) {
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let mut file = b"77 (".to_vec();
        file.extend(&name);
        file.extend(format!(") S {}\n", numbers.join(" ")).as_bytes());
        if let Ok(stat) = proc::stat(&file) {
            prop_assert_eq!(stat.pid.0, 77);
            prop_assert_eq!(stat.raw_name(), &name[..]);
            prop_assert_eq!(stat.start_ticks.to_string(), numbers[18].clone());
        }
    }

    #[test]
    fn a_secret_never_stays(secret in "[a-z]{3}[0-9][A-Za-z0-9]{18,30}", before in "[a-z]{1,8}", joint in "[ =\0]") {
        let line = proc::command_line(format!("{before}\0--api-key{joint}{secret}\0--lr\x003\0").as_bytes()).line();
        prop_assert!(!line.contains(&secret), "{}", line);
    }

    #[test]
    fn masking_twice_is_masking_once(
        words in prop::collection::vec(
            "[a-zA-Z0-9=:/@?&;,'\" _+.*-]{0,30}|--token|Bearer|--api-key=[a-z]{3}|https://u:p@h/x", 0..6),
        joint in "[ =,;\"\0:]",
    ) {
        // A replayed recording is masked again and must give the same report.
        let once = CommandLine::masked(words.join(&joint).split('\0'));
        prop_assert_eq!(&CommandLine::masked(once.arguments()), &once);
        let once = masked_text(&words.join(&joint));
        prop_assert_eq!(masked_text(&once), once);
    }
}
