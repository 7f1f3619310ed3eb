"""Tests of the writer of images."""

import gzip
import hashlib
import io
import json
import tarfile
import unittest
from unittest import mock

from tools.testing import folder, program

image = program("release/image")
DATE = 1_700_000_000


class Layers(unittest.TestCase):
    """The files of an image."""

    def entries(self, tree):
        archive = tarfile.open(fileobj=io.BytesIO(tree.layer()))
        return {entry.name: entry for entry in archive}, archive

    def test_parents_exist_and_all_files_have_the_date(self):
        tree = image.Tree(DATE)
        tree.add("etc/a/b", b"text", 0o600, 7)
        found, archive = self.entries(tree)
        self.assertTrue(found["etc"].isdir() and found["etc/a"].isdir())
        self.assertEqual({entry.mtime for entry in found.values()}, {DATE})
        self.assertEqual((found["etc/a/b"].mode, found["etc/a/b"].uid), (0o600, 7))
        self.assertEqual(archive.extractfile("etc/a/b").read(), b"text")

    def test_the_order_of_additions_changes_nothing_and_hard_links_come_last(self):
        layers = []
        for names in (("b", "a"), ("a", "b")):
            tree = image.Tree(DATE)
            for name in names:
                tree.add(f"usr/{name}", b"x")
            tree.add("usr/0", kind=tarfile.LNKTYPE, link="usr/b")
            layers.append(tree.layer())
        self.assertEqual(*layers)
        self.assertEqual(list(self.entries(tree)[0])[-1], "usr/0")

    def test_old_directories_are_links_into_usr(self):
        self.assertEqual(image.Tree.merged("bin/sh"), "usr/bin/sh")
        self.assertEqual(image.Tree.merged("usr/bin/sh"), "usr/bin/sh")
        self.assertEqual(self.entries(image.Tree(DATE))[0]["lib"].linkname, "usr/lib")

    def test_what_no_program_reads_is_left_out_but_licences_stay(self):
        for name in ("usr/share/man/man1/x.1.gz", "usr/share/doc/libc6/changelog.gz",
                     "usr/lib/x86_64-linux-gnu/gconv/X.so"):
            self.assertTrue(image.UNUSED.match(name), name)
        for name in ("usr/share/doc/libc6/copyright", "usr/lib/x86_64-linux-gnu/libc.so.6"):
            self.assertFalse(image.UNUSED.match(name), name)


class Archives(unittest.TestCase):
    def test_digests_and_names_are_those_of_both_formats_and_equal_files_give_equal_images(self):
        path = folder(self) / "image.tar"
        made = lambda: image.write(path, "localhost/x:1", "amd64", DATE, b"layer", {"Cmd": []})
        digest, first = made(), path.read_bytes()
        with mock.patch("time.time", return_value=DATE):
            self.assertEqual((made(), path.read_bytes()), (digest, first))
        archive = tarfile.open(fileobj=io.BytesIO(first))
        read = lambda name: archive.extractfile(name).read()
        blob = lambda one: read("blobs/" + one["digest"].replace(":", "/"))
        [described] = json.loads(read("index.json"))["manifests"]
        self.assertEqual(described["digest"], digest)
        manifest = json.loads(blob(described))
        for one in (described, manifest["config"], *manifest["layers"]):
            self.assertEqual(hashlib.sha256(blob(one)).hexdigest(), one["digest"][7:])
            self.assertEqual(len(blob(one)), one["size"])
        self.assertEqual(gzip.decompress(blob(manifest["layers"][0])), b"layer")
        config = json.loads(blob(manifest["config"]))
        unpacked = "sha256:" + hashlib.sha256(b"layer").hexdigest()
        self.assertEqual(config["rootfs"]["diff_ids"], [unpacked])
        [docker] = json.loads(read("manifest.json"))
        self.assertEqual(docker["RepoTags"], ["localhost/x:1"])
        self.assertEqual(read(docker["Layers"][0]), blob(manifest["layers"][0]))
