// Wrong configurations and their errors, word for word. The reader finds one half of the mistakes; the other half is wrong
// for a machine of two nodes with four CPUs and 8 GiB each.
#pragma once

#include <array>

namespace mxkv::config {

struct WrongConfiguration {
  const char* what;
  const char* text;
  const char*
      errors;  ///< without the file's name; {top} and {limits} stand for the keys that are allowed there
};

inline constexpr std::array<WrongConfiguration, 126> kWrongConfigurations{{
    {"a key mistyped", "limts: {pipeline: 1}\n",
     "1:1: limts: an unknown key, did you mean limits? (allowed: {top})"},
    {"a prefix without its text", "prefixes:\n  - memory: 1GiB\n",
     "2:5: prefixes[0]: lacks its key prefix (allowed: the first bytes of keys)"},
    {"an empty prefix", "prefixes: [{prefix: \"\"}]\n",
     "1:21: prefixes[0].prefix: \"\" has 0 bytes (allowed: 1 to 250, as for a key)"},
    {"a prefix with a space", "prefixes: [{prefix: \"a b\"}]\n",
     "1:21: prefixes[0].prefix: \"a b\" has a space or a control character, and no key of the text protocols "
     "has one "
     "(allowed: other bytes)"},
    {"a prefix twice",
     "prefixes:\n  - prefix: \"a:\"\n  - prefix: \"b:\"\n  - {prefix: \"a:\", memory: 1GiB}\n",
     "4:5: prefixes[2]: the prefix \"a:\" is listed twice (allowed: once)"},
    {"a prefix without memory", "prefixes: [{prefix: a, memory: 0}]\n",
     "1:32: prefixes[0].memory: \"0\" is out of range (allowed: 64KiB to 64TiB, 1% to 100%, or none)"},
    {"a prefix with more than all memory", "prefixes: [{prefix: a, memory: 101%}]\n",
     "1:32: prefixes[0].memory: \"101%\" is no amount of memory (allowed: 64KiB to 64TiB, 1% to 100%, or "
     "none)"},
    {"a prefix that keeps more than its part",
     "memory: {limit: 1GiB}\nprefixes:\n  - {prefix: a, memory: 10%, keep: 200MiB}\n",
     "3:36: prefixes[0].keep: 200MiB is above memory (allowed: at most 102.3MiB)"},
    {"a prefix that evicts for what no prefix evicts", "prefixes: [{prefix: a, evict_for: keys}]\n",
     "1:35: prefixes[0].evict_for: \"keys\" is unknown (allowed: auto, requests, bytes)"},
    {"a prefix that keeps more than it may take", "prefixes:\n  - {prefix: a, memory: 1GiB, keep: 2GiB}\n",
     "2:5: prefixes[0]: keep, 2GiB, is above memory (allowed: at most 1GiB)"},
    {"prefixes that keep all memory",
     "memory: {limit: 8GiB}\nprefixes:\n  - {prefix: a, keep: 4GiB}\n  - {prefix: b, keep: 4GiB}\n",
     "4:23: prefixes[1].keep: makes what prefixes keep more than 7GiB (allowed: 7/8 of memory.limit)"},
    {"a prefix that does what no prefix does", "prefixes: [{prefix: a, when_full: wait}]\n",
     "1:35: prefixes[0].when_full: \"wait\" is unknown (allowed: evict, error)"},
    {"a key of a prefix mistyped", "prefixes: [{prefix: a, kep: 1MiB}]\n",
     "1:24: prefixes[0].kep: an unknown key, did you mean keep? (allowed: prefix, memory, keep, when_full, "
     "evict_for)"},
    {"prefixes that are no list", "prefixes: {prefix: a}\n",
     "1:11: prefixes: is not a list (allowed: [item, item])"},
    {"letters swapped", "memroy: {limit: 1GiB}\n",
     "1:1: memroy: an unknown key, did you mean memory? (allowed: {top})"},
    {"nothing like it", "colour: red\n", "1:1: colour: an unknown key (allowed: {top})"},
    {"a key of a section mistyped", "limits:\n  pipelines: 5\n",
     "2:3: limits.pipelines: an unknown key, did you mean pipeline? (allowed: {limits})"},
    {"a key at the wrong level", "limits:\n  workers: 5\n",
     "2:3: limits.workers: an unknown key (allowed: {limits})"},
    {"a key of prefetch mistyped", "experimental: {prefetch: {moed: off}}\n",
     "1:27: experimental.prefetch.moed: an unknown key, did you mean mode? (allowed: mode, distance, "
     "window)"},
    {"a key of a node mistyped", "nodes:\n  - node: 0\n    cpu: \"0-1\"\n",
     "3:5: nodes[0].cpu: an unknown key, did you mean cpus? (allowed: node, workers, cpus, memory, "
     "experimental)"},
    {"a key of a topology mistyped", "topologies:\n  - name: a\n    wen: {nodes: 2}\n",
     "3:5: topologies[0].wen: an unknown key, did you mean when? (allowed: name, when, workers, cpus, "
     "nodes)"},
    {"a listener of a node that is not there", "listeners: [{port: 1, node: 2}]\n",
     "1:29: listeners[0].node: no worker runs on NUMA node 2 (available: 0, 1)"},
    {"one port of one address twice", "listeners: [\"127.0.0.1:7\", {address: 127.0.0.1, port: 7}]\n",
     "1:28: listeners[1]: 127.0.0.1:7 is taken already (by listeners[0], 127.0.0.1:7)"},
    {"one address written in two ways", "listeners: [\"[::1]:7\", \"[0:0::1]:7\"]\n",
     "1:24: listeners[1]: [0:0::1]:7 is taken already (by listeners[0], [::1]:7)"},
    {"an address and all of them", "listeners:\n  - 127.0.0.1:7\n  - \"[::]:7\"\n  - 0.0.0.0:7\n",
     "4:5: listeners[2]: 0.0.0.0:7 is taken already (by listeners[0], 127.0.0.1:7)"},
    {"one socket file twice", "listeners: [\"unix:/run/s\", {path: /run/s}]\n",
     "1:28: listeners[1]: unix:/run/s is taken already (by listeners[0], unix:/run/s)"},
    {"a listener that asks for a login where there are no users",
     "listeners:\n  - 127.0.0.1:7\n  - {port: 8, auth: none}\n  - {port: 9, auth: required}\n",
     "4:21: listeners[2].auth: is required, but there are no users (allowed: required together with "
     "server.auth_file)"},
    {"administration that asks for a login where there are no users",
     "admin: {listeners: [{port: 7, auth: none}, {port: 8, auth: required}]}\n",
     "1:60: admin.listeners[1].auth: is required, but there are no users (allowed: required together with "
     "server.auth_file)"},
    {"reads at a replica where there is no cluster", "listeners:\n  - {port: 8, reads: replica}\n",
     "2:22: listeners[0].reads: is replica, but there is no cluster (allowed: replica together with "
     "cluster.name)"},
    {"administration that reads at a replica", "admin: {listeners: [{port: 7, reads: replica}]}\n",
     "1:38: admin.listeners[0].reads: its clients read no keys (allowed: a listener without reads)"},
    {"TLS of administration without a key", "admin: {listeners: [{port: 7, tls: {certificate: c}}]}\n",
     "1:21: admin.listeners[0]: lacks its key tls.key (allowed: a file in PEM)"},
    {"administration at a node", "admin: {listeners: [{port: 7, node: 0}]}\n",
     "1:37: admin.listeners[0].node: no worker serves administration (allowed: a listener without node)"},
    {"a listener of a node without workers", "listeners: [{port: 1, node: 1}]\nnodes: [{node: 0}]\n",
     "1:29: listeners[0].node: no worker runs on NUMA node 1 (available: 0, 1)"},
    {"a key of when mistyped", "topologies:\n  - {name: a, when: {node: 2}}\n",
     "2:22: topologies[0].when.node: an unknown key, did you mean nodes? (allowed: nodes, cpus, memory)"},
    {"a key of a node's prefetch mistyped", "nodes: [{node: 0, experimental: {prefetch: {distanc: 3}}}]\n",
     "1:45: nodes[0].experimental.prefetch.distanc: an unknown key, did you mean distance? (allowed: mode, "
     "distance, "
     "window)"},
    {"a capital letter", "Workers: 2\n",
     "1:1: Workers: an unknown key, did you mean workers? (allowed: {top})"},
    {"a key twice", "workers: 1\ncpus: all\nworkers: 2\n",
     "3:1: workers: a repeated key (allowed: once; first in line 1)"},
    {"a section twice", "memory: {limit: 1GiB}\nmemory: {huge_pages: off}\n",
     "2:1: memory: a repeated key (allowed: once; first in line 1)"},
    {"a key of a node twice", "nodes:\n  - {node: 0, workers: 1, workers: 2}\n",
     "2:27: nodes[0].workers: a repeated key (allowed: once; first in line 2)"},
    {"a key of a topology twice", "topologies:\n  - name: a\n    name: b\n",
     "3:5: topologies[0].name: a repeated key (allowed: once; first in line 2)"},
    {"a key of when twice", "topologies: [{name: a, when: {nodes: 2, nodes: 2}}]\n",
     "1:41: topologies[0].when.nodes: a repeated key (allowed: once; first in line 1)"},
    {"text for a number", "experimental: {lock_slots: many}\n",
     "1:28: experimental.lock_slots: \"many\" is not a number (allowed: decimal digits)"},
    {"a number with a unit", "workers: 4MiB\n",
     "1:10: workers: \"4MiB\" is not a number (allowed: decimal digits)"},
    {"a fraction", "workers: 1.5\n", "1:10: workers: \"1.5\" is not a number (allowed: decimal digits)"},
    {"an unknown order of tasks", "experimental: {order: fifo}\n",
     "1:23: experimental.order: \"fifo\" is unknown (allowed: las, nls)"},
    {"an unknown reach", "experimental: {order_reach: always}\n",
     "1:29: experimental.order_reach: \"always\" is unknown (allowed: off, node, machine)"},
    {"a negative number", "spin_rounds: -1\n",
     "1:14: spin_rounds: \"-1\" is not a number (allowed: decimal digits)"},
    {"a list for a number", "workers: [1, 2]\n",
     "1:10: workers: is a list or a mapping (allowed: one value)"},
    {"a mapping for a number", "experimental: {lock_slots: {a: 1}}\n",
     "1:28: experimental.lock_slots: is a list or a mapping (allowed: one value)"},
    {"a number for a section", "limits: 5\n", "1:9: limits: is not a mapping (allowed: key: value)"},
    {"a list for a section", "experimental: {prefetch: [off]}\n",
     "1:26: experimental.prefetch: is not a mapping (allowed: key: value)"},
    {"a number for a list", "nodes: 2\n",
     "1:8: nodes: \"2\" is not a list of nodes (allowed: auto, or [{node: 0, ...}, ...])"},
    {"a mapping for a list", "nodes: {node: 0}\n", "1:8: nodes: is not a list (allowed: [item, item])"},
    {"a number for a node", "nodes: [0, 1]\n",
     "1:9: nodes[0]: is not a mapping (allowed: key: value)\n1:12: nodes[1]: is not a mapping (allowed: key: "
     "value)"},
    {"text for topologies", "topologies: auto\n", "1:13: topologies: is not a list (allowed: [item, item])"},
    {"no value", "memory:\n  limit:\n", "2:3: memory.limit: has no value (allowed: one value)"},
    {"no truth", "memory: {numa_placement: yes}\n",
     "1:26: memory.numa_placement: \"yes\" is unknown, did you mean true? (allowed: false, true)"},
    {"decimal unit", "memory: {limit: 8GB}\n",
     "1:17: memory.limit: \"8GB\" is not an amount of memory, did you mean 8GiB? (allowed: a size such as "
     "512MiB or 8GiB, a part "
     "such as 75%, or auto)"},
    {"a unit in small letters", "limits: {value_bytes: 2mib}\n",
     "1:23: limits.value_bytes: \"2mib\" is not a size, did you mean 2MiB? (allowed: a whole number of "
     "bytes, or of KiB, MiB, "
     "GiB, TiB, such as 512MiB)"},
    {"a blank before the unit", "memory: {limit: 8 GiB}\n",
     "1:17: memory.limit: \"8 GiB\" is not an amount of memory, did you mean 8GiB? (allowed: a size such as "
     "512MiB or 8GiB, a "
     "part such as 75%, or auto)"},
    {"a duration without a unit", "limits: {scan_time: 5}\n",
     "1:21: limits.scan_time: \"5\" is not a duration (allowed: a whole number of ms, s, min or h, such as "
     "50ms)"},
    {"a duration in sizes", "experimental: {epoch: {interval: 5MiB}}\n",
     "1:34: experimental.epoch.interval: \"5MiB\" is not a duration (allowed: a whole number of ms, s, min "
     "or h, such as "
     "50ms)"},
    {"a size in milliseconds", "experimental: {epoch: {bytes: 5ms}}\n",
     "1:31: experimental.epoch.bytes: \"5ms\" is not a size (allowed: a whole number of bytes, or of KiB, "
     "MiB, GiB, TiB, "
     "such as 512MiB)"},
    {"percent of nothing", "limits: {value_bytes: 5%}\n",
     "1:23: limits.value_bytes: \"5%\" is not a size (allowed: a whole number of bytes, or of KiB, MiB, GiB, "
     "TiB, such as 512MiB)"},
    {"too many percent", "memory: {limit: 101%}\n",
     "1:17: memory.limit: \"101%\" is not a part (allowed: 1% to 100%)"},
    {"no percent", "memory: {limit: 0%}\n", "1:17: memory.limit: \"0%\" is not a part (allowed: 1% to 100%)"},
    {"percent with a fraction", "memory: {limit: 12.5%}\n",
     "1:17: memory.limit: \"12.5%\" is not a part (allowed: 1% to 100%)"},
    {"memory too small", "memory: {limit: 1KiB}\n",
     "1:17: memory.limit: \"1KiB\" is out of range (allowed: 16MiB to 64TiB, 1% to 100%, or auto)"},
    {"memory too large", "memory: {limit: 65TiB}\n",
     "1:17: memory.limit: \"65TiB\" is out of range (allowed: 16MiB to 64TiB, 1% to 100%, or auto)"},
    {"no worker", "workers: 0\n", "1:10: workers: \"0\" is out of range (allowed: 1 to 1024, or auto)"},
    {"too many workers", "workers: 1025\n",
     "1:10: workers: \"1025\" is out of range (allowed: 1 to 1024, or auto)"},
    {"too many slots", "experimental: {lock_slots: 64001}\n",
     "1:28: experimental.lock_slots: \"64001\" is out of range (allowed: 1 to 64000, or auto)"},
    {"no distance", "experimental: {prefetch: {distance: 0}}\n",
     "1:37: experimental.prefetch.distance: \"0\" is out of range (allowed: 1 to 64)"},
    {"distance too far", "nodes: [{node: 0, experimental: {prefetch: {distance: 65}}}]\n",
     "1:55: nodes[0].experimental.prefetch.distance: \"65\" is out of range (allowed: 1 to 64, or inherit)"},
    {"window too wide", "nodes: [{node: 0, experimental: {prefetch: {window: 257}}}]\n",
     "1:53: nodes[0].experimental.prefetch.window: \"257\" is out of range (allowed: 1 to 256, or inherit)"},
    {"number beyond 64 bits", "limits: {pipeline: 18446744073709551616}\n",
     "1:20: limits.pipeline: \"18446744073709551616\" is not a number (allowed: decimal digits)"},
    {"an unknown word", "memory: {huge_pages: always}\n",
     "1:22: memory.huge_pages: \"always\" is unknown (allowed: off, transparent)"},
    {"an unknown mode of a node", "nodes: [{node: 0, experimental: {prefetch: {mode: sometimes}}}]\n",
     "1:51: nodes[0].experimental.prefetch.mode: \"sometimes\" is unknown (allowed: inherit, off, distance, "
     "at_spawn, "
     "auto)"},
    {"CPUs backwards", "cpus: 3-1\n",
     "1:7: cpus: \"3-1\" is not a list of CPUs (allowed: CPU numbers and ranges such as 0-3,8, or all)"},
    {"CPUs with letters", "cpus: 0-a\n",
     "1:7: cpus: \"0-a\" is not a list of CPUs (allowed: CPU numbers and ranges such as 0-3,8, or all)"},
    {"a CPU twice", "cpus: 0-3,2\n",
     "1:7: cpus: \"0-3,2\" names CPU 2 twice (allowed: CPU numbers and ranges such as 0-3,8, or all)"},
    {"a CPU that is not there", "cpus: 0,9\n",
     "1:7: cpus: CPU 9 does not exist, or this process may not use it (available: 0-7)"},
    {"CPUs that are not there", "cpus: 6-10\n",
     "1:7: cpus: CPUs 8-10 do not exist, or this process may not use them (available: 0-7)"},
    {"CPUs of a node that are not there", "nodes:\n  - node: 0\n    cpus: \"3,8-9\"\n",
     "3:11: nodes[0].cpus: CPUs 8-9 do not exist, or this process may not use them (available: 0-7)"},
    {"CPUs of another node", "nodes:\n  - {node: 0, cpus: \"0-5\"}\n",
     "2:21: nodes[0].cpus: CPUs 4-5 are not of node 0 (it has 0-3)"},
    {"overlapping CPUs", "nodes:\n  - {node: 0, cpus: \"0-3\"}\n  - {node: 1, cpus: \"3-5\"}\n",
     "3:21: nodes[1].cpus: CPU 3 is taken already (by nodes[0].cpus)"},
    {"a node that is not there", "nodes:\n  - {node: 0}\n  - {node: 2}\n",
     "3:12: nodes[1].node: NUMA node 2 does not exist, or this process may not use it (available: 0, 1)"},
    {"a node beyond all", "nodes: [{node: 1024}]\n",
     "1:16: nodes[0].node: \"1024\" is out of range (allowed: 0 to 1023)"},
    {"a node twice", "nodes:\n  - {node: 1}\n  - {node: 1}\n",
     "3:12: nodes[1].node: node 1 is listed twice (first as nodes[0])"},
    {"a node without a number", "nodes:\n  - {workers: 1}\n",
     "2:5: nodes[0]: lacks its key node (allowed: the number of a NUMA node)"},
    {"workers and CPUs of a node", "nodes:\n  - {node: 0, workers: 1, cpus: \"1\"}\n",
     "2:5: nodes[0]: has both workers and cpus (allowed: one of them)"},
    {"memory beyond the node", "nodes:\n  - {node: 0, memory: 9GiB}\n  - {node: 1, memory: 8GiB}\n",
     "2:23: nodes[0].memory: node 0 has only 8GiB"},
    {"memory of some nodes", "nodes:\n  - {node: 0, memory: 4GiB}\n  - {node: 1}\n",
     "2:3: nodes: some nodes have memory and some do not (allowed: all or none)"},
    {"memory of nodes and of all", "memory: {limit: 4GiB}\nnodes:\n  - {node: 0, memory: 50%}\n",
     "1:17: memory.limit: given together with the memory of nodes (allowed: one of them)"},
    {"workers beside nodes", "workers: 2\nnodes: [{node: 0}]\n",
     "1:10: workers: given together with nodes (allowed: one of them; nodes have workers and cpus of their "
     "own)"},
    {"CPUs beside nodes", "nodes: [{node: 0}]\ncpus: 0-1\n",
     "2:7: cpus: given together with nodes (allowed: one of them; nodes have workers and cpus of their own)"},
    {"workers beside topologies", "workers: 2\ntopologies: [{name: a}]\n",
     "1:10: workers: given together with topologies (allowed: one of them; topologies have their own)"},
    {"nodes beside topologies", "topologies: [{name: a}]\nnodes: [{node: 0}]\n",
     "2:8: nodes: given together with topologies (allowed: one of them; topologies have their own)"},
    {"workers beside nodes of a topology",
     "topologies:\n  - name: a\n    workers: 2\n    nodes: [{node: 0}]\n",
     "3:14: topologies[0].workers: given together with nodes (allowed: one of them; nodes have workers and "
     "cpus of their own)"},
    {"a topology without a name", "topologies:\n  - when: {nodes: 2}\n",
     "2:5: topologies[0]: lacks its key name (allowed: a name of its own)"},
    {"a topology with a bad name", "topologies: [{name: two nodes}]\n",
     "1:21: topologies[0].name: \"two nodes\" is not a name (allowed: letters, digits, . _ -)"},
    {"two topologies of one name", "topologies:\n  - {name: a, when: {nodes: 2}}\n  - {name: a}\n",
     "3:5: topologies[1]: the name a is taken (allowed: a name of its own)"},
    {"a topology that is never reached", "topologies:\n  - {name: a}\n  - {name: b, when: {nodes: 1}}\n",
     "3:5: topologies[1]: is never used, because a before it fits every machine (allowed: a topology "
     "without when only as the last)"},
    {"a count that is none", "topologies: [{name: a, when: {nodes: 4-2}}]\n",
     "1:38: topologies[0].when.nodes: \"4-2\" is not a count (allowed: a number, a range such as 2-4, at "
     "least so many such as 2+, or any)"},
    {"a count of nothing", "topologies: [{name: a, when: {cpus: 0}}]\n",
     "1:37: topologies[0].when.cpus: \"0\" is not a count (allowed: a number, a range such as 2-4, at least "
     "so many such as 2+, or any)"},
    {"memory of when in percent", "topologies: [{name: a, when: {memory: 50%}}]\n",
     "1:39: topologies[0].when.memory: \"50%\" is not a size (allowed: a whole number of bytes, or of KiB, "
     "MiB, GiB, TiB, such as 512MiB)"},
    {"a file for another machine",
     "topologies:\n  - name: four\n    when: {nodes: 4}\n  - name: large\n    when: {cpus: 64+, memory: "
     "1TiB}\n",
     "2:3: topologies: none fits this machine, which has nodes: 2, cpus: 8, memory: 16GiB (four wants nodes: "
     "4; large wants cpus: 64+, memory: 1TiB)"},
    {"CPUs of the topology that fits",
     "topologies:\n  - name: four\n    when: {nodes: 4}\n    cpus: \"0-63\"\n  - name: two\n    when: "
     "{nodes: 2}\n    cpus: \"0-63\"\n",
     "7:11: topologies[1].cpus: CPUs 8-63 do not exist, or this process may not use them (available: 0-7)"},
    {"a node of the topology that fits",
     "topologies:\n  - name: two\n    when: {nodes: 2}\n    nodes:\n      - {node: 5, memory: 1GiB}\n",
     "5:16: topologies[0].nodes[0].node: NUMA node 5 does not exist, or this process may not use it "
     "(available: 0, 1)"},
    {"no listener", "listeners: []\n", "1:1: listeners: is an empty list (allowed: at least one item)"},
    {"a listener by name", "listeners: [\"localhost:11211\"]\n",
     "1:13: listeners[0]: \"localhost:11211\" names a host, and names are not looked up (allowed: an address "
     "in numbers "
     "and a port, such as 127.0.0.1:11211 or [::1]:11211, or unix:PATH)"},
    {"a listener without a port", "listeners: [\"127.0.0.1\"]\n",
     "1:13: listeners[0]: \"127.0.0.1\" is not an address and a port (allowed: an address in numbers and a "
     "port, such as 127.0.0.1:11211 or [::1]:11211, or unix:PATH)"},
    {"a port beyond all", "listeners: [{port: 65536}]\n",
     "1:20: listeners[0].port: \"65536\" is out of range (allowed: 0 to 65535)"},
    {"an alias", "limits: &a {pipeline: 1}\nlog: *a\n", "2:6: log: an alias (allowed: values written out)"},
    {"two documents", "workers: 1\n---\nworkers: 2\n", "2:1: a second document (allowed: one)"},
    {"a tab", "limits:\n\tpipeline: 1\n", "2:10: a tab indents line 2 (allowed: spaces)"},
    {"a word of other logs", "log: {level: warn}\n",
     "1:14: log.level: \"warn\" is unknown, did you mean warning? (allowed: trace, debug, info, warning, "
     "error, off)"},
    {"a truth as others write it", "server: {daemonize: yes}\n",
     "1:21: server.daemonize: \"yes\" is unknown, did you mean true? (allowed: false, true)"},
    {"a day", "durability: {checkpoint: {every: 1d}}\n",
     "1:34: durability.checkpoint.every: \"1d\" is not a duration, did you mean 24h? (allowed: a whole "
     "number of ms, "
     "s, min or h, such as 50ms)"},
    {"a role where clients log in", "server: {auth_file: u}\nlisteners: [{port: 7, role: reader}]\n",
     "2:29: listeners[0].role: has no effect where clients log in: their users have roles (allowed: role "
     "together "
     "with auth: none)"},
    {"a role of administration", "admin: {listeners: [{port: 7, role: reader}]}\n",
     "1:37: admin.listeners[0].role: its clients send no commands (allowed: a listener without role)"},
    {"an open brace", "limits: {pipeline: 1\n", "2:1: end of map flow not found"},
    {"a list as the file", "- workers\n", "1:1: is not a mapping (allowed: key: value)"},
    {"text as the file", "workers\n", "1:1: is not a mapping (allowed: key: value)"},
    {"several, of all kinds",
     "workers: 0\nnodes:\n  - {node: 7}\nlimits:\n  pipelin: 1\n  scan_time: 5\nlimits: {}\n",
     "1:10: workers: \"0\" is out of range (allowed: 1 to 1024, or auto)\n5:3: limits.pipelin: an unknown "
     "key, did you mean pipeline? (allowed: {limits})\n6:14: limits.scan_time: \"5\" is not a duration "
     "(allowed: a whole number of ms, s, min or h, such as 50ms)\n7:1: limits: a repeated key (allowed: "
     "once; first in line 4)"},
    {"several on the machine",
     "nodes:\n  - {node: 0, cpus: \"0-4\", memory: 9GiB}\n  - {node: 0}\n  - {node: 3}\nspin_rounds: x\n",
     "2:3: nodes: some nodes have memory and some do not (allowed: all or none)\n2:21: nodes[0].cpus: CPU 4 "
     "is "
     "not of node 0 (it has 0-3)\n2:36: nodes[0].memory: node 0 has only 8GiB\n3:12: nodes[1].node: node 0 "
     "is listed twice (first as nodes[0])\n4:12: nodes[2].node: NUMA node 3 does not exist, or this process "
     "may not use it (available: 0, 1)\n5:14: spin_rounds: \"x\" is not a number (allowed: decimal digits)"},
}};

}  // namespace mxkv::config
