"""Releases: perturbed tables with their manifest, made, written, read and audited."""

from kakuran.release.linkage_audit import Audit, audit
from kakuran.release.manifest import Manifest
from kakuran.release.perturbing import perturb, perturb_file
from kakuran.release.release import Release, read_release

__all__ = ["Audit", "Manifest", "Release", "audit", "perturb", "perturb_file", "read_release"]
