use gpuwhy_model::process::Pid;
use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::ClientKind;
use gpuwhy_model::scene::Scene;
use gpuwhy_model::units::{Bytes, BytesPerSecond, Celsius, Megahertz, Percent, Share, Watts};

use super::super::{Block, Context};
use super::{read_devices, read_processes};
use crate::paste::Paste;

type Read = fn(&[crate::paste::Line<'_>], &Context<'_>) -> Option<Block>;

fn block(read: Read, text: &str, command: Option<&str>) -> Block {
    let paste = Paste::of(text);
    read(&paste.lines, &Context { command }).unwrap_or_else(|| panic!("not recognised: {text}"))
}

fn scene(read: Read, text: &str) -> Scene {
    block(read, text, None).scene
}

const DMON: &str = "\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
    0     91     44     51     12      3      0      0      0      0   1593   1410
    1     52     33      -      0      0      0      0      -      -   1593    210
    0     95     45     51     20      5      0      0      0      0   1593   1410
    1     52     33      -      0      0      0      0      -      -   1593    210
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
    0     99     46     52     28      7      0      0      0      0   1593   1395
    1     53     33      -      0      0      0      0      -      -   1593    210
";

#[test]
fn several_rows_of_a_card_are_several_looks() {
    let scene = scene(read_devices, DMON);
    assert_eq!((scene.cards.len(), scene.window.samples, scene.window.span_s), (2, 3, 2.0));
    assert_eq!(scene.provenance.inputs, ["nvidia-smi dmon"]);
    assert_eq!(scene.window.taken_at, jiff::Timestamp::UNIX_EPOCH);
    let busy = scene.cards[0].busy.known().unwrap();
    assert_eq!((busy.n, busy.mean, busy.last), (3, Percent(20.0), Percent(28.0)));
    assert_eq!(scene.cards[0].power.known().unwrap().max, Watts(99.0));
    assert_eq!(scene.cards[0].memory_temperature.known().unwrap().last, Celsius(52.0));
    assert_eq!(scene.cards[0].clocks.sm, Reading::Known(Megahertz(1395.0)));
    assert_eq!(scene.cards[1].memory_temperature, Reading::Unsupported);
    assert!(scene.cards[0].memory.is_not_in_source() && scene.cards[0].clients.is_not_in_source());
    assert!(scene.machine.driver.card_count.is_not_in_source());
}

#[test]
fn the_command_tells_how_far_looks_are_apart() {
    let block = block(read_devices, DMON, Some("nvidia-smi dmon -d 10 -c 3"));
    assert_eq!((block.lines, block.scene.window.span_s), (10, 20.0));
}

#[test]
fn other_selections_fill_other_values() {
    let text = "\
#Date       Time        gpu  pviol  tviol     fb   bar1   ccpm  sbecc  dbecc    pci  rxpci  txpci
#YYYYMMDD   HH:MM:SS    Idx      %   bool     MB     MB     MB   errs   errs   errs   MB/s   MB/s
 20260102   23:59:58      0     50      0  30000      6      0      4      1     17   1200    300
 20260103   00:00:00      0    100      1  31000      6      0      4      1     17   1300    310
";
    let scene = scene(read_devices, text);
    let card = &scene.cards[0];
    assert_eq!(scene.window.taken_at.to_string(), "2026-01-03T00:00:00Z");
    assert_eq!((scene.window.samples, scene.window.span_s), (2, 2.0));
    assert_eq!(card.violation_shares.power, Reading::Known(Share(0.75)));
    assert_eq!(card.violation_shares.thermal, Reading::Known(Share(0.5)));
    assert_eq!(card.memory_used.known().unwrap().last, Bytes(31000 << 20));
    assert!(card.memory.is_not_in_source(), "the size is in no column");
    assert_eq!(card.ecc.aggregate.corrected, Reading::Known(4));
    assert_eq!(card.ecc.aggregate.uncorrected, Reading::Known(1));
    assert_eq!(card.pcie.to_card, Reading::Known(BytesPerSecond(1.3e9)));
    assert_eq!(card.pcie.to_host, Reading::Known(BytesPerSecond(3.1e8)));
    assert!(card.busy.is_not_in_source());
}

#[test]
fn a_time_without_a_date_may_pass_midnight() {
    let text = "#Time        gpu     sm\n#HH:MM:SS    Idx      %\n 23:59:59      0     16\n 00:00:02      0     18\n";
    let scene = scene(read_devices, text);
    assert_eq!((scene.window.samples, scene.window.span_s), (2, 3.0));
    assert_eq!(scene.window.taken_at, jiff::Timestamp::UNIX_EPOCH);
}

#[test]
fn commas_are_read_too() {
    let text = "#gpu, pwr, sm\n#Idx, W, %\n0, 91, 12\n1, -, 4\n\nend";
    let block = block(read_devices, text, None);
    assert_eq!(block.lines, 4);
    assert_eq!(block.scene.cards[1].power, Reading::Unsupported);
    assert_eq!(block.scene.cards[1].busy.known().unwrap().last, Percent(4.0));
}

#[test]
fn the_last_number_of_a_text_may_be_cut() {
    let cut = &DMON[..DMON.len() - 3];
    let scene = scene(read_devices, cut);
    // The last look of card 1 has lost its clock; the one before it is whole.
    assert_eq!(scene.cards[1].clocks.sm, Reading::Known(Megahertz(210.0)));
    let only = "# gpu     sm   pclk\n    0     12    141";
    let scene = self::scene(read_devices, only);
    assert!(scene.cards[0].clocks.sm.is_not_in_source());
    assert_eq!(scene.cards[0].busy.known().unwrap().last, Percent(12.0));
}

const PMON: &str = "\
# gpu         pid   type     sm    mem    enc    dec    command
# Idx           #    C/G      %      %      %      %    name
    0       4100     C     88     40      -      -    python3
    0       4200     C      -      -      -      -    jupyter-lab one
    1          -     -      -      -      -      -    -
    0       4100     C     90     42      -      -    python3
    0       4200     C      -      -      -      -    jupyter-lab one
    1          -     -      -      -      -      -    -
";

#[test]
fn processes_and_their_work_are_read() {
    let scene = scene(read_processes, PMON);
    assert_eq!((scene.window.samples, scene.window.span_s), (2, 1.0));
    let clients = scene.cards[0].known_clients();
    assert_eq!(clients.len(), 2);
    assert_eq!((clients[0].pid, clients[0].kind), (Pid(4100), ClientKind::Compute));
    assert_eq!(clients[0].name, Reading::Known("python3".into()));
    let work = clients[0].sm.known().unwrap();
    assert_eq!((work.n, work.mean), (2, Percent(89.0)));
    // A stroke beside numbers of another process: it did not work.
    assert_eq!(clients[1].sm.known().unwrap().mean, Percent(0.0));
    assert_eq!(clients[1].name, Reading::Known("jupyter-lab one".into()));
    assert!(clients[0].memory.is_not_in_source());
    assert_eq!(scene.cards[1].clients, Reading::Known(Vec::new()));
}

#[test]
fn a_card_that_tells_no_work_leaves_it_unknown() {
    let text = "\
# gpu         pid   type     fb   ccpm    command
# Idx           #    C/G     MB     MB    name
    0       1604   C+G    157      0    Xorg
    0    3432889     C  10120      0    python
";
    let scene = scene(read_processes, text);
    let clients = scene.cards[0].known_clients();
    assert_eq!(clients[0].kind, ClientKind::Graphics);
    assert_eq!(clients[1].memory, Reading::Known(Bytes(10120 << 20)));
    assert!(clients[1].sm.is_not_in_source());
    let strokes = self::scene(
        read_processes,
        &PMON.replace("88     40", " -      -").replace("90     42", " -      -"),
    );
    assert!(strokes.cards[0].known_clients()[0].sm.is_not_in_source());
}

#[test]
fn a_process_that_ended_is_gone_from_the_newest_look() {
    let ended = format!(
        "{PMON}    0       4100     C     90     42      -      -    python3\n    1  -  -  -  -  -  -  -\n\nx"
    );
    let scene = scene(read_processes, &ended);
    assert_eq!(scene.window.samples, 3);
    assert_eq!(scene.cards[0].known_clients().len(), 1);
    // Where the text ends, the rest of the look may be missing.
    let cut = format!("{PMON}    0       4100     C     90     42      -      -    pyth");
    assert_eq!(self::scene(read_processes, &cut).cards[0].known_clients().len(), 2);
}

#[test]
fn other_texts_are_none_of_these() {
    let paste = Paste::of(
        "# a comment about gpu use\n# ID Date hostcpu\n# gpu temperature\n# gpu mem\nis full\n# gpu pid type",
    );
    for place in 0..paste.lines.len() {
        let lines = &paste.lines[place..];
        assert!(read_devices(lines, &Context::default()).is_none());
        assert!(read_processes(lines, &Context::default()).is_none());
    }
    assert!(read_devices(&Paste::of(PMON).lines, &Context::default()).is_none());
    assert!(read_processes(&Paste::of(DMON).lines, &Context::default()).is_none());
}
