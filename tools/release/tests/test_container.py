"""Tests of images as containers have them: the digests of an archive, and the program's command."""

import io
import json
import tarfile
import unittest

from tools.release import container
from tools.testing import folder, program

image = program("release/image")


class Archives(unittest.TestCase):
    """An image that our writer made."""

    def setUp(self):
        self.path = folder(self) / "image.tar"
        tree = image.Tree(0)
        tree.add("etc/a", b"text")
        image.write(self.path, "localhost/x:1", "amd64", 0, tree.layer(), {"Cmd": []})

    def rewritten(self, change):
        """The archive with a change of its files by name."""
        with tarfile.open(self.path) as archive:
            files = {one.name: archive.extractfile(one).read() for one in archive}
        change(files)
        with tarfile.open(self.path, "w") as archive:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        return container.Archive(self.path)

    def test_files_are_those_of_the_layer(self):
        archive = container.Archive(self.path)
        self.assertEqual(archive.files().extractfile("etc/a").read(), b"text")

    def test_a_changed_blob_and_another_name_are_refused(self):
        def damage(files):
            document = json.loads(files["index.json"])["manifests"][0]
            name = "blobs/" + document["digest"].replace(":", "/")
            files[name] = files[name].replace(b"layer", b"later")

        with self.assertRaises(container.Wrong):
            self.rewritten(damage)

    def test_docker_s_names_are_compared(self):
        def rename(files):
            document = json.loads(files["manifest.json"])
            document[0]["Layers"] = [document[0]["Config"]]
            files["manifest.json"] = json.dumps(document).encode()

        archive = self.rewritten(rename)
        with self.assertRaises(container.Wrong):
            archive.files()


class Commands(unittest.TestCase):
    def test_the_program_has_the_image_s_user_and_variables_and_its_own(self):
        config = {"User": "7:8", "Env": ["PATH=/usr/bin"], "Entrypoint": ["/usr/bin/x"]}
        made = container.Container("/r", config, ("ip", "netns", "exec", "a"))
        self.assertEqual(made.command("--help", ROLE="client"), [
            "ip", "netns", "exec", "a", "env", "-i", "PATH=/usr/bin", "ROLE=client",
            "/usr/sbin/chroot", "--userspec=7:8", "/r", "/usr/bin/x", "--help",
        ])
