"""The documentation site: the repository's Markdown files as they are, made by Sphinx, MyST and Furo. server/site/build runs it."""

import re
from pathlib import Path

from pygments.lexers.special import TextLexer

ROOT = Path(__file__).resolve().parents[2]

project = "mxkv"
author = "mxkv developers"
version = release = re.search(r"project\(mxkv VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["**.md"]
exclude_patterns = [".github/ISSUE_TEMPLATE", ".github/pull_request_template.md", ".devcontainer", "build", "**/node_modules",
                    "**/target", "**/dist"]
html_theme = "furo"
html_title = f"mxkv {version}"
html_copy_source = html_show_sphinx = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
# Headings get the anchors that code hosts give them.
myst_heading_anchors = 6

# The order of the pages. Sphinx warns of a document that is missing here.
CONTENTS = {
    "Use it": ["server/guides/from-memcached", "server/guides/from-redis", "server/guides/comparison", "protocol/clients/README",
               "protocol/clients/cli/README", "protocol/PROTOCOL"],
    "Run it": ["server/OPERATING", "server/site/configuration", "server/STATS", "server/guides/README", "server/guides/packages",
               "server/guides/sizing", "server/guides/tuning", "server/guides/alerts", "server/guides/troubleshooting",
               "server/guides/upgrading", "docker/README", ".github/SECURITY", "Changelog of the server <server/CHANGELOG>"],
    "Clients": ["protocol/clients/python/README", "protocol/clients/go/README", "protocol/clients/java/README",
                "protocol/clients/typescript/README", "protocol/clients/ycsb/README",
                *(f"Changelog for {title} <protocol/clients/{name}/CHANGELOG>" for title, name in (
                    ("Python", "python"), ("Go", "go"), ("Java", "java"), ("TypeScript", "typescript")))],
    "Measure it": ["bench/README", "bench/FIGURES", "bench/NOTES", "bench/server/README", "bench/index/README",
                   "bench/figures/README", "bench/figures/RESULTS"],
    "Understand it": ["server/ARCHITECTURE", "server/architecture/request", "server/architecture/store",
                      "server/architecture/memory", "server/architecture/durability", "server/architecture/cluster",
                      "server/architecture/house", "server/GLOSSARY", "runtime/PAPERS", "runtime/README",
                      "runtime/topology/README", "runtime/memory/README", "runtime/hierarchy/buckets/README",
                      "runtime/scheduler/rebalancing/README", "runtime/synchronization/latched/README", "index/README",
                      "protocol/README", "config/README", "server/README", "server/net/README", "server/cluster/README",
                      "server/admin/README"],
    "Change it": [".github/CONTRIBUTING", ".github/STYLE", "tests/integration/README", "tests/differential/README",
                  "tests/simulation/README", "tests/corpus/README", "tests/clients/README", "tests/cluster/README",
                  "tests/numa/README", "tests/package/README"],
}
FENCE = re.compile(r"(?ms)(^ *```.*?^ *```$|`[^`\n]*`)")
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s#:]+)\)")


def to_page(folder: Path, link: re.Match) -> str:
    """A link to a folder leads to its README; without one, the text is enough."""
    target = folder / link[2]
    if not target.is_dir():
        return link[0]
    return f"[{link[1]}]({link[2].rstrip('/')}/README.md)" if (target / "README.md").is_file() else link[1]


def prepare(app, name, source):
    folder = (ROOT / name).parent
    parts = FENCE.split(source[0])
    parts[::2] = [LINK.sub(lambda link: to_page(folder, link), part) for part in parts[::2]]
    source[0] = "".join(parts)
    if name == root_doc:
        for caption, pages in CONTENTS.items():
            lines = "\n".join(pages)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n:maxdepth: 1\n\n{lines}\n```\n"


def add_front_door(app, error):
    if error is None:
        Path(app.outdir, "index.html").write_text(
            '<!doctype html><meta charset="utf-8"><title>mxkv</title><meta http-equiv="refresh" content="0; url=README.html">\n'
            '<a href="README.html">mxkv</a>\n', encoding="utf-8")


def setup(app):
    app.add_lexer("mxkv", TextLexer)
    app.connect("source-read", prepare)
    app.connect("build-finished", add_front_door)
