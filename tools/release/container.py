"""An image of `image`, unpacked and run as a container would be; used by test-image."""

import gzip
import hashlib
import io
import json
import pathlib
import tarfile

from tools.running import run


class Wrong(Exception):
    """What is wrong with an image."""


class Archive:
    """The archive of an image, which is an OCI layout and what `docker save` writes."""

    def __init__(self, file):
        self.file = tarfile.open(fileobj=io.BytesIO(pathlib.Path(file).read_bytes()))
        [self.described] = json.loads(self.read("index.json"))["manifests"]
        self.manifest = json.loads(self.blob(self.described))
        [self.layer] = self.manifest["layers"]
        self.config = json.loads(self.blob(self.manifest["config"]))
        [self.docker] = json.loads(self.read("manifest.json"))

    def read(self, name):
        """The bytes of a file of the archive."""
        return self.file.extractfile(name).read()

    def blob(self, described):
        """The bytes that a description is of, whose size and digest it has."""
        data = self.read("blobs/" + described["digest"].replace(":", "/"))
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        if (len(data), digest) != (described["size"], described["digest"]):
            raise Wrong(f"{described}: {len(data)} bytes, {digest}")
        return data

    def files(self):
        """The files of the image, after a comparison of all digests."""
        named = (self.docker["Config"], self.manifest["config"]), (
            self.docker["Layers"][0], self.layer)
        for path, one in named:
            if path != "blobs/" + one["digest"].replace(":", "/"):
                raise Wrong(f"{path} is not {one['digest']}")
        files = gzip.decompress(self.blob(self.layer))
        digest = "sha256:" + hashlib.sha256(files).hexdigest()
        if self.config["rootfs"]["diff_ids"] != [digest]:
            raise Wrong(f"{self.config['rootfs']}: the files have {digest}")
        return tarfile.open(fileobj=io.BytesIO(files))


class Container:
    """A root directory with the settings of an image."""

    def __init__(self, root, config, network=()):
        self.root, self.network = root, network
        self.config = config
        self.user = config.get("User", "0:0")

    def command(self, *arguments, **variables):
        """The command that becomes the image's program, with variables and arguments of its own."""
        own = [f"{name}={value}" for name, value in variables.items()]
        return [*self.network, "env", "-i", *self.config["Env"], *own, "/usr/sbin/chroot",
                f"--userspec={self.user}", str(self.root), *self.config["Entrypoint"], *arguments]

    def furnish(self):
        """Adds what a container's runtime adds to a root directory."""
        root = self.root
        run("mount", "--bind", root, root)
        run("mount", "-t", "proc", "proc", root / "proc")
        run("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", root / "dev")
        for device in ("null", "zero", "urandom"):
            (root / "dev" / device).touch()
            run("mount", "--bind", f"/dev/{device}", root / "dev" / device)
        run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", root / "tmp")
