//! What parts of a card did between two samples of its counters (GPM).

use std::mem::MaybeUninit;

use nvml_wrapper_sys::bindings::{
    NVML_GPM_METRICS_GET_VERSION, NVML_GPM_SUPPORT_VERSION, nvmlGpmMetric_t, nvmlGpmMetricsGet_t,
    nvmlGpmSample_t, nvmlGpmSupport_t,
};

use super::{Answer, Device, Library, Refusal, accepted, filled, found};

/// Later libraries know more metrics than the structure of these bindings has room for.
const ROOM_BEHIND: usize = 512;

/// The counters of one card at one moment, as the library keeps them.
pub(in crate::nvml) struct GpmSample(nvmlGpmSample_t);

/// The library's structure, with room behind it for that of a later library.
#[repr(C)]
struct Roomy {
    question: nvmlGpmMetricsGet_t,
    room: [nvmlGpmMetric_t; ROOM_BEHIND],
}

impl Library {
    /// Returns whether the card counts what its parts do.
    pub(in crate::nvml) fn counts_activity(&self, device: Device) -> Answer<bool> {
        let function = found(&self.functions.nvmlGpmQueryDeviceSupport)?;
        let mut support = nvmlGpmSupport_t { version: NVML_GPM_SUPPORT_VERSION, isSupportedDevice: 0 };
        // SAFETY: writes one structure, whose version word says its form.
        accepted(unsafe { function(device.0, &raw mut support) })?;
        Ok(support.isSupportedDevice != 0)
    }

    /// Makes room for one moment's counters, to be given back by [`Self::free_sample`].
    pub(in crate::nvml) fn new_sample(&self) -> Answer<GpmSample> {
        let function = found(&self.functions.nvmlGpmSampleAlloc)?;
        // SAFETY: writes one handle.
        filled(|sample| unsafe { function(sample) }).map(GpmSample)
    }

    /// Gives the room back.
    #[expect(clippy::needless_pass_by_value, reason = "nobody may have it afterwards")]
    pub(in crate::nvml) fn free_sample(&self, sample: GpmSample) -> Answer<()> {
        let function = found(&self.functions.nvmlGpmSampleFree)?;
        // SAFETY: the sample came from this library, and nobody has it any more.
        accepted(unsafe { function(sample.0) })
    }

    /// Takes the counters of a card.
    pub(in crate::nvml) fn take_sample(&self, device: Device, sample: &mut GpmSample) -> Answer<()> {
        let function = found(&self.functions.nvmlGpmSampleGet)?;
        // SAFETY: the sample came from this library and was not given back.
        accepted(unsafe { function(device.0, sample.0) })
    }

    /// Takes the counters of one instance of a card.
    pub(in crate::nvml) fn take_instance_sample(
        &self,
        device: Device,
        gpu_instance_id: u32,
        sample: &mut GpmSample,
    ) -> Answer<()> {
        let function = found(&self.functions.nvmlGpmMigSampleGet)?;
        // SAFETY: the sample came from this library and was not given back.
        accepted(unsafe { function(device.0, gpu_instance_id, sample.0) })
    }

    /// Returns the metrics with these numbers between two samples, in their order.
    pub(in crate::nvml) fn metrics(
        &self,
        earlier: &GpmSample,
        later: &GpmSample,
        metrics: &[u32],
    ) -> Answer<Vec<Answer<f64>>> {
        let function = found(&self.functions.nvmlGpmMetricsGet)?;
        let mut roomy = MaybeUninit::<Roomy>::zeroed();
        // SAFETY: numbers and pointers, of which all zeroes is a value.
        let roomy = unsafe { roomy.assume_init_mut() };
        let question = &mut roomy.question;
        if metrics.len() > question.metrics.len() {
            return Err(Refusal::Nonsense);
        }
        question.version = NVML_GPM_METRICS_GET_VERSION;
        question.numMetrics = u32::try_from(metrics.len()).map_err(|_| Refusal::Nonsense)?;
        question.sample1 = earlier.0;
        question.sample2 = later.0;
        for (metric, number) in question.metrics.iter_mut().zip(metrics) {
            metric.metricId = *number;
            // A metric that the library skips keeps this code.
            metric.nvmlReturn = Refusal::NOT_SUPPORTED;
        }
        // SAFETY: both samples came from this library; it writes as many metrics as the question says, all inside.
        accepted(unsafe { function((&raw mut *roomy).cast()) })?;
        let answered = roomy.question.metrics.iter().take(metrics.len());
        Ok(answered.map(|metric| accepted(metric.nvmlReturn).map(|()| metric.value)).collect())
    }
}
