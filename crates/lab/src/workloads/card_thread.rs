//! A thread that waits for a card, so that the thread which asked can do something else meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use super::WorkError;
use crate::client::{Client, Kernel};

/// A spinning kernel is looked at this often; it ends so late at most.
const SPIN: Duration = Duration::from_millis(8);
/// Who has not come within this time will hardly come, and the kernel is looked at more rarely: a real one has no gaps.
const PATIENCE: Duration = Duration::from_millis(400);
const LONG_SPIN: Duration = Duration::from_millis(800);

/// What the card is asked for.
pub(super) enum Order {
    /// One kernel.
    Kernel(Kernel),
    /// Bytes over the link, to the card or back.
    Copy {
        /// How many.
        bytes: u64,
        /// To the card.
        to_device: bool,
    },
    /// A kernel that waits for others, until it is told that they are there.
    Spin(Arc<AtomicBool>),
}

/// The thread of one client.
pub(super) struct CardThread {
    orders: Sender<Order>,
    done: Receiver<()>,
}

impl CardThread {
    /// Starts the thread.
    pub(super) fn start(client: Arc<Client>) -> Result<Self, WorkError> {
        let (orders, received) = mpsc::channel();
        let (finish, done) = mpsc::channel();
        std::thread::Builder::new()
            .name("cuda00001400006".to_owned())
            .spawn(move || {
                for order in received {
                    carry_out(&client, &order);
                    if finish.send(()).is_err() {
                        return;
                    }
                }
            })
            .map_err(WorkError::Start)?;
        Ok(Self { orders, done })
    }

    /// Hands `order` to the card and goes on; one of [`CardThread::wait`] and [`CardThread::is_done`] must follow.
    pub(super) fn begin(&self, order: Order) {
        // The thread lives as long as this end of the channel.
        let _ = self.orders.send(order);
    }

    /// Whether the order is carried out; it says so once.
    pub(super) fn is_done(&self) -> bool {
        !matches!(self.done.try_recv(), Err(mpsc::TryRecvError::Empty))
    }

    /// Waits until the order is carried out.
    pub(super) fn wait(&self) {
        // A thread that has ended will not finish anything any more.
        let _ = self.done.recv();
    }

    /// Lets the card spin while `work` waits for others.
    pub(super) fn spin_while<T>(&self, work: impl FnOnce() -> T) -> T {
        let are_there = Arc::new(AtomicBool::new(false));
        self.begin(Order::Spin(Arc::clone(&are_there)));
        let result = work();
        are_there.store(true, SeqCst);
        self.wait();
        result
    }
}

fn carry_out(client: &Client, order: &Order) {
    match order {
        Order::Kernel(kernel) => {
            client.run_kernel(kernel);
        }
        Order::Copy { bytes, to_device } => {
            client.copy(*bytes, *to_device);
        }
        Order::Spin(are_there) => {
            let began = Instant::now();
            while !are_there.load(SeqCst) {
                let duration = if began.elapsed() < PATIENCE { SPIN } else { LONG_SPIN };
                client.run_kernel(&spinning(duration));
            }
        }
    }
}

/// A collective kernel that polls flags: it fills few multiprocessors, moves nothing and draws little.
fn spinning(duration: Duration) -> Kernel {
    Kernel {
        compute: 0.1,
        memory: 0.02,
        communication: 0.0,
        sm_share: 0.12,
        ..Kernel::of_arithmetic(duration)
    }
}
