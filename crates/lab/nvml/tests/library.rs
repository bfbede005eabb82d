//! The library of a box, called as a program calls it.
#![expect(unsafe_code, reason = "calls the C ABI")]

mod support;

use std::ffi::CStr;
use std::mem::zeroed;
use std::process::Command;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use gpuwhy_lab::client::{Client, ClientError, Kernel};
use nvml_wrapper_sys::bindings::{
    NvmlLib, nvmlDevice_t, nvmlFieldValue_t, nvmlMemory_v2_t, nvmlProcessDetailList_v1_t,
    nvmlProcessInfo_v1_t, nvmlProcessInfo_v2_t, nvmlProcessUtilizationSample_t, nvmlReturn_t, nvmlSample_t,
    nvmlUtilization_t, nvmlViolationTime_t,
};
use support::{TestBox, be_a_member};

const SUCCESS: nvmlReturn_t = 0;
const UNINITIALIZED: nvmlReturn_t = 1;
const INVALID_ARGUMENT: nvmlReturn_t = 2;
const NOT_SUPPORTED: nvmlReturn_t = 3;
const NOT_FOUND: nvmlReturn_t = 6;
const INSUFFICIENT_SIZE: nvmlReturn_t = 7;
const DRIVER_NOT_LOADED: nvmlReturn_t = 9;
const GPU_IS_LOST: nvmlReturn_t = 15;
const ARGUMENT_VERSION_MISMATCH: nvmlReturn_t = 25;

const MIB: u64 = 1 << 20;
const ONE_A100: &str = "[[card]]\nprofile = \"a100-sxm4-80gb\"\n";

#[test]
#[ignore = "a member of a box, started by the other tests"]
fn member() {
    be_a_member();
}

/// Loads the library of a box.
fn load(test_box: &TestBox) -> NvmlLib {
    // SAFETY: the library is ours, and its initialisers do nothing.
    unsafe { NvmlLib::new(test_box.directory.library()) }.expect("the test installed the library")
}

/// Waits until `is_so` holds.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "waited ten seconds for: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// An initialised library and the handle of its first card.
fn first_card(test_box: &TestBox) -> (NvmlLib, nvmlDevice_t) {
    let library = load(test_box);
    let mut device: nvmlDevice_t = null_mut();
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        assert_eq!(library.nvmlInit_v2(), SUCCESS);
        assert_eq!(library.nvmlDeviceGetHandleByIndex_v2(0, &raw mut device), SUCCESS);
    }
    (library, device)
}

#[test]
fn calls_before_initialisation_and_with_foreign_handles_are_refused() {
    let test_box = TestBox::up(ONE_A100);
    let library = load(&test_box);
    let mut count = 0;
    // SAFETY: the pointers are valid for the calls; a foreign handle is never dereferenced.
    unsafe {
        assert_eq!(library.nvmlDeviceGetCount_v2(&raw mut count), UNINITIALIZED);
        assert_eq!(library.nvmlInitWithFlags(0), SUCCESS);
        assert_eq!(library.nvmlDeviceGetCount_v2(&raw mut count), SUCCESS);
        assert_eq!(count, 1);
        let foreign: nvmlDevice_t = (&raw mut count).cast();
        assert_eq!(library.nvmlDeviceGetIndex(foreign, &raw mut count), INVALID_ARGUMENT);
        assert_eq!(library.nvmlDeviceGetCount_v2(null_mut()), INVALID_ARGUMENT);
        assert_eq!(library.nvmlShutdown(), SUCCESS);
        assert_eq!(library.nvmlShutdown(), UNINITIALIZED);
    }
}

#[test]
fn process_lists_tell_their_length_before_they_are_read() {
    let test_box = TestBox::up(ONE_A100);
    let (library, device) = first_card(&test_box);
    let mut count = 0;
    // SAFETY: every array has at least as many rows as the count says, and zero is a value of every field.
    unsafe {
        let mut long: [nvmlProcessInfo_v2_t; 4] = zeroed();
        let mut short: [nvmlProcessInfo_v1_t; 4] = zeroed();
        let list =
            |count: &mut u32, rows| library.nvmlDeviceGetComputeRunningProcesses_v3(device, count, rows);
        assert_eq!(list(&mut count, null_mut()), SUCCESS);
        assert_eq!(count, 0);

        let holder = test_box.member(0, 100 * MIB, false);
        let other = test_box.member(0, 200 * MIB, false);
        assert_eq!(list(&mut count, null_mut()), INSUFFICIENT_SIZE);
        assert_eq!(count, 2);
        count = 1;
        assert_eq!(list(&mut count, long.as_mut_ptr()), INSUFFICIENT_SIZE);
        assert_eq!(count, 2);
        count = 4;
        assert_eq!(list(&mut count, long.as_mut_ptr()), SUCCESS);
        assert_eq!(count, 2);
        assert_eq!([long[0].pid, long[1].pid], [holder.pid(), other.pid()]);
        assert_eq!(long[1].usedGpuMemory, (425 + 200) * MIB);
        assert_eq!([long[0].gpuInstanceId, long[0].computeInstanceId], [u32::MAX, u32::MAX]);

        count = 4;
        assert_eq!(
            library.nvmlDeviceGetComputeRunningProcesses(device, &raw mut count, short.as_mut_ptr().cast()),
            SUCCESS
        );
        assert_eq!([short[0].pid, short[1].pid], [holder.pid(), other.pid()]);

        count = 4;
        assert_eq!(
            library.nvmlDeviceGetGraphicsRunningProcesses_v3(device, &raw mut count, long.as_mut_ptr()),
            SUCCESS
        );
        assert_eq!(count, 0);

        drop(holder);
        wait_until("the dead client's row to go", || {
            let mut count = 4;
            let mut rows: [nvmlProcessInfo_v2_t; 4] = zeroed();
            list(&mut count, rows.as_mut_ptr()) == SUCCESS && count == 1 && rows[0].pid == other.pid()
        });
    }
}

#[test]
fn rows_have_the_size_that_the_board_says() {
    for (bytes, words) in [(16, 2), (24, 3), (32, 4)] {
        let board =
            format!("[driver]\nprocess_row_bytes = {bytes}\nknows_process_memory = false\n{ONE_A100}");
        let test_box = TestBox::up(&board);
        let (library, device) = first_card(&test_box);
        let one = test_box.member(0, MIB, false);
        let two = test_box.member(0, MIB, false);
        let mut rows = [0x5555_5555_5555_5555_u64; 8];
        let mut count = 2;
        // SAFETY: eight words are room for two rows of any size.
        let code = unsafe {
            library.nvmlDeviceGetComputeRunningProcesses_v3(device, &raw mut count, rows.as_mut_ptr().cast())
        };
        assert_eq!((code, count), (SUCCESS, 2));
        assert_eq!([rows[0], rows[words]], [u64::from(one.pid()), u64::from(two.pid())], "{bytes} bytes");
        assert_eq!([rows[1], rows[words + 1]], [u64::MAX, u64::MAX], "memory is not available");
        assert!(rows[2 * words..].iter().all(|word| *word == 0x5555_5555_5555_5555), "{bytes} bytes");
    }
}

#[test]
fn wrong_version_words_are_refused() {
    let test_box = TestBox::up(ONE_A100);
    let (library, device) = first_card(&test_box);
    // SAFETY: the structures are valid and zero is a value of each field.
    unsafe {
        let mut memory: nvmlMemory_v2_t = zeroed();
        assert_eq!(library.nvmlDeviceGetMemoryInfo_v2(device, &raw mut memory), ARGUMENT_VERSION_MISMATCH);
        memory.version = 0x0200_0028;
        assert_eq!(library.nvmlDeviceGetMemoryInfo_v2(device, &raw mut memory), SUCCESS);
        assert_eq!(memory.total, 81920 * MIB);
        assert_eq!(memory.reserved + memory.used + memory.free, memory.total);
        let mut list: nvmlProcessDetailList_v1_t = zeroed();
        assert_eq!(
            library.nvmlDeviceGetRunningProcessDetailList(device, &raw mut list),
            ARGUMENT_VERSION_MISMATCH
        );
    }
}

#[test]
fn process_samples_are_there_only_for_work_that_is_newer() {
    let test_box = TestBox::up(ONE_A100);
    let (library, device) = first_card(&test_box);
    let idle = test_box.member(0, MIB, false);
    // SAFETY: the array has as many samples as the count says.
    unsafe {
        let mut count = 0;
        let samples =
            |count: &mut u32, rows, last| library.nvmlDeviceGetProcessUtilization(device, rows, count, last);
        assert_eq!(samples(&mut count, null_mut(), 0), NOT_FOUND);

        let busy = test_box.member(0, MIB, true);
        wait_until("a sample of the busy process", || samples(&mut 0, null_mut(), 0) == INSUFFICIENT_SIZE);
        let mut rows: [nvmlProcessUtilizationSample_t; 4] = zeroed();
        wait_until("a busy second", || {
            count = 4;
            samples(&mut count, rows.as_mut_ptr(), 0) == SUCCESS && rows[0].smUtil >= 80
        });
        assert_eq!((count, rows[0].pid), (1, busy.pid()));
        assert_ne!(rows[0].pid, idle.pid());
        count = 4;
        assert_eq!(samples(&mut count, rows.as_mut_ptr(), rows[0].timeStamp + 60_000_000), NOT_FOUND);
    }
}

#[test]
fn a_busy_card_draws_its_limit_and_its_counters_only_grow() {
    let test_box = TestBox::up(ONE_A100);
    let (library, device) = first_card(&test_box);
    let _busy = test_box.member(0, MIB, true);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        let mut utilization: nvmlUtilization_t = zeroed();
        let mut power = 0;
        wait_until("full utilization at the power limit", || {
            library.nvmlDeviceGetUtilizationRates(device, &raw mut utilization);
            library.nvmlDeviceGetPowerUsage(device, &raw mut power);
            utilization.gpu >= 90 && (340_000..=405_000).contains(&power)
        });
        let mut reasons = 0;
        wait_until("the power cap to act", || {
            library.nvmlDeviceGetCurrentClocksEventReasons(device, &raw mut reasons);
            reasons & 0x4 != 0
        });

        let mut energy = [0; 2];
        let mut violation: [nvmlViolationTime_t; 2] = zeroed();
        let mut fields: [nvmlFieldValue_t; 2] = zeroed();
        library.nvmlDeviceGetTotalEnergyConsumption(device, &raw mut energy[0]);
        library.nvmlDeviceGetViolationStatus(device, 0, &raw mut violation[0]);
        fields[0].fieldId = 74;
        fields[1].fieldId = 270;
        library.nvmlDeviceGetFieldValues(device, 2, fields.as_mut_ptr());
        assert_eq!([fields[0].nvmlReturn, fields[1].nvmlReturn], [SUCCESS, SUCCESS]);
        let capped_before = fields[0].value.ullVal;
        assert_eq!(fields[1].value.ullVal, 0);
        wait_until("energy and capped time to grow", || {
            library.nvmlDeviceGetTotalEnergyConsumption(device, &raw mut energy[1]);
            library.nvmlDeviceGetViolationStatus(device, 0, &raw mut violation[1]);
            library.nvmlDeviceGetFieldValues(device, 1, fields.as_mut_ptr());
            energy[1] > energy[0] + 10_000
                && violation[1].violationTime > violation[0].violationTime
                && fields[0].value.ullVal > capped_before
        });

        let mut value_type = 0;
        let mut count = 0;
        assert_eq!(
            library.nvmlDeviceGetSamples(device, 1, 0, &raw mut value_type, &raw mut count, null_mut()),
            SUCCESS
        );
        let mut samples: Vec<nvmlSample_t> = vec![zeroed(); count as usize];
        assert_eq!(
            library.nvmlDeviceGetSamples(
                device,
                1,
                0,
                &raw mut value_type,
                &raw mut count,
                samples.as_mut_ptr()
            ),
            SUCCESS
        );
        samples.truncate(count as usize);
        assert!(samples.is_sorted_by(|one, next| one.timeStamp < next.timeStamp));
        let last = samples.last().unwrap().timeStamp;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert!(now.as_micros() - u128::from(last) < 5_000_000, "stamps are host time in microseconds");
    }
}

#[test]
fn a_lost_card_no_longer_answers_but_keeps_its_name() {
    let test_box = TestBox::up(
        "[[card]]\nprofile = \"t4\"\nlost_after_s = 3.0\n\n[[card]]\nprofile = \"t4\"\nlost_after_s = 0.0\n",
    );
    let (library, device) = first_card(&test_box);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        let mut lost: nvmlDevice_t = null_mut();
        assert_eq!(library.nvmlDeviceGetHandleByIndex_v2(1, &raw mut lost), GPU_IS_LOST);
        let mut power = 0;
        wait_until("the card to be lost", || {
            library.nvmlDeviceGetPowerUsage(device, &raw mut power) == GPU_IS_LOST
        });
        let mut name = [0; 96];
        assert_eq!(library.nvmlDeviceGetName(device, name.as_mut_ptr(), 96), SUCCESS);
        assert_eq!(CStr::from_ptr(name.as_ptr()), c"Tesla T4");
        assert_eq!(library.nvmlDeviceGetName(device, name.as_mut_ptr(), 8), INSUFFICIENT_SIZE);
        let mut count = 0;
        assert_eq!(library.nvmlDeviceGetCount_v2(&raw mut count), SUCCESS);
        assert_eq!(count, 2);
    }
    assert!(matches!(Client::attach(&test_box.directory, 0), Err(ClientError::NoCard { card: 0 })));
}

#[test]
fn faults_hit_the_call_and_the_card_that_the_board_names() {
    let test_box = TestBox::up(
        r#"
        [[card]]
        profile = "t4"
        count = 2

        [[fault]]
        function = "nvmlDeviceGetPowerUsage"
        card = 1
        code = 999
        after_calls = 2

        [[fault]]
        function = "nvmlDeviceGetTemperature"
        latency_ms = 60
        "#,
    );
    let (library, first) = first_card(&test_box);
    let mut value = 0;
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        let mut second: nvmlDevice_t = null_mut();
        assert_eq!(library.nvmlDeviceGetHandleByIndex_v2(1, &raw mut second), SUCCESS);
        for expected in [SUCCESS, SUCCESS, 999, 999] {
            assert_eq!(library.nvmlDeviceGetPowerUsage(second, &raw mut value), expected);
            assert_eq!(library.nvmlDeviceGetPowerUsage(first, &raw mut value), SUCCESS);
        }
        let started = Instant::now();
        assert_eq!(library.nvmlDeviceGetTemperature(first, 0, &raw mut value), SUCCESS);
        assert!(started.elapsed() >= Duration::from_millis(60));
    }
}

#[test]
fn a_call_that_hangs_does_not_block_other_calls() {
    let test_box = TestBox::up(
        "[[card]]\nprofile = \"t4\"\n\n[[fault]]\nfunction = \"nvmlDeviceGetFanSpeed\"\nhang = \"sleep\"\n",
    );
    let (library, device) = first_card(&test_box);
    let mut value = 0;
    let address = device as usize;
    let library = std::sync::Arc::new(library);
    let hanging = std::sync::Arc::clone(&library);
    // SAFETY: the pointers are valid for the calls.
    let hung = std::thread::spawn(move || unsafe {
        let mut speed = 0;
        hanging.nvmlDeviceGetFanSpeed(address as nvmlDevice_t, &raw mut speed)
    });
    let until = Instant::now() + Duration::from_millis(200);
    while Instant::now() < until {
        // SAFETY: the pointer is valid for the call.
        assert_eq!(unsafe { library.nvmlDeviceGetPowerUsage(device, &raw mut value) }, SUCCESS);
    }
    assert!(!hung.is_finished());
}

#[test]
fn a_driver_that_is_not_loaded_and_one_that_refuses_say_so() {
    let unloaded = TestBox::up(&format!("[driver]\nloaded = false\n{ONE_A100}"));
    // SAFETY: no pointers are passed.
    assert_eq!(unsafe { load(&unloaded).nvmlInit_v2() }, DRIVER_NOT_LOADED);
    let refused =
        TestBox::up(&format!("{ONE_A100}\n[[fault]]\nfunction = \"nvmlInit\"\ncode = 18\nafter_calls = 1\n"));
    let library = load(&refused);
    // SAFETY: no pointers are passed.
    unsafe {
        assert_eq!(library.nvmlInitWithFlags(0), SUCCESS);
        assert_eq!(library.nvmlShutdown(), SUCCESS);
        assert_eq!(library.nvmlInit_v2(), 18, "calls are counted for as long as the process lives");
        assert_eq!(CStr::from_ptr(library.nvmlErrorString(18)), c"Driver/library version mismatch");
    }
}

#[test]
fn omitted_functions_are_not_found_and_missing_cards_are_not_counted() {
    let test_box = TestBox::up(
        r#"
        [driver]
        omitted_symbols = ["nvmlDeviceGetComputeRunningProcesses_v3"]

        [[card]]
        profile = "t4"
        missing = true

        [[card]]
        profile = "rtx-3090"
        "#,
    );
    let (library, device) = first_card(&test_box);
    // SAFETY: the pointers are valid for the calls.
    unsafe {
        let loaded = libloading::Library::new(test_box.directory.library()).unwrap();
        assert!(loaded.get::<unsafe extern "C" fn()>(b"nvmlDeviceGetComputeRunningProcesses_v3\0").is_err());
        assert!(loaded.get::<unsafe extern "C" fn()>(b"nvmlDeviceGetComputeRunningProcesses_v2\0").is_ok());
        let (mut index, mut minor, mut ecc) = (9, 9, 9);
        assert_eq!(library.nvmlDeviceGetIndex(device, &raw mut index), SUCCESS);
        assert_eq!(library.nvmlDeviceGetMinorNumber(device, &raw mut minor), SUCCESS);
        assert_eq!((index, minor), (0, 1));
        assert_eq!(library.nvmlDeviceGetEccMode(device, &raw mut index, &raw mut ecc), NOT_SUPPORTED);
    }
}

#[test]
fn the_library_finds_its_box_with_a_cleared_environment() {
    let test_box = TestBox::up(ONE_A100);
    let program = "import ctypes, sys\n\
        library = ctypes.CDLL(sys.argv[1])\n\
        version = ctypes.create_string_buffer(80)\n\
        print(library.nvmlInit_v2(), library.nvmlSystemGetDriverVersion(version, 80), version.value.decode())";
    let output = Command::new("python3")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/")
        .args(["-c", program])
        .arg(test_box.directory.library())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0 0 580.95.05");
}

#[test]
fn memory_runs_out_and_comes_back() {
    let test_box = TestBox::up("[[card]]\nprofile = \"t4\"\n");
    let client = Client::attach(&test_box.directory, 0).unwrap();
    let free = (15360 - 445 - 255) * MIB;
    assert_eq!(client.held(), 255 * MIB);
    client.allocate(free - MIB).unwrap();
    let refused = client.allocate(2 * MIB);
    assert!(
        matches!(refused, Err(ClientError::OutOfMemory { asked, free }) if asked == 2 * MIB && free == MIB)
    );
    client.free(u64::MAX);
    assert_eq!(client.held(), 255 * MIB);
    client.allocate(free).unwrap();
    assert!(matches!(Client::attach(&test_box.directory, 0), Err(ClientError::OutOfMemory { .. })));
}

#[test]
fn what_a_dead_client_held_stays_where_the_board_says_so() {
    let test_box = TestBox::up("[[card]]\nprofile = \"t4\"\nkeeps_memory_after_death = true\n");
    let (library, device) = first_card(&test_box);
    let dead = {
        let member = test_box.member(0, 4096 * MIB, false);
        member.pid()
    };
    // SAFETY: the array has as many rows as the count says.
    unsafe {
        let mut count = 2;
        let mut rows: [nvmlProcessInfo_v2_t; 2] = zeroed();
        assert_eq!(
            library.nvmlDeviceGetComputeRunningProcesses_v3(device, &raw mut count, rows.as_mut_ptr()),
            SUCCESS
        );
        assert_eq!((count, rows[0].pid, rows[0].usedGpuMemory), (1, dead, (4096 + 255) * MIB));
    }
}

#[test]
fn two_clients_share_the_time_of_a_card() {
    let test_box = TestBox::up(ONE_A100);
    let alone = Client::attach(&test_box.directory, 0).unwrap();
    let kernel = Kernel::of_communication(Duration::from_millis(100));
    let by_itself = alone.run_kernel(&kernel);
    assert!((100..170).contains(&by_itself.as_millis()), "{by_itself:?}");
    let _other = test_box.member(0, MIB, true);
    let shared = alone.run_kernel(&kernel);
    assert!(shared.as_millis() >= 170, "{shared:?}");
    let copied = alone.copy(1 << 30, true);
    // 16 lanes of generation 4 carry about 27 GB/s.
    assert!((35..100).contains(&copied.as_millis()), "{copied:?}");
}
