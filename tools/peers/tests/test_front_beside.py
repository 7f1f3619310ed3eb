"""Tests of front-beside: its configurations and its table."""

import unittest
from pathlib import Path

from tools.peers.front_beside import servers, table
from tools.peers.front_beside.servers import Places


class FrontBeside(unittest.TestCase):
    def setUp(self):
        self.places = Places(Path("/tmp/x"), ["a.test", "b.test"], 4433, 8080, 50051)

    def test_each_host_has_a_site_with_its_own_certificate(self):
        for text in (servers.NGINX_SITE, servers.CADDY_SITE, servers.APACHE_SITE):
            sites = self.places.sites(text)
            for host in self.places.hosts:
                self.assertEqual(sites.count(f"/tmp/x/live/{host}/fullchain.pem"), 1)
                self.assertEqual(sites.count(f"/tmp/x/www/{host}"), 1)
            for port in ("4433", "8080", "50051"):
                self.assertIn(port, sites)

    def test_each_announces_http3_at_its_own_port(self):
        for text in (servers.NGINX_SITE, servers.HAPROXY):
            self.assertIn("""'h3=":4433"; ma=86400'""", self.places.fill(text, host="a.test"))
        for text in (servers.CADDY_SITE, servers.APACHE_SITE):
            filled = self.places.fill(text, host="a.test")
            self.assertIn('"h3=\\":4433\\"; ma=86400"', filled)

    def test_the_table_counts_what_is_right(self):
        rows = [{"server": "nginx", "client": "curl", "asked": "file", "measured": text,
                 "right": right}
                for text, right in (("200", True), ("500", False), ("not installed", None))]
        lines = table.text(rows).splitlines()
        self.assertEqual(lines[0].split(), ["server", "client", "asked", "measured"])
        self.assertEqual([line.split()[-1] for line in lines[1:4]], ["right", "WRONG", "-"])
        self.assertEqual(lines[4], "1 right, 1 wrong, 1 not asked")
        self.assertEqual(len({line.index("file") for line in lines[1:4]}), 1)


if __name__ == "__main__":
    unittest.main()
