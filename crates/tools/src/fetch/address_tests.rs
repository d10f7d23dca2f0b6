//! Checks which addresses count as public, and that names lead to no other.

use super::*;

#[track_caller]
fn check(verdict: fn(IpAddr) -> bool, addresses: &str, expected: bool) {
    for address in addresses.split_whitespace() {
        assert_eq!(verdict(address.parse().unwrap()), expected, "{address}");
    }
}

const PUBLIC: &str = "1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1 \
    192.167.1.1 198.17.0.1 198.20.0.1 223.255.255.255 2606:4700::1111 2a00:1450::1 2001:4860::1 2001:200::1";

const OWN: &str = "127.0.0.1 127.255.255.255 10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 \
    100.64.0.1 100.127.255.255 ::1 fc00::1 fd12:3456::1";

const NEVER: &str = "0.0.0.0 0.1.2.3 169.254.0.1 169.254.169.254 100.100.100.200 192.0.0.1 192.0.2.1 \
    192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 \
    255.255.255.255 :: fe80::1 fe80::a9fe:a9fe fec0::1 ff02::1 fd00:ec2::254 fd20:ce::254 \
    ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1 \
    2001::1 2001:db8::1 2002:7f00:1::1 3fff::1 4000::1";

#[test]
fn only_the_internet_is_public() {
    check(is_public, PUBLIC, true);
    check(is_public, OWN, false);
    check(is_public, NEVER, false);
}

#[test]
fn own_networks_can_be_allowed_but_no_address_that_gives_credentials() {
    check(is_harmless, PUBLIC, true);
    check(is_harmless, OWN, true);
    check(is_harmless, NEVER, false);
}

#[derive(Debug)]
struct Fixed(Vec<IpAddr>);

#[async_trait]
impl Lookup for Fixed {
    async fn lookup(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.clone())
    }
}

async fn resolve(addresses: &str) -> Result<Vec<String>, String> {
    let addresses = addresses.split_whitespace().map(|one| one.parse().unwrap()).collect();
    let checked = Checked { names: Arc::new(Fixed(addresses)), may_reach: is_public };
    let found = checked.resolve("a.example".parse().unwrap()).await;
    found
        .map(|found| found.map(|one| one.ip().to_string()).collect())
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_name_leads_only_to_its_public_addresses() {
    assert_eq!(resolve("127.0.0.1 1.1.1.1 ::1").await.unwrap(), ["1.1.1.1"]);
    let refusal = resolve("10.0.0.1 ::ffff:1.1.1.1").await.unwrap_err();
    assert!(refusal.starts_with("a.example has only private addresses"), "{refusal}");
    assert!(resolve("").await.unwrap().is_empty());
}

#[tokio::test]
async fn the_machines_own_names_are_looked_up() {
    let found = System.lookup("localhost").await.unwrap();
    assert!(found.iter().any(IpAddr::is_loopback), "{found:?}");
}
