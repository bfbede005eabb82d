//! What can be seen: the closed lists of signals and of the readers that deliver them.

use crate::closed_list::closed_list;

closed_list! {
    /// One thing that can be seen and that a rule can judge by.
    pub enum Signal {
        /// Share of time in which a kernel ran on the card.
        GpuBusy = "gpu_busy",
        /// Shape of that share: zeros, dips.
        GpuBusyShape = "gpu_busy_shape",
        /// Share of time in which the card's memory was used.
        GpuMemoryBusy = "gpu_memory_busy",
        /// Power as a share of the enforced limit.
        PowerRatio = "power_ratio",
        /// Power drawn.
        Power = "power",
        /// Multiprocessor clock.
        SmClock = "sm_clock",
        /// Core temperature.
        Temperature = "temperature",
        /// Reasons for lowered clocks.
        ClockReasons = "clock_reasons",
        /// PCIe generation and width.
        PcieLink = "pcie_link",
        /// Used and free memory of the card.
        VramUsed = "vram_used",
        /// Memory that each process holds.
        VramByProcess = "vram_by_process",
        /// Used memory that no listed process holds.
        VramUnexplained = "vram_unexplained",
        /// Work of each process on the card.
        GpuWorkByProcess = "gpu_work_by_process",
        /// How long the card or a process has not worked.
        GpuIdleFor = "gpu_idle_for",
        /// Whether the card answers.
        CardAnswers = "card_answers",
        /// How many cards the library counts and the bus lists.
        CardCount = "card_count",
        /// Cards on the PCI bus.
        PciCards = "pci_cards",
        /// Whether the driver's library can be asked.
        DriverLibrary = "driver_library",
        /// Whether the driver's kernel module is loaded.
        DriverModule = "driver_module",
        /// Calls into the driver that do not return.
        DriverCalls = "driver_calls",
        /// How long the library took to start.
        DriverInit = "driver_init",
        /// Lines of the kernel log.
        KernelLog = "kernel_log",
        /// Whether the process at the head of the run still lives.
        ParentAlive = "parent_alive",
        /// State of processes and threads.
        ProcessState = "process_state",
        /// Processes of other users.
        ProcessList = "process_list",
        /// Processor time of the processes.
        ProcessCpu = "process_cpu",
        /// Processor time of each thread.
        ThreadCpu = "thread_cpu",
        /// Where processes and threads wait in the kernel.
        WaitChannel = "wait_channel",
        /// Time blocked on block devices.
        BlockDelay = "block_delay",
        /// Time waited for a processor.
        RunDelay = "run_delay",
        /// Bytes read and written by processes.
        ProcessIo = "process_io",
        /// Allowed variables of a process's environment.
        ProcessEnvironment = "process_environment",
        /// Arguments of a process.
        ProcessCommand = "process_command",
        /// Open device files.
        DeviceHolders = "device_holders",
        /// Age of a process.
        ProcessAge = "process_age",
        /// Quota and throttling of a control group.
        CgroupCpu = "cgroup_cpu",
        /// Pressure of a control group.
        CgroupPressure = "cgroup_pressure",
        /// Pressure of the machine.
        HostPressure = "host_pressure",
        /// Processors of the machine.
        HostCpu = "host_cpu",
        /// Memory of the machine.
        HostMemory = "host_memory",
        /// Mounted file systems.
        Mounts = "mounts",
        /// Device files of cards.
        DeviceFiles = "device_files",
        /// Persistence mode.
        Persistence = "persistence",
        /// Whether we look from inside a container.
        Container = "container",
        /// Temperature of the card's memory.
        MemoryTemperature = "memory_temperature",
        /// Speed of the fans.
        FanSpeed = "fan_speed",
        /// Power limits of the card.
        PowerLimit = "power_limit",
        /// Memory errors of the card.
        EccErrors = "ecc_errors",
        /// Rows of memory that were replaced.
        RemappedRows = "remapped_rows",
        /// Pages of memory that are not used any more.
        RetiredPages = "retired_pages",
        /// The card's own configuration store.
        Inforom = "inforom",
        /// Time for which the card was held back.
        Violations = "violations",
        /// Share of the multiprocessors that worked.
        SmActive = "sm_active",
        /// Warps in flight, of those that could be.
        SmOccupancy = "sm_occupancy",
        /// Share of time in which the matrix units worked.
        TensorActive = "tensor_active",
        /// Share of the memory's bandwidth that was used.
        DramActive = "dram_active",
        /// Share of time in which video encoder and decoder worked.
        MediaBusy = "media_busy",
        /// Bytes over the PCIe link.
        PcieTraffic = "pcie_traffic",
        /// Errors and replays of the PCIe link.
        PcieErrors = "pcie_errors",
        /// State and errors of the `NVLinks`.
        NvLinks = "nvlinks",
        /// Bytes over the `NVLinks`.
        NvLinkTraffic = "nvlink_traffic",
        /// The card's place in the fabric of `NVSwitches`.
        Fabric = "fabric",
        /// Compute mode.
        ComputeMode = "compute_mode",
        /// Multi-instance mode and its instances.
        MigMode = "mig_mode",
        /// Use of the CPU's window into the card's memory.
        Bar1Used = "bar1_used",
        /// How the memory that a process holds grows.
        VramGrowth = "vram_growth",
        /// Whether a display shows a picture of the card.
        Display = "display",
        /// Versions of driver, library and CUDA.
        DriverVersion = "driver_version",
        /// Error events of the driver.
        XidEvents = "xid_events",
        /// Services around cards.
        Services = "services",
        /// The ways between cards.
        Topology = "topology",
        /// The other cards of the machine or job.
        Peers = "peers",
        /// What the same card or process did before.
        OwnPast = "own_past",
        /// Libraries that a process has loaded.
        ProcessLibraries = "process_libraries",
        /// Processes of a job, against its cards.
        ProcessCount = "process_count",
        /// Page faults that wait for a disk.
        PageFaults = "page_faults",
        /// Swapping and ends for want of memory.
        HostPaging = "host_paging",
        /// Room in shared memory.
        SharedMemory = "shared_memory",
        /// Memory limit of a control group.
        CgroupMemory = "cgroup_memory",
        /// Devices that a control group may use.
        CgroupDevices = "cgroup_devices",
        /// Task limit of a control group.
        CgroupTasks = "cgroup_tasks",
        /// Load of the disks.
        Disks = "disks",
        /// Traffic and errors of network links.
        Network = "network",
        /// Network connections of the processes.
        Sockets = "sockets",
        /// State of a scheduler's jobs.
        JobState = "job_state",
        /// Why a job waits, as its scheduler says.
        JobReason = "job_reason",
        /// What a job asks for.
        JobRequest = "job_request",
        /// What a job made of what it was given.
        JobUsage = "job_usage",
        /// Jobs that wait in the same queue.
        QueueLength = "queue_length",
        /// State of a scheduler's queues.
        QueueState = "queue_state",
        /// Limits of what jobs may use, and what is used of them.
        JobLimits = "job_limits",
        /// State of the nodes of a cluster.
        NodeState = "node_state",
        /// What the nodes of a cluster have, and what of it is given to jobs.
        NodeResources = "node_resources",
        /// What programs themselves say.
        ProgramLog = "program_log",
        /// Requests that wait at a model server.
        ServerQueue = "server_queue",
        /// The cache of keys and values of a model server, and what was pushed out of it.
        ServerCache = "server_cache",
        /// Where the time of a server's requests goes.
        ServerTimes = "server_times",
        /// How much a model server gets done.
        ServerSpeed = "server_speed",
        /// Where threads of programs stand.
        Stacks = "stacks",
        /// Where the time of programs goes.
        Profile = "profile",
        /// What a trace of a program shows of its card.
        Trace = "trace",
    }
}

closed_list! {
    /// Who delivered a value.
    pub enum Reader {
        /// Calls of the NVIDIA library.
        Nvml = "nvml",
        /// The NVIDIA library's own sample buffers.
        NvmlSamples = "nvml-samples",
        /// Counters of the NVIDIA library.
        NvmlCounters = "nvml-counters",
        /// Our child that calls the NVIDIA library.
        NvmlChild = "nvml-child",
        /// `/proc/PID`.
        ProcPid = "/proc/PID",
        /// `/proc/PID/task`.
        ProcTask = "/proc/PID/task",
        /// `/proc/pressure`.
        ProcPressure = "/proc/pressure",
        /// `/proc/stat` and `/proc/meminfo`.
        ProcHost = "/proc/stat",
        /// `/proc/driver/nvidia` and `/proc/modules`.
        ProcDriver = "/proc/driver",
        /// Control-group files.
        Cgroup = "cgroup",
        /// `/sys/bus/pci`.
        SysPci = "/sys/bus/pci",
        /// `/dev`.
        Dev = "/dev",
        /// Kernel log.
        KernelLog = "kernel-log",
        /// Text of `nvidia-smi`.
        NvidiaSmi = "nvidia-smi",
        /// Counters of the NVIDIA library about the parts of a card.
        NvmlGpm = "nvml-gpm",
        /// Events of the NVIDIA library.
        NvmlEvents = "nvml-events",
        /// `/proc/vmstat`.
        ProcVmstat = "/proc/vmstat",
        /// `/proc/diskstats`.
        ProcDisks = "/proc/diskstats",
        /// Room in file systems.
        FileSystem = "statfs",
        /// `/sys/class/net`.
        SysNet = "/sys/class/net",
        /// `/sys/class/infiniband`.
        SysInfiniband = "/sys/class/infiniband",
        /// `/sys/class/drm` and descriptors of its devices.
        SysDrm = "/sys/class/drm",
        /// Processes and unit files of services.
        Services = "services",
        /// Slurm.
        Slurm = "slurm",
        /// Kubernetes.
        Kubernetes = "kubernetes",
        /// What programs print.
        ProgramLog = "program-log",
        /// Metrics of exporters and servers.
        Metrics = "metrics",
        /// A load test.
        LoadTest = "load-test",
        /// `py-spy` and its like.
        Sampler = "py-spy",
        /// `strace -c`.
        Strace = "strace",
        /// A profiler's trace.
        Profiler = "profiler",
    }
}
