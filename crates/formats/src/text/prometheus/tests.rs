//! Metrics of several exporters, with values read by eye.
#![expect(clippy::float_cmp, reason = "whole numbers, and figures as they were written, are kept exactly")]

use gpuwhy_model::reading::Reading;
use gpuwhy_model::sample::{CardKind, InterfaceKind};
use gpuwhy_model::scene::Scene;
use gpuwhy_model::units::{Bytes, Seconds, Share};

use crate::Format;
use crate::text::understand;

fn scene(text: &str) -> Scene {
    let understood = understand(text);
    let formats: Vec<Format> = understood.pieces.iter().map(|piece| piece.format).collect();
    assert_eq!(formats, [Format::Prometheus], "{:?}", understood.unknown_lines);
    understood.pieces.into_iter().next().unwrap().scene
}

/// Two cards of one machine, ten seconds apart.
const CARDS: &str = r#"$ while true; do curl -s localhost:9400/metrics; sleep 10; done
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-aa",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n7",pod="train-0",namespace="ml",container="main"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-bb",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="n7"} 0
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-aa",Hostname="n7"} 1000000
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-aa",Hostname="n7"} 61000
DCGM_FI_DEV_FB_FREE{gpu="0",UUID="GPU-aa",Hostname="n7"} 20000
DCGM_FI_DEV_FB_RESERVED{gpu="0",UUID="GPU-aa",Hostname="n7"} 559
DCGM_FI_DEV_MEMORY_TEMP{gpu="1",UUID="GPU-bb",Hostname="n7"} 0
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-aa",Hostname="n7"} 0.81
DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-aa",Hostname="n7"} 31
DCGM_FI_DEV_XID_ERRORS{gpu="1",UUID="GPU-bb",Hostname="n7",err_code="79"} 79
DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0",UUID="GPU-aa",Hostname="n7"} 4
# HELP DCGM_FI_DEV_POWER_VIOLATION Throttling duration due to power constraints (in us).
DCGM_FI_DEV_POWER_VIOLATION{gpu="0",UUID="GPU-aa",Hostname="n7"} 0
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-aa",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n7",pod="train-0",namespace="ml",container="main"} 95
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-bb",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="n7"} 0
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-aa",Hostname="n7"} 7500000
DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-aa",Hostname="n7"} 31
DCGM_FI_DEV_XID_ERRORS{gpu="1",UUID="GPU-bb",Hostname="n7",err_code="79"} 79
DCGM_FI_DEV_POWER_VIOLATION{gpu="0",UUID="GPU-aa",Hostname="n7"} 5000000
"#;

#[test]
fn cards_of_two_answers_become_rates() {
    let scene = scene(CARDS);
    assert_eq!(scene.cards.len(), 2);
    assert_eq!((scene.window.samples, scene.window.span_s), (2, 10.0));
    assert_eq!(scene.machine.hostname, Reading::Known("n7".to_owned()));
    let card = &scene.cards[0];
    assert_eq!((card.index, card.uuid.known().map(String::as_str)), (0, Some("GPU-aa")));
    let busy = card.busy.known().unwrap();
    assert_eq!((busy.last.0, busy.mean.0, busy.n), (95.0, 96.0, 2));
    assert_eq!(card.mean_power_by_energy.known().unwrap().0, 650.0);
    let memory = card.memory.known().unwrap();
    assert_eq!((memory.total, memory.used), (Bytes::from_mebibytes(81_559), Bytes::from_mebibytes(61_000)));
    assert_eq!(card.activity.sm_active.known().unwrap().last.0, 81.0);
    assert_eq!(card.violation_shares.power, Reading::Known(Share(0.5)));
    let owner = card.given_to.known().unwrap();
    assert_eq!((owner.pod.as_deref(), owner.container.as_deref()), (Some("ml/train-0"), Some("main")));
    assert!(!scene.cards[1].given_to.is_known());
    assert_eq!(
        scene.cards[1].memory_temperature.absence(),
        Some(gpuwhy_model::reading::Absence::Unsupported)
    );
    // An old error of a program is not news; one of the hardware is not forgotten.
    let errors: Vec<(u32, u32)> = scene
        .machine
        .driver
        .xid_events
        .known()
        .unwrap()
        .iter()
        .map(|event| (event.card, event.number))
        .collect();
    assert_eq!(errors, [(1, 79)]);
}

#[test]
fn instances_have_their_card() {
    let scene = scene(
        r#"DCGM_FI_DEV_POWER_USAGE{gpu="2",UUID="GPU-cc",modelName="NVIDIA A100-SXM4-40GB",GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",Hostname="nvidia-dcgm-exporter-x"} 112.25
DCGM_FI_DEV_POWER_USAGE{gpu="2",UUID="GPU-cc",modelName="NVIDIA A100-SXM4-40GB",GPU_I_PROFILE="2g.10gb",GPU_I_ID="5",Hostname="nvidia-dcgm-exporter-x"} 112.25
DCGM_FI_DEV_FB_USED{gpu="2",UUID="GPU-cc",GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",Hostname="nvidia-dcgm-exporter-x",pod="p",namespace=""} 4384
DCGM_FI_DEV_FB_FREE{gpu="2",UUID="GPU-cc",GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",Hostname="nvidia-dcgm-exporter-x"} 480
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="2",UUID="GPU-cc",GPU_I_PROFILE="1g.5gb",GPU_I_ID="7",Hostname="nvidia-dcgm-exporter-x"} 0.25
"#,
    );
    let kinds: Vec<(CardKind, u32, Option<u32>)> =
        scene.cards.iter().map(|card| (card.kind, card.index, card.parent)).collect();
    let instance = |index| (CardKind::MigInstance, index, Some(2));
    assert_eq!(kinds, [(CardKind::Card, 2, None), instance(5), instance(7)]);
    assert_eq!(scene.cards[0].power.known().unwrap().last.0, 112.25);
    assert!(!scene.cards[0].memory.is_known() && !scene.cards[1].memory.is_known());
    assert_eq!(scene.cards[2].memory.known().unwrap().used, Bytes::from_mebibytes(4384));
    assert_eq!(scene.cards[2].busy.known().unwrap().last.0, 25.0);
    assert_eq!(scene.cards[2].name, Reading::Known("MIG 1g.5gb".to_owned()));
    assert_eq!(scene.cards[0].mig_enabled, Reading::Known(true));
    assert!(!scene.machine.hostname.is_known());
}

#[test]
fn cards_of_other_exporters_are_read() {
    let scene = scene(
        r#"# HELP nvidia_smi_gpu_info A metric with a constant '1' value
nvidia_smi_gpu_info{driver_version="550.54.14",name="NVIDIA L4",uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 1
nvidia_smi_index{uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 3
nvidia_smi_utilization_gpu_ratio{uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 0.42
nvidia_smi_memory_total_bytes{uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 2.4152899584e+10
nvidia_smi_memory_used_bytes{uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 1.073741824e+09
nvidia_smi_clocks_current_sm_clock_hz{uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 2.04e+09
nvidia_smi_clocks_event_reasons_hw_slowdown{uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 1
nvidia_smi_clocks_event_reasons_gpu_idle{uuid="0ae43a0d-4e1b-4d9b-8f9e-111111111111"} 0
"#,
    );
    let card = &scene.cards[0];
    assert_eq!((card.index, card.name.known().map(String::as_str)), (3, Some("NVIDIA L4")));
    assert_eq!(card.uuid, Reading::Known("GPU-0ae43a0d-4e1b-4d9b-8f9e-111111111111".to_owned()));
    assert_eq!(card.busy.known().unwrap().last.0, 42.0);
    assert_eq!(card.memory.known().unwrap().used, Bytes::from_mebibytes(1024));
    assert_eq!(card.clocks.sm.known().unwrap().0, 2040.0);
    assert_eq!(card.clock_reasons.known().unwrap().0, 8);
    assert_eq!(scene.machine.driver.version, Reading::Known("550.54.14".to_owned()));
}

#[test]
fn a_machine_is_read_and_its_counters_differenced() {
    let answer = |time: u32, idle: f64, waited: f64, read: f64| {
        format!(
            "node_time_seconds {time}\n\
             node_uname_info{{nodename=\"n7\",release=\"5.15.0\",sysname=\"Linux\"}} 1\n\
             node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} 100\n\
             node_cpu_seconds_total{{cpu=\"0\",mode=\"system\"}} 20\n\
             node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {idle}\n\
             node_cpu_seconds_total{{cpu=\"1\",mode=\"user\"}} {idle}\n\
             node_memory_MemTotal_bytes 6.7e+10\nnode_memory_MemAvailable_bytes 3e+10\n\
             node_memory_SwapTotal_bytes 0\nnode_memory_SwapFree_bytes 0\n\
             node_pressure_io_waiting_seconds_total {waited}\nnode_pressure_io_stalled_seconds_total 1\n\
             node_disk_read_bytes_total{{device=\"nvme0n1\"}} {read}\nnode_disk_written_bytes_total{{device=\"nvme0n1\"}} 0\n\
             node_disk_io_time_seconds_total{{device=\"nvme0n1\"}} {waited}\n\
             node_disk_io_time_weighted_seconds_total{{device=\"nvme0n1\"}} {waited}\n\
             node_network_receive_bytes_total{{device=\"eth0\"}} {read}\nnode_network_speed_bytes{{device=\"eth0\"}} 1.25e+09\n\
             node_network_receive_bytes_total{{device=\"lo\"}} 5\n\
             node_filesystem_size_bytes{{device=\"tmpfs\",fstype=\"tmpfs\",mountpoint=\"/dev/shm\"}} 6.7108864e+07\n\
             node_filesystem_avail_bytes{{device=\"tmpfs\",fstype=\"tmpfs\",mountpoint=\"/dev/shm\"}} 1.048576e+06\n"
        )
    };
    let text = answer(1_700_000_000, 50.0, 5.0, 1e9) + &answer(1_700_000_020, 65.0, 15.0, 3e9);
    let scene = scene(&text);
    assert_eq!((scene.window.samples, scene.window.span_s), (2, 20.0));
    assert_eq!(scene.host.cpus, Reading::Known(2));
    assert_eq!(scene.host.cores_used.known().unwrap().0, 0.75);
    assert_eq!(scene.host.memory.known().unwrap().available, 30_000_000_000);
    assert_eq!(scene.host.pressure.io_some, Reading::Known(Share(0.5)));
    assert_eq!(scene.host.disks.known().unwrap()[0].read.known().unwrap().0, 1e8);
    let links = scene.network.known().unwrap();
    assert_eq!((links[0].name.as_str(), links[0].received.known().unwrap().0), ("eth0", 1e8));
    assert_eq!(links[1].kind, InterfaceKind::Virtual);
    assert_eq!(scene.host.shared_memory.known().unwrap().available, 1 << 20);
    assert_eq!(scene.mounts.known().unwrap()[0].target, "/dev/shm");
    assert_eq!(scene.machine.kernel, Reading::Known("5.15.0".to_owned()));
    assert!(scene.cards.is_empty());
}

#[test]
fn vllm_of_both_generations_is_read() {
    let old = scene(
        r#"# HELP vllm:num_requests_running Number of requests currently running on GPU.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="m/x"} 12.0
vllm:num_requests_swapped{model_name="m/x"} 3.0
vllm:num_requests_waiting{model_name="m/x"} 41.0
vllm:gpu_cache_usage_perc{model_name="m/x"} 0.97
vllm:cpu_cache_usage_perc{model_name="m/x"} 0.2
vllm:num_preemptions_total{model_name="m/x"} 88.0
vllm:time_to_first_token_seconds_bucket{le="0.5",model_name="m/x"} 10.0
vllm:time_to_first_token_seconds_bucket{le="2.5",model_name="m/x"} 95.0
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="m/x"} 100.0
vllm:time_to_first_token_seconds_count{model_name="m/x"} 100.0
vllm:time_to_first_token_seconds_sum{model_name="m/x"} 150.0
"#,
    );
    let server = &old.serving[0];
    assert_eq!((server.engine.as_str(), server.model.as_str()), ("vllm", "m/x"));
    assert_eq!((server.running.clone(), server.waiting.clone()), (Reading::Known(12), Reading::Known(41)));
    assert_eq!(
        (server.swapped.clone(), server.preemptions_ever.clone()),
        (Reading::Known(3), Reading::Known(88))
    );
    assert_eq!(server.cache_used, Reading::Known(Share(0.97)));
    assert!(!server.preemptions.is_known() && !server.is_of_window);
    let first = server.times.first_token.known().unwrap();
    assert_eq!((first.mean, first.p95, first.n), (Seconds(1.5), Some(Seconds(2.5)), 100));
    let new = scene(
        "$ watch -n 5 'curl -s h:8000/metrics | grep vllm'\n\
         vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 6.0\n\
         vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 7.0\n\
         vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.19\n\
         vllm:num_preemptions_total{engine=\"0\",model_name=\"m\"} 2.0\n\
         vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 1000.0\n\
         vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 6.0\n\
         vllm:num_requests_running{engine=\"1\",model_name=\"m\"} 8.0\n\
         vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.2\n\
         vllm:num_preemptions_total{engine=\"0\",model_name=\"m\"} 5.0\n\
         vllm:prompt_tokens_total{engine=\"0\",model_name=\"m\"} 51000.0\n",
    );
    let server = &new.serving[0];
    assert_eq!((server.running.clone(), server.preemptions.clone()), (Reading::Known(14), Reading::Known(3)));
    assert_eq!(server.prompt_tokens_per_s, Reading::Known(10_000.0));
    assert_eq!(server.looks.len(), 2);
    assert_eq!(server.looks[0].running, Some(13));
}

#[test]
fn triton_tgi_and_sglang_are_read() {
    let scene = scene(
        r#"nv_inference_request_success{model="m",version="1"} 1000
nv_inference_count{model="m",version="1"} 1000
nv_inference_exec_count{model="m",version="1"} 250
nv_inference_request_duration_us{model="m",version="1"} 200000000
nv_inference_queue_duration_us{model="m",version="1"} 180000000
nv_inference_compute_infer_duration_us{model="m",version="1"} 10000000
nv_inference_pending_request_count{model="m",version="1"} 7
nv_gpu_utilization{gpu_uuid="GPU-dd"} 0.35
tgi_queue_size 3
tgi_batch_current_size 16
tgi_request_queue_duration_count 4
tgi_request_queue_duration_sum 2
sglang:num_running_reqs{model_name="s",tp_rank="0"} 22.0
sglang:num_running_reqs{model_name="s",tp_rank="1"} 22.0
sglang:token_usage{model_name="s",tp_rank="0"} 0.28
"#,
    );
    let server = |engine: &str| scene.serving.iter().find(|server| server.engine == engine).unwrap();
    let triton = server("triton");
    assert_eq!((triton.waiting.clone(), triton.batch_mean.clone()), (Reading::Known(7), Reading::Known(4.0)));
    assert_eq!(triton.times.queue.known().unwrap().mean, Seconds(0.18));
    assert_eq!(triton.times.request.known().unwrap().n, 1000);
    assert_eq!(server("tgi").times.queue.known().unwrap().mean, Seconds(0.5));
    assert_eq!(server("sglang").running, Reading::Known(22));
    assert_eq!(scene.cards[0].busy.known().unwrap().last.0, 35.0);
}

#[test]
fn metrics_that_nobody_here_knows_are_still_metrics() {
    let scene =
        scene("# HELP app_jobs_total Jobs.\n# TYPE app_jobs_total counter\napp_jobs_total{queue=\"a\"} 5\n");
    assert!(scene.cards.is_empty() && scene.serving.is_empty());
}

#[test]
fn names_with_numbers_in_other_files_are_no_metrics() {
    let is_metrics =
        |text: &str| understand(text).pieces.iter().any(|piece| piece.format == Format::Prometheus);
    for text in
        ["type 2\nversion_major 0\nnode_from 0\nnode_to 1\nweight 20\n", "process_id 4242\n", "go_on 1\n"]
    {
        assert!(!is_metrics(text), "{text}");
    }
    for text in ["node_load1 3.5\n", "process_open_fds 12\n", "go_goroutines 40\n"] {
        assert!(is_metrics(text), "{text}");
    }
}
