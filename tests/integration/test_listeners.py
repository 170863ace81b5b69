"""Listeners: IPv4, IPv6 and unix sockets in any mix, and the life of a unix socket's file."""

import os
import signal
import socket
import stat
import unittest

from harness import DaemonCase, mxkv_only

HAS_IPV6 = os.path.exists("/proc/net/if_inet6") and bool(open("/proc/net/if_inet6", encoding="ascii").read())


@mxkv_only("its listeners")
class ListenersTest(DaemonCase):
    def test_one_key_is_seen_through_all_kinds_of_listeners(self):
        listen = ["127.0.0.1:0", "unix:one.sock", "unix:" + str(self.directory / "two.sock"), "127.0.0.1:0"]
        addresses = [("127.0.0.1", 0), self.directory / "one.sock", self.directory / "two.sock", ("127.0.0.1", 0)]
        if HAS_IPV6:
            listen.append("[::1]:0")
            addresses.append(("::1", 0))
        self.start(listen=listen)
        ports = iter(self.ports())
        addresses = [address if not isinstance(address, tuple) else (address[0], next(ports)) for address in addresses]
        clients = [self.client(address) for address in addresses]
        for i, client in enumerate(clients):
            self.assertEqual(client.set(b"k%d" % i, b"value%d" % i), b"STORED")
        for client in clients:
            self.assertEqual([client.get(b"k%d" % i) for i in range(len(clients))],
                             [b"value%d" % i for i in range(len(clients))])
        self.end()

    def test_statistics_tell_the_listeners_that_are_open(self):
        self.start(listen=["unix:so cket"])
        settings = self.client(self.directory / "so cket").stats(b"settings")
        self.assertEqual((settings["tcpport"], settings["inter"]), ("0", "NULL"))
        self.assertTrue(settings["domain_socket"].endswith("so cket"), settings)
        self.end()
        self.log_file.unlink()
        self.start(listen=["127.0.0.1:0"])
        settings = self.client().stats(b"settings")
        self.assertEqual((settings["tcpport"], settings["inter"], settings["domain_socket"], settings["ssl_enabled"]),
                         (str(self.ports()[0]), "127.0.0.1", "NULL", "no"))
        self.end()

    def test_a_large_value_and_a_deep_pipeline_go_through_a_unix_socket(self):
        self.start(listen=["unix:mxkv.sock"])
        client = self.client(self.directory / "mxkv.sock")
        value = bytes(range(97, 123)) * 30000
        self.assertEqual(client.set(b"large", value), b"STORED")
        self.assertTrue(client.get(b"large") == value)
        client.send(b"incr missing 1\r\n" * 5000 + b"version\r\nquit\r\n")
        self.assertEqual(client.rest().count(b"NOT_FOUND\r\n"), 5000)
        self.end()

    def test_a_unix_socket_has_its_mode_and_goes_at_the_end(self):
        self.write_config('listeners: ["unix:default.sock", {path: private.sock, mode: "0600"}, {path: open.sock, mode: 666}]\n')
        os.chmod(self.directory, 0o755)
        before = os.umask(0o077)  # the daemon must ignore it
        try:
            self.start(listen=(), wait="listening on unix:open.sock")
        finally:
            os.umask(before)
        modes = {name: stat.S_IMODE(os.lstat(self.directory / f"{name}.sock").st_mode)
                 for name in ("default", "private", "open")}
        self.assertEqual(modes, {"default": 0o660, "private": 0o600, "open": 0o666})
        self.end()
        self.assertEqual([name for name in os.listdir(self.directory) if name.endswith(".sock")], [])

    def test_a_file_that_a_crashed_daemon_left_is_replaced(self):
        path = self.directory / "mxkv.sock"
        process = self.start(listen=["unix:mxkv.sock"])
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(stat.S_ISSOCK(os.lstat(path).st_mode))
        self.log_file.unlink()
        self.start(listen=["unix:mxkv.sock"])
        self.assertEqual(self.client(path).ask(b"incr a 1"), b"NOT_FOUND")
        self.end()

    def test_a_socket_that_is_answered_is_left_alone(self):
        path = self.directory / "mxkv.sock"
        self.start(listen=["unix:mxkv.sock"])
        code, error = self.run_to_end(listen=["unix:mxkv.sock"])
        self.assertEqual(code, 1, error)
        self.assertIn("mxkv.sock: address already in use: a process answers on this socket", error)
        self.assertEqual(self.client(path).ask(b"incr a 1"), b"NOT_FOUND")
        self.end()

    def test_a_file_that_is_no_socket_is_left_alone(self):
        path = self.directory / "precious"
        path.write_text("data")
        code, error = self.run_to_end(listen=[f"unix:{path}"])
        self.assertEqual(code, 1, error)
        self.assertIn(f"listen on unix:{path}: the file exists and is not a socket", error)
        self.assertEqual(path.read_text(), "data")

    def test_of_several_listeners_one_that_fails_leaves_no_file(self):
        code, error = self.run_to_end(listen=["unix:mxkv.sock", f"unix:{self.directory}/none/mxkv.sock"])
        self.assertEqual(code, 1, error)
        self.assertIn(f"listen on unix:{self.directory}/none/mxkv.sock: No such file or directory", error)
        self.assertFalse((self.directory / "mxkv.sock").exists())

    def test_a_file_that_took_the_place_of_ours_stays(self):
        path = self.directory / "mxkv.sock"
        self.start(listen=["unix:mxkv.sock"])
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
            self.end()
            self.assertTrue(path.exists())


if __name__ == "__main__":
    unittest.main()
