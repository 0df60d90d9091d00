"""Addresses that lead where nobody may be led, made by rule; and some that lead to the public net."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

NETS = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32", "168.63.129.16/32", "100.100.100.200/32",
    "192.0.0.192/32", "169.254.169.254/32",
)  # fmt: skip
NETS_6 = (
    "::/128", "::1/128", "100::/64", "2001::/32", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "fc00::/7",
    "fe80::/10", "fec0::/10", "ff00::/8", "fd00:ec2::254/128", "64:ff9b:1::/48", "3fff::/20", "5f00::/16",
)  # fmt: skip
INNER = ("127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "100.100.100.200")
PUBLIC_4 = ("93.184.216.34", "8.8.8.8", "1.1.1.1", "151.101.1.69", "104.16.132.229")
PUBLIC_6 = ("2606:2800:220:1:248:1893:25c8:1946", "2a00:1450:4001:81b::200e", "2620:fe::fe")


def hostile() -> list[str]:
    return list(
        dict.fromkeys([*_nets(), *_notations(), *_carried(), *_tricks(), *_schemes(), *_names(), *_ports()])
    )


def _nets() -> Iterator[str]:
    for net in map(ip_network, (*NETS, *NETS_6)):
        last = net.network_address + (net.num_addresses - 1)
        middle = net.network_address + net.num_addresses // 2
        for address in dict.fromkeys((net.network_address, middle, last)):
            yield f"http://[{address}]/" if address.version == 6 else f"http://{address}/"


def _notations() -> Iterator[str]:
    """The ways in which resolvers read one address of version 4."""
    for text in INNER:
        number = int(ip_address(text))
        parts = [int(part) for part in text.split(".")]
        a, b, c, d = parts
        hosts = [
            str(number), hex(number), f"0{number:o}", f"{number + 2**32}",
            ".".join(map(hex, parts)), ".".join(f"0{part:o}" for part in parts), f"{a}.{(b << 16) + (c << 8) + d}",
            f"{a}.{b}.{(c << 8) + d}", ".".join(f"{part:03}" for part in parts), f"{text}.", f"0x{number:08X}",
            ".".join(f"0x{part:02X}" for part in parts), "".join(f"%{ord(ch):02x}" for ch in text),
            text.replace(".", "%2e"), text.replace(".", "。"), text.replace(".", "．"),
            "".join(chr(0xFF10 + int(ch)) if ch.isdigit() else ch for ch in text),
            "".join(chr(0x2460 + int(ch) - 1) if ch in "123456789" else ch for ch in text),
        ]  # fmt: skip
        for host in hosts:
            yield f"http://{host}/"


def _carried() -> Iterator[str]:
    """Addresses of version 4 inside of version 6."""
    for text in INNER:
        number = int(ip_address(text))
        high, low = number >> 16, number & 0xFFFF
        for host in (
            f"::ffff:{text}", f"::{text}", f"::ffff:0:{text}", f"64:ff9b::{text}", f"64:ff9b:1::{text}",
            f"2002:{high:x}:{low:x}::1", f"2001:0:{high:x}:{low:x}::", f"fe80::5efe:{text}", f"::ffff:{high:x}:{low:x}",
            f"0:0:0:0:0:ffff:{high:x}:{low:x}", f"::{high:x}:{low:x}", "fe80::1%25eth0", "::1%lo",
        ):  # fmt: skip
            yield f"http://[{host}]/"


def _tricks() -> Iterator[str]:
    """Hosts that two readers read differently."""
    for inner in ("127.0.0.1", "localhost", "169.254.169.254"):
        yield from (
            f"http://example.com@{inner}/", f"http://{inner}\\@example.com/", f"http://example.com\\@{inner}/",
            f"http://user:pass@{inner}/", f"http://{inner}#@example.com/", f"http://{inner}?@example.com/",
            f"http:///{inner}/", f"http:{inner}/", f"http:/{inner}/", f"http://{inner}%00.example.com/",
            f"http://{inner}%0d%0aHost:x/", f"http://{inner}\t/", f" http://{inner}/", f"http://{inner}\r\n/",
            f"http://example.com:80@{inner}/", f"http://[{inner}]/", f"http://{inner}:80:80/", f"//{inner}/",
            f"http://example.com%2f@{inner}/", f"http://example.com;@{inner}/", f"http://{inner}\x00/",
            f"http://{inner}\u2028/", f"http://\u200b{inner}/", f"http://{inner}|/", f"http://{inner}`/",
        )  # fmt: skip


def _schemes() -> Iterator[str]:
    for scheme in (
        "file", "ftp", "gopher", "dict", "ldap", "ldaps", "tftp", "sftp", "ssh", "telnet", "smb", "jar", "netdoc",
        "data", "javascript", "vbscript", "ws", "wss", "unix", "http+unix", "mailto", "news", "nntp", "imap", "pop3",
        "rtsp", "redis", "php", "expect", "view-source", "blob", "about", "chrome", "res", "cid", "mid",
    ):  # fmt: skip
        yield f"{scheme}://127.0.0.1/etc/passwd"
        yield f"{scheme}:///etc/passwd"
    yield from (
        "HTTP+X://127.0.0.1/",
        "hxxp://127.0.0.1/",
        "",
        "http://",
        "http:",
        "127.0.0.1",
        "/etc/passwd",
        "?",
        "#",
    )


def _names() -> Iterator[str]:
    for name in (
        "localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "a.localhost", "ip6-localhost", "broadcasthost",
        "metadata", "metadata.google.internal", "instance-data", "kubernetes.default.svc.cluster.local", "printer.local",
        "router.lan", "intranet", "nas.home", "db.corp", "host.docker.internal", "x.onion", "x.invalid", "x.test",
        "1.0.0.127.in-addr.arpa", "-a.com", "a-.com", "a..com", ".com", "a" * 64 + ".com", "a." * 130 + "com", "xn--.",
    ):  # fmt: skip
        yield f"http://{name}/"


def _ports() -> Iterator[str]:
    for port in (
        0,
        1,
        21,
        22,
        25,
        53,
        111,
        8000,
        8080,
        8443,
        3306,
        5432,
        6379,
        9200,
        11211,
        27017,
        65535,
        65536,
    ):
        yield f"http://site.org:{port}/"
    yield from ("http://site.org:443/", "https://site.org:80/", "http://site.org:-1/", "http://site.org:8e1/")


def public() -> list[str]:
    """Addresses that must not be refused."""
    names = [
        "http://site.org/", "https://site.org/", "https://SITE.org/Path?q=1#part", "https://site.org:443/",
        "http://site.org:80/a", "https://a.b.c.site.org/", "https://site-with-dash.org/x_y", "https://münchen.de/",
        "https://xn--mnchen-3ya.de/", "https://site.org/a/../b", "https://site.org/?u=http://127.0.0.1/",
        "https://site.org/%2e%2e/", "https://127.0.0.1.nip.org/", "https://1.site.org/", "https://site.org./",
        "https://日本.jp/", "https://site.org/a(b)c", "https://site.org/a;b=c", "https://_dmarc.site.org/",
        "https://site.co.uk/", "https://s.org", "https://site.org/@user",
    ]  # fmt: skip
    return [*names, *(f"http://{a}/" for a in PUBLIC_4), *(f"https://[{a}]/" for a in PUBLIC_6)]
