"""php-memcached: its calls by both protocols, and PHP's sessions, which it keeps by the binary one."""

import concurrent.futures
import os
import subprocess

from common import DaemonCase, ServerCase, machine

_HERE = machine.Path(__file__).resolve().parent / "php"


def has_extension() -> str:
    if reason := machine.missing("php"):
        return reason
    listed = subprocess.run(["php", "-m"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
    return "" if "memcached" in listed.split() else "not installed: php-memcached"


def run_php(script: str, *arguments, settings=(), variables=None) -> str:
    flags = [part for name, value in settings for part in ("-d", f"{name}={value}")]
    done = subprocess.run(["php", *flags, str(_HERE / script), *arguments], env=os.environ | (variables or {}), stdin=subprocess.DEVNULL,
                          text=True, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@machine.needs(machine.long_only(), has_extension())
class ClientTest(ServerCase):
    def run_client(self, protocol: str) -> None:
        told = run_php("client.php", variables={"MXKV_PORT": str(self.server.port), "MXKV_PROTOCOL": protocol})
        self.assertEqual(told.count("passed: "), 8, told)

    def test_all_calls_by_the_binary_protocol(self):
        self.run_client("binary")

    def test_all_calls_by_text(self):
        self.run_client("text")


@machine.needs(machine.long_only(), has_extension())
class SessionTest(ServerCase):
    """PHP with its defaults, except for the store of sessions."""

    def settings(self, *more) -> tuple:
        return (("session.save_handler", "memcached"), ("session.save_path", f"127.0.0.1:{self.server.port}"), ("session.use_strict_mode", "0"), *more)

    def visit(self, name: str, *more, settings=()) -> str:
        return run_php("session.php", name, *more, settings=self.settings(*settings)).strip()

    def test_a_session_is_kept_from_visit_to_visit_until_it_ends(self):
        self.assertEqual([self.visit("ann"), self.visit("ann"), self.visit("bob")], ["1 1", "2 2", "1 1"])
        self.assertEqual(self.visit("ann", "leave"), "3 3")
        self.assertEqual(self.visit("ann"), "1 1")

    def test_a_session_is_locked_while_a_page_has_it(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pages:
            told = list(pages.map(lambda _: self.visit("many"), range(12)))
        self.assertEqual(sorted(int(line.split()[0]) for line in told), list(range(1, 13)))

    def test_by_text_it_finds_the_same_session(self):
        self.assertEqual(self.visit("both"), "1 1")
        self.assertEqual(self.visit("both", settings=(("memcached.sess_binary_protocol", "0"),)), "2 2")
        self.assertEqual(self.visit("both"), "3 3")


@machine.needs(machine.long_only(), has_extension())
class LoginTest(DaemonCase):
    def test_sessions_of_a_user_are_kept_and_others_are_not(self):
        (self.directory / "users").write_text("ann:secret\n")
        self.start("--set", "server.auth_file=users")
        settings = (("session.save_handler", "memcached"), ("session.save_path", f"127.0.0.1:{self.ports()[0]}"), ("session.use_strict_mode", "0"),
                    ("memcached.sess_sasl_username", "ann"), ("memcached.sess_sasl_password", "secret"))
        self.assertEqual(run_php("session.php", "s", settings=settings).strip(), "1 1")
        self.assertEqual(run_php("session.php", "s", settings=settings).strip(), "2 2")


if __name__ == "__main__":
    machine.main()
