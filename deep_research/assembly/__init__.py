"""The composition root: from settings and arguments to the parts of an engine. Only here implementations are
chosen."""

from deep_research.assembly.content import archive_folder, make_archive
from deep_research.assembly.destinations import Destination, destinations
from deep_research.assembly.engine_arguments import EngineArguments, MakeSupervisor
from deep_research.assembly.engine_parts import Parts, assemble
from deep_research.assembly.engine_variants import EngineVariants, ResumePlan
from deep_research.assembly.model_choice import Models, make_models
from deep_research.assembly.option_effects import without_effect

__all__ = [
    "Destination",
    "EngineArguments",
    "EngineVariants",
    "MakeSupervisor",
    "Models",
    "Parts",
    "ResumePlan",
    "archive_folder",
    "assemble",
    "destinations",
    "make_archive",
    "make_models",
    "without_effect",
]
