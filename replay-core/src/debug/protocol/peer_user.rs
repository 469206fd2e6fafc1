//! The user at the other end of a connection. A debugger can run any code in the program, so only the
//! user who started the server may connect.

use std::net::{IpAddr, SocketAddr};

/// The user who owns the other end of a connection on this machine, from the system's table.
pub(super) fn of_port(peer: SocketAddr, own: SocketAddr) -> Option<u32> {
    let table = if peer.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    owner(&std::fs::read_to_string(table).ok()?, peer, own)
}

/// The owner of the connection from `local` to `remote` in the text of the table.
fn owner(table: &str, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    let (local, remote) = (hex(local), hex(remote));
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it =
            fields.get(1) == Some(&local.as_str()) && fields.get(2) == Some(&remote.as_str());
        // The owner is the eighth field.
        if is_it { fields.get(7)?.parse().ok() } else { None }
    })
}

/// An address as the table has it: words of 32 bits in the machine's byte order, and the port.
fn hex(address: SocketAddr) -> String {
    let bytes: Vec<u8> = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = bytes
        .chunks(4)
        .map(|word| format!("{:08X}", u32::from_ne_bytes(word.try_into().unwrap_or_default())));
    words.collect::<String>() + &format!(":{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::geteuid;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_owner_of_a_connection_is_this_user() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            // Not every machine has IPv6.
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let own = listener.local_addr().expect("an address");
            let _client = TcpStream::connect(own).expect("it listens");
            let (stream, peer) = listener.accept().expect("a client");
            let own = stream.local_addr().expect("an address");
            assert_eq!(of_port(peer, own), Some(geteuid().as_raw()), "{host}");
        }
    }

    #[test]
    fn the_owner_is_read_from_the_line_of_the_connection() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n\
             0: 0100007F:0929 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 1\n\
             1: 0100007F:D431 0100007F:0929 01 00000000:00000000 00:00000000 00000000  1001 0 2\n";
        let [local, remote] =
            ["127.0.0.1:54321", "127.0.0.1:2345"].map(|text| text.parse().expect("one"));
        assert_eq!(owner(table, local, remote), Some(1001));
        assert_eq!(owner(table, remote, local), None);
    }
}
