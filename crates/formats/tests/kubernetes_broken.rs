//! Outputs of Kubernetes and container runtimes, cut anywhere or damaged: nothing panics, and no value appears that was
//! not there.

use gpuwhy_formats::text::{Understood, understand};
use proptest::prelude::*;

const TABLES: &str = "\
NAMESPACE   NAME        READY   STATUS             RESTARTS      AGE     IP         NODE
ml          trainer-0   1/1     Running            3 (5m ago)    3d2h    10.0.0.7   gpu-01
ml          trainer-1   0/1     Pending            0             96m     <none>     <none>

NAME     STATUS                     ROLES    AGE   VERSION
gpu-01   Ready,SchedulingDisabled   worker   90d   v1.31.4

LAST SEEN   TYPE      REASON             OBJECT          MESSAGE
30s         Warning   FailedScheduling   pod/trainer-1   0/9 nodes are available: 5 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint {a: b}.

NAME     GPU
gpu-01   8

pod,status,gpus_requested,age
judge,Running,3,3 d
";

const DESCRIPTION: &str = "\
Name:               gpu-07
Roles:              worker
Labels:             nvidia.com/gpu.count=8
Taints:             <none>
Conditions:
  Type    Status  LastHeartbeatTime  LastTransitionTime  Reason        Message
  ----    ------  -----------------  ------------------  ------        -------
  Ready   True    Mon, 30 Nov 2026   Mon, 02 Nov 2026    KubeletReady  kubelet is posting ready status
Capacity:
  cpu:             96
  nvidia.com/gpu:  8
Allocatable:
  nvidia.com/gpu:  7
Non-terminated Pods:          (1 in total)
  Namespace    Name           CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
  ---------    ----           ------------  ----------  ---------------  -------------  ---
  ml           trainer-0      8 (8%)        16 (16%)    64Gi (6%)        64Gi (6%)      29m
Events:              <none>

Name:         trainer-0
Namespace:    ml
Containers:
  main:
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Limits:
      memory:          64Gi
      nvidia.com/gpu:  2
Events:
  Type     Reason            Age                From               Message
  ----     ------            ----               ----               -------
  Warning  FailedScheduling  3m (x3 over 4m)    default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.
";

const OBJECTS: &str = "\
apiVersion: v1
items:
- kind: Pod
  metadata:
    name: bert-0
  spec:
    containers:
    - name: main
      resources:
        limits: {nvidia.com/gpu: \"4\"}
  status:
    conditions:
    - message: '0/6 nodes are available: 2 Insufficient nvidia.com/gpu, 4 node(s)
        didn''t match.'
      status: \"False\"
      type: PodScheduled
    phase: Pending
- kind: Node
  status:
    allocatable:
      nvidia.com/gpu: \"0\"
    capacity:
      nvidia.com/gpu: \"8\"
kind: List
---
kind: Workload
apiVersion: kueue.x-k8s.io/v1beta1
spec:
  podSets:
  - count: 2
status:
  conditions:
  - {type: QuotaReserved, status: \"False\", reason: Pending, message: 'insufficient quota, 2 more needed'}
";

const JSON: &str = "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"Node\",\n  \"status\": {\n    \"allocatable\": {\"nvidia.com/gpu\": \"0\"},\n    \
                    \"capacity\": {\"nvidia.com/gpu\": \"8\"}\n  }\n}\n[\n  {\n    \"Id\": \"0123456789ab\",\n    \"State\": {\"Status\": \"exited\", \
                    \"OOMKilled\": true, \"ExitCode\": 137},\n    \"HostConfig\": {\"Memory\": 1024, \"ShmSize\": 67108864}\n  }\n]\n";

const LOGS: &str = "\
2026/11/10 19:09:42 XidCriticalError: Xid=69 on Device=GPU-11111111-2222-3333-4444-555555555555, the device will go unhealthy.
2026/11/10 19:09:42 'nvidia.com/gpu' device marked unhealthy: GPU-11111111-2222-3333-4444-555555555555
I1110 19:09:42.000000 1 main.go:311] No devices found. Waiting indefinitely.
docker: Error response from daemon: failed to create task: OCI runtime create failed: error running hook #0: stderr: Auto-detected mode
nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.
Run 'docker run --help' for more information
CONTAINER ID   IMAGE   COMMAND   CREATED       STATUS                       PORTS   NAMES
0123456789ab   x:5     \"python\"  2 hours ago   Exited (137) 5 minutes ago           trainer
c 195:* m
runc, 1, c 195:254 rw, cri-containerd-abc
Server:
 Runtimes: runc nvidia
 Default Runtime: runc
 Storage Driver: overlay2
";

const ALL: &[&str] = &[TABLES, DESCRIPTION, OBJECTS, JSON, LOGS];

/// Returns all numbers of cards, limits and codes that were read.
fn figures(understood: &Understood) -> Vec<u64> {
    let mut figures = Vec::new();
    for piece in &understood.pieces {
        for node in &piece.scene.cluster {
            figures.extend(node.has.cards.known().into_iter().chain(node.built_in.cards.known()).copied());
        }
        for job in &piece.scene.jobs {
            figures.extend(job.asked.cards.known().copied());
            figures.extend(job.nodes_tried.known().copied());
            figures.extend(job.reasons.iter().filter_map(|reason| reason.nodes));
        }
        for container in &piece.scene.machine.containers {
            figures.extend(container.shared_memory.known().map(|size| size.0));
        }
    }
    figures
}

#[test]
fn whole_texts_are_understood_to_their_last_line() {
    for text in ALL {
        let understood = understand(text);
        assert_eq!(understood.unknown_lines, [0; 0], "{text}");
        assert!(!understood.pieces.is_empty());
    }
    let known = figures(&understand(TABLES));
    assert!(known.contains(&9) && known.contains(&8) && known.contains(&3));
}

#[test]
fn a_text_cut_anywhere_says_nothing_that_was_not_there() {
    for text in ALL {
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            for part in [&text[..cut], &text[cut..]] {
                for figure in figures(&understand(part)) {
                    let is_written = part.contains(&figure.to_string());
                    // Pods of a workload are counted with what each asks for.
                    assert!(is_written || figure == 0, "{figure} of {part}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_texts_do_no_harm(which in 0..ALL.len(), places in proptest::collection::vec((0_usize..4000, any::<char>()), 0..12)) {
        let mut text: Vec<char> = ALL[which].chars().collect();
        for (place, character) in places {
            let place = place % text.len();
            text[place] = character;
        }
        let text: String = text.into_iter().collect();
        let understood = understand(&text);
        prop_assert!(understood.pieces.iter().all(|piece| piece.first_line <= piece.last_line));
    }

    #[test]
    fn lines_in_any_order_do_no_harm(lines in proptest::collection::vec((0..ALL.len(), 0_usize..60), 0..40)) {
        let all: Vec<Vec<&str>> = ALL.iter().map(|text| text.lines().collect()).collect();
        let text: Vec<&str> = lines.iter().map(|(which, line)| all[*which][line % all[*which].len()]).collect();
        understand(&text.join("\n"));
    }
}
