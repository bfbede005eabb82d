use gpuwhy_model::reading::Reading;
use gpuwhy_model::scene::{
    ContainerState, JobPhase, LimitHit, NodeCondition, ProgramFact, Scene, StartObstacle,
};
use gpuwhy_model::units::{Bytes, Cores};

use crate::text::understand;

fn scene(text: &str) -> Scene {
    let mut understood = understand(text);
    assert_eq!(understood.unknown_lines, [0; 0], "{text}");
    assert_eq!(understood.pieces.len(), 1, "{:?}", understood.pieces);
    understood.pieces.remove(0).scene
}

const POD: &str = "\
Name:             trainer-0
Namespace:        ml
Priority:         1000
Priority Class Name:  batch
Service Account:  default
Node:             gpu-07/10.1.2.3
Start Time:       Mon, 30 Nov 2026 09:00:00 +0000
Labels:           app=trainer
                  team=vision
Annotations:      <none>
Status:           Running
IP:               10.0.0.7
Controlled By:    Job/trainer
Init Containers:
  fetch:
    Image:          busybox
    State:          Terminated
      Reason:       Completed
      Exit Code:    0
Containers:
  trainer:
    Container ID:  containerd://abc
    Image:         registry.local/trainer:5
    Port:          <none>
    Command:
      python
      train.py
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Mon, 30 Nov 2026 09:10:00 +0000
      Finished:     Mon, 30 Nov 2026 09:20:00 +0000
    Ready:          False
    Restart Count:  4
    Limits:
      cpu:             16
      memory:          64Gi
      nvidia.com/gpu:  2
    Requests:
      cpu:             8
      memory:          64Gi
      nvidia.com/gpu:  2
    Environment:
      NCCL_DEBUG:  INFO
    Mounts:
      /dev/shm from dshm (rw)
  sidecar:
    Image:         registry.local/logs:1
    State:          Running
      Started:      Mon, 30 Nov 2026 09:01:00 +0000
    Ready:          True
    Restart Count:  0
    Requests:
      cpu:        500m
Conditions:
  Type              Status
  Initialized       True
  Ready             False
  PodScheduled      True
Volumes:
  dshm:
    Type:       EmptyDir (a temporary directory that shares a pod's lifetime)
    Medium:     Memory
QoS Class:       Burstable
Node-Selectors:  gpu=a100
Tolerations:     node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
Events:
  Type     Reason            Age                  From               Message
  ----     ------            ----                 ----               -------
  Warning  FailedScheduling  30m (x3 over 40m)    default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.
  Normal   Scheduled         29m                  default-scheduler  Successfully assigned ml/trainer-0 to gpu-07
  Warning  BackOff           2m (x12 over 20m)    kubelet            Back-off restarting failed container trainer in pod trainer-0_ml(uid)
";

#[test]
fn a_pod_that_was_killed_for_memory() {
    let scene = scene(POD);
    let job = &scene.jobs[0];
    assert_eq!((job.id.as_str(), &job.phase), ("ml/trainer-0", &Reading::Known(JobPhase::Failed)));
    assert_eq!(job.state, Reading::Known("CrashLoopBackOff".to_owned()));
    assert_eq!((job.nodes.as_slice(), &job.priority), (&["gpu-07".to_owned()][..], &Reading::Known(1000.0)));
    assert_eq!((&job.asked.cards, &job.asked.cpus), (&Reading::Known(2), &Reading::Known(Cores(8.5))));
    assert!(job.reasons.is_empty(), "it was placed: {:?}", job.reasons);
    let container = &job.containers[0];
    assert_eq!(
        (container.name.as_str(), &container.state),
        ("trainer", &Reading::Known(ContainerState::Waiting))
    );
    assert_eq!(container.memory_limit, Reading::Known(Bytes(64 << 30)));
    assert_eq!(container.restarts, Reading::Known(4));
    let end = &container.ends[0];
    assert_eq!((end.for_memory, end.exit_code, end.signal), (true, Some(137), Some(9)));
    assert_eq!(job.containers[1].memory_limit, Reading::Unsupported);
    assert_eq!(scene.program[0].fact, Some(ProgramFact::LimitHit(LimitHit::Memory)));
    assert_eq!(
        scene.program[0].text,
        "ml/trainer-0/trainer: reason=OOMKilled exitCode=137 limits.memory=68719476736"
    );
}

const NODE: &str = "\
Name:               gpu-07
Roles:              worker
Labels:             kubernetes.io/hostname=gpu-07
                    nvidia.com/gpu.count=8
                    nvidia.com/gpu.present=true
                    nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3
Annotations:        node.alpha.kubernetes.io/ttl: 0
CreationTimestamp:  Mon, 02 Nov 2026 09:00:00 +0000
Taints:             nvidia.com/gpu=present:NoSchedule
                    node.kubernetes.io/unschedulable:NoSchedule
Unschedulable:      true
Conditions:
  Type             Status  LastHeartbeatTime                 LastTransitionTime                Reason                       Message
  ----             ------  -----------------                 ------------------                ------                       -------
  MemoryPressure   False   Mon, 30 Nov 2026 10:00:00 +0000   Mon, 02 Nov 2026 09:00:00 +0000   KubeletHasSufficientMemory   kubelet has sufficient memory available
  Ready            True    Mon, 30 Nov 2026 10:00:00 +0000   Mon, 02 Nov 2026 09:00:00 +0000   KubeletReady                 kubelet is posting ready status
Addresses:
  InternalIP:  10.1.2.3
  Hostname:    gpu-07
Capacity:
  cpu:             96
  memory:          1056Gi
  nvidia.com/gpu:  8
  pods:            110
Allocatable:
  cpu:             95
  memory:          1050Gi
  nvidia.com/gpu:  7
  pods:            110
System Info:
  Kernel Version:  6.8.0
Non-terminated Pods:          (2 in total)
  Namespace    Name           CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
  ---------    ----           ------------  ----------  ---------------  -------------  ---
  ml           trainer-0      8 (8%)        16 (16%)    64Gi (6%)        64Gi (6%)      29m
  kube-system  nvidia-dp-abc  0 (0%)        0 (0%)      0 (0%)           0 (0%)         28d
Allocated resources:
  (Total limits may be over 100 percent, i.e., overcommitted.)
  Resource           Requests      Limits
  --------           --------      ------
  cpu                8500m (8%)    16 (16%)
  memory             64Gi (6%)     64Gi (6%)
  nvidia.com/gpu     2             2
Events:              <none>
";

#[test]
fn a_node_with_one_card_less_than_it_has() {
    let scene = scene(NODE);
    let node = &scene.cluster[0];
    assert_eq!(node.name, "gpu-07");
    assert_eq!(
        (&node.built_in.cards, &node.has.cards, &node.given.cards),
        (&Reading::Known(8), &Reading::Known(7), &Reading::Known(2))
    );
    assert_eq!((&node.counted_cards, &node.has_cards), (&Reading::Known(8), &Reading::Known(true)));
    assert_eq!(node.conditions, Reading::Known(vec![NodeCondition::Tainted, NodeCondition::Drained]));
    assert!(node.features.contains(&"nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3".to_owned()));
    let names: Vec<&str> = scene.jobs.iter().map(|job| job.id.as_str()).collect();
    assert_eq!(names, ["ml/trainer-0", "kube-system/nvidia-dp-abc"]);
}

#[test]
fn parts_of_a_description() {
    let amounts =
        scene("Capacity:\n  cpu:  8\n  nvidia.com/gpu:  4\nAllocatable:\n  cpu:  8\n  nvidia.com/gpu:  0\n");
    assert_eq!(
        (&amounts.cluster[0].built_in.cards, &amounts.cluster[0].has.cards),
        (&Reading::Known(4), &Reading::Known(0))
    );
    let allocated = scene(
        "Allocated resources:\n  Resource  Requests  Limits\n  --------  ---  ---\n  nvidia.com/gpu  4  4\n",
    );
    assert_eq!(allocated.cluster[0].given.cards, Reading::Known(4));
    let state = scene(
        "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Restart Count:  3\n",
    );
    assert!(state.jobs[0].containers[0].ends[0].for_memory);
    let events = scene(
        "Events:\n  Type     Reason     Age   From     Message\n  ----     ------     ----  ----     -------\n  \
         Warning  Failed     12s   kubelet  Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: \
         runc create failed: unable to start container process: error during container init: error running hook #0: exit status 1, stderr: \
         nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown\n",
    );
    let Some(ProgramFact::ContainerNotStarted(not_started)) = &events.program[0].fact else {
        panic!("{:?}", events.program);
    };
    assert_eq!(not_started.obstacle, StartObstacle::DriverNotLoaded);
    assert_eq!(events.jobs[0].phase, Reading::Known(JobPhase::Starting));
}

#[test]
fn a_sentence_that_a_narrow_window_broke_is_whole_again() {
    let scene = scene(
        "Events:\n  Type     Reason            Age   From               Message\n  ----     ------            ----  ----               -------\n  \
         Warning  FailedScheduling  12s   default-scheduler  0/12 nodes are available: 3 Insufficient\nnvidia.com/gpu, 9 node(s) didn't \
         match Pod's node affinity/selector. preemption: 0/12 nodes are\navailable: 12 Preemption is not helpful for scheduling.\n",
    );
    let reasons: Vec<Option<u64>> = scene.jobs[0].reasons.iter().map(|reason| reason.nodes).collect();
    assert_eq!(reasons, [Some(3), Some(9)]);
    assert_eq!(scene.jobs[0].preemption[0].nodes, Some(12));
}

#[test]
fn a_pod_that_the_kubelet_refused() {
    let scene = scene(
        "Name:         infer-5\nNamespace:    serve\nNode:         gpu-02/\nStatus:       Failed\nReason:       UnexpectedAdmissionError\n\
         Message:      Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, \
         Available: 0, which is unexpected\nEvents:\n  Type     Reason                    Age   From     Message\n  ----     ------  ----  ----  \
         -------\n  Warning  UnexpectedAdmissionError  8s    kubelet  Allocate failed due to requested number of devices unavailable for \
         nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected\n",
    );
    assert_eq!(scene.jobs[0].phase, Reading::Known(JobPhase::Refused));
    assert!(
        matches!(&scene.program[0].fact, Some(ProgramFact::Plugin(report)) if report.resource.as_deref() == Some("nvidia.com/gpu"))
    );
}

#[test]
fn workloads_and_quotas() {
    let workload = scene(
        "Name:         job-bert-1a2b\nNamespace:    ml\nLabels:       <none>\nAPI Version:  kueue.x-k8s.io/v1beta1\nKind:         Workload\n\
         Metadata:\n  Generation:  1\nSpec:\n  Active:  true\n  Pod Sets:\n    Count:  4\n    Name:   main\n    Template:\n      Spec:\n        \
         Containers:\n          Resources:\n            Requests:\n              nvidia.com/gpu:  2\n  Priority:    100\n  Queue Name:  \
         research\nStatus:\n  Conditions:\n    Last Transition Time:  2026-11-30T10:00:00Z\n    Message:               couldn't assign \
         flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a100, 6 more needed\n    Reason:                \
         Pending\n    Status:                False\n    Type:                  QuotaReserved\nEvents:                    <none>\n",
    );
    let job = &workload.jobs[0];
    assert_eq!((job.id.as_str(), &job.phase), ("ml/job-bert-1a2b", &Reading::Known(JobPhase::Waiting)));
    assert_eq!((&job.asked.cards, job.queues.as_slice()), (&Reading::Known(8), &["research".to_owned()][..]));
    assert_eq!(job.reasons[0].word, "insufficient unused quota for nvidia.com/gpu in flavor a100");
    assert_eq!(job.reasons[0].note.as_deref(), Some("6 more needed"));
    let quota = scene(
        "Name:                    gpus\nNamespace:               ml\nResource                 Used  Hard\n--------                 ----  ----\n\
         requests.cpu             40    100\nrequests.nvidia.com/gpu  7     8\n",
    );
    assert_eq!(
        (&quota.quotas[0].used.cards, &quota.quotas[0].most.cards),
        (&Reading::Known(7), &Reading::Known(8))
    );
}

#[test]
fn other_texts_with_labels_are_left_alone() {
    for text in [
        "Name: x\nState: good\n",
        "State: Running\n",
        "Conditions: good\n",
        "Limits:\n  Max open files: 1024\n",
        "Requests: 5\n",
        "Warning: something  happened\n",
        "Containers: 5\n Running: 3\n",
    ] {
        let found = understand(text)
            .pieces
            .into_iter()
            .filter(|piece| piece.format == crate::Format::KubectlDescribe)
            .count();
        assert_eq!(found, usize::from(text == "State: Running\n"), "{text}");
    }
}
