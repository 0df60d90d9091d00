"""Evidence packs: a run in one file, with all that its report rests on, to be checked and read anywhere."""

from deep_research.packs.evidence import Failure
from deep_research.packs.manifest import Manifest, MemberEntry
from deep_research.packs.pack import Pack
from deep_research.packs.packer import pack_run, stored_evidence
from deep_research.packs.read_only import PackStore
from deep_research.packs.verification import Verification, verified

__all__ = [
    "Failure",
    "Manifest",
    "MemberEntry",
    "Pack",
    "PackStore",
    "Verification",
    "pack_run",
    "stored_evidence",
    "verified",
]
