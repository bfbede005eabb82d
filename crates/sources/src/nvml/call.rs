//! The calls that our child makes into the NVIDIA library, each with a number that is never given to another.

/// Defines the calls with their number and their C name.
macro_rules! calls {
    ($($name:ident = $number:literal $symbol:literal,)+) => {
        /// One call into the library. Its number stands in heartbeats and in the name of a child that hangs, which a
        /// later version of gpuwhy may read: numbers are never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Call {
            $($name = $number,)+
        }

        impl Call {
            const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the C name.
            pub(crate) const fn symbol(self) -> &'static str {
                match self {
                    $(Self::$name => $symbol,)+
                }
            }
        }
    };
}

calls! {
    LoadLibrary = 1 "dlopen",
    Init = 2 "nvmlInit_v2",
    DriverVersion = 3 "nvmlSystemGetDriverVersion",
    LibraryVersion = 4 "nvmlSystemGetNVMLVersion",
    CudaVersion = 5 "nvmlSystemGetCudaDriverVersion_v2",
    Count = 6 "nvmlDeviceGetCount_v2",
    Handle = 7 "nvmlDeviceGetHandleByIndex_v2",
    Uuid = 8 "nvmlDeviceGetUUID",
    Name = 9 "nvmlDeviceGetName",
    PciInfo = 10 "nvmlDeviceGetPciInfo_v3",
    MinorNumber = 11 "nvmlDeviceGetMinorNumber",
    MemoryV2 = 12 "nvmlDeviceGetMemoryInfo_v2",
    MemoryV1 = 13 "nvmlDeviceGetMemoryInfo",
    Bar1 = 14 "nvmlDeviceGetBAR1MemoryInfo",
    Utilization = 15 "nvmlDeviceGetUtilizationRates",
    Samples = 16 "nvmlDeviceGetSamples",
    Power = 17 "nvmlDeviceGetPowerUsage",
    EnforcedLimit = 18 "nvmlDeviceGetEnforcedPowerLimit",
    DefaultLimit = 19 "nvmlDeviceGetPowerManagementDefaultLimit",
    LimitRange = 20 "nvmlDeviceGetPowerManagementLimitConstraints",
    Energy = 21 "nvmlDeviceGetTotalEnergyConsumption",
    Temperature = 22 "nvmlDeviceGetTemperature",
    TemperatureV = 23 "nvmlDeviceGetTemperatureV",
    Threshold = 24 "nvmlDeviceGetTemperatureThreshold",
    Margin = 25 "nvmlDeviceGetMarginTemperature",
    Fan = 26 "nvmlDeviceGetFanSpeed",
    Clock = 27 "nvmlDeviceGetClockInfo",
    MaximumClock = 28 "nvmlDeviceGetMaxClockInfo",
    PerformanceState = 29 "nvmlDeviceGetPerformanceState",
    EventReasons = 30 "nvmlDeviceGetCurrentClocksEventReasons",
    ThrottleReasons = 31 "nvmlDeviceGetCurrentClocksThrottleReasons",
    FieldValues = 32 "nvmlDeviceGetFieldValues",
    LinkGeneration = 33 "nvmlDeviceGetCurrPcieLinkGeneration",
    LinkWidth = 34 "nvmlDeviceGetCurrPcieLinkWidth",
    MaximumLinkGeneration = 35 "nvmlDeviceGetMaxPcieLinkGeneration",
    MaximumLinkWidth = 36 "nvmlDeviceGetMaxPcieLinkWidth",
    Replays = 37 "nvmlDeviceGetPcieReplayCounter",
    Throughput = 38 "nvmlDeviceGetPcieThroughput",
    ComputeMode = 39 "nvmlDeviceGetComputeMode",
    Persistence = 40 "nvmlDeviceGetPersistenceMode",
    MigMode = 41 "nvmlDeviceGetMigMode",
    ComputeProcesses = 42 "nvmlDeviceGetComputeRunningProcesses_v3",
    GraphicsProcesses = 43 "nvmlDeviceGetGraphicsRunningProcesses_v3",
    MpsProcesses = 44 "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    ProcessUtilization = 45 "nvmlDeviceGetProcessUtilization",
    RequestedLimit = 46 "nvmlDeviceGetPowerManagementLimit",
    Encoder = 47 "nvmlDeviceGetEncoderUtilization",
    Decoder = 48 "nvmlDeviceGetDecoderUtilization",
    DisplayActive = 49 "nvmlDeviceGetDisplayActive",
    ComputeCapability = 50 "nvmlDeviceGetCudaComputeCapability",
    Inforom = 51 "nvmlDeviceGetInforomImageVersion",
    EccMode = 52 "nvmlDeviceGetEccMode",
    EccErrors = 53 "nvmlDeviceGetTotalEccErrors",
    MemoryErrors = 54 "nvmlDeviceGetMemoryErrorCounter",
    SramStatus = 55 "nvmlDeviceGetSramEccErrorStatus",
    ReplacedRows = 56 "nvmlDeviceGetRemappedRows",
    SpareRows = 57 "nvmlDeviceGetRowRemapperHistogram",
    Violation = 58 "nvmlDeviceGetViolationStatus",
    FanCount = 59 "nvmlDeviceGetNumFans",
    FanSpeed = 60 "nvmlDeviceGetFanSpeed_v2",
    FanTarget = 61 "nvmlDeviceGetTargetFanSpeed",
    FanTurns = 62 "nvmlDeviceGetFanSpeedRPM",
    MaximumCardGeneration = 63 "nvmlDeviceGetGpuMaxPcieLinkGeneration",
    NvLinkState = 64 "nvmlDeviceGetNvLinkState",
    NvLinkVersion = 65 "nvmlDeviceGetNvLinkVersion",
    NvLinkRemote = 66 "nvmlDeviceGetNvLinkRemoteDeviceType",
    NvLinkErrors = 67 "nvmlDeviceGetNvLinkErrorCounter",
    Fabric = 68 "nvmlDeviceGetGpuFabricInfoV",
    CommonAncestor = 69 "nvmlDeviceGetTopologyCommonAncestor",
    PeerToPeer = 70 "nvmlDeviceGetP2PStatus",
    InstancesMax = 71 "nvmlDeviceGetMaxMigDeviceCount",
    Instance = 72 "nvmlDeviceGetMigDeviceHandleByIndex",
    GpuInstanceId = 73 "nvmlDeviceGetGpuInstanceId",
    GpmSupport = 74 "nvmlGpmQueryDeviceSupport",
    GpmAllocate = 75 "nvmlGpmSampleAlloc",
    GpmFree = 76 "nvmlGpmSampleFree",
    GpmSample = 77 "nvmlGpmSampleGet",
    GpmInstanceSample = 78 "nvmlGpmMigSampleGet",
    GpmMetrics = 79 "nvmlGpmMetricsGet",
    NewEventSet = 80 "nvmlEventSetCreate",
    FreeEventSet = 81 "nvmlEventSetFree",
    SupportedEvents = 82 "nvmlDeviceGetSupportedEventTypes",
    RegisterEvents = 83 "nvmlDeviceRegisterEvents",
    NextEvent = 84 "nvmlEventSetWait_v2",
}

impl Call {
    /// Returns the number.
    pub(crate) const fn number(self) -> u32 {
        self as u32
    }

    /// Returns whether the call is what the library is loaded and started with, for which there is a limit of its own.
    pub(crate) const fn is_start(self) -> bool {
        matches!(self, Self::LoadLibrary | Self::Init)
    }

    /// Returns whether the call has to bring up a card that nothing kept initialised, so that being slow says nothing.
    pub(crate) const fn wakes_a_card(self) -> bool {
        matches!(self, Self::Handle)
    }

    /// Returns the call with this number, if this version knows it.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|call| call.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::Call;

    #[test]
    fn numbers_and_symbols_are_unique() {
        for call in Call::ALL {
            assert_eq!(Call::from_number(call.number()), Some(*call));
            assert_eq!(Call::ALL.iter().filter(|other| other.symbol() == call.symbol()).count(), 1);
        }
        assert_eq!(Call::from_number(0), None);
    }
}
