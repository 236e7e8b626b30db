"""Methods on the class features of head semantic: SST, HST and SARB, which find unknown positives by likeness."""

from trilabel.methods.semantic.blending import SemanticBlending
from trilabel.methods.semantic.heterogeneous import HeterogeneousTransfer
from trilabel.methods.semantic.transfer import SemanticTransfer

__all__ = ["HeterogeneousTransfer", "SemanticBlending", "SemanticTransfer"]
