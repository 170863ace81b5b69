"""What mxkvd's memory beyond keys and values is made of, by what the server counts itself (`stats memory`)."""
import pathlib
import re

INDEX = "nodes and fences of the tree"


def item_header_bytes():
    """Of an item without flags and expiry, as the source asserts it; 0 where it does not."""
    source = (pathlib.Path(__file__).resolve().parents[2] / "server" / "store" / "item" / "item.hpp").read_text()
    asserted = re.search(r"static_assert\(sizeof\(Item\) == (\d+)\)", source)
    return int(asserted[1]) if asserted else 0


def beyond_payload(counted, items, payload, whole):
    """Part -> bytes of what the `whole` is made of beyond the `payload`, which are the bytes of keys and values; all parts
    add up to it."""
    def over_nodes(name):
        return sum(int(value) for key, value in counted.items() if key.startswith("node:") and key.endswith(f":{name}"))

    live, spans = over_nodes("items:live"), over_nodes("items:spans")
    index_live, index_spans = over_nodes("index:live"), over_nodes("index:spans")
    header = items * item_header_bytes()
    parts = {
        INDEX: index_live,
        "spans of the tree beyond what is used": index_spans - index_live,
        "items' headers": header,
        "items' rounding to size classes": live - payload - header,
        "spans of items beyond what is used": spans - live,
        "tasks": int(counted["tasks"]),
        "buffers and output": int(counted["buffers"]) + int(counted["output"]),
    }
    parts["rest"] = whole - payload - sum(parts.values())
    return parts
