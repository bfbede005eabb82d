//! Boards whose cards change, wear out or lie, seen through the library.
#![expect(unsafe_code, reason = "calls the C ABI")]

mod support;

use std::mem::zeroed;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use gpuwhy_lab::client::{Client, ClientError, Kernel, Transfers};
use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlAccountingStats_t, nvmlDevice_t, nvmlFanSpeedInfo_t, nvmlFieldValue_t,
    nvmlGpuFabricInfo_v2_t, nvmlUtilization_t,
};
use support::{TestBox, be_a_member};

const SUCCESS: u32 = 0;
const GPU_IS_LOST: u32 = 15;
const UNKNOWN: u32 = 999;
const ALL_LINKS: u32 = u32::MAX;

#[test]
#[ignore = "a member of a box, started by the other tests"]
fn member() {
    be_a_member();
}

/// An initialised library and the handle of its first card.
fn first_card(test_box: &TestBox) -> (NvmlLib, nvmlDevice_t) {
    let mut device: nvmlDevice_t = null_mut();
    // SAFETY: the library is ours, its initialisers do nothing, and the pointers are valid for the calls.
    unsafe {
        let library = NvmlLib::new(test_box.directory.library()).expect("the test installed the library");
        assert_eq!(library.nvmlInit_v2(), SUCCESS);
        assert_eq!(library.nvmlDeviceGetHandleByIndex_v2(0, &raw mut device), SUCCESS);
        (library, device)
    }
}

/// Waits until `is_so` holds.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A field value of a card.
fn field(library: &NvmlLib, device: nvmlDevice_t, id: u32, scope: u32) -> u64 {
    // SAFETY: zero is a value of every field of the structure, and the pointer is valid for the call.
    unsafe {
        let mut value: nvmlFieldValue_t = zeroed();
        (value.fieldId, value.scopeId) = (id, scope);
        assert_eq!(library.nvmlDeviceGetFieldValues(device, 1, &raw mut value), SUCCESS);
        assert_eq!(value.nvmlReturn, SUCCESS, "field {id}");
        value.value.ullVal
    }
}

#[test]
fn a_card_goes_and_comes_back_and_a_link_goes_down() {
    let test_box = TestBox::up(
        r#"
        [[card]]
        profile = "a100-sxm4-80gb"
        count = 2

        [[event]]
        at_s = 1.5
        card = 0
        set = { lost = true }

        [[event]]
        at_s = 3.0
        card = 0
        set = { lost = false, nvlink = { down = [5] } }
        "#,
    );
    let (library, device) = first_card(&test_box);
    let mut power = 0;
    let mut state = 0;
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        assert_eq!(library.nvmlDeviceGetNvLinkState(device, 5, &raw mut state), SUCCESS);
        assert_eq!(state, 1);
        wait_until("the card to go", || {
            library.nvmlDeviceGetPowerUsage(device, &raw mut power) == GPU_IS_LOST
        });
        wait_until("the card to come back", || {
            library.nvmlDeviceGetPowerUsage(device, &raw mut power) == SUCCESS
        });
        assert_eq!(library.nvmlDeviceGetNvLinkState(device, 5, &raw mut state), SUCCESS);
        assert_eq!(state, 0);
    }
}

#[test]
fn rates_make_counters_grow_until_they_stop() {
    let test_box = TestBox::up(
        r#"
        [[card]]
        profile = "h100-sxm5-80gb"
        ecc = { corrected_per_s = 400.0 }
        pcie_errors = { correctable_per_s = 200.0 }

        [[event]]
        at_s = 1.5
        set = { ecc = { corrected_per_s = 0.0 } }
        "#,
    );
    let (library, device) = first_card(&test_box);
    let errors = || field(&library, device, 3, 0);
    wait_until("errors", || errors() > 100);
    wait_until("six hundred errors", || errors() >= 600);
    let link_errors = field(&library, device, 173, 0);
    wait_until("errors of the link", || field(&library, device, 173, 0) > link_errors + 100);
    assert_eq!(errors(), 600, "the rate fell to nothing");
}

#[test]
fn failed_fans_and_a_stuck_counter_show_as_on_a_card() {
    let test_box = TestBox::up(
        "[[card]]\nprofile = \"rtx-3090\"\nfan_failed = true\nstuck_utilization = 100\n\n\
         [[card]]\nprofile = \"rtx-3090\"\nfan_failed = true\nfan_says = \"error\"\npower_readings_fail = true\n",
    );
    let (library, first) = first_card(&test_box);
    // SAFETY: the pointers are valid for the calls, and zero is a value of every field.
    unsafe {
        let mut second: nvmlDevice_t = null_mut();
        assert_eq!(library.nvmlDeviceGetHandleByIndex_v2(1, &raw mut second), SUCCESS);
        let mut value = 0;
        let mut turns: nvmlFanSpeedInfo_t = zeroed();
        turns.version = 0x0100_000C;
        assert_eq!(library.nvmlDeviceGetFanSpeed_v2(first, 1, &raw mut value), SUCCESS);
        assert!(value >= 30, "the speed that is wanted");
        assert_eq!(library.nvmlDeviceGetFanSpeedRPM(first, &raw mut turns), SUCCESS);
        assert_eq!(turns.speed, 0);
        assert_eq!(library.nvmlDeviceGetFanSpeed(second, &raw mut value), UNKNOWN);
        assert_eq!(library.nvmlDeviceGetPowerUsage(second, &raw mut value), UNKNOWN);
        let mut rates: nvmlUtilization_t = zeroed();
        wait_until("the counter that lies", || {
            library.nvmlDeviceGetUtilizationRates(first, &raw mut rates);
            rates.gpu == 100
        });
        let mut count = 0;
        assert_eq!(
            library.nvmlDeviceGetComputeRunningProcesses_v3(first, &raw mut count, null_mut()),
            SUCCESS
        );
        assert_eq!(count, 0);
    }
}

#[test]
fn an_exchange_goes_over_nvlink_where_there_is_one() {
    let test_box =
        TestBox::up("[[card]]\nprofile = \"a100-sxm4-80gb\"\ncount = 2\n\n[[card]]\nprofile = \"t4\"\n");
    let (library, device) = first_card(&test_box);
    let kernel = Kernel::of_communication(Duration::from_millis(50));
    let moved = 3 << 30;
    let transfers = Transfers { exchanged_bytes: moved, ..Transfers::default() };
    let linked = Client::attach(&test_box.directory, 0).unwrap();
    linked.run(&kernel, &transfers);
    let kib = field(&library, device, 138, ALL_LINKS);
    assert!((moved / 1024 - 1024..=moved / 1024 + 1024).contains(&kib), "{kib}");
    assert_eq!(field(&library, device, 197, 0), 0);
    let alone = Client::attach(&test_box.directory, 2).unwrap();
    // Sixteen lanes of the third generation carry about 13 GB/s.
    let took = alone.run(&kernel, &transfers);
    assert!((200..2000).contains(&took.as_millis()), "{took:?}");
}

#[test]
fn without_the_fabric_manager_cuda_does_not_start() {
    let board = "[[card]]\nprofile = \"h100-sxm5-80gb\"\ncount = 8\n\n[fabric]\nmanager = \"stopped\"\n";
    let test_box = TestBox::up(board);
    assert!(matches!(Client::attach(&test_box.directory, 0), Err(ClientError::SystemNotReady)));
    let (library, device) = first_card(&test_box);
    // SAFETY: the pointers are valid for the calls, and zero is a value of every field.
    unsafe {
        let mut info: nvmlGpuFabricInfo_v2_t = zeroed();
        info.version = 0x0200_0024;
        let place = (&raw mut info).cast();
        assert_eq!(library.nvmlDeviceGetGpuFabricInfoV(device, place), SUCCESS);
        assert_eq!((info.state, info.healthMask), (1, 0));
        let (mut kind, mut state) = (9, 0);
        assert_eq!(library.nvmlDeviceGetNvLinkState(device, 17, &raw mut state), SUCCESS);
        assert_eq!(library.nvmlDeviceGetNvLinkRemoteDeviceType(device, 17, &raw mut kind), SUCCESS);
        assert_eq!((state, kind), (1, 2));
    }
}

#[test]
fn clients_of_instances_hold_and_work_apart() {
    let test_box = TestBox::up(
        "[[card]]\nprofile = \"h100-sxm5-80gb\"\n\
         mig = { enabled = true, instances = [\"3g.40gb\", \"1g.10gb\"] }\n\n\
         [[card]]\nprofile = \"h100-sxm5-80gb\"\nmig = { enabled = true }\n",
    );
    let small = Client::attach_to_instance(&test_box.directory, 0, 1).unwrap();
    let large = Client::attach(&test_box.directory, 0).unwrap();
    assert!(large.free_on_card() > 3 * small.free_on_card());
    assert!(matches!(small.allocate(20 << 30), Err(ClientError::OutOfMemory { .. })));
    assert!(large.allocate(20 << 30).is_ok());
    assert!(matches!(
        Client::attach_to_instance(&test_box.directory, 0, 2),
        Err(ClientError::NoInstance { card: 0, instance: 2 })
    ));
    assert!(matches!(Client::attach(&test_box.directory, 1), Err(ClientError::NoInstance { .. })));
}

#[test]
fn accounting_remembers_who_has_gone() {
    let test_box = TestBox::up("[driver]\naccounting = true\n[[card]]\nprofile = \"t4\"\n");
    let (library, device) = first_card(&test_box);
    let busy = test_box.member(0, 100 << 20, true);
    let pid = busy.pid();
    // SAFETY: zero is a value of every field of the structure, and the pointer is valid for the call.
    let stats = || unsafe {
        let mut stats: nvmlAccountingStats_t = zeroed();
        let code = library.nvmlDeviceGetAccountingStats(device, pid, &raw mut stats);
        (code, stats)
    };
    wait_until("some work", || stats().1.gpuUtilization > 20);
    assert_eq!((stats().0, stats().1.isRunning, stats().1.time), (SUCCESS, 1, 0));
    drop(busy);
    wait_until("the end of the process", || stats().1.isRunning == 0);
    let (code, after) = stats();
    assert_eq!((code, after.maxMemoryUsage), (SUCCESS, (100 + 255) << 20));
    assert!(after.time > 0 && after.gpuUtilization > 20);
}
