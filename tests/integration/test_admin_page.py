"""The page in a real browser: its contents, that it fits, and that no text of a key becomes markup.

With MXKV_TEST_SHOTS=FOLDER the tests leave a picture of each width and colour scheme there.
"""

import base64
import datetime
import os
import re
import shutil
import unittest
from pathlib import Path

from harness.daemon import pause, wait_for
from harness.environment import LONG
from harness.http import AdminCase
from harness.tls import TlsCase

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
except ImportError:
    webdriver = None
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SHOTS = os.environ.get("MXKV_TEST_SHOTS")
EVIL = b'<img/src=x/onerror="document.title=1">&amp;'


def make_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@unittest.skipUnless(LONG or SHOTS, "takes a browser (MXKV_TEST_LONG)")
@unittest.skipUnless(webdriver and BROWSER and DRIVER, "chromium, its driver or selenium is not installed")
class AdminPageCase(AdminCase):
    def setUp(self):
        super().setUp()
        self.start_admin("--set", "stats.sample=1", "--set", "stats.slow=1ms", "--set", "limits.connections=50", *self.more(),
                         **self.options())
        self.work()
        self.browser = make_browser()
        self.addCleanup(self.browser.quit)
        self.url = f"http://127.0.0.1:{self.admin_port()}/"

    def more(self) -> tuple:
        """More arguments for the server; subclasses override it."""
        return ()

    def options(self) -> dict:
        """More options of start(); subclasses override it."""
        return {}

    def work(self) -> None:
        client = self.client()
        for prefix, count, size in ((b"user:", 300, 200), (b"session:a:", 200, 400), (b"session:b:", 100, 400), (b"rate:", 400, 5)):
            for i in range(count):
                client.set(prefix + b"%04d" % i, b"v" * size)
        evil = base64.b64encode(EVIL + b":key")
        client.ask(b"ms %s 1 b\r\nv" % evil)
        for _ in range(300):
            client.ask(b"mg %s b" % evil)
            client.get(b"user:0001")
        client.ask(b"mg none")
        client.close()

    def open(self, width: int = 1280, scheme: str = "light", height: int = 900) -> None:
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.browser.get(self.url)
        self.wait_polls(2)

    def wait_polls(self, count: int) -> None:
        before = self.polls()
        wait_for(lambda: self.polls() >= before + count, "the page asks again", 30)

    def polls(self) -> int:
        return int(self.script("return document.body.dataset.polls || 0"))

    def script(self, text: str, *arguments):
        return self.browser.execute_script(text, *arguments)

    def text(self, selector: str) -> str:
        return self.browser.find_element(By.CSS_SELECTOR, selector).text

    def count_prefixes(self) -> None:
        self.browser.find_element(By.CSS_SELECTOR, "#p-form button[type=submit]").click()
        wait_for(lambda: "prefixes" in self.text("#p-note"), "prefixes")

    def shot(self, width: int, scheme: str) -> None:
        if SHOTS:
            height = self.script("return document.documentElement.scrollHeight")
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                         {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700})
            self.wait_polls(1)
            self.browser.save_screenshot(str(Path(SHOTS) / f"page-{width}-{scheme}.png"))

    def assert_quiet(self) -> None:
        """The page's own rules refused nothing, nothing failed, and nothing came from elsewhere."""
        self.assertEqual([entry["message"] for entry in self.browser.get_log("browser")], [])
        names = self.script("return performance.getEntriesByType('resource').map(entry => entry.name)")
        self.assertTrue(all(name.startswith(self.url) for name in names), names)


class AdminPageTest(AdminPageCase):
    def test_it_shows_what_the_server_does(self):
        self.open()
        self.assertEqual(self.text("#state-text"), "ready")
        self.assertEqual(self.text("#f-connections"), "0")
        self.assertIn("of 64.0 MiB", self.text("#f-memory-limit"))
        wait_for(lambda: "% since the start" in self.text("#f-hits-all"), "a hit ratio")
        commands = [cell.text for cell in self.browser.find_elements(By.CSS_SELECTOR, "#t-commands tbody td:first-child")]
        self.assertEqual(commands, ["get", "set", "delete", "incr, decr", "touch", "ranges", "batches"])
        self.assertRegex(self.text("#m-items"), r"^1,001, ")
        self.assertIn("Node 0", self.text("#workers"))
        self.assertEqual(len(self.browser.find_elements(By.CSS_SELECTOR, ".worker")), 2)
        self.assertIn("user:0001", self.text("#t-hot"))
        self.assert_quiet()

    def test_it_is_live(self):
        self.open()
        before = self.text("#n-accepted")
        for _ in range(5):
            self.client().ask(b"mn")
        wait_for(lambda: self.text("#n-accepted") != before, "the number of accepted connections moves")

    def test_keys_are_text_whatever_is_in_them(self):
        self.open()
        self.assertIn(EVIL.decode() + ":key", self.text("#t-hot"))
        self.count_prefixes()
        self.assertIn(EVIL.decode(), self.text("#t-prefixes"))
        self.assertEqual(self.browser.find_elements(By.CSS_SELECTOR, "img"), [])
        self.assertIn("mxkv", self.browser.title)
        self.assert_quiet()

    def heights(self, selector: str) -> list:
        return self.script("return [...document.querySelectorAll(arguments[0])].map(one => one.offsetHeight)", selector)

    def test_no_room_is_kept_for_what_is_not_there(self):
        self.open()
        self.assertEqual(self.heights("#p-map, #p-scroll, #cluster, #certificates, #journal"), [0] * 5)
        [slow] = self.heights(".scroll:has(#t-slow)")
        self.assertLess(slow, 100 + 60 * len(self.browser.find_elements(By.CSS_SELECTOR, "#t-slow tbody tr")))

    def test_the_browser_keeps_an_hour_of_history(self):
        self.open()
        points = "return (document.querySelector('#c-requests path.line').getAttribute('d').match(/[ML]/g) || []).length"
        # An hour of seconds, as if the page had been open for so long.
        self.script("const now = Math.floor(status.time); for (let i = 1; i < 5000; ++i) past.seconds[now - i] ??= [5, 1000, 9000, 1, 0];")
        self.wait_polls(2)
        self.assertLessEqual(self.script("return Object.keys(past.seconds).length"), 3610, "older seconds are dropped")
        for seconds, span in ((900, "15 min"), (3600, "1 h"), (180, "3 min")):
            self.browser.find_element(By.CSS_SELECTOR, f'.ranges button[data-seconds="{seconds}"]').click()
            self.assertEqual(self.text(".ranges button[aria-pressed=true]"), span)
            self.assertIn(f"in the last {span}, now", self.script("return document.querySelector('#c-requests svg').getAttribute('aria-label')"))
            if seconds > 180:
                self.assertGreaterEqual(self.script(points), 178)
        self.shot_of("history")
        self.browser.refresh()
        self.wait_polls(2)
        self.assertGreater(self.script("return Object.keys(past.seconds).length"), 3000, "a page that is loaded again goes on")
        self.assert_quiet()

    def shot_of(self, name: str) -> None:
        if SHOTS:
            self.browser.find_element(By.CSS_SELECTOR, '.ranges button[data-seconds="3600"]').click()
            self.browser.save_screenshot(str(Path(SHOTS) / f"page-{name}.png"))

    def test_prefixes_are_tiles_that_open(self):
        self.open()
        self.assertEqual(self.text("#p-note"), "Press Count to begin.")
        self.count_prefixes()
        tile = self.browser.find_element(By.CSS_SELECTOR, '#p-map button[aria-label^="session:"]')
        self.assertIn("300 items", tile.get_attribute("aria-label"))
        tile.click()
        wait_for(lambda: "session:a:" in self.text("#t-prefixes"), "what is in the prefix")
        self.assertEqual(self.script("return document.getElementById('p-prefix').value"), "session:")
        self.browser.find_element(By.ID, "p-up").click()
        wait_for(lambda: "user:" in self.text("#t-prefixes"), "all prefixes again")
        self.assert_quiet()

    def test_tiles_cover_the_map_and_do_not_overlap(self):
        self.open()
        self.count_prefixes()
        area = self.script("""
            const map = document.getElementById('p-map'), tiles = [...map.children].map(tile => tile.getBoundingClientRect());
            const sum = tiles.reduce((all, tile) => all + tile.width * tile.height, 0);
            let over = 0;
            for (const a of tiles) for (const b of tiles) if (a !== b) over += Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left) - 1)
              * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) - 1);
            return [sum / (map.clientWidth * map.clientHeight), over];""")
        self.assertAlmostEqual(area[0], 1, delta=0.02)
        self.assertLess(area[1], 1)

    def test_it_fits_wide_and_narrow_screens_and_does_not_jump(self):
        for width in (1280, 820, 390, 320):
            with self.subTest(width):
                self.open(width)
                self.count_prefixes()
                self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), width)
                cut = self.script("""return [...document.querySelectorAll('b, dd, td, th, h2, .worker span, .legend li')]
                    .filter(one => one.offsetParent && one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline')
                    .map(one => one.textContent)""")
                self.assertEqual(cut, [])
                self.wait_polls(2)
                shift = self.browser.execute_async_script("""
                    const done = arguments[0]; let sum = 0;
                    new PerformanceObserver(list => list.getEntries().forEach(entry => { if (!entry.hadRecentInput) sum += entry.value; }))
                      .observe({type: 'layout-shift', buffered: true});
                    setTimeout(() => done(sum), 2500);""")
                self.assertLess(shift, 0.02)
                self.shot(width, "light")

    def test_it_is_light_or_dark_as_the_reader_likes_and_legible_in_both(self):
        grounds = set()
        for scheme in ("light", "dark"):
            self.open(390 if scheme == "dark" else 1280, scheme)
            self.count_prefixes()
            colours = self.script("""
                const probe = document.body.appendChild(document.createElement('i')), found = {};
                for (const name of ['ground', 'panel', 'text', 'soft', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'good', 'bad', 'warn']) {
                  probe.style.color = `var(--${name})`; found[name] = getComputedStyle(probe).color;
                }
                probe.remove();
                return found;""")
            for name in ("text", "soft", "bad"):
                for ground in ("ground", "panel"):
                    self.assertGreaterEqual(contrast(colours[name], colours[ground]), 4.5, (scheme, name, ground))
            for name in ("c1", "c2", "c3", "c4", "c5", "c6", "good", "warn"):
                self.assertGreaterEqual(contrast(colours[name], colours["panel"]), 3, (scheme, name))
            grounds.add(self.script("return getComputedStyle(document.body).backgroundColor"))
            self.shot(390 if scheme == "dark" else 1280, scheme)
            if scheme == "dark":
                self.open(1280, scheme)
                self.count_prefixes()
                self.shot(1280, scheme)
        self.assertEqual(len(grounds), 2)

    def test_who_does_not_see_it_hears_what_it_says(self):
        self.open()
        self.count_prefixes()
        self.assertEqual(self.script("return document.documentElement.lang"), "en")
        without = self.script("""return [...document.querySelectorAll('section, svg:not([aria-hidden]), button, input, .scroll')]
            .filter(one => !(one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.textContent.trim() || one.labels?.length))
            .map(one => one.outerHTML)""")
        self.assertEqual(without, [])
        self.assertEqual(self.script("return [...document.querySelectorAll('th')].filter(one => one.scope !== 'col').length"), 0)
        label = self.script("return document.querySelector('#c-requests svg').getAttribute('aria-label')")
        self.assertRegex(label, r"^Requests per second in the last 3 min, now ")
        self.assertEqual(self.browser.find_element(By.ID, "state").get_attribute("role"), "status")

    def test_a_server_that_is_gone_is_told_and_found_again(self):
        self.open()
        pause(self.process)
        self.addCleanup(lambda: self.process.poll() is None and self.process.send_signal(18))
        wait_for(lambda: self.text("#state-text") == "no answer", "no answer", 30)
        self.assertRegex(self.text("#notice"), r"^No answer since \d\d:\d\d:\d\d")
        self.process.send_signal(18)
        wait_for(lambda: self.text("#state-text") == "ready", "ready again", 30)
        self.assertFalse(self.browser.find_element(By.ID, "notice").is_displayed())

    def test_overload_is_told_at_the_top(self):
        self.open()
        clients = [self.client() for _ in range(50)]
        for client in clients:
            client.send(b"mn\r\n")
        wait_for(lambda: self.text("#state-text") == "overloaded", "overload", 30)
        self.assertEqual(self.text("#notice"), "all of 50 connections are in use (limits.connections)")
        for client in clients:
            client.close()
        wait_for(lambda: self.text("#state-text") == "ready", "ready again", 30)


class AdminPageTlsTest(AdminPageCase, TlsCase):
    """Some clients' listeners speak TLS."""

    def more(self) -> tuple:
        soon, key = self.root.sign("soon", until=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3, hours=1))
        return ("--set", f"listeners=[127.0.0.1:0, {{port: 0, tls: {{certificate: {self.server}, key: {self.key}}}}}, "
                         f"{{port: 0, tls: {{certificate: {soon}, key: {key}}}}}]")

    def options(self) -> dict:
        return {"listen": ()}

    def test_certificates_are_shown_with_their_ends(self):
        self.open()
        shown = [one.text for one in self.browser.find_elements(By.CSS_SELECTOR, "#n-certificates dd")]
        self.assertEqual(len(shown), 2)
        self.assertRegex(shown[0], r"^until \d{4}-\d\d-\d\d, (29|30) days$")
        self.assertRegex(shown[1], r"^until \d{4}-\d\d-\d\d, 3 days$")
        self.assertEqual([one.text for one in self.browser.find_elements(By.CSS_SELECTOR, "#n-certificates dd.soon")], shown[1:])
        self.shot(1280, "certificates")
        self.assert_quiet()


class AdminPageLoginTest(AdminPageCase):
    """The page's listener requires a login."""

    def more(self) -> tuple:
        users = self.directory / "users"
        users.write_text("users: [{name: r, password: x}, {name: a, password: y, role: administrator}]\n")
        users.chmod(0o600)
        return ("--set", f"server.auth_file={users}", "--set", "admin.listeners=[{port: 0, auth: required}]")

    def client(self, *arguments, **options):
        client = super().client(*arguments, **options)
        client.store(b"set", b"any", b"a y")
        return client

    def test_an_administrator_sees_all_of_it(self):
        self.url = self.url.replace("://", "://a:y@")
        self.open()
        self.assertEqual(self.text("#state-text"), "ready")
        self.assertIn("user:0001", self.text("#t-hot"))
        self.count_prefixes()
        self.assertIn("user:", self.text("#t-prefixes"))

    def test_others_see_no_keys_and_are_told_so(self):
        self.url = self.url.replace("://", "://r:x@")
        self.open()
        self.assertEqual(self.text("#state-text"), "ready")
        wait_for(lambda: "% since the start" in self.text("#f-hits-all"), "a hit ratio")
        for table in ("#t-hot", "#t-slow"):
            self.assertEqual(self.text(f"{table} tbody"), "Log in as an administrator to see keys and clients.")
        self.browser.find_element(By.CSS_SELECTOR, "#p-form button[type=submit]").click()
        wait_for(lambda: "only an administrator may see this" in self.text("#p-note"), "a refusal")


if __name__ == "__main__":
    unittest.main()
