use super::*;

const GOOD: &str = r#"name = "two"
virtual-channels = 2
payload = 2048

[root]
name = "rc"
queue = 650

[[switch]]
name = "s0"
buffer = 8

[[endpoint]]
name = "a"
modules = 2

[[endpoint]]
name = "b"
bus-rate = "400MB"
down-buffer = 4

[[link]]
name = "l0"
up = "rc"
down = "s0"
width = 16

[[link]]
name = "l1"
up = "s0"
down = "b"
generation = 2

[[link]]
name = "l2"
up = "rc"
down = "a"
"#;

/// A file with what it calls a default said, too.
fn told(text: &str) -> String {
    let is_setting = |rest: &&str| rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
    let line = |line: &str| line.strip_prefix("# ").filter(is_setting).unwrap_or(line).to_owned() + "\n";
    text.lines().map(line).collect()
}

#[test]
fn files_that_explain_a_network_are_one() {
    let files = [
        (include_str!("../../../../scenarios/topology.toml"), "\nup-buffer = 16 ", (2, 8)),
        (include_str!("../../../../scenarios/topology-ethernet.toml"), "\noverhead = 78 ", (2, 8)),
    ];
    for (text, default, size) in files {
        let topology = Topology::parse("topology.toml", text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((topology.clusters().len(), topology.modules()), size);
        let told = told(text);
        assert!(told.contains(default), "{told}");
        assert_eq!(Topology::parse("told.toml", &told).unwrap_or_else(|error| panic!("{error}")), topology);
    }
}

#[test]
fn a_file_says_what_there_is() {
    let topology = Topology::parse("two.toml", GOOD).unwrap();
    assert_eq!((topology.name(), topology.queue(), topology.payload, topology.channels), ("two", 650, 2048, 2));
    // In the order of the links: that is where addresses come from.
    assert_eq!((topology.cluster_name(0), topology.cluster_name(1)), ("b", "a"));
    assert_eq!((topology.clusters()[0].bus_rate, topology.clusters()[0].down_buffer), (400_000_000, 4));
    assert_eq!((topology.modules_of(0), topology.modules_of(1)), (0..4, 4..6));
    assert_eq!(topology.nodes[topology.toward(0, 0) as usize].name, "s0");
    assert_eq!(topology.nodes[topology.toward(0, 1) as usize].name, "a");
}

/// The error of the good file with one thing replaced, and the line that was changed.
fn with(old: &str, new: &str) -> (FabricError, usize) {
    assert!(GOOD.contains(old), "{old}");
    let at = GOOD.find(old).unwrap();
    let line = GOOD[..at].matches('\n').count() + 1;
    (Topology::parse("two.toml", &GOOD.replacen(old, new, 1)).expect_err(new), line)
}

#[test]
fn what_cannot_be_is_refused_and_the_line_named() {
    let cases = [
        ("queue = 650", "queue = 0", "queue of 0"),
        ("buffer = 8", "buffer = 0", "buffer of 0"),
        ("down-buffer = 4", "down-buffer = 0", "down-buffer of 0"),
        ("down-buffer = 4", "up-buffer = 0", "up-buffer of 0"),
        ("modules = 2", "modules = 0", "modules of 0"),
        ("\"400MB\"", "\"0\"", "bus-rate: less than 10 MB per second; give \"10MB\" or more"),
        ("\"400MB\"", "\"1\"", "bus-rate: less than 10 MB"),
        ("modules = 2", "modules = 65", "at most 64"),
        ("modules = 2", "modules = 100000000", "at most 64"),
        ("modules = 2", "modules = 4294967295", "at most 64"),
        ("modules = 2", "latency-ns = 18446744073709551615", "latency-ns of 18446744073709551615"),
        ("modules = 2", "latency-ns = 1000001", "at most 1000000 (1 ms)"),
        ("modules = 2", "bus-command-ns = 1000001", "bus-command-ns of 1000001"),
        ("queue = 650", "latency-ns = 1000001", "latency-ns of 1000001"),
        ("buffer = 8", "latency-ns = 1000001", "latency-ns of 1000001"),
        ("generation = 2", "latency-ns = 1000001", "latency-ns of 1000001"),
        ("generation = 2", "rate = \"9MB\"", "rate: less than 10 MB per second"),
        ("generation = 2", "width = 4\nrate = \"1250MB\"", "width: of PCI Express"),
        ("generation = 2", "generation = 2\nrate = \"1250MB\"", "generation: of PCI Express"),
        ("generation = 2", "frame = 1460", "give its rate"),
        ("generation = 2", "overhead = 78", "give its rate"),
        ("generation = 2", "frame = 100\nrate = \"1250MB\"", "from 536 to 8972"),
        ("generation = 2", "overhead = 1025\nrate = \"1250MB\"", "at most 1024"),
        ("name = \"two\"", "name = \"\"", "nothing in this name"),
        ("name = \"s0\"", "name = \"s\\u0001\"", "\"s\\u{1}\" has a control character"),
        ("name = \"l1\"", "name = \"l\\n1\"", "has a control character"),
        ("name = \"l1\"", "name = \"l0\"", "named twice, first in line 23"),
        ("name = \"b\"", "name = \"a\"", "another \"a\""),
        ("down = \"b\"", "down = \"c\"", "nothing is called \"c\"; there are a, b, rc, s0"),
        ("down = \"a\"", "down = \"b\"", "a loop: \"b\" hangs on link \"l1\""),
        ("down = \"a\"", "down = \"rc\"", "upper end"),
        ("up = \"s0\"", "up = \"a\"", "is an endpoint"),
        ("up = \"rc\"\ndown = \"s0\"", "up = \"s0\"\ndown = \"s0\"", "a loop: going up from \"s0\""),
        ("width = 16", "width = 3", "lanes"),
        ("generation = 2", "generation = 9", "from 1 to 5"),
        ("payload = 2048", "payload = 8192", "128, 256"),
        ("virtual-channels = 2", "virtual-channels = 3", "1, or 2"),
        ("modules = 2", "moduls = 2", "unknown field"),
    ];
    for (old, new, expected) in cases {
        let (error, line) = with(old, new);
        assert!(error.message.contains(expected), "{new}: {error}");
        assert!((line..=line + 1).contains(&error.line), "{new}: {error}, changed in {line}");
    }
}

#[test]
fn a_cluster_without_a_link_is_named_where_it_is_described() {
    let text = GOOD.replace("[[link]]\nname = \"l2\"\nup = \"rc\"\ndown = \"a\"\n", "");
    let error = Topology::parse("two.toml", &text).unwrap_err();
    assert_eq!(error.line, 14);
    assert!(error.message.contains("cluster \"a\" cannot be reached"), "{error}");
    assert!(error.to_string().starts_with("two.toml:14:8: "), "{error}");
}

#[test]
fn what_is_not_reached_is_named_where_its_own_name_stands() {
    // The network has the same name, or the name has other quotes.
    for (network, endpoint) in [("\"lost\"", "\"lost\""), ("\"two\"", "'lost'")] {
        let named = GOOD.replace("\"two\"", network);
        let lines = named.lines().count();
        let error = Topology::parse("two.toml", &format!("{named}[[endpoint]]\nname = {endpoint}\n")).unwrap_err();
        assert!(error.message.contains("cluster \"lost\" cannot be reached"), "{error}");
        assert_eq!((error.line, error.column), (lines + 2, 8), "{error}");
    }
}

#[test]
fn a_chain_of_thousands_of_switches_is_a_network() {
    let mut text = String::from("name = \"chain\"\n[root]\nname = \"s0\"\n[[endpoint]]\nname = \"e\"\n");
    for n in 1..=4000 {
        let link = format!("[[link]]\nname = \"l{n}\"\nup = \"s{}\"\ndown = \"s{n}\"\n", n - 1);
        text += &format!("[[switch]]\nname = \"s{n}\"\n{link}");
    }
    text += "[[link]]\nname = \"last\"\nup = \"s4000\"\ndown = \"e\"\n";
    let chain = Topology::parse("chain.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((chain.switches(), chain.modules_of(0)), (4000, 0..4));
}

#[test]
fn a_ring_of_switches_is_a_loop() {
    let ring = "name = \"r\"\n[root]\nname = \"rc\"\n[[switch]]\nname = \"s\"\n[[switch]]\nname = \"t\"\n\
        [[endpoint]]\nname = \"e\"\n[[link]]\nname = \"1\"\nup = \"s\"\ndown = \"t\"\n\
        [[link]]\nname = \"2\"\nup = \"t\"\ndown = \"s\"\n[[link]]\nname = \"3\"\nup = \"t\"\ndown = \"e\"\n";
    let error = Topology::parse("ring.toml", ring).unwrap_err();
    assert_eq!(error.line, 17);
    assert!(error.message.contains("a loop"), "{error}");
}

#[test]
fn nothing_at_all_is_no_network() {
    for text in ["", "name = \"x\"", "name = \"x\"\n[root]\nname = \"rc\"\n", "\u{0}", "name = 3"] {
        assert!(Topology::parse("t", text).is_err(), "{text:?}");
    }
}
