// The crate memcache at MXKV_PORT, through its own calls: by the binary protocol, its default, and by text. A user logs in by TLS at
// MXKV_TLS_PORT and, with a certificate, at MXKV_MUTUAL_TLS_PORT. MXKV_CERTIFICATES is a folder: ca.pem signed all certificates,
// ann.pem has its key, too.
use memcache::Client;
use std::collections::HashMap;
use std::time::{Duration, Instant};

fn setting(name: &str) -> String {
    std::env::var(name).unwrap()
}

fn address(query: &str) -> String {
    format!("memcache://127.0.0.1:{}?timeout=20&{query}", setting("MXKV_PORT"))
}

fn secured(port: &str, query: &str) -> String {
    let (port, folder) = (setting(port), setting("MXKV_CERTIFICATES"));
    format!("memcache+tls://bob:secret@127.0.0.1:{port}?timeout=20&ca_path={folder}/ca.pem&{query}")
}

fn all_calls(prefix: &str, address: String) {
    let client = Client::connect(address).unwrap();
    let binary = prefix.contains("binary");
    let key = |name: &str| format!("{prefix}{name}");

    client.set(&key("k"), "v", 0).unwrap();
    assert_eq!(client.get::<String>(&key("k")).unwrap().unwrap(), "v");
    assert_eq!(client.add(&key("k"), "w", 0).is_err(), binary); // by text the client does not report it
    assert_eq!(client.get::<String>(&key("k")).unwrap().unwrap(), "v");
    client.replace(&key("k"), "w", 0).unwrap();
    client.append(&key("k"), ">").unwrap();
    client.prepend(&key("k"), "<").unwrap();
    assert_eq!(client.get::<String>(&key("k")).unwrap().unwrap(), "<w>");
    assert!(client.delete(&key("k")).unwrap());
    assert!(!client.delete(&key("k")).unwrap());
    assert_eq!(client.get::<String>(&key("k")).unwrap(), None);

    let names: Vec<String> = (0..300).map(|number| key(&format!("many{number}"))).collect();
    for (number, name) in names.iter().enumerate() {
        client.set(name, number as u32, 0).unwrap();
    }
    let asked: Vec<&str> = names.iter().map(String::as_str).collect();
    let found: HashMap<String, u32> = client.gets(&asked).unwrap();
    assert_eq!(found.len(), 300);
    assert_eq!(found[&names[17]], 17);

    client.set(&key("n"), 10, 0).unwrap();
    assert_eq!(client.increment(&key("n"), 5).unwrap(), 15);
    assert_eq!(client.decrement(&key("n"), 3).unwrap(), 12);

    client.set(&key("cas"), "first", 0).unwrap();
    let seen: HashMap<String, (Vec<u8>, u32, Option<u64>)> = client.gets(&[&key("cas")]).unwrap();
    let unique = seen[&key("cas")].2.unwrap();
    assert!(client.cas(&key("cas"), "second", 0, unique).unwrap());
    assert!(!client.cas(&key("cas"), "third", 0, unique).unwrap());

    client.set(&key("short"), "v", 1).unwrap();
    client.set(&key("kept"), "v", 1).unwrap();
    assert!(client.touch(&key("kept"), 1000).unwrap());
    let begun = Instant::now();
    while client.get::<String>(&key("short")).unwrap().is_some() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the short-lived key is gone");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(client.get::<String>(&key("kept")).unwrap().is_some());

    let large = vec![7u8; 1_000_000];
    client.set(&key("large"), &large[..], 0).unwrap();
    assert_eq!(client.get::<Vec<u8>>(&key("large")).unwrap().unwrap(), large);
    if binary {
        assert!(client.stats().unwrap()[0].1.contains_key("curr_items")); // by text it stops at the first line
    }
    assert!(client.version().unwrap()[0].1.starts_with("1."));
}

#[test]
fn by_its_default_the_binary_protocol() {
    all_calls("binary ", address(""));
}

#[test]
fn by_text() {
    all_calls("text_", address("protocol=ascii"));
}

#[test]
fn by_tls_with_a_login() {
    all_calls("tls binary ", secured("MXKV_TLS_PORT", ""));
    all_calls("tls_text_", secured("MXKV_TLS_PORT", "protocol=ascii"));
}

#[test]
fn by_tls_with_a_certificate() {
    let folder = setting("MXKV_CERTIFICATES");
    let shown = format!("cert_path={folder}/ann.pem&key_path={folder}/ann.key");
    all_calls("mutual binary ", secured("MXKV_MUTUAL_TLS_PORT", &shown));
}
