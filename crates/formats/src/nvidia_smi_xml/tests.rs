use gpuwhy_model::reading::{Access, Failure, Reading};
use gpuwhy_model::sample::{CardKind, ClientKind, ClockReasons};
use gpuwhy_model::scene::{Card, SourceKind};
use gpuwhy_model::units::{Bytes, Celsius, Percent, Watts};

use super::{read, read_lines, read_with_remarks};
use crate::paste::Paste;
use crate::text::{Context, Remark};

/// A document with one card that holds the given elements.
fn with_card(elements: &str) -> String {
    format!(
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n\
         <timestamp>Mon Nov  2 08:05:09 2026</timestamp>\n<driver_version>550.1</driver_version>\n\
         <attached_gpus>1</attached_gpus>\n<gpu id=\"00000000:65:00.0\">\n{elements}\n</gpu>\n</nvidia_smi_log>\n"
    )
}

fn card(elements: &str) -> Card {
    read(&with_card(elements)).unwrap().cards.remove(0)
}

#[test]
fn a_single_look_says_where_it_comes_from() {
    let scene = read(&with_card("")).unwrap();
    assert_eq!(scene.provenance.source, SourceKind::Text);
    assert_eq!(scene.provenance.inputs, ["nvidia-smi -q -x"]);
    assert_eq!(scene.window.taken_at.to_string(), "2026-11-02T08:05:09Z");
    assert_eq!((scene.window.samples, scene.window.end_boot_ns), (1, None));
    assert_eq!(scene.machine.driver.library, Reading::Known(()));
    assert_eq!(scene.machine.driver.version, Reading::Known("550.1".into()));
    assert!(scene.machine.driver.cuda_version.is_not_in_source());
    assert!(scene.machine.driver.init_ms.is_not_in_source());
    assert!(scene.host.cpus.is_not_in_source());
    assert_eq!(scene.cards[0].pci_address, Reading::Known("0000:65:00.0".into()));
    assert!(scene.cards[0].memory.is_not_in_source());
    assert!(scene.cards[0].clients.is_not_in_source());
    assert!(scene.cards[0].clock_reasons.is_not_in_source());
}

#[test]
fn words_instead_of_values_say_why() {
    let temperature = |text: &str| {
        card(&format!("<temperature><gpu_temp>{text}</gpu_temp></temperature>"))
            .temperature
            .map(|trend| trend.last)
    };
    assert_eq!(temperature("41 C"), Reading::Known(Celsius(41.0)));
    assert_eq!(temperature("-4 C"), Reading::Known(Celsius(-4.0)));
    for words in
        ["N/A", "[N/A]", "Not Supported", "[Not Supported]", "Requested functionality has been deprecated"]
    {
        assert_eq!(temperature(words), Reading::Unsupported, "{words}");
    }
    assert_eq!(temperature("Insufficient Permissions"), Reading::Denied(Access::Root));
    for (words, code) in [
        ("Unknown Error", 999),
        ("[Unknown Error]", 999),
        ("ERR!", 999),
        ("GPU is lost", 15),
        ("[GPU is lost]", 15),
    ] {
        assert_eq!(
            temperature(words),
            Reading::Failed(Failure::Nvml { call: "nvidia-smi".into(), code }),
            "{words}"
        );
    }
    for words in ["41", "C", "41 F", "hot", "1e999 C", "NaN C"] {
        assert!(matches!(temperature(words), Reading::Failed(Failure::Syntax { line: 8, .. })), "{words}");
    }
    assert!(temperature("").is_not_in_source());
}

#[test]
fn words_instead_of_a_section_stand_for_all_its_values() {
    let lost = card("<utilization>GPU is lost</utilization><temperature>N/A</temperature>");
    assert!(matches!(lost.busy, Reading::Failed(Failure::Nvml { code: 15, .. })));
    assert_eq!(lost.temperature_limits.slowdown, Reading::Unsupported);
    assert_eq!(card("<clocks_event_reasons>N/A</clocks_event_reasons>").clock_reasons, Reading::Unsupported);
}

#[test]
fn one_lost_value_means_a_lost_card() {
    let lost = card("<fabric><state>GPU is lost</state></fabric><uuid>GPU-1</uuid>");
    assert!(matches!(lost.handle, Reading::Failed(Failure::Nvml { code: 15, .. })));
    assert_eq!(lost.uuid, Reading::Known("GPU-1".into()));
    let bracketed = card("<utilization><gpu_util>[GPU is lost]</gpu_util></utilization>");
    assert!(matches!(bracketed.handle, Reading::Failed(Failure::Nvml { code: 15, .. })));
    let named_so = card(
        "<processes><process_info><pid>1</pid><process_name>GPU is lost</process_name></process_info></processes>",
    );
    assert_eq!(named_so.handle, Reading::Known(()));
}

#[test]
fn a_card_without_any_vital_value_does_not_answer() {
    let silent = card(
        "<fb_memory_usage><total>Unknown Error</total><used>0 MiB</used><free>0 MiB</free></fb_memory_usage>\
         <utilization><gpu_util>Unknown Error</gpu_util></utilization>\
         <temperature><gpu_temp>Unknown Error</gpu_temp></temperature>",
    );
    assert!(matches!(silent.handle, Reading::Failed(Failure::Nvml { code: 999, .. })));
    let talking = card(
        "<utilization><gpu_util>Unknown Error</gpu_util></utilization>\
         <temperature><gpu_temp>30 C</gpu_temp></temperature>",
    );
    assert_eq!(talking.handle, Reading::Known(()));
}

#[test]
fn power_is_found_under_old_and_new_names() {
    let old = card(
        "<power_readings><power_draw>100.50 W</power_draw><power_limit>250.00 W</power_limit>\
         <enforced_power_limit>200.00 W</enforced_power_limit></power_readings>",
    );
    assert_eq!(old.power.map(|trend| trend.last), Reading::Known(Watts(100.5)));
    assert_eq!(old.power_limits.enforced, Reading::Known(Watts(200.0)));
    assert!(old.power_limits.default.is_not_in_source());
    let new = card(
        "<gpu_power_readings><average_power_draw>N/A</average_power_draw><instant_power_draw>70.10 W\
         </instant_power_draw><current_power_limit>300.00 W</current_power_limit></gpu_power_readings>",
    );
    assert_eq!(new.power.map(|trend| trend.last), Reading::Known(Watts(70.1)));
    assert_eq!(new.power_limits.enforced, Reading::Known(Watts(300.0)));
    let none = card("<gpu_power_readings><average_power_draw>N/A</average_power_draw></gpu_power_readings>");
    assert_eq!(none.power, Reading::Unsupported);
}

#[test]
fn the_oldest_drivers_write_other_names_and_units() {
    let old = card(
        "<memory_usage><total>5375 MB</total><used>2594 MB</used><free>2781 MB</free></memory_usage>\
         <utilization><gpu_util>04 %</gpu_util></utilization>\
         <power_readings><power_draw>99.28 W</power_draw><power_limit>225 W</power_limit></power_readings>\
         <compute_processes><process_info><pid>31</pid><process_name>a.out</process_name>\
         <used_memory>2577 MB</used_memory></process_info></compute_processes>",
    );
    assert_eq!(old.memory.known().unwrap().total, Bytes::from_mebibytes(5375));
    assert_eq!(old.busy.known().unwrap().last, Percent(4.0));
    assert_eq!(old.power_limits.enforced, Reading::Known(Watts(225.0)));
    assert_eq!(old.known_clients()[0].kind, ClientKind::Compute);
    assert_eq!(old.unexplained, Reading::Known(Bytes::from_mebibytes(17)));
}

#[test]
fn reasons_are_bits_under_old_and_new_names() {
    for kind in ["event", "throttle"] {
        let card = card(&format!(
            "<clocks_{kind}_reasons><clocks_{kind}_reason_gpu_idle>Not Active</clocks_{kind}_reason_gpu_idle>\
             <clocks_{kind}_reason_hw_power_brake_slowdown>Active</clocks_{kind}_reason_hw_power_brake_slowdown>\
             <clocks_{kind}_reason_hw_slowdown>Active</clocks_{kind}_reason_hw_slowdown>\
             <clocks_{kind}_reason_sync_boost>N/A</clocks_{kind}_reason_sync_boost></clocks_{kind}_reasons>"
        ));
        let bits = ClockReasons::POWER_BRAKE | ClockReasons::HARDWARE_SLOWDOWN;
        assert_eq!(card.clock_reasons, Reading::Known(ClockReasons(bits)));
    }
    let all_absent = card(
        "<clocks_event_reasons><clocks_event_reason_gpu_idle>N/A</clocks_event_reason_gpu_idle></clocks_event_reasons>",
    );
    assert_eq!(all_absent.clock_reasons, Reading::Unsupported);
}

#[test]
fn processes_are_listed_with_masked_names() {
    let card = card(
        "<fb_memory_usage><total>1000 MiB</total><reserved>10 MiB</reserved><used>300 MiB</used><free>690 MiB</free>\
         </fb_memory_usage><processes>\
         <process_info><pid>7</pid><type>C</type><process_name>run --token hunter2 &amp;&#27;[1m</process_name>\
         <used_memory>200 MiB</used_memory></process_info>\
         <process_info><pid>8</pid><type>C+G</type><process_name>screen</process_name>\
         <used_memory>60 MiB</used_memory></process_info>\
         <process_info><pid>9</pid><type>M+C</type><process_name>N/A</process_name>\
         <used_memory>0 MiB</used_memory></process_info>\
         <process_info><pid>N/A</pid><used_memory>1 MiB</used_memory></process_info></processes>",
    );
    let clients = card.known_clients();
    assert_eq!(clients.len(), 3);
    assert_eq!(clients[0].name, Reading::Known("run --token *** &\\u{1b}[1m".into()));
    assert_eq!(clients[0].memory, Reading::Known(Bytes::from_mebibytes(200)));
    assert_eq!(
        [clients[0].kind, clients[1].kind, clients[2].kind],
        [ClientKind::Compute, ClientKind::Graphics, ClientKind::Mps]
    );
    assert_eq!(clients[2].name, Reading::Unsupported);
    assert_eq!(card.unexplained, Reading::Known(Bytes::from_mebibytes(40)));
}

#[test]
fn a_list_of_processes_may_be_empty_or_missing() {
    assert_eq!(card("<processes>\n</processes>").clients, Reading::Known(Vec::new()));
    assert_eq!(card("<processes />").clients, Reading::Known(Vec::new()));
    assert_eq!(card("<processes>N/A</processes>").clients, Reading::Unsupported);
    assert_eq!(
        card("<processes>Insufficient Permissions</processes>").clients,
        Reading::Denied(Access::Root)
    );
}

#[test]
fn instances_are_cards_with_a_parent() {
    let memory = |used| {
        format!(
            "<fb_memory_usage><total>100 MiB</total><reserved>0 MiB</reserved><used>{used} MiB</used>\
             <free>1 MiB</free></fb_memory_usage>"
        )
    };
    let device = |index, instance, used| {
        format!(
            "<mig_device><index>{index}</index><gpu_instance_id>{instance}</gpu_instance_id>\
             <compute_instance_id>0</compute_instance_id>{}</mig_device>",
            memory(used)
        )
    };
    let process = |pid, instance| {
        format!(
            "<process_info><gpu_instance_id>{instance}</gpu_instance_id><compute_instance_id>0</compute_instance_id>\
             <pid>{pid}</pid><type>C</type><used_memory>5 MiB</used_memory></process_info>"
        )
    };
    let elements = format!(
        "<mig_mode><current_mig>Enabled</current_mig></mig_mode><mig_devices>{}{}</mig_devices><processes>{}{}\
         </processes>",
        device(0, 3, 20),
        device(1, 4, 30),
        process(11, 3),
        process(12, 4)
    );
    let scene = read(&with_card(&elements)).unwrap();
    let seen: Vec<_> = scene
        .cards
        .iter()
        .map(|card| {
            (
                card.kind,
                card.parent,
                card.index,
                card.known_clients().iter().map(|client| client.pid.0).collect(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (CardKind::Card, None, 0, vec![11, 12]),
            (CardKind::MigInstance, Some(0), 0, vec![11]),
            (CardKind::MigInstance, Some(0), 1, vec![12]),
        ]
    );
    assert_eq!(scene.cards[2].memory.known().unwrap().used, Bytes::from_mebibytes(30));
    assert_eq!(scene.cards[0].mig_enabled, Reading::Known(true));
}

#[test]
fn some_of_the_cards_are_named_by_their_device_files() {
    let gpu = |minor: &str| format!("<gpu><minor_number>{minor}</minor_number></gpu>");
    let indices = |attached: u32, minors: &[&str]| {
        let gpus: String = minors.iter().map(|minor| gpu(minor)).collect();
        let text =
            format!("<nvidia_smi_log><attached_gpus>{attached}</attached_gpus>{gpus}</nvidia_smi_log>");
        read(&text).unwrap().cards.iter().map(|card| card.index).collect::<Vec<u32>>()
    };
    assert_eq!(indices(8, &["5", "7"]), [5, 7]);
    assert_eq!(indices(8, &["5", "N/A"]), [0, 1]);
    assert_eq!(indices(2, &["1", "0"]), [0, 1]);
}

#[test]
fn what_stands_around_the_document_is_left_out() {
    let text =
        format!("$ nvidia-smi -q -x\n{}WARNING: infoROM is corrupted at gpu 0000:65:00.0\n", with_card(""));
    assert_eq!(read(&text).unwrap().cards.len(), 1);
    assert_eq!(read(&format!("\u{feff}{}", with_card(""))).unwrap().cards.len(), 1);
}

/// A document with cards that are held by a process each.
fn of_cards(number: u32) -> String {
    let gpu = |place: u32| {
        format!(
            "<gpu id=\"00000000:{place:02x}:00.0\">\n<minor_number>{}</minor_number>\n\
             <product_name>A &amp; B</product_name>\n</gpu>\n",
            7 - place
        )
    };
    let gpus: String = (0..number).map(gpu).collect();
    format!("<nvidia_smi_log>\n<attached_gpus>{number}</attached_gpus>\n{gpus}</nvidia_smi_log>\n")
}

#[test]
fn a_cut_output_gives_its_whole_cards_and_says_so() {
    let whole = of_cards(3);
    let second_end = whole.match_indices("</gpu>").nth(1).unwrap().0 + "</gpu>".len();
    let third_end = whole.rfind("</gpu>").unwrap() + "</gpu>".len();
    for length in second_end..third_end {
        let (scene, remarks) = read_with_remarks(&whole[..length]).unwrap();
        let indices: Vec<u32> = scene.cards.iter().map(|card| card.index).collect();
        assert_eq!(indices, [0, 1], "{length}");
        let lines = whole[..length].matches('\n').count() as u64 + 1;
        assert!(
            matches!(remarks[..], [Remark::Cut { line, cards: 2 }] if (10..=lines).contains(&line)),
            "{length}: {remarks:?}"
        );
    }
    let with_prompt = format!("{}\nroot@host:~# ", &whole[..third_end - 9]);
    assert_eq!(read(&with_prompt).unwrap().cards.len(), 2);
    assert_eq!(read_with_remarks(&whole).unwrap().1, []);
}

#[test]
fn there_are_no_more_cards_than_a_machine_has() {
    let of_empty = |number| format!("<nvidia_smi_log>{}</nvidia_smi_log>", "<gpu/>".repeat(number));
    assert_eq!(read(&of_empty(256)).unwrap().cards.len(), 256);
    assert_eq!(
        read(&of_empty(257)).unwrap_err().to_string(),
        "nvidia-smi -q -x, line 1: expected at most 256 cards, found 257 with 0 instances"
    );
    let instances = format!("<mig_devices>{}</mig_devices>", "<mig_device/>".repeat(2048));
    assert!(read(&with_card(&instances)).unwrap_err().to_string().ends_with("found 1 with 2048 instances"));
}

#[test]
fn of_several_outputs_the_first_is_read() {
    let both = format!("{}$ nvidia-smi -q -x\n{}", of_cards(2), of_cards(5));
    let (scene, remarks) = read_with_remarks(&both).unwrap();
    assert_eq!((scene.cards.len(), remarks), (2, Vec::new()));
    let first = of_cards(2);
    let cut = &first[..first.rfind("<product_name>").unwrap()];
    let (scene, remarks) = read_with_remarks(&format!("{cut}\n{}", of_cards(5))).unwrap();
    assert_eq!((scene.cards.len(), remarks), (1, vec![Remark::Cut { line: 10, cards: 1 }]));
}

/// What a paste gives: the first line of each output, its last one, its cards, and what is to be said of it.
fn pieces(text: &str) -> Vec<(u64, u64, usize, Vec<Remark>)> {
    let paste = Paste::of(text);
    let mut found = Vec::new();
    let mut next = 0;
    while next < paste.lines.len() {
        let Some(block) = read_lines(&paste.lines[next..], &Context::default()) else {
            next += 1;
            continue;
        };
        let last = &paste.lines[next + block.lines - 1];
        found.push((paste.lines[next].number, last.number, block.scene.cards.len(), block.remarks));
        next += block.lines;
    }
    found
}

#[test]
fn an_output_inside_a_paste_is_cut_out() {
    let two = of_cards(2).trim_end().to_owned();
    let lines = two.matches('\n').count() as u64 + 1;
    let paste = format!("see here\n$ nvidia-smi -q -x\n{two}\n$ free\ntotal\n");
    assert_eq!(pieces(&paste), [(3, 2 + lines, 2, Vec::new())]);
    let quoted: Vec<String> = paste.lines().map(|line| format!("> {line}\n")).collect();
    let quoted = quoted.concat();
    assert_eq!(pieces(&quoted), [(3, 2 + lines, 2, Vec::new())]);
    let cut = &two[..two.rfind("<product_name>").unwrap()];
    let [(3, last, 1, remarks)] = &pieces(&format!("a\nb\n{cut}\n$ free\ntotal\n{two}"))[..1] else {
        panic!("the cut one first")
    };
    assert!(matches!(remarks[..], [Remark::Cut { line, cards: 1 }] if line <= *last), "{remarks:?}");
    let whole_is_next = pieces(&format!("{cut}\n$ again\n{two}"));
    assert_eq!(whole_is_next.iter().map(|piece| piece.2).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn cards_without_the_begin_of_the_output_are_read() {
    let whole = of_cards(3);
    let second = whole.match_indices("<gpu ").nth(1).unwrap().0;
    let third = whole.match_indices("<gpu ").nth(2).unwrap().0;
    let found = pieces(&format!("</product_name>\n</gpu>\n{}", &whole[second..]));
    assert_eq!((found.len(), found[0].2), (1, 2), "{found:?}");
    assert_eq!(found[0].3, [Remark::HasNoBegin { line: 3 }]);
    let found = pieces(&whole[third..whole.rfind("</gpu>").unwrap() + 6]);
    assert!(matches!(found[0].3[..], [Remark::HasNoBegin { .. }, Remark::Cut { cards: 1, .. }]), "{found:?}");
    // Whole cards of a broken output are not lost.
    let broken = whole.replacen("<product_name>", "<product_name><", 1);
    assert_eq!(pieces(&broken).iter().map(|piece| piece.2).sum::<usize>(), 2);
}

#[test]
fn calls_in_a_row_are_one_window() {
    let call = |second: u32, busy: u32| {
        let time = format!("<nvidia_smi_log>\n<timestamp>Mon Nov  2 08:05:{second:02} 2026</timestamp>\n");
        let used = format!("<utilization><gpu_util>{busy} %</gpu_util></utilization>\n</gpu>");
        of_cards(1).replacen("<nvidia_smi_log>", &time, 1).replacen("</gpu>", &used, 1)
    };
    let paste = format!("{}\n{}{}", call(1, 10), call(2, 20), call(6, 60));
    let lines = Paste::of(&paste).lines;
    let block = read_lines(&lines, &Context::default()).unwrap();
    assert_eq!((block.scene.window.samples, block.scene.cards.len()), (3, 1));
    assert!((block.scene.window.span_s - 5.0).abs() < 1e-9);
    assert_eq!(block.scene.cards[0].busy.known().unwrap().n, 3);
    // Without a time, or out of order, each stands for itself.
    assert_eq!(pieces(&format!("{}\n{}", call(2, 10), call(1, 20))).len(), 2);
    assert_eq!(pieces(&format!("{}\n{}", of_cards(1), of_cards(1))).len(), 2);
}

#[test]
fn cards_in_cards_take_no_time() {
    let many = "<gpu id=\"1\">\n".repeat(50_000);
    assert_eq!(pieces(&many), []);
}

#[test]
fn errors_say_what_where_and_what_was_expected() {
    let bomb = "<?xml version=\"1.0\"?>\n<!DOCTYPE nvidia_smi_log [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n\
                <nvidia_smi_log><gpu>&b;</gpu></nvidia_smi_log>";
    let deep = format!("<nvidia_smi_log>{}", "<a>".repeat(100_000));
    let foreign_entity = with_card("<uuid>&b;</uuid>");
    let swapped = with_card("<uuid>1</name>");
    let cut = with_card("");
    let cut = &cut[..cut.find("</gpu>").unwrap()];
    for (text, error) in [
        ("", "line 1: expected `<nvidia_smi_log>`, found the end of the text"),
        ("hello\nworld\n", "line 3: expected `<nvidia_smi_log>`, found the end of the text"),
        ("<html>\n</html>", "line 1: expected `<nvidia_smi_log>`, found `<html>`"),
        ("<nvidia_smi_log/>", "line 1: expected `<driver_version>` or `<gpu>`, found none in the document"),
        (cut, "line 9: expected `</gpu>`, found the end of the text"),
        (&swapped, "line 8: expected `</uuid>`, found `</name>`"),
        (&foreign_entity, "line 8: expected one of XML's own entities, found `&b;`"),
        (bomb, "line 2: expected no definitions in the document type, found some"),
        (&deep, "line 1: expected elements at most 32 deep, found deeper ones"),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), format!("nvidia-smi -q -x, {error}"));
    }
    assert!(read("<nvidia_smi_log><gpu <").unwrap_err().to_string().contains("expected well-formed XML"));
}

#[test]
fn errors_and_repairs_of_memory_are_read() {
    let card = card(
        "<ecc_errors><volatile><sram_correctable>2</sram_correctable><sram_uncorrectable_parity>0</sram_uncorrectable_parity>\
         <sram_uncorrectable_secded>1</sram_uncorrectable_secded><dram_correctable>40</dram_correctable>\
         <dram_uncorrectable>3</dram_uncorrectable></volatile></ecc_errors><remapped_rows><remapped_row_corr>1</remapped_row_corr>\
         <remapped_row_unc>2</remapped_row_unc><remapped_row_pending>Yes</remapped_row_pending>\
         <remapped_row_failure>No</remapped_row_failure></remapped_rows><retired_pages>N/A</retired_pages>\
         <temperature><memory_temp>0 C</memory_temp></temperature>",
    );
    let counts = &card.ecc.volatile;
    assert_eq!((&counts.corrected, &counts.uncorrected), (&Reading::Known(42), &Reading::Known(4)));
    assert_eq!(
        (&counts.dram_uncorrected, &counts.sram_uncorrected),
        (&Reading::Known(3), &Reading::Known(1))
    );
    let rows = card.remapped_rows.known().unwrap();
    assert_eq!((rows.corrected, rows.uncorrected, rows.pending, rows.failed), (1, 2, true, false));
    assert_eq!((rows.spare_rows, &card.retired_pages), (None, &Reading::Unsupported));
    assert_eq!(card.memory_temperature, Reading::Unsupported);
}
