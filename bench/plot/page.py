"""The base of all pages: one HTML file that loads nothing, with headings, tables and charts."""

from html import escape

import charts

_STYLE = """
body { font: 15px/1.45 system-ui, 'DejaVu Sans', sans-serif; color: #1b1f24; background: #fff; margin: 0 auto;
  padding: 1.5em 2em 3em; max-width: 1640px; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin: 1.8em 0 .5em; }
table { border-collapse: collapse; } th, td { padding: .3em .9em; border-bottom: 1px solid #d8dee4; text-align: right; }
th { background: #f6f8fa; } th:first-child, td:first-child { text-align: left; }
.charts { display: flex; flex-wrap: wrap; gap: 1.2em; }
.charts figure { margin: 0; border: 1px solid #d8dee4; border-radius: 6px; padding: .6em; overflow-x: auto; }
details { margin: .5em 0; } summary { cursor: pointer; font-weight: 600; }
dt { color: #57606a; } dd { margin: 0 0 0 1em; overflow-wrap: anywhere; } .warning { color: #b42318; font-weight: 600; }
"""


class Page:
    """Grows from the top. Texts are escaped here."""

    def __init__(self, title, heading, note=""):
        self._parts = [f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>{escape(title)}</title>'
                       f"<style>{_STYLE}</style></head><body>\n<h1>{escape(heading)}</h1>\n"]
        if note:
            self.warning(note)

    def heading(self, text):
        self._parts.append(f"<h2>{escape(text)}</h2>\n")

    def text(self, text):
        self._parts.append(f"<p>{escape(text)}</p>\n")

    def warning(self, text):
        self._parts.append(f'<p class="warning">{escape(text)}</p>\n')

    def charts(self, figures):
        """(title, figure) pairs, side by side where there is room."""
        drawn = "".join(f'<figure aria-label="{escape(title)}">\n{charts.svg(figure)}</figure>\n' for title, figure in figures)
        self._parts.append(f'<div class="charts">\n{drawn}</div>\n')

    def table(self, head, rows, summary=None):
        """Folded away under `summary`, where there is one."""
        def row(tag, cells):
            return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>\n"
        table = "<table>\n" + row("th", head) + "".join(row("td", cells) for cells in rows) + "</table>\n"
        self._parts.append(f"<details><summary>{escape(summary)}</summary>\n{table}</details>\n" if summary else table)

    def facts(self, summary, facts):
        """(name, value) pairs, folded away; pairs without a value are left out."""
        told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>\n" for name, value in facts if value)
        self._parts.append(f"<details><summary>{escape(summary)}</summary>\n<dl>{told}</dl></details>\n")

    def __str__(self):
        return "".join(self._parts) + "</body></html>\n"
