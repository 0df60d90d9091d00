"""What a run may use of a model's window and of its owner's money, and the only way to a model from above."""

from deep_research.budget.metered import ModelRoles, RunModels
from deep_research.budget.sharing import Purse, SharedBudget
from deep_research.budget.spend import Spend
from deep_research.budget.tokens import Counter
from deep_research.budget.window import Window, batches

__all__ = ["Counter", "ModelRoles", "Purse", "RunModels", "SharedBudget", "Spend", "Window", "batches"]
