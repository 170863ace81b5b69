"""Certificates for tests: authorities and the certificates that they sign, made by the openssl program in a directory."""

import datetime
import subprocess
from pathlib import Path


class Authority:
    """A root that signs. Each name is a pair of files, NAME.pem and NAME.key."""

    def __init__(self, directory: Path, name: str = "ca"):
        self.directory = directory
        self.name = name
        self.file = directory / f"{name}.pem"
        self._run("req", "-x509", *self._key(name), "-out", self.file, "-days", "30", "-subj", f"/CN={name}",
                  "-addext", "keyUsage=critical,keyCertSign,cRLSign")  # which Python 3.13 asks for

    def sign(self, name: str, *, purpose: str = "serverAuth", until: datetime.datetime = None) -> tuple:
        """A certificate of `name`, for 127.0.0.1 and localhost. `until` in the past makes an expired certificate."""
        request, certificate = self.directory / f"{name}.csr", self.directory / f"{name}.pem"
        self._run("req", "-new", *self._key(name), "-out", request, "-subj", f"/CN={name}/O=example")
        extensions = self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage={purpose}\nauthorityKeyIdentifier=keyid\n")
        when = ["-days", "30"]
        self._run("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.directory / f"{self.name}.key",
                  "-CAcreateserial", "-extfile", extensions, "-out", certificate, *when)
        if until is not None:
            self._expire(name, request, certificate, extensions, until)
        return certificate, self.directory / f"{name}.key"

    def _expire(self, name, request, certificate, extensions, until):
        """`openssl x509` cannot set times; `openssl ca` can, but needs a database."""
        database = self.directory / "database"
        database.mkdir(exist_ok=True)
        (database / "index").write_text("")
        config = database / "config"
        config.write_text(f"[ca]\ndefault_ca=one\n[one]\ndatabase={database}/index\nnew_certs_dir={database}\n"
                          "rand_serial=yes\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n"
                          "organizationName=optional\n")
        begin = until - datetime.timedelta(days=2)
        self._run("ca", "-batch", "-notext", "-config", config, "-in", request, "-out", certificate, "-cert", self.file,
                  "-keyfile", self.directory / f"{self.name}.key", "-extfile", extensions,
                  "-startdate", begin.strftime("%Y%m%d%H%M%SZ"), "-enddate", until.strftime("%Y%m%d%H%M%SZ"))

    def _key(self, name: str) -> list:
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                str(self.directory / f"{name}.key")]

    @staticmethod
    def _run(*arguments) -> None:
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"openssl {arguments[0]}: {done.stderr.decode()}")
