"""The client's streams of operations are YCSB's: the first thousand of each equal what its formulas give."""

import math
import os
import pathlib
import subprocess
import tempfile
import unittest

import formulas

STREAM = os.environ.get("MXKV_YCSB_STREAM", "ycsb_stream")
WORKLOADS = pathlib.Path(__file__).resolve().parent.parent / "workloads"
COUNT = 1000
DISTRIBUTIONS = ("uniform", "zipfian", "latest", "sequential", "exponential", "hotspot")
READS = {"recordcount": "10000", "operationcount": "1000", "readproportion": "1", "updateproportion": "0"}


def dumped(what: str, seed: int, properties: dict[str, str]) -> list[str]:
    settings = [f"{name}={value}" for name, value in properties.items()]
    done = subprocess.run([STREAM, what, str(seed), str(COUNT), *settings], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def settings_of(workload: str) -> dict[str, str]:
    lines = (WORKLOADS / f"workload{workload}").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


class StreamTest(unittest.TestCase):
    def assert_stream(self, properties: dict[str, str]) -> list[str]:
        stream = []
        for seed in (1, 20260101):
            workload = formulas.CoreWorkload(properties, seed)
            expected = [workload.next() for _ in range(COUNT)]
            stream = dumped("operations", seed, properties)
            self.assertEqual(len(stream), COUNT)
            self.assertEqual(stream, expected)
        return stream

    def test_every_distribution(self):
        for distribution in DISTRIBUTIONS:
            with self.subTest(distribution):
                stream = self.assert_stream({**READS, "requestdistribution": distribution})
                self.assertEqual({line.split()[0] for line in stream}, {"READ"})
                self.assertGreater(len({line.split()[1] for line in stream}), 100)

    def test_every_distribution_while_records_are_inserted(self):
        for distribution in DISTRIBUTIONS:
            with self.subTest(distribution):
                stream = self.assert_stream({"recordcount": "500", "readproportion": "0.5", "updateproportion": "0",
                                             "insertproportion": "0.5", "requestdistribution": distribution})
                self.assertGreater(sum(line.startswith("INSERT") for line in stream), 400)

    def test_every_workload_file(self):
        for workload in "abcdef":
            with self.subTest(workload):
                self.assert_stream(settings_of(workload))

    def test_a_part_of_the_records(self):
        for distribution in ("uniform", "zipfian", "sequential", "hotspot"):
            with self.subTest(distribution):
                stream = self.assert_stream({**READS, "requestdistribution": distribution, "insertstart": "700",
                                             "insertcount": "300"})
                self.assertTrue(all(700 <= int(line.split()[1]) <= 1000 for line in stream))

    def test_parameters_of_distributions(self):
        self.assert_stream({**READS, "requestdistribution": "hotspot", "hotspotdatafraction": "0.01",
                            "hotspotopnfraction": "0.5"})
        self.assert_stream({**READS, "requestdistribution": "exponential", "exponential.percentile": "50",
                            "exponential.frac": "0.1"})

    def test_scan_lengths(self):
        scans = {**READS, "readproportion": "0", "scanproportion": "2", "minscanlength": "5", "maxscanlength": "300"}
        for lengths in ("uniform", "zipfian"):
            with self.subTest(lengths):
                stream = self.assert_stream({**scans, "scanlengthdistribution": lengths})
                self.assertTrue(all(5 <= int(line.split()[3]) <= 300 for line in stream))

    def test_fields_and_orders_of_keys(self):
        mix = {"readproportion": "1", "updateproportion": "1", "scanproportion": "1", "readmodifywriteproportion": "1"}
        for read_all in ("true", "false"):
            for write_all in ("true", "false"):
                self.assert_stream({**mix, "readallfields": read_all, "writeallfields": write_all, "fieldcount": "7"})
        self.assert_stream({**READS, "insertorder": "ordered", "zeropadding": "12"})
        self.assert_stream({**READS, "zeropadding": "30"})

    def test_lengths_of_fields(self):
        histogram = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "lengths"
        histogram.write_text("BlockSize\t10\n0\t5\n1\t20\n2\t0\n3\t90\n4\t5\n")
        cases = {"uniform": formulas.Uniform(3, 200), "zipfian": formulas.Zipfian(3, 200),
                 "histogram": formulas.Histogram(10, [5, 20, 0, 90, 5])}
        for name, generator in cases.items():
            with self.subTest(name):
                random = formulas.Random(7)
                expected = [str(generator.next(random)) for _ in range(COUNT)]
                self.assertEqual(dumped("lengths", 7, {"fieldlengthdistribution": name, "minfieldlength": "3",
                                                       "fieldlength": "200", "fieldlengthhistogram": str(histogram)}),
                                 expected)
                self.assertGreater(len(set(expected)), 2)


class FormulasTest(unittest.TestCase):
    """The formulas themselves, against their known values."""

    def test_hash(self):
        self.assertEqual(formulas.fnvhash64(0), 6284781860667377211)
        self.assertEqual(formulas.fnvhash64(1), 8517097267634966620)

    def test_zeta_of_ten_billion_continues_the_sum(self):
        summed, rest = 1000000, 1 - formulas.THETA
        tail = (math.pow(formulas.ScrambledZipfian.ITEMS, rest) - math.pow(summed, rest)) / rest
        ends = (math.pow(formulas.ScrambledZipfian.ITEMS, -0.99) - math.pow(summed, -0.99)) / 2
        self.assertAlmostEqual(formulas.zeta(0, summed) + tail + ends, formulas.ScrambledZipfian.ZETAN, places=6)


if __name__ == "__main__":
    unittest.main()
