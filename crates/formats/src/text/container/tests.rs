use gpuwhy_model::reading::{Failure, Reading};
use gpuwhy_model::scene::{ContainerState, LimitHit, ProgramFact, Scene, StartObstacle};
use gpuwhy_model::units::{Bytes, Cores};

use crate::text::understand;

fn scene(text: &str) -> Scene {
    let mut understood = understand(text);
    assert_eq!(understood.unknown_lines, [0; 0], "{text}");
    assert_eq!(understood.pieces.len(), 1, "{:?}", understood.pieces);
    understood.pieces.remove(0).scene
}

const INSPECT: &str = r#"[
    {
        "Id": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "Created": "2026-11-30T09:00:00.1Z",
        "Path": "python",
        "Args": ["train.py"],
        "State": {
            "Status": "exited",
            "Running": false,
            "OOMKilled": true,
            "ExitCode": 137,
            "Error": "",
            "FinishedAt": "2026-11-30T10:00:00.2Z"
        },
        "Name": "/trainer",
        "RestartCount": 0,
        "HostConfig": {
            "Memory": 17179869184,
            "NanoCpus": 4000000000,
            "PidsLimit": null,
            "ShmSize": 67108864,
            "IpcMode": "private",
            "Runtime": "nvidia",
            "DeviceRequests": [
                {"Driver": "", "Count": -1, "DeviceIDs": null, "Capabilities": [["gpu"]]}
            ]
        },
        "Config": {"Image": "trainer:5", "Env": ["PATH=/bin", "SECRET_TOKEN=abc"]}
    }
]
"#;

#[test]
fn a_container_that_was_killed_at_its_limit() {
    let scene = scene(INSPECT);
    let container = &scene.machine.containers[0];
    assert_eq!(
        (container.name.as_str(), &container.state),
        ("trainer", &Reading::Known(ContainerState::Ended))
    );
    assert_eq!(container.memory_limit, Reading::Known(Bytes(16 << 30)));
    assert_eq!(
        (&container.cpu_limit, &container.tasks_limit),
        (&Reading::Known(Cores(4.0)), &Reading::Unsupported)
    );
    assert_eq!(container.shared_memory, Reading::Known(Bytes(64 << 20)));
    assert_eq!(container.promised_cards, Reading::Known("all".to_owned()));
    assert_eq!(container.runtime, Reading::Known("nvidia".to_owned()));
    assert!(container.ends[0].for_memory);
    assert_eq!(scene.program[0].fact, Some(ProgramFact::LimitHit(LimitHit::Memory)));
    assert!(!format!("{scene:?}").contains("abc\""));
}

#[test]
fn lines_of_it_alone_and_settings() {
    let line = scene("            \"ShmSize\": 67108864,\n");
    assert_eq!(line.machine.containers[0].shared_memory, Reading::Known(Bytes(64 << 20)));
    let unlimited = scene(
        "\"HostConfig\": {\n  \"Memory\": 0,\n  \"NanoCpus\": 0,\n  \"CpuQuota\": 50000,\n  \"CpuPeriod\": 100000,\n  \"IpcMode\": \"host\"\n}\n",
    );
    let container = &unlimited.machine.containers[0];
    assert_eq!(
        (&container.memory_limit, &container.cpu_limit),
        (&Reading::Unsupported, &Reading::Known(Cores(0.5)))
    );
    assert_eq!(container.shared_memory, Reading::Unsupported);
    let settings = scene(
        "{\n  \"default-runtime\": \"nvidia\",\n  \"runtimes\": {\"nvidia\": {\"path\": \"nvidia-container-runtime\"}}\n}\n",
    );
    assert_eq!(settings.machine.container_runtimes, Reading::Known(vec!["nvidia".to_owned()]));
}

#[test]
fn lists_and_measures() {
    let list = scene(
        "CONTAINER ID   IMAGE        COMMAND       CREATED       STATUS                       PORTS                    NAMES\n\
         0123456789ab   trainer:5    \"python x\"    2 hours ago   Exited (137) 5 minutes ago                            trainer\n\
         ba9876543210   vllm:0.12    \"vllm …\"      3 days ago    Up 3 days                    0.0.0.0:8000->8000/tcp   chat\n",
    );
    let ended = &list.machine.containers[0];
    assert_eq!((ended.name.as_str(), &ended.state), ("trainer", &Reading::Known(ContainerState::Ended)));
    assert_eq!(
        (ended.ends[0].exit_code, ended.ends[0].for_memory),
        (Some(137), false),
        "who killed it is not said"
    );
    assert_eq!(list.machine.containers[1].state, Reading::Known(ContainerState::Running));
    let stats = scene(
        "CONTAINER ID   NAME      CPU %     MEM USAGE / LIMIT   MEM %     NET I/O          BLOCK I/O    PIDS\n\
         ba9876543210   chat      150.25%   15.9GiB / 16GiB     99.38%    1.2kB / 648B     0B / 4.1kB   87\n",
    );
    let chat = &stats.machine.containers[0];
    assert_eq!(
        (&chat.cpu_used, &chat.memory_limit),
        (&Reading::Known(Cores(1.5025)), &Reading::Known(Bytes(16 << 30)))
    );
    assert_eq!(chat.tasks, Reading::Known(87));
}

#[test]
fn information_names_the_runtimes() {
    let whole = scene(
        "$ docker info\nClient: Docker Engine - Community\n Version:    29.0.1\n\nServer:\n Containers: 3\n  Running: 1\n Server Version: 29.0.1\n \
         Storage Driver: overlay2\n Cgroup Driver: systemd\n Runtimes: io.containerd.runc.v2 runc\n Default Runtime: runc\n Kernel Version: 6.8.0\n",
    );
    let known = vec!["io.containerd.runc.v2".to_owned(), "runc".to_owned()];
    assert_eq!(whole.machine.container_runtimes, Reading::Known(known.clone()));
    let line = scene(" Runtimes: io.containerd.runc.v2 runc\n Default Runtime: runc\n");
    assert_eq!(line.machine.container_runtimes, Reading::Known(known));
}

#[test]
fn errors_over_several_lines_with_what_is_printed_below() {
    let scene = scene(
        "docker: Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime create failed: runc \
         create failed: unable to start container process: error during container init: error running prestart hook #0: exit status 1, stdout: , \
         stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: initialization error: nvml error: driver not loaded\n\nRun 'docker run \
         --help' for more information\n",
    );
    let Some(ProgramFact::ContainerNotStarted(not_started)) = &scene.program[0].fact else {
        panic!("{:?}", scene.program);
    };
    assert_eq!(not_started.obstacle, StartObstacle::DriverNotLoaded);
    assert_eq!(
        scene.machine.driver.library,
        Reading::Failed(Failure::Nvml { call: "nvmlInit_v2".to_owned(), code: 9 })
    );
    let requirement = self::scene(
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version, or use an \
         earlier cuda container: unknown\n",
    );
    let too_old = ProgramFact::DriverTooOld { supports: None, needs: Some("12.8".to_owned()) };
    assert_eq!(requirement.program[0].fact, Some(too_old));
}

#[test]
fn rules_of_devices_by_group() {
    let scene = scene(
        "systemd, 1, c 195:* m, cri-containerd-aaaa\nrunc, 2, c 195:* m, cri-containerd-aaaa\nrunc, 1, c 195:0 rw, cri-containerd-bbbb\n",
    );
    let rules: Vec<(&str, usize)> = scene
        .cgroups
        .iter()
        .map(|group| (group.path.as_str(), group.device_rules.known().map_or(0, Vec::len)))
        .collect();
    assert_eq!(rules, [("cri-containerd-aaaa", 2), ("cri-containerd-bbbb", 1)]);
}
