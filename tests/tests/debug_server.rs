//! The debug server: a position always has the same state, independent of the commands that reached
//! it; and the server survives any client.

use search::rng::Rng;
use tests::debugging::{endless, failing};
use tests::heddle::Home;
use tests::rsp::{Client, Server, hex};

/// The running thread's registers and stack, and the program's data.
fn state(client: &mut Client) -> String {
    let registers = client.ask("g");
    let rsp = registers.get(7 * 16..8 * 16).expect("rsp").to_owned();
    let bytes: Vec<u8> =
        (0..8).map(|at| u8::from_str_radix(&rsp[2 * at..2 * at + 2], 16).unwrap_or(0)).collect();
    let rsp = u64::from_le_bytes(bytes.try_into().expect("eight"));
    let stack = client.ask(&format!("m{rsp:x},400"));
    let data = client.ask("m555555558000,100");
    format!("{registers} {stack} {data}")
}

#[test]
fn a_step_forward_and_back_changes_nothing() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let server = Server::start(&home, &trace, &["--at", "10"]);
    let mut client = server.connect();
    client.ask("vCont;s");
    let before = state(&mut client);
    for _ in 0..20 {
        assert!(client.ask("vCont;s").starts_with("T05"));
    }
    for _ in 0..20 {
        assert!(client.ask("bs").starts_with("T05"));
    }
    assert_eq!(state(&mut client), before, "{}", client.monitor("when"));
}

/// For lldb a stop of the schedule has a description.
#[test]
fn stops_are_described_to_lldb() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let server = Server::start(&home, &trace, &["--at", "start"]);
    let mut client = server.connect();
    let threads = client.ask("qXfer:threads:read::0,1000");
    let expected = r#"<thread id="p1.1" core="0" name="main">running</thread>"#;
    assert!(threads.contains(expected), "{threads}");
    // Only gdb relocates instructions.
    client.ask("qSupported:multiprocess+;swbreak+");
    let described = |text: &str| format!("reason:exception;description:{};", hex(text));
    client.ask("vCont;s");
    let stop = client.ask("bc");
    assert!(stop.contains(&described("the schedule begins here")), "{stop}");
    client.monitor("stop-on switch");
    let stop = client.ask("vCont;c");
    assert!(stop.contains(&described("the schedule reaches a step to stop at")), "{stop}");
    client.monitor("stop-on off");
    let stop = client.ask("vCont;c");
    let end = "end of the schedule: T1 waits for b, held by T2; T2 waits for a, held by T1";
    assert!(stop.contains(&described(end)), "{stop}");
}

/// Packets of the remote protocol, to be truncated, mutated and concatenated.
const WORDS: &[&[u8]] = &[
    b"g",
    b"G00",
    b"p",
    b"pzz",
    b"P1=",
    b"m",
    b"m0,10",
    b"mffffffffffffffff,ffff",
    b"M0,1:",
    b"X0,0:",
    b"Z0",
    b"Z0,0,1",
    b"Z9,1,1",
    b"z2,8,3",
    b"Z2,ffffffffffffffff,8",
    b"Hg",
    b"Hgp1.ff",
    b"Hcp1.-1",
    b"T",
    b"Tp9.9",
    b"vCont;x",
    b"vCont;r5",
    b"vFile:open:zz,0,0",
    b"vFile:pread:1,1,1",
    b"vFile:",
    b"vRun",
    b"qXfer:threads:read::0",
    b"qXfer:auxv:read::ffffffff,ffffffff",
    b"qXfer:siginfo:read::0,80",
    b"qGetTLSAddr:1,2",
    b"qGetTLSAddr:p1.1,0,0",
    b"qRcmd,",
    b"qRcmd,zz",
    b"qHeddle:",
    b"qHeddle:6c697374203920",
    b"qMemoryRegionInfo:zz",
    b"QCatchSyscalls",
    b"b",
    b"bx",
    b"",
    b"s",
    b"C99",
    b"?",
    b"qThreadExtraInfo,",
    b"Z0,555555555000,1;X5,26",
    b"bc",
    b"bs",
    b"vCont;c",
    b"vCont;s:p1.2",
    b"vCont;r555555555100,555555555300:p1.2",
    b"vRun;",
    b"vRun;;35",
    b"vKill;1",
    b"vAttach;1",
    b"D;1",
    b"k",
    b"R00",
    b"!",
    b"Z0,5555555551b7,1",
    b"z0,5555555551b7,1",
    b"Z2,5555555580a8,4",
    b"z2,5555555580a8,4",
    b"Z0,5555555551b7,1;X4,22001327",
    b"QCatchSyscalls:1;1",
    b"QCatchSyscalls:0",
    b"QStartNoAckMode",
    b"qSupported:multiprocess+",
    b"qXfer:features:read:target.xml:0,ffb",
    b"vFile:open:2f70726f632f312f6d617073,0,0",
    b"vFile:pread:3,400,0",
    b"vFile:close:3",
    b"M5555555580a8,4:01020304",
    b"X5555555580a8,2:ab",
    b"P10=0000000000000000",
    b"_M1000,rx",
    b"qHeddle:6e6f77207069636b205431",
    b"qHeddle:6e6f7720676f746f2039",
    b"qHeddle:726576657273652073746570",
    b"qRcmd,776879",
];

/// One of these packets, complete or truncated.
fn random_packet(rng: &mut Rng) -> Vec<u8> {
    let word = |rng: &mut Rng| WORDS[rng.below(WORDS.len() as u32) as usize];
    let mut packet = word(rng).to_vec();
    match rng.below(8) {
        0 | 1 => packet.truncate(rng.below(packet.len() as u32 + 1) as usize),
        2 => packet.extend((0..rng.below(8)).map(|_| 0x24u8.wrapping_add(rng.below(90) as u8))),
        3 => packet.extend_from_slice(word(rng)),
        4 if !packet.is_empty() => {
            let at = rng.below(packet.len() as u32) as usize;
            packet[at] = rng.below(256) as u8;
        }
        5 if !packet.is_empty() => {
            let at = rng.below(packet.len() as u32) as usize;
            packet[at] = b"0123456789abcdefx,;:-"[rng.below(21) as usize];
        }
        _ => {}
    }
    packet.retain(|byte| !matches!(byte, b'#' | b'$' | b'}' | 3));
    packet
}

/// Valid and invalid packets in any order, and bytes that are not packets: the server and the
/// program survive, and the recording is unchanged. `HEDDLE_PACKETS` sets their number,
/// `HEDDLE_PACKETS_SEED` the seed.
#[test]
fn random_packets_do_no_harm() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let rounds: u64 = number("HEDDLE_PACKETS").unwrap_or(400);
    let mut rng = Rng::new(number("HEDDLE_PACKETS_SEED").unwrap_or(7), 0);
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let file = home.path().join(&trace);
    let recorded = std::fs::read(&file).expect("there");
    let mut server = Server::start(&home, &trace, &["--at", "main", "--keep"]);
    let mut client = server.connect();
    let mut last: Vec<String> = Vec::new();
    for round in 0..rounds {
        let packet = random_packet(&mut rng);
        last.push(String::from_utf8_lossy(&packet).into_owned());
        if last.len() > 30 {
            last.remove(0);
        }
        client.packet(&packet);
        // A breakpoint in the middle of an instruction changes the program, which may then run
        // forever.
        client.send(&[3]);
        if !client.is_answered_up_to(round) {
            assert!(server.is_alive(), "it has ended: {last:?}");
            client = server.connect();
        }
        if rng.below(20) == 0 {
            let noise: Vec<u8> = (0..rng.below(30)).map(|_| rng.below(256) as u8).collect();
            client.send(&noise);
            drop(client);
            client = server.connect();
        }
    }
    drop(client);
    let mut client = server.connect();
    client.ask("vRun;");
    assert!(client.monitor("when").contains("position 0.+0"), "{last:?}");
    assert_eq!(std::fs::read(&file).expect("there"), recorded);
    assert_eq!(home.heddle(["replay", &trace]).status, 1);
}

#[test]
fn clients_are_served_one_after_another() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let mut server = Server::start(&home, &trace, &["--at", "main", "--keep"]);
    assert!(server.lines[1].starts_with("lldb "), "{:?}", server.lines);
    let mut client = server.connect();
    // The first client disconnects in the middle of a packet; the next one begins at the same
    // position.
    client.send(b"$m1234,");
    drop(client);
    let mut client = server.connect();
    assert!(client.ask("?").starts_with('T'));
    client.packet(b"vCont;c");
    drop(client);
    let mut client = server.connect();
    client.ask("vRun;");
    assert!(client.monitor("when").contains("position 0.+0"));
    assert_eq!(client.ask("D;1"), "OK");
    let mut client = server.connect();
    client.packet(b"k");
    assert_eq!(client.answer(), None);
    let mut client = server.connect();
    assert!(client.ask("qfThreadInfo").starts_with("mp01.01"));
    assert!(server.is_alive());
}

#[test]
fn an_endless_loop_is_interrupted_and_stepped_backwards() {
    let home = Home::new();
    let trace = endless(&home);
    let server = Server::start(&home, &trace, &["--at", "main"]);
    let mut client = server.connect();
    // The position at this time is arbitrary.
    client.packet(b"vCont;c");
    client.send(&[3]);
    let stop = client.answer().expect("an answer");
    assert!(stop.starts_with("T02"), "{stop}");
    // This position is inside the loop.
    let steps = client.monitor("schedule").split_whitespace().count();
    client.monitor(&format!("goto {steps}"));
    for _ in 0..2 {
        assert!(client.ask("vCont;s").starts_with("T05"));
    }
    client.packet(b"vCont;c");
    client.send(&[3]);
    let stop = client.answer().expect("an answer");
    assert!(stop.starts_with("T02"), "{stop}");
    assert!(client.ask("vCont;s").starts_with("T05"));
    let before = state(&mut client);
    for _ in 0..20 {
        assert!(client.ask("bs").starts_with("T05"));
    }
    for _ in 0..20 {
        assert!(client.ask("vCont;s").starts_with("T05"));
    }
    assert_eq!(state(&mut client), before);
}

#[test]
fn another_schedule_is_chosen_explored_saved_and_left() {
    let home = Home::new();
    let trace = failing(&home, "abba");
    let file = home.path().join(&trace);
    let bytes = std::fs::read(&file).expect("there");
    let server = Server::start(&home, &trace, &["--at", "main"]);
    let mut client = server.connect();
    let recorded = client.monitor("schedule");
    let tasks: Vec<u64> =
        recorded.split_whitespace().map(|task| task.parse().expect("a task")).collect();
    // The first step with another enabled task.
    let (step, other) = (1..=tasks.len())
        .find_map(|step| {
            client.monitor(&format!("goto {step}"));
            assert!(client.ask("vCont;s").starts_with("T05"));
            let able = client.monitor("enabled");
            let moved = tasks[step - 1].to_string();
            let other = able.split_whitespace().find(|&task| task != moved)?;
            Some((step, other.to_owned()))
        })
        .expect("a choice");
    client.monitor(&format!("goto {step}"));
    client.ask("vCont;s");
    assert_eq!(client.monitor(&format!("pick T{other}")), "");
    let thread = format!("thread:p01.{:02x}", other.parse::<u32>().expect("a task") + 1);
    assert!(client.ask("vCont;s").contains(&thread), "{}", client.said);
    assert_ne!(client.monitor("schedule"), recorded);
    assert!(client.monitor("when").starts_with(&format!("step {step} of")));
    let saved = client.monitor("save other.heddle");
    assert!(saved.contains("saved"), "{saved}");
    assert_eq!(home.heddle(["replay", "other.heddle"]).status, 0);
    assert_eq!(client.monitor("explore"), "");
    let stop = client.ask("vCont;s");
    assert!(stop.starts_with('T'), "{stop}");
    assert!(client.said.contains("a failure, after"), "{}", client.said);
    // The search may find the same failure again, but it must not replace the recording.
    assert_eq!(std::fs::read(&file).expect("there"), bytes);
    let open = client.monitor(&format!("save {trace}"));
    assert!(open.contains("is not replaced; choose another name"), "{open}");
    assert_eq!(std::fs::read(&file).expect("there"), bytes);
    assert_eq!(client.monitor("pick back"), "");
    client.ask("vCont;s");
    assert_eq!(client.monitor("schedule"), recorded);
    assert!(client.monitor("when").starts_with(&format!("step {step} of")));
    // Choosing a task that is not enabled is refused.
    assert_eq!(client.monitor("pick T9"), "");
    client.ask("vCont;s");
    assert!(client.said.contains("T9 is not enabled here"), "{}", client.said);
}
