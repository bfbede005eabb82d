//! The causes: every answer that gpuwhy can give to "why is it busy".

use crate::closed_list::closed_list;

closed_list! {
    /// Why a GPU server is busy, slow, full or stuck; named after the trouble, not after the cure.
    pub enum Cause {
        /// The card computes as fast as it can.
        ComputeSaturated = "compute-saturated",
        /// The card moves its memory as fast as it can.
        MemoryBandwidthSaturated = "memory-bandwidth-saturated",
        /// Several programs take turns on one card.
        GpuContention = "gpu-contention",
        /// Kernels run, but fill few of the multiprocessors.
        LowSmOccupancy = "low-sm-occupancy",
        /// One host thread launches kernels too slowly.
        LaunchBound = "launch-bound",
        /// Live, visible work needs more memory than the card has.
        VramFull = "vram-full",
        /// A process holds more and more memory.
        VramLeak = "vram-leak",
        /// Enough memory is free inside an allocator, but not in one piece.
        VramFragmented = "vram-fragmented",
        /// A framework took the card's memory by design.
        MemoryPreallocated = "memory-preallocated",
        /// A run is over, and its memory stays held.
        VramHeldByDeadProcess = "vram-held-by-dead-process",
        /// A live owner that this view cannot see holds the memory.
        VramHeldByHiddenProcess = "vram-held-by-hidden-process",
        /// A live owner holds the card and does not work.
        IdleReserved = "idle-reserved",
        /// The CPU's window into the card's memory is full.
        Bar1Exhausted = "bar1-exhausted",
        /// A desktop or compositor holds the memory.
        DisplayProcess = "display-process",
        /// Work waits for reads from storage.
        StarvedByStorage = "starved-by-storage",
        /// Work waits for data that the CPU prepares too slowly.
        StarvedByCpu = "starved-by-cpu",
        /// One host thread of the program holds the card back.
        StarvedByHostCode = "starved-by-host-code",
        /// Work waits for data that come over the network.
        StarvedByNetworkInput = "starved-by-network-input",
        /// Work waits for copies between host and card.
        TransferBound = "transfer-bound",
        /// Work pauses while it saves its state.
        CheckpointPause = "checkpoint-pause",
        /// Each step has too little work for the card.
        BatchTooSmall = "batch-too-small",
        /// The machine itself is short of memory.
        HostMemoryPressure = "host-memory-pressure",
        /// Shared memory of the loader is too small.
        ShmTooSmall = "shm-too-small",
        /// Exchange between cards is slow, but moves.
        CommBound = "comm-bound",
        /// Ranks wait for each other and nothing moves.
        CollectiveHang = "collective-hang",
        /// One member holds back the others.
        SlowGpuOutlier = "slow-gpu-outlier",
        /// A job started fewer or more processes than it has cards.
        WrongProcessCount = "wrong-process-count",
        /// The PCIe link is slower or narrower than it should be.
        PcieDegraded = "pcie-degraded",
        /// An `NVLink` is down or faulty.
        NvlinkFault = "nvlink-fault",
        /// Heat lowers the clocks, memory heat included.
        ThermalThrottle = "thermal-throttle",
        /// The card's own power limit or its reading lowers the clocks.
        PowerThrottle = "power-throttle",
        /// An outside brake or protection lowers the clocks.
        HwSlowdown = "hw-slowdown",
        /// The clocks are low and no reason is given.
        LowClocks = "low-clocks",
        /// The driver reports an error that a program caused.
        XidAppFault = "xid-app-fault",
        /// The driver reports a hardware-class error, and the card still answers.
        XidHwFault = "xid-hw-fault",
        /// Memory errors that could not be corrected: data were lost now.
        EccUncorrectable = "ecc-uncorrectable",
        /// Very many corrected memory errors.
        EccCorrectableStorm = "ecc-correctable-storm",
        /// A memory repair waits for a reset or reboot.
        RowRemapPending = "row-remap-pending",
        /// The card no longer answers or is missing.
        GpuLost = "gpu-lost",
        /// The card's own configuration store is damaged.
        InforomCorrupt = "inforom-corrupt",
        /// A fan does not turn as it should.
        FanFailed = "fan-failed",
        /// Driver library and kernel module are of different versions.
        DriverLibraryMismatch = "driver-library-mismatch",
        /// The driver cannot run this build.
        DriverTooOld = "driver-too-old",
        /// No usable kernel module for a card that is there.
        DriverNotLoaded = "driver-not-loaded",
        /// Calls or processes block inside the driver.
        DriverHung = "driver-hung",
        /// The reader of NVML uses another layout than the library.
        NvmlAbiMismatch = "nvml-abi-mismatch",
        /// `NVSwitch` cards without their fabric manager.
        FabricManagerDown = "fabric-manager-down",
        /// Multi-instance mode and the use of the card do not fit.
        MigMisconfig = "mig-misconfig",
        /// The compute mode lets only one program in.
        ComputeModeExclusive = "compute-mode-exclusive",
        /// The driver unloads the card's state between uses.
        PersistenceOff = "persistence-off",
        /// This build has no code for this card.
        ArchUnsupported = "arch-unsupported",
        /// A running container lost its access to the card.
        NvmlLostInContainer = "nvml-lost-in-container",
        /// A limit set for the container or job binds.
        ContainerLimit = "container-limit",
        /// A job cannot start because of its request, a limit, a policy or its place.
        SchedulerPending = "scheduler-pending",
        /// All that a well-formed job could use is in use.
        QueueCongested = "queue-congested",
        /// It would fit, but nodes are drained, down or reserved.
        NodeUnavailable = "node-unavailable",
        /// The card exists, the scheduler offers none of it.
        GpuNotAdvertised = "gpu-not-advertised",
        /// A model server has more requests than it can serve.
        InferenceOverload = "inference-overload",
        /// The program itself failed; the class says how.
        AppError = "app-error",
        /// Nothing is wrong.
        NothingWrong = "nothing-wrong",
        /// The signals cannot decide.
        Undetermined = "undetermined",
    }
}

#[cfg(test)]
mod tests {
    use super::Cause;

    #[test]
    fn ids_are_unique_and_kebab_case() {
        for (position, cause) in Cause::ALL.iter().enumerate() {
            assert!(cause.id().chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
            assert!(!Cause::ALL[..position].iter().any(|earlier| earlier.id() == cause.id()));
            assert_eq!(Cause::from_id(cause.id()), Some(*cause));
        }
    }
}
