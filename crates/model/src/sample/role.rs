//! What processes are for.

use crate::closed_list::closed_list;

closed_list! {
    /// What a process or thread is for, as far as its name and arguments tell.
    pub enum ProcessRole {
        /// Loads and prepares data.
        Loader = "loader",
        /// Main thread of a training program.
        Main = "main",
        /// Drives the card.
        Driving = "driving",
        /// Collective communication.
        Communication = "communication",
        /// Starts the ranks of a job.
        Launcher = "launcher",
        /// A part of a run that another process started, never its head.
        SpawnedWorker = "spawned-worker",
        /// Serves a model.
        Server = "server",
        /// A part of a server of a model that another process started.
        ServerWorker = "server-worker",
        /// Runs the code of a notebook.
        NotebookKernel = "notebook-kernel",
        /// Runs a script of which nothing more is known.
        Interpreter = "interpreter",
        /// Belongs to a run and neither loads data nor computes.
        Helper = "helper",
        /// A shell, or what runs a command as somebody else.
        Shell = "shell",
        /// Keeps terminals alive.
        Multiplexer = "multiplexer",
        /// A notebook server or the remote end of an editor.
        Notebook = "notebook",
        /// Remote logins, timers.
        SessionManager = "session-manager",
        /// Adopts processes whose parent has ended.
        Init = "init",
        /// The init of a container, a normal parent there.
        ContainerInit = "container-init",
        /// Stands between a container and the machine.
        ContainerShim = "container-shim",
        /// Screens and desktops.
        Display = "display",
        /// Looks after cards.
        CardService = "card-service",
        /// Runs other people's work on a node.
        NodeService = "node-service",
    }
}
