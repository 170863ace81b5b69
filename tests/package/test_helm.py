"""The Helm chart: rendered by helm, checked by Kubernetes' own schemas and by the daemon that reads the configuration."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import machine

for _folder in ("clients", "integration/harness"):
    sys.path.insert(0, str(machine.REPOSITORY / "tests" / _folder))
import registries  # noqa: E402 - the path comes first
from certificates import Authority  # noqa: E402

CHART = machine.REPOSITORY / "docker" / "helm" / "mxkv"
# The newest that builds with Debian 12's Go.
_HELM = ("helm.sh/helm/v3/cmd/helm", "v3.12.3")
KUBERNETES = ("1.27", "1.33")

CACHE_ONLY = {"durability": {"enabled": False}, "replicas": 3, "spread": False,
              "resources": {"requests": {"cpu": "2500m"}, "limits": {"memory": "512Mi"}}}
EVERYTHING = {
    "replicas": 2, "nameOverride": "store", "address": "[::]", "ports": {"client": 11311, "admin": 11312},
    "image": {"repository": "registry.invalid/mxkv", "tag": "1.2.3", "pullPolicy": "Always", "pullSecrets": [{"name": "pull"}]},
    "config": {"limits": {"connections": 1000000, "value_bytes": "2MiB"}, "log": {"format": "json"}},
    "durability": {"enabled": True, "sync": "10ms", "whenFull": "evict", "size": "1Gi", "storageClass": "fast",
                   "accessModes": ["ReadWriteOncePod"]},
    "users": {"file": "shop:secret\n"}, "tls": {"existingSecret": "certificate"},
    "drainSeconds": 20, "preStopSeconds": 10, "terminationGracePeriodSeconds": 31,
    "service": {"type": "LoadBalancer", "annotations": {"example.invalid/internal": "true"}},
    "podDisruptionBudget": {"enabled": True, "maxUnavailable": "50%"},
    "networkPolicy": {"enabled": True, "clients": [{"podSelector": {"matchLabels": {"app": "shop"}}}],
                      "operators": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]},
    "serviceMonitor": {"enabled": True, "interval": "30s", "labels": {"release": "prometheus"},
                       "endpoint": {"basicAuth": {"username": {"name": "scraper", "key": "user"}}}},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}}, "dashboard": {"enabled": True},
    "admin": {"auth": "required"},
    "podLabels": {"team": "shop"}, "podAnnotations": {"note": "x"}, "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "store", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
                                          "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "mxkv"}}}}]}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    "priorityClassName": "high", "serviceAccountName": "store",
}
NO_ADMINISTRATION = {"admin": {"enabled": False}, "ports": {"client": 11311}, "networkPolicy": {"enabled": True}}
CLUSTER = {"replicas": 3, "durability": {"enabled": False}, "networkPolicy": {"enabled": True},
           "cluster": {"enabled": True, "brokers": ["kafka-0.kafka:9092", "kafka-1.kafka:9092"],
                       "properties": {"security.protocol": "ssl"}, "shards": 6, "lease": "5s"}}
NODES_BY_TLS = CLUSTER | {"cluster": CLUSTER["cluster"] | {"tls": {"existingSecret": "nodes", "name": "node.shop"}}}
SAMPLED = CLUSTER | {"cluster": CLUSTER["cluster"] | {"fromKeys": "user:1\nuser:2\nsession:1\n"}}
CASES = {"cluster": CLUSTER, "a sample of keys": SAMPLED, "nodes by TLS": NODES_BY_TLS, "defaults": {}, "cache": CACHE_ONLY, "everything": EVERYTHING, "no administration": NO_ADMINISTRATION,
         "a secret that is there": {"users": {"existingSecret": "people", "key": "file"}, "preStopSeconds": 0,
                                    "resources": {"limits": {"cpu": 2}}, "reload": {"enabled": False},
                                    "podDisruptionBudget": {"enabled": False}},
         "users of its own, restarted": {"users": {"file": "shop:secret\n"}, "reload": {"enabled": False},
                                         "config": {"workers": 3}}}
# Kinds of the Prometheus operator, of which Kubernetes' schemas know nothing.
OPERATORS_KINDS = ("ServiceMonitor", "PrometheusRule")


@machine.needs(machine.long_only(), machine.missing("go"))
class HelmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        requirements = machine.REPOSITORY / "tests" / "package" / "kubernetes.txt"
        cls.validate = staticmethod(registries.python_module("kubernetes_validate", requirements).validate)
        cls.yaml = registries.python_module("yaml", requirements)
        cls.helm = registries.go_program(*_HELM)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.rendered = {name: cls.render(values) for name, values in CASES.items()}

    @classmethod
    def ask(cls, *command, values=None, check=True):
        file = cls.folder / "values.json"
        file.write_text(json.dumps(values or {}), encoding="utf-8")
        return machine.run(cls.helm, *command, CHART, "--values", file, check=check)

    @classmethod
    def template(cls, values: dict, check=True):
        return cls.ask("template", "shop", "--kube-version", f"{KUBERNETES[0]}.0", values=values, check=check)

    @classmethod
    def render(cls, values: dict) -> dict:
        """(kind, name) -> manifest."""
        manifests = [one for one in cls.yaml.safe_load_all(cls.template(values).stdout) if one]
        found = {(one["kind"], one["metadata"]["name"]): one for one in manifests}
        if len(found) != len(manifests):
            raise AssertionError("two manifests have one name")
        return found

    def one(self, case: str, kind: str) -> dict:
        manifest, = (one for (its_kind, _), one in self.rendered[case].items() if its_kind == kind)
        return manifest

    def pod(self, case: str) -> dict:
        return self.one(case, "StatefulSet")["spec"]["template"]["spec"]

    def server(self, case: str) -> dict:
        return self.pod(case)["containers"][0]

    def config_text(self, case: str) -> str:
        text, = (one["data"]["mxkv.yaml"] for (kind, _), one in self.rendered[case].items()
                 if kind == "ConfigMap" and "mxkv.yaml" in one["data"])
        return text

    def config(self, case: str) -> dict:
        return self.yaml.safe_load(self.config_text(case))

    def test_helm_finds_nothing_wrong(self):
        for name, values in CASES.items():
            with self.subTest(name):
                self.assertIn("0 chart(s) failed", self.ask("lint", "--strict", values=values).stdout)

    def test_each_manifest_is_what_kubernetes_knows(self):
        for name, manifests in self.rendered.items():
            for (kind, _), manifest in manifests.items():
                if kind not in OPERATORS_KINDS:
                    for version in KUBERNETES:
                        with self.subTest(case=name, kind=kind, version=version):
                            self.validate(manifest, version, strict=True)

    def test_the_schema_would_find_a_wrong_key(self):
        wrong = json.loads(json.dumps(self.one("defaults", "StatefulSet")))
        wrong["spec"]["template"]["spec"]["containers"][0]["readyProbe"] = {}
        with self.assertRaises(Exception):
            self.validate(wrong, KUBERNETES[0], strict=True)

    def test_the_daemon_takes_each_configuration(self):
        authority = Authority(self.folder)
        nodes = dict(zip(("tls.crt", "tls.key"), authority.sign("node"))) | {"ca.crt": authority.file}
        for name in CASES:
            with self.subTest(name):
                file = self.folder / "mxkv.yaml"
                text = self.config_text(name)
                # Replace paths of the pod by paths of the test.
                text = text.replace("/var/lib/mxkv", f"{self.folder}/data").replace("/etc/mxkv-users", str(self.folder))
                for inside, outside in nodes.items():
                    text = text.replace(f"/etc/mxkv-nodes/{inside}", str(outside))
                # Add the addresses that a pod gets from its environment.
                text = text.replace("  peer: ", "  advertise: 10.0.0.1:11311\n  address: 10.0.0.1:11211\n  peer: ")
                for users in ("users", "file"):
                    (self.folder / users).write_text("shop:secret\n", encoding="utf-8")
                    (self.folder / users).chmod(0o600)
                file.write_text(text, encoding="utf-8")
                done = machine.run(machine.MXKVD, "check", file, check=False)
                self.assertEqual(done.returncode, 0, f"{text}\n{done.stderr}")
        self.assertEqual(self.config("nodes by TLS")["cluster"]["tls"]["name"], "node.shop")
        self.assertEqual(self.config("everything")["limits"], {"connections": 1000000, "value_bytes": "2MiB"})
        self.assertEqual(self.config("everything")["log"], {"format": "json"})

    def test_ports_probes_and_services_fit_each_other(self):
        for name in CASES:
            container = self.server(name)
            ports = {port["name"]: port["containerPort"] for port in container["ports"]}
            self.assertEqual(int(self.config(name)["listeners"][0].rpartition(":")[2]), ports["client"])
            if name != "no administration":
                self.assertEqual(self.config(name)["admin"]["listeners"][0]["port"], ports["admin"])
            labels = self.one(name, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
            for (kind, _), manifest in self.rendered[name].items():
                if kind == "Service":
                    self.assertLessEqual(manifest["spec"]["selector"].items(), labels.items())
                    for port in manifest["spec"]["ports"]:
                        self.assertEqual(port["port"], ports[port["targetPort"]])
            governing = self.one(name, "StatefulSet")["spec"]["serviceName"]
            self.assertEqual(self.rendered[name]["Service", governing]["spec"]["clusterIP"], "None")
        monitor = self.one("everything", "ServiceMonitor")["spec"]
        service = self.rendered["everything"]["Service", "store-pods"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        self.assertIn(monitor["endpoints"][0]["port"], [port["name"] for port in service["spec"]["ports"]])
        self.assertEqual(monitor["endpoints"][0]["basicAuth"], {"username": {"name": "scraper", "key": "user"}})
        self.assertEqual(service["metadata"]["labels"][monitor["jobLabel"]], "mxkv", "the job that the rules name")

    def test_where_there_is_administration_it_is_asked_how_a_pod_is(self):
        for name in CASES.keys() - {"no administration"}:
            container = self.server(name)
            for probe, path in (("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz")):
                self.assertEqual(container[probe]["httpGet"], {"path": path, "port": "admin"})
                self.assertNotIn("exec", container[probe])

    def test_where_there_is_none_the_images_own_check_is(self):
        container = self.server("no administration")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            self.assertEqual(container[probe]["exec"], {"command": ["healthcheck"]})
            self.assertNotIn("httpGet", container[probe])
        self.assertEqual(container["env"], [{"name": "MXKV_HEALTH_PORT", "value": "11311"}])
        self.assertEqual(container["ports"], [{"name": "client", "containerPort": 11311, "protocol": "TCP"}])
        slow = container["startupProbe"]
        self.assertGreaterEqual(slow["periodSeconds"] * slow["failureThreshold"], 3600, "it answers when its data is recovered")
        self.assertNotIn("admin", self.config("no administration"))
        policy = self.one("no administration", "NetworkPolicy")["spec"]
        self.assertEqual([rule["ports"] for rule in policy["ingress"]], [[{"port": "client", "protocol": "TCP"}]])

    def test_pods_are_nodes_of_a_cluster_where_they_are_to(self):
        pod = self.pod("cluster")
        first, = pod["initContainers"]
        container = self.server("cluster")
        self.assertEqual(first["securityContext"], container["securityContext"])
        nodes = ",".join(f"shop-mxkv-{n}=shop-mxkv-{n}.shop-mxkv-pods.default:11311=shop-mxkv-{n}.shop-mxkv-pods.default:11211"
                         for n in range(3))
        self.assertEqual(first["command"][3:], ["--config=/etc/mxkv/mxkv.yaml", "--if-missing", "--shards=6", "--replicas=2",
                                                f"--nodes={nodes}"])
        self.assertEqual(self.config("cluster")["cluster"],
                         {"name": "shop-mxkv", "brokers": ["kafka-0.kafka:9092", "kafka-1.kafka:9092"], "lease": "5s",
                          "properties": {"security.protocol": "ssl"}, "peer": "0.0.0.0:11311"})
        sampled, = self.pod("a sample of keys")["initContainers"]
        self.assertIn("--from-keys=/etc/mxkv/sample-keys.txt", sampled["command"])
        self.assertEqual(self.one("a sample of keys", "ConfigMap")["data"]["sample-keys.txt"], "user:1\nuser:2\nsession:1\n")
        self.assertEqual(self.config("cluster")["memory"], {"when_full": "error"})
        variables = {one["name"]: one for one in container["env"]}
        self.assertEqual(variables["MXKVD_CLUSTER__NODE"]["valueFrom"], {"fieldRef": {"fieldPath": "metadata.name"}})
        self.assertEqual(variables["MXKVD_CLUSTER__ADVERTISE"]["value"], "$(POD_IP):11311")
        names = list(variables)
        self.assertLess(names.index("POD_IP"), names.index("MXKVD_CLUSTER__ADVERTISE"), "what is used is known before")
        policy = self.one("cluster", "NetworkPolicy")["spec"]
        peers, = (rule for rule in policy["ingress"] if rule["ports"] == [{"port": "peer", "protocol": "TCP"}])
        self.assertEqual(peers["from"], [{"podSelector": policy["podSelector"]}])
        self.assertEqual(policy["egress"], [{}], "brokers may be anywhere")
        self.assertNotIn("initContainers", self.pod("defaults"))
        self.assertNotIn("cluster", self.config("defaults"))

    def test_there_are_as_many_workers_as_cpus(self):
        for name, workers in (("defaults", 1), ("cache", 3), ("users of its own, restarted", 3)):
            self.assertEqual(self.config(name)["workers"], workers, name)
        self.assertNotIn("workers", self.config("a secret that is there"), "the server counts the quota of the limit itself")

    def test_a_changed_secret_reaches_the_server(self):
        for name, folders in (("everything", ["/etc/mxkv-users", "/etc/mxkv-tls"]), ("nodes by TLS", ["/etc/mxkv-nodes"])):
            server, reload = self.pod(name)["containers"]
            self.assertTrue(self.pod(name)["shareProcessNamespace"])
            self.assertEqual(reload["command"][-len(folders) - 1:], ["10", *folders])
            self.assertEqual(reload["command"][2], (CHART / "files" / "reload-on-change").read_text(encoding="utf-8"))
            self.assertEqual(reload["securityContext"], server["securityContext"])
            self.assertEqual(reload["volumeMounts"], [one for one in server["volumeMounts"] if one["mountPath"] in folders])
        for name in ("defaults", "a secret that is there", "users of its own, restarted"):
            self.assertEqual(len(self.pod(name)["containers"]), 1, "there is nothing to reload, or nobody is to")
            self.assertNotIn("shareProcessNamespace", self.pod(name))
        annotations = self.one("users of its own, restarted", "StatefulSet")["spec"]["template"]["metadata"]["annotations"]
        self.assertIn("checksum/users", annotations)
        annotations = self.one("everything", "StatefulSet")["spec"]["template"]["metadata"]["annotations"]
        self.assertNotIn("checksum/users", annotations)

    def test_pods_are_spread_over_machines(self):
        for spread in self.pod("defaults")["topologySpreadConstraints"]:
            self.assertEqual(spread["whenUnsatisfiable"], "ScheduleAnyway")
            self.assertEqual(spread["labelSelector"], self.one("defaults", "StatefulSet")["spec"]["selector"])
        self.assertEqual([spread["topologyKey"] for spread in self.pod("defaults")["topologySpreadConstraints"]],
                         ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])
        self.assertEqual([spread["topologyKey"] for spread in self.pod("everything")["topologySpreadConstraints"]], ["zone"])
        self.assertNotIn("topologySpreadConstraints", self.pod("cache"))

    def test_rules_and_dashboard_are_those_of_the_server(self):
        rules = self.one("everything", "PrometheusRule")
        file = self.folder / "rules.yaml"
        file.write_text(self.yaml.safe_dump(rules["spec"]), encoding="utf-8")
        ours = machine.REPOSITORY / "server" / "admin"
        self.assertEqual(rules["spec"], self.yaml.safe_load((ours / "alerts.yaml").read_text(encoding="utf-8")))
        if not machine.missing("promtool"):
            self.assertIn("SUCCESS", machine.run("promtool", "check", "rules", file).stdout)
        dashboard = self.rendered["everything"]["ConfigMap", "store-dashboard"]
        self.assertEqual(json.loads(dashboard["data"]["mxkv.json"]), json.loads((ours / "grafana.json").read_text(encoding="utf-8")))
        self.assertEqual(dashboard["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual(rules["metadata"]["labels"]["release"], "prometheus")

    def test_a_pod_may_do_little(self):
        for name in CASES:
            pod = self.pod(name)
            container = self.server("cluster")
            self.assertEqual((pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]), (True, 411))
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertEqual(container["securityContext"], {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                                            "capabilities": {"drop": ["ALL"]}})
            self.assertFalse(pod["automountServiceAccountToken"])
            self.assertFalse(pod["enableServiceLinks"])

    def test_what_is_stored_outlives_a_pod_where_it_is_to(self):
        claim, = self.one("defaults", "StatefulSet")["spec"]["volumeClaimTemplates"]
        self.assertEqual((claim["metadata"]["name"], claim["spec"]["resources"]), ("data", {"requests": {"storage": "10Gi"}}))
        self.assertEqual(self.config("defaults")["durability"], {"directory": "/var/lib/mxkv", "sync": "commit"})
        self.assertNotIn("volumeClaimTemplates", self.one("cache", "StatefulSet")["spec"])
        self.assertNotIn("durability", self.config("cache"))
        self.assertEqual(self.one("cache", "StatefulSet")["spec"]["replicas"], 3)

    def test_users_come_from_a_secret(self):
        self.assertEqual(self.one("everything", "Secret")["stringData"], {"users": "shop:secret\n"})
        for name, secret, file in (("everything", "store-users", "users"), ("a secret that is there", "people", "file")):
            volume, = (one for one in self.pod(name)["volumes"] if one["name"] == "users")
            self.assertEqual(volume["secret"], {"secretName": secret, "defaultMode": 0o440})
            self.assertEqual(self.config(name)["server"]["auth_file"], f"/etc/mxkv-users/{file}")
        self.assertNotIn("auth_file", self.config("defaults")["server"])

    def test_wrong_values_are_refused_by_name(self):
        cases = (({"replica": 2}, "replica"), ({"ports": {"client": 70000}}, "ports.client"),
                 ({"durability": {"sync": "always"}}, "durability.sync"),
                 ({"admin": {"enabled": False}, "serviceMonitor": {"enabled": True}}, "serviceMonitor.enabled: what it scrapes"),
                 ({"cluster": {"enabled": True}}, "durability.enabled has to be false"),
                 (CLUSTER | {"replicas": 1}, "cluster.replicas: is more than replicas"),
                 ({"durability": {"enabled": False}, "cluster": {"enabled": True}}, "cluster.brokers: is empty"),
                 ({"admin": {"auth": "auto"}}, "admin.auth"), ({"reload": {"seconds": 0}}, "reload.seconds"),
                 ({"terminationGracePeriodSeconds": 10}, "terminationGracePeriodSeconds: has to be longer"))
        for values, what in cases:
            with self.subTest(what):
                done = self.template(values, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(what, done.stderr)


@machine.needs(machine.root_only(), machine.missing("unshare", "bash"))
class ReloadTest(unittest.TestCase):
    """What the chart runs beside a server, in a namespace of processes of its own: it signals every mxkvd that it sees."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        # As Kubernetes mounts a secret: a link to a folder that is replaced as a whole.
        self.mount = self.folder / "users"
        self.mount.mkdir()
        self.publish("one", "shop:first\n")
        (self.mount / "file").symlink_to("..data/file")

    def publish(self, version: str, text: str) -> None:
        (self.mount / version).mkdir()
        (self.mount / version / "file").write_text(text, encoding="utf-8")
        (self.mount / version / "file").chmod(0o600)
        (self.mount / "new").symlink_to(version)
        (self.mount / "new").rename(self.mount / "..data")

    def wait_for(self, log: Path, text: str) -> None:
        deadline = time.monotonic() + 60
        while text not in log.read_text(encoding="utf-8"):
            self.assertLess(time.monotonic(), deadline, log.read_text(encoding="utf-8"))
            time.sleep(0.05)

    def test_a_changed_secret_becomes_a_reload(self):
        port = machine.free_port()
        log = self.folder / "log"
        server = f"'{machine.MXKVD}' --listen 127.0.0.1:{port} --memory 64MiB --set server.auth_file={self.mount}/file"
        script = f"{server} & exec bash '{CHART}/files/reload-on-change' 0.1 {self.mount}"
        with open(log, "wb") as output:
            pod = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", script],
                                   stdout=output, stderr=output, start_new_session=True)
        self.addCleanup(pod.wait)
        self.addCleanup(os.killpg, pod.pid, signal.SIGKILL)
        self.wait_for(log, f"listening on 127.0.0.1:{port}")
        self.assertIn(b"CLIENT_ERROR", self.login(port, "shop second"))
        self.publish("two", "shop:second\n")
        self.wait_for(log, "sent SIGHUP to mxkvd")
        self.wait_for(log, "reload: ")
        self.assertEqual(self.login(port, "shop second"), b"STORED\r\n")

    @staticmethod
    def login(port: int, words: str) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(f"set auth 0 0 {len(words)}\r\n{words}\r\n".encode())
            return connection.makefile("rb").readline()


if __name__ == "__main__":
    machine.main()
