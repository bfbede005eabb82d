//! The closed list of things that can be done about a cause.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closed_list::closed_list;
use crate::text::Text;

closed_list! {
    /// What can be done. The list is closed; `class` says whether it is done, asked for or only shown.
    pub enum Action {
        /// End a process (tree).
        Terminate = "terminate",
        /// Ask the owner to free or use the card.
        AskOwner = "ask-owner",
        /// Change the storage or how data lie on it.
        ImproveStorage = "improve-storage",
        /// Give the job more or better used processors.
        ImproveCpu = "improve-cpu",
        /// Make the job need less card memory, or move it.
        ReduceMemory = "reduce-memory",
        /// Move work to another card or time.
        MoveWork = "move-work",
        /// Reset one card.
        ResetCard = "reset-card",
        /// Reboot the machine, or cycle its power.
        Reboot = "reboot",
        /// Have the hardware looked at.
        ServiceHardware = "service-hardware",
        /// Load or install the driver.
        LoadDriver = "load-driver",
        /// Give the container access to the card.
        GrantDevice = "grant-device",
        /// Turn persistence mode on.
        SetPersistence = "set-persistence",
        /// Look with more rights, or longer.
        LookAgain = "look-again",
        /// Give the job a faster or closer way to its data or to its other members.
        ImproveNetwork = "improve-network",
        /// Change the program or how it is started.
        ImproveProgram = "improve-program",
        /// Free memory of the machine.
        FreeHostMemory = "free-host-memory",
        /// Raise a limit of the container or job.
        RaiseLimit = "raise-limit",
        /// Start the container anew, or give it back its card.
        RestartContainer = "restart-container",
        /// Start a service, or start it anew.
        RestartService = "restart-service",
        /// Bring driver and library to one version, or to a newer one.
        UpdateDriver = "update-driver",
        /// Look after air, fans and heat.
        FixCooling = "fix-cooling",
        /// Set the power limit back.
        SetPowerLimit = "set-power-limit",
        /// Set locked clocks free.
        ResetClocks = "reset-clocks",
        /// Let more than one program in.
        SetComputeMode = "set-compute-mode",
        /// Change multi-instance mode or its instances.
        ConfigureMig = "configure-mig",
        /// Ask the scheduler for less, or for something else.
        ChangeRequest = "change-request",
        /// Let a job go on that was held.
        ReleaseJob = "release-job",
        /// Wait for its turn.
        WaitTurn = "wait-turn",
        /// Take a node back into service once what closed it is mended.
        ReturnNode = "return-node",
        /// Keep an eye on it; nothing needs to be done now.
        Watch = "watch",
        /// Nothing needs to be done.
        Nothing = "nothing",
    }
}

closed_list! {
    /// What a fix may cost.
    pub enum FixClass {
        /// Loses nothing.
        Safe = "safe",
        /// Needs a person's yes.
        Asks = "asks",
        /// Advice only.
        Shown = "shown",
    }
}

/// What to do about a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// What.
    pub action: Action,
    /// What it may cost.
    pub class: FixClass,
    /// On what it acts.
    pub targets: Vec<Target>,
    /// The command of this version of gpuwhy that does it, if there is one.
    pub command: Option<String>,
    /// The step in words.
    pub summary: Text,
}

/// What a fix acts on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// What kind of thing.
    pub kind: SubjectKind,
    /// Its id: a pid, a card's UUID, a job's id.
    pub id: String,
}

closed_list! {
    /// What a finding or a fix is about.
    pub enum SubjectKind {
        /// A card.
        Card = "card",
        /// A process.
        Process = "process",
        /// A process tree with its owner.
        Workload = "workload",
        /// The machine.
        Node = "node",
        /// A job of a scheduler.
        Job = "job",
        /// A queue of a scheduler.
        Queue = "queue",
        /// A program by its own words.
        Program = "program",
    }
}
