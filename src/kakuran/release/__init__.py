"""Releases: perturbed tables with their manifest, made, written and read."""

from kakuran.release.files import (
    MATRIX_KEY,
    Manifest,
    check_folder,
    check_table,
    check_target,
    manifest_path,
    read_manifest,
    released_source,
    targets,
    write_table,
)
from kakuran.release.perturbing import perturb, perturb_file, perturb_on_spark
from kakuran.release.release import Release, read_release

__all__ = [
    "MATRIX_KEY",
    "Manifest",
    "Release",
    "check_folder",
    "check_table",
    "check_target",
    "manifest_path",
    "perturb",
    "perturb_file",
    "perturb_on_spark",
    "read_manifest",
    "read_release",
    "released_source",
    "targets",
    "write_table",
]
