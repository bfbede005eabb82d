//! `/proc/PID/net/tcp` and `tcp6`.

use std::collections::BTreeSet;

use super::bytes::{number, numbered_lines, words};

/// State of a connection over which data can come.
const ESTABLISHED: &[u8] = b"01";

/// Returns the numbers of the sockets whose connections are open. Lines that cannot be understood are left out.
pub fn connected_sockets(file: &[u8]) -> BTreeSet<u64> {
    let mut sockets = BTreeSet::new();
    // A line of headings.
    for (_, line) in numbered_lines(file).skip(1) {
        // Number, both addresses, state; queues, timer, retransmissions, user, time-out; then the socket.
        let mut fields = words(line).skip(3);
        if fields.next() != Some(ESTABLISHED) {
            continue;
        }
        // A connection that its program has closed has no socket any more.
        sockets.extend(fields.nth(5).and_then(number).filter(|socket| *socket != 0));
    }
    sockets
}

#[cfg(test)]
mod tests {
    use super::connected_sockets;

    #[test]
    fn only_open_connections_count() {
        let file = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7001 1 0 100 0\n\
            \x20  1: 0100007F:1F90 0100007F:D2A4 01 00000000:00000000 00:00000000 00000000  1000        0 7002 1 0 20 4\n\
            \x20  2: 0100007F:1F90 0100007F:D2A6 01 00000000:00000000 00:00000000 00000000  1000        0 0 1 0 20 4\n\
            \x20  3: cut 01 01\n";
        assert_eq!(connected_sockets(file).into_iter().collect::<Vec<_>>(), [7002]);
        assert!(connected_sockets(b"").is_empty());
    }
}
